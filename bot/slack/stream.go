package slack

import (
	"cmp"
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	slackgo "github.com/slack-go/slack"

	"legwork/bot"
	"legwork/bot/markdown"
)

// stream is a message that grows by chat.appendStream
// (docs.slack.dev/reference/methods/chat.startStream). Slack ends a stream after
// about five minutes, so legwork ends it after four; edits change the message
// then, under the same ts.
type stream struct {
	s       *Slack
	to      bot.Chat
	id      string
	asker   asker
	started time.Time

	mu        sync.Mutex // held while a frame is sent; guards the fields below
	lastFrame time.Time  // last frame
	ended     bool
	streamView
}

// streamView is what a stream shows.
type streamView struct {
	title   string            // of the plan
	shown   map[string]string // cards by id, as they were shown
	open    string            // title of the card that stands for the time before a plan; empty once it is closed
	text    string            // Markdown so far
	planned bool              // it has shown sub-tasks
}

// beginCard is the id of the card that stands for the time before a plan.
const beginCard = "begin"

// startStream posts a board as a native stream. An empty id and no error:
// Slack allows no stream here, or too many are running.
func (s *Slack) startStream(ctx context.Context, to bot.Chat, d bot.Draft) (string, error) {
	who, known := s.lastAskers.Get(to.Key())
	if !s.takesStreams(to.ID) || to.Thread == "" || !known && !to.Private || !s.active.reserve() {
		return "", nil
	}
	st := &stream{s: s, to: to, asker: who, streamView: streamView{shown: map[string]string{}}}
	options := []slackgo.MsgOption{
		thread(to), quiet(), slackgo.MsgOptionTaskDisplayMode(slackgo.TaskDisplayModePlan),
	}
	if known {
		options = append(options, slackgo.MsgOptionRecipientUserID(who.user), slackgo.MsgOptionRecipientTeamID(who.team))
	}
	next := st.boardChunks(*d.Board)
	if under := buttons(d.Buttons); len(under) > 0 {
		next.chunks = append(next.chunks, slackgo.NewBlocksChunk(signed(under, d.Mark)...))
	}
	options = append(options, slackgo.MsgOptionChunks(next.chunks...))
	err := s.call(ctx, request{method: "chat.startStream", private: to.Private, urgency: bot.PriorityFrame}, func(ctx context.Context) (err error) {
		_, st.id, err = s.api.StartStreamContext(ctx, to.ID, options...)
		return err
	})
	if err != nil || st.id == "" {
		s.active.release()
		return "", s.streamFallback(ctx, to, d.Task, err)
	}
	st.commit(next)
	st.started, st.lastFrame = s.now(), s.now()
	s.active.add(st)
	return st.id, nil
}

// signed puts a draft's mark into the id of the button block: a stream gets
// metadata only when it ends.
func signed(under []slackgo.Block, mark string) []slackgo.Block {
	for _, b := range under {
		if actions, ok := b.(*slackgo.ActionBlock); ok {
			actions.BlockID = mark
		}
	}
	return under
}

// hasMark reports whether a message was posted with that mark.
func hasMark(m slackgo.Message, mark string) bool {
	if said, _ := m.Metadata.EventPayload["mark"].(string); m.Metadata.EventType == metadataType && said == mark {
		return true
	}
	return mark != "" && slices.ContainsFunc(m.Blocks.BlockSet, func(b slackgo.Block) bool { return b.ID() == mark })
}

// streamFallback returns nil when a board that could not be streamed can be posted
// as a message instead.
func (s *Slack) streamFallback(ctx context.Context, to bot.Chat, task string, err error) error {
	if tooEarly(err) {
		return nil
	}
	if code(err) == "" || gone(err) {
		return err // the network: the stream may have started
	}
	s.noStreams.Add(to.ID, s.now().Add(refusedPause))
	s.log.InfoContext(ctx, "slack: no stream, editing the message instead", "task", task, "chat", to.Key(), "again", refusedPause, "cause", err)
	return nil
}

// refusedPause is how long legwork starts no stream in a channel where Slack refused one.
const refusedPause = 10 * time.Minute

// takesStreams reports whether Slack has refused no stream in a channel lately.
func (s *Slack) takesStreams(channel string) bool {
	until, refused := s.noStreams.Get(channel)
	return !refused || s.now().After(until)
}

// feed brings a draft to a stream. When done is false, the stream has ended,
// and the message must be changed by an edit.
func (st *stream) feed(ctx context.Context, d bot.Draft) (done bool, err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	switch {
	case st.ended:
		return false, nil
	case d.Kind == bot.KindBoard && d.Board != nil && st.text != "",
		st.s.now().Sub(st.started) >= st.s.timings.rotate,
		d.Partial && d.Text == "" && d.Board == nil:
		return false, st.stop(ctx, d, streamDelta{}, nil) // a stream cannot take back text
	case d.Partial:
		return st.sendFrame(ctx, d)
	}
	next := streamDelta{}
	if d.Kind != bot.KindBoard {
		if rest, ok := strings.CutPrefix(streamable(part(d).rich), st.text); ok {
			next = st.wordChunks(rest)
		}
	} else if d.Board != nil {
		next = st.boardChunks(*d.Board)
	}
	return false, st.stop(ctx, d, next, footerBlocks(d))
}

// sendFrame sends what has changed since the last frame.
func (st *stream) sendFrame(ctx context.Context, d bot.Draft) (done bool, err error) {
	if wait := st.s.active.frameGap(st.s.timings.append) - st.s.now().Sub(st.lastFrame); wait > 0 {
		return true, &bot.LaterError{After: wait}
	}
	next := streamDelta{}
	if d.Kind == bot.KindBoard {
		next = st.boardChunks(*d.Board)
	} else if rest, ok := strings.CutPrefix(stablePrefix(d), st.text); ok {
		next = st.wordChunks(rest)
	}
	if len(next.chunks) == 0 {
		return true, nil
	}
	err = st.s.call(ctx, request{method: "chat.appendStream", private: st.to.Private, urgency: bot.PriorityFrame}, func(ctx context.Context) error {
		_, _, err := st.s.api.AppendStreamContext(ctx, st.to.ID, st.id, slackgo.MsgOptionChunks(next.chunks...), quiet())
		return err
	})
	switch {
	case err == nil:
		st.commit(next)
		st.lastFrame = st.s.now()
		return true, nil
	case streamEnded(err):
		st.end()
		st.stoppedBy(err)
		return code(err) == "stopped_by_user", nil
	case !passing(err) && !gone(err): // Slack takes no more frames of this stream
		_ = st.s.streamFallback(ctx, st.to, d.Task, err)
		return false, st.stop(ctx, d, streamDelta{}, nil)
	}
	return true, err
}

// stop ends a stream with the rest of its content. It is harmless when
// the stream has ended already.
func (st *stream) stop(ctx context.Context, d bot.Draft, next streamDelta, under []slackgo.Block) error {
	options := []slackgo.MsgOption{quiet(), metadata(d)}
	if len(next.chunks) > 0 {
		options = append(options, slackgo.MsgOptionChunks(next.chunks...))
	}
	if len(under) > 0 {
		options = append(options, slackgo.MsgOptionBlocks(under...))
	}
	level := d.Priority(false)
	if !level.Waits() {
		level = bot.PriorityNormal // a frame that does not wait could let Slack end the stream
	}
	err := st.s.call(ctx, request{method: "chat.stopStream", private: st.to.Private, urgency: level}, func(ctx context.Context) error {
		_, _, err := st.s.api.StopStreamContext(ctx, st.to.ID, st.id, options...)
		return err
	})
	if err != nil && code(err) == "" {
		return err
	}
	if err != nil && !streamEnded(err) {
		st.s.log.WarnContext(ctx, "slack: stream not ended", "task", d.Task, "cause", err)
	}
	st.end()
	return nil
}

// close ends a stream as it is, unless it has ended.
func (st *stream) close(ctx context.Context) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended {
		return nil
	}
	return st.stop(ctx, bot.Draft{Kind: bot.KindBoard}, streamDelta{}, nil)
}

// end hands a stream over to edits. The caller holds its lock.
func (st *stream) end() {
	st.ended = true
	st.s.active.forget(st.to.ID, st.id)
}

// streamEnded reports whether Slack or a person has ended the stream.
func streamEnded(err error) bool {
	switch code(err) {
	case "message_not_in_streaming_state", "stopped_by_user", "streaming_state_conflict", "message_not_found", "streaming_mode_mismatch":
		return true
	}
	return false
}

// stoppedBy hands on that a person pressed Slack's own Stop, in case the event
// about it does not arrive. Both have the same key.
func (st *stream) stoppedBy(err error) {
	h := st.s.handler.Load()
	if code(err) != "stopped_by_user" || st.asker.user == "" || h == nil {
		return
	}
	m := bot.Message{
		Key: stopKey(st.to.ID, st.id), Chat: st.to, From: bot.Person{Platform: Name, ID: st.asker.user},
		Text: "/stop", At: st.s.now(), InThread: true, Team: st.asker.team,
	}
	st.s.background.add(func(ctx context.Context) {
		if err := st.s.people.identify(ctx, &m); err != nil {
			st.s.log.WarnContext(ctx, "slack: person not looked up", "person", m.From.Key(), "cause", err)
		}
		if err := h.handle(ctx, []bot.Message{m}); err != nil {
			st.s.log.ErrorContext(ctx, "slack: stop not stored", "chat", m.Chat.Key(), "cause", err)
		}
	})
}

// stopKey names a press of Slack's own Stop on a stream.
func stopKey(channel, ts string) string { return "slack:stop:" + channel + ":" + ts }

// runRotation ends streams before Slack does.
func (s *Slack) runRotation(ctx context.Context) {
	tick := time.NewTicker(max(s.timings.rotate/50, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, st := range s.active.startedBefore(s.now().Add(-s.timings.rotate)) {
			if err := st.close(ctx); err != nil && ctx.Err() == nil {
				s.log.WarnContext(ctx, "slack: stream not ended", "chat", st.to.Key(), "cause", err)
				st.mu.Lock()
				st.end()
				st.mu.Unlock()
			}
		}
	}
}

// streamDelta is what one call adds to a stream, and what the stream shows then.
type streamDelta struct {
	chunks []slackgo.StreamChunk
	streamView
}

func (st *stream) delta() streamDelta {
	g := streamDelta{streamView: st.streamView}
	g.shown = maps.Clone(st.shown)
	return g
}

// commit notes that a delta has been shown.
func (st *stream) commit(g streamDelta) { st.streamView = g.streamView }

// boardChunks is what a board adds: the plan's title, and the cards that have
// changed. Before there is a plan, a single card shows the status.
func (st *stream) boardChunks(b bot.Board) streamDelta {
	g := st.delta()
	status := cut(cmp.Or(oneLine(b.Status), oneLine(b.Title), "…"), maxCard)
	if status != g.title {
		g.title = status
		g.chunks = append(g.chunks, slackgo.NewPlanUpdateChunk(status))
	}
	if len(b.Items) == 0 && !g.planned {
		g.open = status
		g.card(beginCard, status, slackgo.TaskCardStatusInProgress)
		return g
	}
	g.planned = true
	g.close()
	for _, item := range b.Items {
		g.card(item.ID, describe(item, maxCard), cardStatus(item.State))
	}
	return g
}

// wordChunks is what a text adds.
func (st *stream) wordChunks(words string) streamDelta {
	g := st.delta()
	if words == "" {
		return g
	}
	g.close()
	g.text += words
	g.chunks = append(g.chunks, slackgo.NewMarkdownTextChunk(words))
	return g
}

// close ends the card of the time before a plan.
func (g *streamDelta) close() {
	if g.open != "" {
		g.card(beginCard, g.open, slackgo.TaskCardStatusComplete)
		g.open = ""
	}
}

// card adds a card or changes it. Everything that changes is in its title: Slack
// appends to the other texts of a card instead of replacing them.
func (g *streamDelta) card(id, title string, status slackgo.TaskCardStatus) {
	shown := string(status) + " " + title
	if g.shown[id] == shown {
		return
	}
	g.shown[id] = shown
	c := slackgo.NewTaskUpdateChunk(id, title)
	c.Status = status
	g.chunks = append(g.chunks, c)
}

func cardStatus(state string) slackgo.TaskCardStatus {
	return cmp.Or(map[string]slackgo.TaskCardStatus{
		"working": slackgo.TaskCardStatusInProgress, "waiting": slackgo.TaskCardStatusInProgress,
		"done": slackgo.TaskCardStatusComplete, "skipped": slackgo.TaskCardStatusComplete, "failed": slackgo.TaskCardStatusError,
	}[state], slackgo.TaskCardStatusPending)
}

// stablePrefix is the part of an unfinished text, in Slack's form, that stays the
// same when the text goes on: a stream cannot take back text.
func stablePrefix(d bot.Draft) string {
	d.Part = 0
	d.Text = stableText(d.Text)
	if strings.TrimSpace(d.Text) == "" {
		return ""
	}
	goesOn, anew := d, d
	goesOn.Text = markdown.Partial(d.Text + "x") // open markup ends well here,
	anew.Text += "\n\nz"                         // and means nothing here
	a, b := part(goesOn).rich, part(anew).rich
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n < len(a) && n > 0 && !utf8.RuneStart(a[n]) {
		n--
	}
	return strings.TrimRight(streamable(a[:n]), "\n ")
}

var (
	linkPattern     = regexp.MustCompile(`\[([^\[\]\n]+)\]\(https?://[^\s()]*\)`)
	codePattern     = regexp.MustCompile("`[^`\n]*`")
	autolinkPattern = regexp.MustCompile(`<(https?://[^\s<>` + "`" + `]*)>`)
)

// wordJoiner is what package markdown puts into code where Slack might read a
// mention.
const wordJoiner = "\u2060"

// streamable is Markdown as a stream may show it, with link texts in place of
// links: Slack fetches the pages of links, and only posted messages can switch
// that off. It ends before code that Markdown cannot carry as it is. The final
// message has the links and the code.
func streamable(markdown string) string {
	markdown = linkPattern.ReplaceAllString(markdown, "$1")
	markdown = autolinkPattern.ReplaceAllString(markdown, "`$1`")
	at := 0
	for line := range strings.Lines(markdown) {
		bare := codePattern.ReplaceAllString(line, "")
		if strings.Contains(bare, "://") || strings.Contains(bare, "www.") || strings.Contains(line, wordJoiner) {
			return markdown[:at] // a link of another form, or such code: the rest comes at the end
		}
		at += len(line)
	}
	return markdown
}

// stableText is the part of a text that does not end in a word, in a line with a tag, or
// in a table.
func stableText(text string) string {
	text = text[:strings.LastIndexAny(text, " \n")+1]
	for text != "" {
		start := strings.LastIndexByte(text[:len(text)-1], '\n') + 1
		line := text[start:]
		tag := strings.IndexByte(line, '<')
		switch {
		case strings.Contains(line, "|"):
			text = text[:start]
		case tag >= 0 && !strings.HasSuffix(line, "\n"):
			return text[:start+tag]
		default:
			return text
		}
	}
	return ""
}
