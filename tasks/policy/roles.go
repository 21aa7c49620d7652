package policy

import (
	"strings"
)

// Role is the role of a token.
type Role string

// The roles. Each of the first three may do what those before it may.
const (
	RoleViewer   Role = "viewer"   // read what its chats let it see
	RoleOperator Role = "operator" // start, steer and end tasks, and decide about approvals
	RoleAdmin    Role = "admin"    // extend budgets of all, read the audit log
	RoleAgent    Role = "agent"    // work on tasks as an outside agent; never decides
)

// Op is an operation that a role allows or not.
type Op string

// The operations.
const (
	OpRead      Op = "read"      // tasks, contexts, states, events
	OpStart     Op = "start"     // a task or a shared context
	OpAdd       Op = "add"       // a message to a context
	OpMerge     Op = "merge"     // keys into a shared state
	OpAnswer    Op = "answer"    // a task that agents from outside work on
	OpCancel    Op = "cancel"    // a task
	OpRetry     Op = "retry"     // a task that is over
	OpApprovals Op = "approvals" // list what waits for a person
	OpDecide    Op = "decide"    // about what waits for a person
	OpExtend    Op = "extend"    // budgets of others
	OpGroups    Op = "groups"    // list tool groups
	OpUsage     Op = "usage"     // read what was spent
	OpAudit     Op = "audit"     // read the audit log
	OpMetrics   Op = "metrics"   // read the metrics
)

// Ops lists all operations.
func Ops() []Op {
	return []Op{
		OpRead, OpStart, OpAdd, OpMerge, OpAnswer, OpCancel, OpRetry, OpApprovals, OpDecide, OpExtend, OpGroups, OpUsage, OpAudit, OpMetrics,
	}
}

// Words describes an operation in a sentence.
func (o Op) Words() string {
	switch o {
	case OpRead:
		return "read tasks"
	case OpStart:
		return "start tasks"
	case OpAdd:
		return "add messages"
	case OpMerge:
		return "change shared states"
	case OpAnswer:
		return "hand in answers"
	case OpCancel:
		return "cancel tasks"
	case OpRetry:
		return "retry tasks"
	case OpApprovals:
		return "list approvals"
	case OpDecide:
		return "decide about approvals"
	case OpExtend:
		return "extend budgets"
	case OpGroups:
		return "list groups"
	case OpUsage:
		return "read what was spent"
	case OpAudit:
		return "read the audit log"
	}
	return "read " + string(o)
}

// Right says with which tasks a role may do an operation. All of them must be
// visible to the token.
type Right uint8

// The rights.
const (
	Never Right = iota
	Own         // only with tasks that the token has started itself
	Always
)

// May is the table of all rights.
func (r Role) May(op Op) Right {
	switch r {
	case RoleAdmin:
		return Always
	case RoleOperator:
		if op == OpExtend || op == OpAudit {
			return Never
		}
		return Always
	case RoleViewer:
		switch op {
		case OpRead, OpApprovals, OpGroups, OpUsage, OpMetrics:
			return Always
		}
	case RoleAgent:
		switch op {
		case OpRead, OpStart, OpAdd, OpMerge, OpAnswer, OpGroups:
			return Always
		case OpCancel, OpRetry:
			return Own
		}
	}
	return Never
}

// AllowedRoles are the roles that may do an operation, at least with some tasks.
func AllowedRoles(op Op) string {
	var may []string
	for _, r := range Roles() {
		if r.May(op) != Never {
			may = append(may, string(r))
		}
	}
	return strings.Join(may, ", ")
}

// Roles lists all roles.
func Roles() []Role { return []Role{RoleViewer, RoleOperator, RoleAdmin, RoleAgent} }
