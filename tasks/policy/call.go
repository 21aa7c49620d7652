package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"legwork/planner"
	"legwork/tasks"
	"legwork/tools"
)

// Judgement says whether a tool call needs a person's approval.
type Judgement struct {
	Ask    bool   // a person must allow exactly this call
	Reason string // an additional reason besides changes by the tool: ReasonHost or ReasonRecipient
	Detail string // the host or recipient that the reason is about
	Hash   string // of tool, definition and arguments
}

// JudgeCall judges a call from the verdict of its tool. Once the task has read
// texts of outsiders, a call to an unknown target needs approval, whatever is
// granted. Before that, what a person wants is remembered without a question.
func JudgeCall(v *tasks.View, call planner.Call, verdict tools.Verdict) Judgement {
	j := Judgement{Ask: verdict.Ask, Hash: callHash(call, verdict.Definition)}
	if verdict.AskTainted && v.State.Tainted == 0 && !planner.ByAgent(planner.Event{By: v.Opening().From.Key()}) {
		j.Ask = false
	}
	if v.State.Tainted > 0 && !verdict.Never {
		if j.Reason, j.Detail = UnknownTarget(v, call); j.Reason != "" {
			j.Ask = true
		}
	}
	return j
}

// callHash binds an approval to one call. A different tool, definition or argument
// byte gives a different hash.
func callHash(call planner.Call, definition string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{call.Tool, definition, string(tasks.Arguments(call))}, "\x00")))
	return hex.EncodeToString(sum[:])
}

// Approved reports whether a person has allowed exactly this call.
func Approved(v *tasks.View, at planner.Place, j Judgement) bool {
	c := v.State.Call(at)
	if !c.Allowed {
		return false
	}
	q := v.Event(c.Approved).Question
	return q != nil && slices.ContainsFunc(q.Calls, func(a planner.Approval) bool { return a.Call == at.Call && a.Hash == j.Hash })
}

// StandingGrant returns the name of the grant that covers a tool, "task:SEQ" or
// "chat:ID", or "" when none does. A grant covers one definition of the tool. A
// grant by an admin or a program's token is valid only while decides reports that
// the token may decide, or admin that the person is an admin.
func StandingGrant(v *tasks.View, tool, definition string, chat []tasks.ChatGrant, decides, admin func(person string) bool) string {
	covers := planner.Grant{Tool: tool, Definition: definition}
	for _, g := range v.State.Granted {
		if g.Grant == covers && (g.By == v.Opening().From.Key() || decides(g.By) || admin(g.By)) {
			return fmt.Sprintf("task:%d", g.Seq)
		}
	}
	for _, g := range chat {
		if g.Grant == covers && admin(g.By) {
			return "chat:" + g.ID
		}
	}
	return ""
}
