package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/policy/flow"
	"legwork/tools"
)

// ReasonLeaves is the reason of an approval for a call that can carry private data
// out.
const ReasonLeaves = "leaves"

// Judgement says whether a tool call needs a person's approval.
type Judgement struct {
	Ask    bool             // a person must allow exactly this call
	Person bool             // that person is the asker alone: the call uses their sign-in while they may not know of it
	Leaves []planner.Leaves // what the call can carry out
	Hash   string           // of tool, definition and arguments
	// Values is the hash of the arguments without the free parameters. A grant binds
	// it for calls that can carry private data out.
	Values string
}

// JudgeCall judges a call from the verdict of its tool. See package flow for the
// rule about calls that can carry data out. Before the task has read texts of
// outsiders, what a person wants is remembered without a question. read returns the
// Sources of the call's sub-task.
func JudgeCall(v *tasks.View, read func() []flow.Source, call planner.Call, verdict tools.Verdict, open flow.Open) Judgement {
	arguments := tasks.Arguments(call)
	server, tool, _ := strings.Cut(call.Tool, ".")
	free := func(parameter string) bool { return isFree(verdict.Free, parameter) }
	j := Judgement{Ask: verdict.Ask, Hash: callHash(call, verdict.Definition), Values: valuesHash(arguments, free)}
	if verdict.AskTainted && v.State.Tainted == 0 && !planner.ByAgent(planner.Event{By: v.Opening().From.Key()}) {
		j.Ask = false
	}
	if verdict.Identity == tools.IdentityPerson && actsUnasked(v, verdict.ActFor) {
		j.Ask, j.Person = true, true
	}
	if verdict.Never || !verdict.OpenWorld {
		return j
	}
	c := flow.Call{Server: server, ReadOnly: verdict.ReadOnly, Arguments: arguments, Schema: string(verdict.Schema), Free: free}
	for _, leak := range flow.Judge(read(), c, open) {
		leaves := planner.Leaves{Parameter: leak.Parameter, To: leak.To}
		if leaves.To == "" {
			leaves.To = server + "." + tool
		}
		for _, o := range leak.From {
			leaves.From = append(leaves.From, planner.Origin{Name: o.Name, Lines: o.Lines})
		}
		j.Leaves, j.Ask = append(j.Leaves, leaves), true
	}
	for _, parameter := range lending(arguments) {
		known := slices.ContainsFunc(j.Leaves, func(l planner.Leaves) bool { return l.Parameter == parameter })
		if !known && !free(parameter) {
			j.Leaves = append(j.Leaves, planner.Leaves{Parameter: parameter, To: server + "." + tool, From: []planner.Origin{{Name: OriginFile}}})
			j.Ask = true
		}
	}
	return j
}

// actsUnasked reports whether a task may use the asker's sign-in without their knowledge:
// in a run of a schedule, or after the words of other people. Allowed is where the admin
// lets it do so.
func actsUnasked(v *tasks.View, allowed []string) bool {
	asker := v.Opening().From.Key()
	byOther := func(e planner.Event) bool {
		switch e.Type {
		case planner.GuidanceAdded, planner.Joined:
			return e.By != "" && e.By != asker
		case planner.Decided: // an answer, or a changed plan
			return e.By != "" && e.By != asker && e.Action.Subject != planner.SubjectForm && (e.Decision.Text != "" || e.Reply != nil)
		}
		return false
	}
	return v.Opening().Intro != "" && !slices.Contains(allowed, tools.ActForSchedules) ||
		!slices.Contains(allowed, tools.ActForOthers) && slices.ContainsFunc(v.Events, byOther)
}

// lending lists the parameters with values that stand for files of people. They are
// private, also when a person has written the name of the file.
func lending(arguments json.RawMessage) (parameters []string) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(arguments, &fields) != nil {
		return nil
	}
	for name, value := range fields {
		if len(planner.LentFiles(value)) > 0 {
			parameters = append(parameters, name)
		}
	}
	slices.Sort(parameters)
	return parameters
}

// LeavesText says in one line, for programs, what a call can carry out.
func LeavesText(list []planner.Leaves) string {
	var values, from []string
	for _, l := range list {
		values = append(values, l.Parameter+" to "+l.To)
	}
	for _, o := range list[0].From {
		name := strings.TrimPrefix(o.Name, ":")
		switch {
		case o.Lines == 1:
			name += " (1 line of it here)"
		case o.Lines > 1:
			name += fmt.Sprintf(" (%d lines of it here)", o.Lines)
		}
		from = append(from, name)
	}
	return strings.Join(values, ", ") + "; private data was read from " + strings.Join(from, ", ")
}

// isFree reports whether the admin lets a parameter carry anything. A pattern fits a
// parameter and everything inside of it.
func isFree(patterns []string, parameter string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		for p := parameter; ; {
			if ok, _ := path.Match(pattern, p); ok {
				return true
			}
			i := strings.LastIndexByte(p, '.')
			if i < 0 {
				return false
			}
			p = p[:i]
		}
	})
}

// callHash binds an approval to one call. A different tool, definition or argument
// byte gives a different hash.
func callHash(call planner.Call, definition string) string {
	return hash(call.Tool, definition, string(tasks.Arguments(call)))
}

// valuesHash is the hash of arguments without the free parameters.
func valuesHash(arguments json.RawMessage, free func(string) bool) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(arguments, &fields) != nil {
		return hash(string(arguments))
	}
	for name := range fields {
		if free(name) && !strings.Contains(name, ".") { // a name with a dot is not inside of another
			delete(fields, name)
		}
	}
	rest, err := json.Marshal(fields)
	if err != nil {
		return hash(string(arguments))
	}
	return hash(string(rest))
}

func hash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

// Approved reports whether a person has allowed exactly this call.
func Approved(v *tasks.View, at planner.Place, j Judgement) bool {
	c := v.State.Call(at)
	if !c.Allowed {
		return false
	}
	q := v.Event(c.Approved).Question
	return q != nil && (!j.Person || q.Person != "") && slices.ContainsFunc(q.Calls, func(a planner.Approval) bool { return a.Call == at.Call && a.Hash == j.Hash })
}

// StandingGrant returns the name of the grant that covers a call, "task:SEQ" or
// "chat:ID", or "" when none does. A grant covers one definition of the tool, and
// calls that can carry private data out only with the values that were shown. A grant
// by an admin or a program's token is valid only while decides reports that the token
// may decide, or admin that the person is an admin.
func StandingGrant(v *tasks.View, tool, definition string, j Judgement, chat []tasks.ChatGrant, decides, admin func(person string) bool) string {
	covers := func(g planner.Grant) bool {
		return g.Tool == tool && g.Definition == definition && (len(j.Leaves) == 0 || g.Values == j.Values)
	}
	if j.Person { // others allow nothing in the asker's name
		decides = func(string) bool { return false }
		admin = func(person string) bool { return person == v.Opening().From.Key() }
	}
	for _, g := range v.State.Granted {
		if covers(g.Grant) && (g.By == v.Opening().From.Key() || decides(g.By) || admin(g.By)) {
			return fmt.Sprintf("task:%d", g.Seq)
		}
	}
	for _, g := range chat {
		if covers(g.Grant) && admin(g.By) {
			return "chat:" + g.ID
		}
	}
	return ""
}
