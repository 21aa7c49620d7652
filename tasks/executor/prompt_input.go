package executor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"legwork/bot"
	"legwork/files"
	"legwork/i18n"
	"legwork/internal/clip"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/policy"
	"legwork/tools"
)

// prompting makes the prompts of one action.
type prompting struct {
	x *Executor
	v *tasks.View
	a planner.Action
}

// request builds the request of the action, with at most so many bytes of messages if
// that is less than its model's context holds; 0: no other limit.
func (p prompting) request(ctx context.Context, most int) (llm.Request, []tools.Tool, error) {
	promptInput, tools, err := p.input(ctx)
	if err != nil {
		return llm.Request{}, nil, err
	}
	if most > 0 && (promptInput.MaxBytes == 0 || most < promptInput.MaxBytes) {
		promptInput.MaxBytes = most
	}
	request, err := planner.Prompt(p.v.State, p.v.Journal(ctx), p.a, promptInput)
	return request, tools, err
}

// Rebuild builds the request of a model action again. v is the task as it was then;
// settings, tools and the earlier conversation are as they are now. Request.Hash tells
// whether it is the request that was sent.
func (x *Executor) Rebuild(ctx context.Context, v *tasks.View, a planner.Action) (llm.Request, error) {
	request, _, err := prompting{x, v, a}.request(ctx, 0)
	return request, err
}

// input collects everything that a prompt needs besides the journal. The tools are those
// that the model can call.
func (p prompting) input(ctx context.Context) (planner.PromptInput, []tools.Tool, error) {
	x, v, a := p.x, p.v, p.a
	rules := x.rules.Load()
	promptInput := planner.PromptInput{Texts: x.Texts, Instructions: rules.Instructions, Vision: rules.HasVision, SharedState: rules.SharedState, Makes: rules.Makes, Delegate: rules.Delegate}
	if rules.HasVision {
		promptInput.Picture = func(id files.ID) ([]byte, bool) { return p.picture(ctx, id) }
	}
	if rules.PromptBytes != nil {
		promptInput.MaxBytes = rules.PromptBytes(a.Role)
	}
	settings, err := x.settings(ctx, v.Opening().Chat)
	if err != nil {
		return promptInput, nil, err
	}
	promptInput.ChatInstructions, promptInput.Model = settings.Instructions, settings.Model
	if chosen := v.Opening().Model; slices.Contains(rules.Models, chosen) {
		promptInput.Model = chosen
	}
	groups := x.groups(ctx, v)
	if a.Role == llm.RolePlan {
		x.awaitServers(ctx, groups)
		groups = x.groups(ctx, v)
	}
	promptInput.Groups = agents(groups)
	if err := p.addConversation(ctx, &promptInput); err != nil || a.Role != llm.RoleWork || a.Group == planner.LLMTool {
		return promptInput, nil, err
	}
	i := slices.IndexFunc(groups, func(g tools.Group) bool { return g.Name == a.Group })
	if i < 0 {
		promptInput.Missing = errRevoked.Error()
		return promptInput, nil, nil
	}
	promptInput.Model = cmp.Or(groups[i].Model, promptInput.Model)
	tools, err := x.Tools.Tools(ctx, a.Group, asker(v))
	if ctx.Err() != nil {
		return promptInput, nil, ctx.Err()
	}
	for _, g := range x.Tools.Groups() { // after Tools has waited for the servers: the instructions may hold a prompt of a server
		if g.Name == a.Group {
			promptInput.GroupInstructions, promptInput.LendsFiles = g.Instructions, g.Files
		}
	}
	if err != nil {
		x.Log.WarnContext(ctx, "tools are missing", "task", v.ID, "group", a.Group, "cause", err)
		promptInput.Missing = clip.Marked(err.Error(), 500)
	}
	tools, offered := p.offer(tools, promptInput.MaxBytes)
	for _, t := range offered {
		promptInput.Tools = append(promptInput.Tools, llm.Tool{Name: t.Exposed, Description: t.Description, Schema: t.Schema})
	}
	return promptInput, tools, nil
}

// maxPictureBytes is more than a picture has that was made for models.
const maxPictureBytes = 32 << 20

// picture reads a picture of a file. One that is no longer kept is left out.
func (p prompting) picture(ctx context.Context, id files.ID) (data []byte, ok bool) {
	data, err := p.x.contents.load(ctx, id, maxPictureBytes)
	if err != nil {
		p.x.Log.WarnContext(ctx, "picture not read", "task", p.v.ID, "cause", err)
	}
	return data, err == nil
}

// startTime is how long a plan waits for servers that are starting, all together.
const startTime = 3 * time.Second

// awaitServers waits for the servers of groups: what a prompt says of a group comes from
// them, and the later prompts of a task have to begin with the same words.
func (x *Executor) awaitServers(ctx context.Context, groups []tools.Group) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for _, g := range groups {
		_, _ = x.Tools.Tools(ctx, g.Name, "") // work reports the error
	}
}

// settings returns the configured settings of a chat.
func (x *Executor) settings(ctx context.Context, chat bot.Chat) (tasks.ChatSettings, error) {
	return tasks.SettingsOf(ctx, x.Store, x.rules.Load().ChatSettings, chat)
}

// groups lists the groups that the asker can use in the task's chat; none when the
// chat's settings cannot be read.
func (x *Executor) groups(ctx context.Context, v *tasks.View) []tools.Group {
	opening := v.Opening()
	settings, err := x.settings(ctx, opening.Chat)
	if err != nil {
		x.Log.ErrorContext(ctx, "listing groups of a chat failed", "task", v.ID, "cause", err)
		return nil
	}
	return policy.TaskGroups(x.Tools.Groups(), settings.Groups, opening, v.State.Tainted > 0)
}

// agents are groups as prompts describe them.
func agents(groups []tools.Group) []i18n.Group {
	list := make([]i18n.Group, 0, len(groups))
	for _, g := range groups {
		list = append(list, i18n.Group{Name: g.Name, Description: g.Description, ReadOnly: g.ReadOnly})
	}
	return list
}

// addConversation adds the earlier conversation to the input of a prompt.
func (p prompting) addConversation(ctx context.Context, promptInput *planner.PromptInput) (err error) {
	if p.a.Role != llm.RoleWork {
		if promptInput.Past, err = p.past(ctx, promptInput.MaxBytes); err != nil {
			return err
		}
	}
	if promptInput.EarlierFiles, err = p.earlierFiles(ctx); err != nil {
		return err
	}
	if p.a.Role == llm.RoleAnswer || p.a.Group == planner.LLMTool {
		return nil
	}
	found, err := p.x.earlier.list(ctx, p.v)
	for _, r := range found {
		promptInput.Earlier = append(promptInput.Earlier, r.Earlier)
	}
	return err
}

// past returns the earlier conversation of the task's chat: the summary, and the
// turns after it.
func (p prompting) past(ctx context.Context, maxBytes int) (planner.Past, error) {
	x, v := p.x, p.v
	opening, past := v.Opening(), planner.Past{}
	summary, err := x.Store.Summary(ctx, opening.Chat.Key())
	if err != nil {
		return past, fmt.Errorf("reading a summary: %w", err)
	}
	past.Summary, past.SummaryTainted, past.SummaryPrivate = summary.Text, summary.Tainted, summary.Private
	turns, err := x.Store.History(ctx, opening.Chat.Key(), v.ID, historyBudget(x.rules.Load(), maxBytes)*3/2)
	if err != nil {
		return past, fmt.Errorf("reading history: %w", err)
	}
	for _, t := range turns {
		if t.Order > summary.Until {
			past.History = append(past.History, planner.Exchange{
				Goal: t.Goal, Brought: t.Brought, Answer: t.Answer, Failed: t.Failed, Tainted: t.Tainted, Private: t.Private, Other: !sameAsker(opening, t),
			})
		}
	}
	return past, nil
}

// historyBudget returns how many bytes of earlier turns a prompt holds. maxBytes is
// the limit of the whole prompt; 0: no limit.
func historyBudget(rules *tasks.PromptRules, maxBytes int) int {
	if maxBytes > 0 {
		return min(rules.HistoryBytes, maxBytes/3)
	}
	return rules.HistoryBytes
}

// sameAsker reports whether the person who asks now also asked an earlier turn of
// the chat.
func sameAsker(opening *planner.Opening, t tasks.Turn) bool {
	return opening.Chat.Private || t.From == opening.From.Key()
}
