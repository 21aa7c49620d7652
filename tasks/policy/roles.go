package policy

import (
	"slices"
	"strings"
)

// Role is the role of a token, or of a person at the page.
type Role string

// The roles. Operators may do everything that viewers may, and admins everything
// that operators may.
const (
	RoleViewer   Role = "viewer"   // read the tasks that its chats make visible
	RoleOperator Role = "operator" // start, steer and end tasks, and decide about approvals
	RoleAdmin    Role = "admin"    // extend budgets of all, read the audit log, change the config file
	RoleAgent    Role = "agent"    // work on tasks as an outside agent; never decides
	RolePerson   Role = "person"   // what a person may do in chats: see, steer and decide about their own tasks
)

// Op is an operation that needs a right.
type Op string

// The operations.
const (
	OpRead      Op = "read"      // tasks, contexts, states, events
	OpValues    Op = "values"    // read what people entered into forms of servers
	OpStart     Op = "start"     // a task or a shared context
	OpAdd       Op = "add"       // a message to a context
	OpMerge     Op = "merge"     // keys into a shared state
	OpAnswer    Op = "answer"    // a task for outside agents
	OpCancel    Op = "cancel"    // a task
	OpRetry     Op = "retry"     // a task that has ended
	OpApprovals Op = "approvals" // list open approvals and questions
	OpDecide    Op = "decide"    // about approvals and questions
	OpExtend    Op = "extend"    // budgets of others
	OpGroups    Op = "groups"    // list tool groups
	OpUsage     Op = "usage"     // read the usage
	OpAudit     Op = "audit"     // read the audit log
	OpMetrics   Op = "metrics"   // read the metrics

	OpServers   Op = "servers"   // see how tool servers and models work, and their errors
	OpHealth    Op = "health"    // see the state of the process: parts, store, backups, alerts
	OpSchedules Op = "schedules" // list schedules
	OpSchedule  Op = "schedule"  // pause, resume, delete and run schedules
	OpTools     Op = "tools"     // accept changed tools and try tools
	OpPeople    Op = "people"    // see and decide who may talk to legwork
	OpConfig    Op = "config"    // read and change the config file
	OpInspect   Op = "inspect"   // read the prompts of a task
	OpOutline   Op = "outline"   // have a model sum a task up, which costs money

	OpConnections Op = "connections" // list the servers at which people sign in
	OpConnect     Op = "connect"     // sign in and out at servers in the own name
	OpSignIns     Op = "sign_ins"    // see and end the sign-ins of others, and change those that everybody shares
)

// Ops lists all operations.
func Ops() []Op {
	return []Op{
		OpRead, OpValues, OpStart, OpAdd, OpMerge, OpAnswer, OpCancel, OpRetry, OpApprovals, OpDecide, OpExtend, OpGroups, OpUsage, OpAudit, OpMetrics,
		OpServers, OpHealth, OpSchedules, OpSchedule, OpTools, OpPeople, OpConfig, OpInspect, OpOutline,
		OpConnections, OpConnect, OpSignIns,
	}
}

// Words describes an operation in error texts.
func (o Op) Words() string {
	switch o {
	case OpRead:
		return "read tasks"
	case OpValues:
		return "read values of forms"
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
		return "read the usage"
	case OpAudit:
		return "read the audit log"
	case OpServers:
		return "see servers and models"
	case OpHealth:
		return "see the health of the process"
	case OpSchedules:
		return "list schedules"
	case OpSchedule:
		return "change schedules"
	case OpTools:
		return "accept and try tools"
	case OpPeople:
		return "decide who has access"
	case OpConfig:
		return "read and change the config file"
	case OpInspect:
		return "read the prompts of tasks"
	case OpOutline:
		return "have tasks summed up"
	case OpConnections:
		return "list sign-ins at servers"
	case OpConnect:
		return "sign in and out at servers"
	case OpSignIns:
		return "change the sign-ins of others at servers, and those that everybody shares"
	}
	return "read " + string(o)
}

// Right says for which of the tasks that a caller can see a role may do an
// operation.
type Right uint8

// The rights.
const (
	Never Right = iota
	Own         // only for tasks that the caller has started
	Always
)

// May is the table of all rights.
func (r Role) May(op Op) Right {
	switch r {
	case RoleAdmin:
		return Always
	case RoleOperator:
		switch op {
		case OpExtend, OpAudit, OpTools, OpPeople, OpConfig, OpSignIns:
			return Never
		case OpSchedule:
			return Own
		}
		return Always
	case RoleViewer:
		switch op {
		case OpRead, OpApprovals, OpGroups, OpUsage, OpMetrics, OpSchedules, OpInspect, OpConnections:
			return Always
		}
	case RoleAgent:
		switch op {
		case OpRead, OpStart, OpAdd, OpMerge, OpAnswer, OpGroups:
			return Always
		case OpValues, OpCancel, OpRetry:
			return Own
		}
	case RolePerson:
		switch op {
		case OpGroups, OpConnections, OpConnect:
			return Always
		case OpRead, OpValues, OpAdd, OpMerge, OpCancel, OpRetry, OpApprovals, OpDecide, OpUsage, OpSchedules, OpSchedule, OpOutline:
			return Own
		}
	}
	return Never
}

// Lesser returns the role with fewer rights of two, empty if each has a right that the
// other has not.
func (r Role) Lesser(other Role) Role {
	within := func(a, b Role) bool {
		return !slices.ContainsFunc(Ops(), func(op Op) bool { return a.May(op) > b.May(op) })
	}
	switch {
	case within(r, other):
		return r
	case within(other, r):
		return other
	}
	return ""
}

// AllowedRoles lists the roles that may do an operation, at least for some tasks.
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
func Roles() []Role { return []Role{RoleViewer, RoleOperator, RoleAdmin, RoleAgent, RolePerson} }
