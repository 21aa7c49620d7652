package executor

import (
	"cmp"
	"context"
	"slices"

	"legwork/bot"
	"legwork/i18n"
	"legwork/internal/clip"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tools"
)

// promptInput gathers what the prompt needs of the world.
func (x *Executor) promptInput(ctx context.Context, v *tasks.View, a planner.Action) (planner.PromptInput, []tools.Tool, error) {
	rules := x.rules.Load()
	promptInput := planner.PromptInput{Texts: x.Texts, Instructions: rules.Instructions, Vision: rules.Sees}
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
	for _, g := range groups {
		promptInput.Groups = append(promptInput.Groups, i18n.Group{Name: g.Name, Description: g.Description})
	}
	if err := x.recall(ctx, v, a, &promptInput); err != nil || a.Role != llm.RoleWork || a.Group == planner.LLMTool {
		return promptInput, nil, err
	}
	i := slices.IndexFunc(groups, func(g tools.Group) bool { return g.Name == a.Group })
	if i < 0 {
		promptInput.Missing = errRevoked.Error()
		return promptInput, nil, nil
	}
	promptInput.Model = cmp.Or(groups[i].Model, promptInput.Model)
	tools, err := x.Tools.Tools(ctx, a.Group)
	if ctx.Err() != nil {
		return promptInput, nil, ctx.Err()
	}
	for _, g := range x.Tools.Groups() { // once its servers are there: a prompt of theirs may be among them
		if g.Name == a.Group {
			promptInput.GroupInstructions = g.Instructions
		}
	}
	if err != nil {
		x.Log.WarnContext(ctx, "tools are missing", "task", v.ID, "group", a.Group, "cause", err)
		promptInput.Missing = clip.Marked(err.Error(), 500)
	}
	tools, offered := x.offer(v, a.Place.Subtask, tools, promptInput.MaxBytes)
	for _, t := range offered {
		promptInput.Tools = append(promptInput.Tools, llm.Tool{Name: t.Exposed, Description: t.Description, Schema: t.Schema})
	}
	return promptInput, tools, nil
}

// settings are what the config says about a chat.
func (x *Executor) settings(ctx context.Context, chat bot.Chat) (tasks.ChatSettings, error) {
	return tasks.SettingsOf(ctx, x.Store, x.rules.Load().ChatSettings, chat)
}

// groups lists what the asker can use in the task's chat: nothing when that
// cannot be found out.
func (x *Executor) groups(ctx context.Context, v *tasks.View) []tools.Group {
	opening := v.Opening()
	settings, err := x.settings(ctx, opening.Chat)
	if err != nil {
		x.Log.ErrorContext(ctx, "the groups of a chat cannot be told", "task", v.ID, "cause", err)
		return nil
	}
	open := tasks.OpenGroups(x.Tools.Groups(), settings.Groups, opening.Chat, opening.From)
	if opening.Only != nil {
		open = slices.DeleteFunc(open, func(g tools.Group) bool { return !slices.Contains(opening.Only, g.Name) })
	}
	if v.State.Tainted > 0 && opening.Groups != nil { // what outsiders write opens nothing
		open = slices.DeleteFunc(open, func(g tools.Group) bool { return !slices.Contains(opening.Groups, g.Name) })
	}
	return open
}
