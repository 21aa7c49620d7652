package faults

// edits are the faults, by the part of the product that they are planted in,
// and at the end the clocks. An edit lasts when old is short and holds what is
// unlikely to change, such as the name of a failpoint or of an event, and when it
// holds the variables that new uses: TestEditsFit then sees that one was renamed.
var edits = []edit{
	// A message arrives.
	{"dedupe-off", "store/...", `if key == "" {`, `if key == "" || faults.On("dedupe-off") {`},
	{
		"intake-not-stored", "tasks/...", `if receipts, err = in.Store.Open(ctx, store);`,
		`if faults.On("intake-not-stored") {
			go in.Store.Open(context.WithoutCancel(ctx), store)
			return nil
		}
		if receipts, err = in.Store.Open(ctx, store);`,
	},
	{
		"offset-early", "bot/telegram", `b := readBatch(raw, offset)`,
		`b := readBatch(raw, offset)
		if faults.On("offset-early") && len(raw) > 0 {
			_, _ = in.updates(ctx, b.next, 0)
		}`,
	},
	{
		"ack-early", "bot/slack", `if !c.in.enqueue(delivery{`,
		`if faults.On("ack-early") {
			c.acknowledge(e.ID)
		}
		if !c.in.enqueue(delivery{`,
	},
	{"anybody-decides", "tasks/...", `case !r.Steers(t):`, `case !r.Steers(t) && !faults.On("anybody-decides"):`},

	// A task goes on.
	{
		"resume-off", "tasks/engine", `fmt.Errorf("listing live tasks: %w", err) }`,
		`fmt.Errorf("listing live tasks: %w", err)
		}
		if faults.On("resume-off") {
			live = nil
		}`,
	},
	{
		"release-lost", "store/...", `_, _, err = x.appendEvent(id, task, state, planner.Event{Type: planner.Released})`,
		`if faults.On("release-lost") {
				return nil
			}
			_, _, err = x.appendEvent(id, task, state, planner.Event{Type: planner.Released})`,
	},
	{"lane-off", "tasks/...", `l.Entries = append(l.Entries, LaneEntry{`, `queued = queued && !faults.On("lane-off"); l.Entries = append(l.Entries, LaneEntry{`},
	{"history-lost", "store/...", `planner.Settles(before, after, e); ok {`, `planner.Settles(before, after, e); ok && !faults.On("history-lost") {`},
	{"guidance-lost", "planner", `for len(guidance) > 0 && guidance[0] < before {`, `for len(guidance) > 0 && guidance[0] < before && !faults.On("guidance-lost") {`},
	{"note-lost", "planner", `if len(texts) > 0 { b.messages.addResult(`, `if len(texts) > 0 && !faults.On("note-lost") { b.messages.addResult(`},
	{"review-forgotten", "planner", `s.Reviews < s.Limits.Reviews && wantsReview(values)`, `s.Reviews < s.Limits.Reviews && wantsReview(values) && !faults.On("review-forgotten")`},

	// Models and tools are called.
	{
		"replied-not-stored", "tasks/...", `err := x.Append(ctx, v.ID, events...)`,
		`if faults.Sometimes("replied-not-stored") {
			return nil
		}
		err := x.Append(ctx, v.ID, events...)`,
	},
	{
		"result-orphaned", "llm", `ctx, c.span = telemetry.Start(ctx, telemetry.Client, c.operation`,
		`if faults.On("result-orphaned") {
			var rest []Message
			for _, m := range c.request.Messages {
				if m.Role != ToolRole {
					rest = append(rest, m)
				}
			}
			c.request.Messages = rest
		}
		ctx, c.span = telemetry.Start(ctx, telemetry.Client, c.operation`,
	},
	{"unknown-repeats", "tasks/...", `case a.Started: return x.unknownOutcome(`, `case a.Started && !faults.On("unknown-repeats"): return x.unknownOutcome(`},
	{
		"approval-skipped", "tasks/...", `case j.Ask && !policy.Approved(v, a.Place, j.Judgement):`,
		`case j.Ask && !policy.Approved(v, a.Place, j.Judgement) && !faults.On("approval-skipped"):`,
	},
	{"started-not-stored", "tasks/...", `|| j.grant != "") && !a.Started {`, `|| j.grant != "") && !a.Started && !faults.On("started-not-stored") {`},
	{
		"returned-not-stored", "tasks/...", `return x.Append(ctx, v.ID, planner.Event{Type: planner.Returned, Action: a.ID, Result: &r})`,
		`if faults.Sometimes("returned-not-stored") {
			return nil
		}
		return x.Append(ctx, v.ID, planner.Event{Type: planner.Returned, Action: a.ID, Result: &r})`,
	},
	{"result-dropped", "planner", `case e.Result == nil: return b.text("prompt.result_missing", nil)`, `case e.Result == nil, faults.On("result-dropped"): return b.text("prompt.result_missing", nil)`},

	// Files come, are made and are kept.
	{"file-unread", "planner", `if f.Read == 0 || f.Gone || !chosen(i) {`, `if f.Read == 0 || f.Gone || !chosen(i) || faults.On("file-unread") {`},
	{
		"heard-not-stored", "tasks/...", `return x.Append(ctx, v.ID, planner.Event{Type: planner.FileRead, Action: a.ID, Read: &r})`,
		`if faults.Sometimes("heard-not-stored") {
			return nil
		}
		return x.Append(ctx, v.ID, planner.Event{Type: planner.FileRead, Action: a.ID, Read: &r})`,
	},
	{
		"made-not-stored", "tasks/...", `err := x.returned(ctx, v, a, r)`,
		`if len(r.Files) > 0 && faults.Sometimes("made-not-stored") {
			return nil
		}
		err := x.returned(ctx, v, a, r)`,
	},
	{"file-unsent", "tasks/...", `for i, f := range planner.Made(o.view.State, o.view.Event) {`, `for i, f := range planner.Made(o.view.State, o.view.Event) { if faults.On("file-unsent") { break }`},
	{
		"file-sent-not-stored", "tasks/...", `err = o.recordSent(ctx, slot, id, "", false)`,
		`if faults.On("file-sent-not-stored") {
			return nil
		}
		err = o.recordSent(ctx, slot, id, "", false)`,
	},
	{
		"content-lost", "store/...", `failpoint.Hit("content.placed")`,
		`failpoint.Hit("content.placed")
		if faults.On("content-lost") {
			_ = f.contents.Remove(ctx, file.ID)
		}`,
	},
	{"content-early", "store/...", `if x.used(k.id) || !contentRows.has(x, k.id) {`, `if x.used(k.id) && !faults.On("content-early") || !contentRows.has(x, k.id) {`},
	{
		"content-left", "store/...", `for _, id := range gone {`,
		`if faults.On("content-left") {
			gone = nil
		}
		for _, id := range gone {`,
	},
	{
		"content-left", "store/...", `for _, id := range orphans {`,
		`if faults.On("content-left") {
			orphans = nil
		}
		for _, id := range orphans {`,
	},
	{
		"upload-early", "web/...", `f, err := c.Service.Upload(ctx,`,
		`if faults.On("upload-early") {
			content, _ := io.ReadAll(part)
			caller, name := api.Caller(ctx), part.FileName()
			faults.Later(func() { _, _ = c.Service.Upload(context.WithoutCancel(ctx), caller, name, faults.Reader(content)) })
			return &uploadReply{UploadPath, api.File{ID: files.ID(faults.Sum(content)), Name: name, Type: "text/plain", Bytes: int64(len(content))}}, nil
		}
		f, err := c.Service.Upload(ctx,`,
	},

	// A person answers in the midst of a call, or decides about it.
	{
		"answer-forgotten", "tasks/...", `s.answered = append(s.answered, answeredQuestion{`,
		`if q.Live && faults.On("answer-forgotten") {
			continue
		}
		s.answered = append(s.answered, answeredQuestion{`,
	},
	{
		"answer-swapped", "tasks/...", `v := e.Decision.Value if field :=`,
		`v := e.Decision.Value
		if faults.On("answer-swapped") {
			v = q.Fields[0].Choices[0].Value
		}
		if field :=`,
	},
	{
		"decision-twice", "planner", `return append(list, tool)`,
		`if call.Step != StepAsked && call.Approved > 0 && faults.On("decision-twice") {
			ask.ID = AskID(SubjectCalls, call.Approved)
			list = append(list, ask)
		}
		return append(list, tool)`,
	},
	{"decision-twice", "planner", `case !other.sameQuestion(c):`, `case !other.sameQuestion(c) && !faults.On("decision-twice"):`},

	// Costs are counted.
	{
		"reserve-lost", "store/...", `for _, sum := range sums { with := sum.total`,
		`if faults.On("reserve-lost") {
			return nil
		}
		for _, sum := range sums {
			with := sum.total`,
	},
	{"settle-lost", "store/...", `ends, settled := endsAction(e),`, `ends, settled := endsAction(e) && !faults.On("settle-lost"),`},

	// The chat shows it.
	{
		"wrong-chat", "tasks/...", `return &Presenter{`,
		`if faults.On("wrong-chat") {
			chat.ID += "-other"
		}
		return &Presenter{`,
	},
	{
		"wrong-thread", "tasks/...", `return &Presenter{`,
		`if faults.On("wrong-thread") {
			chat.Thread = ""
		}
		return &Presenter{`,
	},
	{
		"shown-too-early", "tasks/...", `id, err := p.send(ctx, v, slot, name, part)`,
		`if faults.On("shown-too-early") {
			if err := p.recordSent(ctx, name, "early", "", last); err != nil {
				return err
			}
		}
		id, err := p.send(ctx, v, slot, name, part)`,
	},
	{"shown-not-stored", "tasks/...", `if id == slot.Message && !last {`, `if faults.On("shown-not-stored") || id == slot.Message && !last {`},
	{"board-left", "tasks/...", `case p.withoutBoard || !planned && r == nil:`, `case p.withoutBoard || !planned && r == nil || faults.On("board-left"):`},
	{"card-left", "tasks/...", `|| open[asked.Action] || q.closed[slot.Name] {`, `|| open[asked.Action] || q.closed[slot.Name] || faults.On("card-left") {`},
	{
		"failure-ignored", "tasks/...", `failpoint.Hit("edit.after.answer")`,
		`failpoint.Hit("edit.after.answer")
		if faults.On("failure-ignored") {
			err = nil
		}`,
	},
	{
		"failure-ignored", "tasks/...", `if err == nil { failpoint.Hit("post.after." + messageKind(slot))`,
		`if faults.On("failure-ignored") && err != nil {
			return "ignored", nil
		}
		if err == nil { failpoint.Hit("post.after." + messageKind(slot))`,
	},
	{"mark-lost", "bot/web", `p := postOf(d)`, `if faults.On("mark-lost") { d.Mark = "" }; p := postOf(d)`},
	{"replay-lost", "bot/web", `if reset { list = nil }`, `if reset || faults.On("replay-lost") { list = nil }`},
	{"find-off", "tasks/...", `if !ok || !s.mayBeSent(slot) {`, `if !ok || !s.mayBeSent(slot) || faults.On("find-off") {`},
	{
		"stream-forgotten", "bot/slack", `r := request{method: "chat.stopStream",`,
		`if faults.On("stream-forgotten") {
			return nil
		}
		r := request{method: "chat.stopStream",`,
	},

	// Everything is paused, and goes on.
	{"pause-forgotten", "tasks/...", `if text == "" { return p, nil }`, `if text == "" || faults.On("pause-forgotten") { return p, nil }`},
	{"pause-leaky", "tasks/...", `if p == nil { return Paused{}, false }`, `if p == nil || faults.On("pause-leaky") { return Paused{}, false }`},
	{
		"pause-not-stored", "tasks/...", `if err := p.save(ctx, key, storedPause{Paused: by}); err != nil {`,
		`if faults.On("pause-not-stored") {
			return by, true, nil
		}
		if err := p.save(ctx, key, storedPause{Paused: by}); err != nil {`,
	},
	{
		"lift-not-stored", "tasks/...", `if err := p.save(ctx, key, storedPause{Off: true}); err != nil {`,
		`if faults.On("lift-not-stored") {
			p.apply(nil)
			return before, true, nil
		}
		if err := p.save(ctx, key, storedPause{Off: true}); err != nil {`,
	},

	// A schedule fires.
	{
		"fire-early", "tasks/...", `due, next, err := s.in.Store.Due(`,
		`if faults.On("fire-early") {
			now = now.Add(time.Minute)
		}
		due, next, err := s.in.Store.Due(`,
	},
	{"fire-lost", "tasks/...", `if busy { return s.skip(`, `if busy && !faults.On("fire-twice") || faults.On("fire-lost") { return s.skip(`},
	{"fire-twice", "store/...", `if before, ok := x.known(in.Key); ok {`, `if before, ok := x.known(in.Key); ok && (in.Fire == nil || !faults.On("fire-twice")) {`},
	{
		"fire-twice", "store/...", `v.Next, v.Last, v.LastTask = in.Fire.Next, in.Fire.At, in.ID`,
		`if !faults.On("fire-twice") || v.Last.Equal(in.Fire.At) {
			v.Next = in.Fire.Next
		}
		v.Last, v.LastTask = in.Fire.At, in.ID`,
	},

	// Programs call the API.
	{
		"idempotency-lost", "web/...", `t, again, err := c.Service.Start(`,
		`if faults.On("idempotency-lost") {
			key = ""
		}
		t, again, err := c.Service.Start(`,
	},
	{"match-ignored", "web/...", `if strings.TrimSpace(header) == "*" {`, `if strings.TrimSpace(header) == "*" || name == "If-Match" && faults.On("match-ignored") {`},
	{
		"stream-gap", "web/...", `from = last`,
		`from = last
		if faults.On("stream-gap") {
			from++
		}`,
	},
	{
		"stream-again", "web/...", `from = last`,
		`from = last
		if faults.On("stream-again") {
			from = max(0, from-1)
		}`,
	},
	{
		"feed-gap", "web/...", `from = &cursor`,
		`from = &cursor
		if faults.On("feed-gap") {
			cursor++
		}`,
	},
	{"delivery-lost", "store/...", `if l, _, damaged := x.row(id); damaged == nil && l.webhook != "" {`, `if l, _, damaged := x.row(id); damaged == nil && l.webhook != "" && !faults.On("delivery-lost") {`},
	{
		"delivery-not-stored", "tasks/...", `if err := c.Store.Tried(`,
		`if faults.On("delivery-not-stored") {
			return storeRetry
		}
		if err := c.Store.Tried(`,
	},

	// The connection with the database breaks in the middle of a commit.
	{"commit-assumed", "store/postgres", `return last == g.id, w.conn`, `return last == g.id || faults.On("commit-assumed"), w.conn`},

	// Clocks.
	{"", "tasks/...", `return now.Add(a.Expire)`, `return now.Add(faults.Span(a.Expire))`},
	{
		"", "tasks/...", `return &planner.Opening{ Goal: goal,`,
		`limits.ReviewTime = faults.Span(limits.ReviewTime)
		return &planner.Opening{ Goal: goal,`,
	},
	{
		"", "bot/ratelimit", `return &Limiter{ rules: slices.Clone(rules),`,
		`rules = slices.Clone(rules)
		for i := range rules {
			rules[i].Every, rules[i].Window = faults.Span(rules[i].Every), faults.Span(rules[i].Window)
		}
		return &Limiter{ rules: rules,`,
	},
	{"", "bot/telegram", `after = badTokenPause`, `after = faults.Span(badTokenPause)`},
	{
		"", "bot/slack", `func defaultTimings() timings {`,
		`func defaultTimings() timings {
			p := unhurried()
			for _, span := range []*time.Duration{&p.ping, &p.silence, &p.idle, &p.overlap, &p.firstRetry, &p.maxRetry, &p.badToken, &p.rotate, &p.append, &p.update} {
				*span = faults.Span(*span)
			}
			return p
		}

		func unhurried() timings {`,
	},
	// A busy machine reads a file slowly, and the judge wants it read.
	{"", "files/read", `text, err := json.Marshal(j)`, `j.Limits.Time = faults.Patience(j.Limits.Time); text, err := json.Marshal(j)`},
	// At a quarter of its length the lease would end with each restart of a server.
	{
		"", "store/postgres", `const ( leaseFor = 9 * time.Second holdFor = 8 * time.Second renewEvery = 3 * time.Second`,
		`var leaseFor, holdFor, renewEvery = 2 * faults.Span(9 * time.Second), 2 * faults.Span(8 * time.Second), 2 * faults.Span(3 * time.Second)
		const (`,
	},
	{"", "app/...", `scheduler.New(a.inbox, time.Now)`, `scheduler.New(a.inbox, faults.Wall)`},
}
