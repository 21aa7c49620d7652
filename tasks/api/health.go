package api

import (
	"cmp"
	"context"
	"slices"

	"legwork/tasks/policy"
)

// Model is a language model of the config.
type Model struct {
	Name      string         `json:"name" doc:"Its name in the config."`
	Model     string         `json:"model" doc:"The endpoint's name of it."`
	Endpoint  string         `json:"endpoint" doc:"Host of the endpoint; empty for the offline stand-in."`
	Offline   bool           `json:"offline,omitempty" doc:"A stand-in that needs no endpoint."`
	Roles     []string       `json:"roles" doc:"The roles that it has."`
	Fallback  []string       `json:"fallback" doc:"Models that are tried in this order when it cannot answer."`
	Context   int            `json:"context_tokens" doc:"Tokens that prompt and reply may hold together."`
	MaxOutput int            `json:"max_output_tokens" doc:"Tokens of one reply."`
	Price     *Price         `json:"price,omitempty" doc:"In US dollars. Omitted: not known."`
	Down      bool           `json:"down" doc:"It failed several times in succession. Calls go to its fallbacks, and from time to time one call tries it."`
	RoleDown  bool           `json:"role_down,omitempty" doc:"A role has no model left: this one and all its fallbacks are down."`
	Since     Time           `json:"since" doc:"Start of this state."`
	Problem   string         `json:"problem,omitempty" doc:"Kind of the last failure, while it is down."`
	Cause     string         `json:"cause,omitempty" doc:"The last failure, while it is down."`
	Hint      string         `json:"hint,omitempty" doc:"What an admin can do about it."`
	Calls     map[string]int `json:"calls" doc:"Calls since legwork started, by outcome: 'ok', 'given_up' or a problem."`
	Attempts  map[string]int `json:"attempts" doc:"Requests to the endpoint since legwork started, by outcome. A call has one or more."`
	Latency   Latency        `json:"latency" doc:"Durations of calls, with all attempts."`
	First     Latency        `json:"first_token" doc:"From a request to the first piece of its reply."`
}

// Price is the price of a model.
type Price struct {
	Input       float64  `json:"input" doc:"Per million tokens of prompt."`
	CachedInput *float64 `json:"cached_input,omitempty" nullable:"false" doc:"Per million tokens of prompt that the endpoint had cached."`
	Output      float64  `json:"output" doc:"Per million tokens of reply."`
	Image       *float64 `json:"image,omitempty" nullable:"false" doc:"Per picture."`
	AudioMinute *float64 `json:"audio_minute,omitempty" nullable:"false" doc:"Per minute of audio."`
	Speech1K    *float64 `json:"speech_1k,omitempty" nullable:"false" doc:"Per 1,000 spoken characters."`
}

// Models lists the models with what was counted about them, by name.
func (o *Operations) Models(_ context.Context, p Principal) ([]Model, error) {
	if err := o.allowed(p, policy.OpServers); err != nil {
		return nil, err
	}
	uses, list := o.ReadUses(), o.ReadModels()
	for i, m := range list {
		use := uses.Models[m.Name]
		list[i].Calls, list[i].Attempts = counts(use.Calls), counts(use.Attempts)
		list[i].Latency, list[i].First = latencyOf(use.Time), latencyOf(use.FirstToken)
	}
	slices.SortFunc(list, func(a, b Model) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// counts are counts that are never null in JSON.
func counts(by map[string]int) map[string]int {
	if by == nil {
		return map[string]int{}
	}
	return by
}

// Health is the state of the process and of its data.
type Health struct {
	Version string       `json:"version" doc:"Version of legwork."`
	Commit  string       `json:"commit,omitempty" doc:"Its commit."`
	Started Time         `json:"started_at" doc:"Start of the process."`
	Ready   bool         `json:"ready" doc:"legwork can hear and keep what people want, as '/readyz' says."`
	Paused  string       `json:"paused,omitempty" doc:"Who has paused everything, and since when."`
	Parts   []HealthPart `json:"parts" doc:"The parts of the process, by name."`
	Store   StoreHealth  `json:"store" doc:"The stored data."`
	Backups Backups      `json:"backups" doc:"The backups of the data."`
	Alerts  AlertHealth  `json:"alerts" doc:"What admins and webhooks were told."`
	Queue   Queue        `json:"queue" doc:"The work that is to be done."`
	Budgets []DayBudget  `json:"budgets" doc:"Budgets of the whole process for today."`
}

// HealthPart is the state of a part of the process.
type HealthPart struct {
	Name    string `json:"name" doc:"'store', 'disk', 'work', 'models', 'servers', or a platform."`
	State   string `json:"state" enum:"ok,degraded,down" doc:"'degraded': legwork can work in spite of it."`
	Problem string `json:"problem,omitempty" doc:"What does not work."`
}

// StoreHealth is the size of the stored data.
type StoreHealth struct {
	Type  string `json:"type" doc:"'bolt' or 'postgres'."`
	Bytes int64  `json:"bytes" doc:"Size of the data."`
	Files int64  `json:"file_bytes" doc:"Size of the contents of files."`
}

// Backups are the backups of the data.
type Backups struct {
	EverySeconds int64    `json:"every_seconds" doc:"Time between two backups; 0: none are made."`
	Keep         int      `json:"keep" doc:"How many are kept."`
	Items        []Backup `json:"items" doc:"The backups, the newest first. Each was read again and is good."`
}

// Backup is a backup of a data file.
type Backup struct {
	Name  string `json:"name" doc:"Name of its file."`
	At    Time   `json:"at" doc:"When it was made."`
	Bytes int64  `json:"bytes" doc:"Its size."`
}

// AlertHealth is what admins and webhooks were told.
type AlertHealth struct {
	Webhooks []string `json:"webhooks" doc:"Names of the webhooks."`
	Waiting  int      `json:"waiting" doc:"Deliveries that are due and have not arrived."`
	OldestS  float64  `json:"oldest_seconds" doc:"For how long the first of them has been queued."`
	Recent   []Alert  `json:"recent" doc:"The newest alerts since legwork started, the newest first."`
}

// Alert is an alert.
type Alert struct {
	At      Time   `json:"at" doc:"When."`
	Kind    string `json:"kind" doc:"Its kind: 'server.down', 'task.failed', ..."`
	Task    string `json:"task,omitempty" doc:"The task concerned."`
	Summary string `json:"summary" doc:"What happened, in a sentence."`
	Problem string `json:"problem,omitempty" doc:"The reason."`
}

// Queue is the work that is to be done.
type Queue struct {
	Tasks      map[string]int `json:"tasks" doc:"Tasks in the store by state."`
	Slots      int            `json:"slots" doc:"How many tasks may work at once."`
	Working    int            `json:"working" doc:"Tasks that are in hand."`
	WaitingS   float64        `json:"waiting_seconds" doc:"For how long the first of the tasks that wait for a slot has waited; 0: none waits."`
	Approvals  int            `json:"approvals" doc:"Tasks that wait for a person."`
	ApprovalsS float64        `json:"approvals_oldest_seconds" doc:"For how long the first of them has waited."`
}

// DayBudget is a budget of the whole process for today.
type DayBudget struct {
	Name  string  `json:"name" doc:"Its key in the config."`
	Unit  string  `json:"unit" enum:"usd,tokens" doc:"What it counts."`
	Limit float64 `json:"limit" doc:"The limit, with what people have added to it."`
	Spent float64 `json:"spent" doc:"What was spent today."`
}

// Health returns the health of the process.
func (o *Operations) Health(ctx context.Context, p Principal) (Health, error) {
	if err := o.allowed(p, policy.OpHealth); err != nil {
		return Health{}, err
	}
	return o.ReadHealth(ctx)
}
