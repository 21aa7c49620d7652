package tasks

import "legwork/planner"

// PromptRules are the configured rules for prompts and tasks.
type PromptRules struct {
	Instructions string                  // of the admin, for every prompt
	ChatSettings map[string]ChatSettings // by chat key: the chat's own settings; a thread without an entry has its chat's
	Models       []string                // names of configured models that a person may choose
	PromptBytes  func(role string) int   // the most that a prompt of a role may hold; nil or 0: no limit
	HasVision    bool                    // the role vision has a model
	HasHearing   bool                    // the role transcribe has a model
	SharedState  bool                    // offer the tools of the shared state in tasks that have none yet, too
	Delegate     bool                    // sub-tasks may delegate
	HistoryBytes int                     // of earlier questions and answers in a prompt; 0: 16 KiB
	Approvals    Approvals               // rules for questions to people
	Budget       BudgetRules             // rules for costs
	Trust        Trust                   // where tasks may send what they like
	Files        FileLimits              // limits of files
	Makes        *planner.Makes          // the files that can be made; nil: none
	Fonts        []string                // folders with fonts for made files, beside those of the system
	// AnswerMessages is how many messages an answer may have: of a longer one the chat gets
	// the first message, and a file with all of it. 0: no limit.
	AnswerMessages int
	Admins         []string // keys of the configured admins
	Deciders       []string // keys of the programs ("api:NAME") whose tokens let them decide about calls
}

// Trust are the destinations to which tasks may send what they like. Its fields are
// those of flow.Open.
type Trust struct {
	Hosts, Recipients []string
}

// FileLimits bound files, in bytes. 0: no limit.
type FileLimits struct {
	File    int64 // one file
	Message int64 // all files of one message
	Chat    int64 // all files that are kept for a chat
	All     int64 // all files that are kept
}

// ChatSettings are the configured settings of one chat. Zero values change nothing.
type ChatSettings struct {
	Instructions string   // of the admin, for the prompts of this chat
	Groups       []string // groups that the chat can use; empty: all
	Model        string   // configured model that replaces the models of the roles
}
