package tasks

// PromptRules are what the config says about prompts.
type PromptRules struct {
	Instructions string                  // the admin's, for every prompt
	ChatSettings map[string]ChatSettings // by chat key: the chat's own settings; a thread without an entry has its chat's
	Models       []string                // configured ones that a person may choose
	PromptBytes  func(role string) int   // what a prompt of that role may hold; nil or 0: no limit
	HasVision    bool                    // there is a model of the role vision
	HistoryBytes int                     // of earlier questions and answers in a prompt; 0: 16 KiB
	Approvals    Approvals               // how people are asked
	Budget       BudgetRules             // what tasks may cost
	Admins       []string                // keys of the admins that the config names
	Deciders     []string                // keys of the programs ("api:NAME") whose tokens let them decide about calls
}

// ChatSettings is what is special about one chat; zero values change nothing.
type ChatSettings struct {
	Instructions string   // the admin's, for the prompts of this chat
	Groups       []string // that can be used in it; none named means all
	Model        string   // configured model in place of the roles'
}
