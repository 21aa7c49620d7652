package commands

import (
	"context"
	"slices"
	"strings"
	"time"

	"legwork/bot"
	"legwork/i18n"
	"legwork/internal/clip"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/inbox"
)

// Data of the buttons about a person's settings. The value follows; after
// pressCommand it is the name of a command.
const (
	pressCommand  = "c:"
	pressLanguage = "l:"
	pressModel    = "m:"
	pressZone     = "z:"
)

// langCommand changes the person's language, or lists the languages.
func langCommand(ctx context.Context, in *inbox.Inbox, r *inbox.Request, code string) (inbox.Reply, error) {
	var allowed []string
	var buttons []bot.Button
	for _, l := range i18n.Languages() {
		allowed = append(allowed, l.Code)
		buttons = append(buttons, bot.Button{Label: l.Name, Data: pressLanguage + l.Code})
		if !strings.EqualFold(l.Code, code) && !strings.EqualFold(l.Name, code) {
			continue
		}
		if err := in.Settings.Put(ctx, r.Message.From.Key(), tasks.SettingLanguage, l.Code); err != nil {
			return inbox.Reply{}, err
		}
		changed := *r
		changed.Lang = l.Code
		return in.ReplyText(&changed, "notice.language", map[string]any{"Name": l.Name}), nil
	}
	key := "error.no_language"
	if code == "" {
		key = "notice.language_now"
	}
	s := in.Notice(r, key, map[string]any{"Name": languageName(r.Lang), "Allowed": strings.Join(allowed, ", ")})
	s.Buttons = buttons
	return in.Reply(r, s), nil
}

func languageName(code string) string {
	for _, l := range i18n.Languages() {
		if l.Code == code {
			return l.Name
		}
	}
	return code
}

// defaultModel is the name by which a person chooses the models of the roles again.
const defaultModel = "default"

// modelCommand changes the model that answers the person, or lists the models.
func modelCommand(ctx context.Context, in *inbox.Inbox, r *inbox.Request, name string) (inbox.Reply, error) {
	chosen, ok := modelNamed(r.Rules.Models, name)
	if !ok {
		return listModels(ctx, in, r, name != "")
	}
	if err := in.Settings.Put(ctx, r.Message.From.Key(), tasks.SettingModel, chosen); err != nil {
		return inbox.Reply{}, err
	}
	answering, err := inbox.ModelName(ctx, in, r, chosen)
	if err != nil {
		return inbox.Reply{}, err
	}
	return in.ReplyText(r, "notice.model", map[string]any{"Name": answering}), nil
}

// modelNamed is the model that a person means by a name. It is empty for the usual one.
func modelNamed(models []string, name string) (model string, ok bool) {
	if slices.Contains(models, name) {
		return name, true
	}
	if strings.EqualFold(name, defaultModel) {
		return "", true
	}
	i := slices.IndexFunc(models, func(m string) bool { return strings.EqualFold(m, name) })
	if i < 0 {
		return "", false
	}
	return models[i], true
}

// listModels lists the models that the person can choose.
func listModels(ctx context.Context, in *inbox.Inbox, r *inbox.Request, unknown bool) (inbox.Reply, error) {
	chosen, err := in.Settings.Model(ctx, r)
	if err != nil {
		return inbox.Reply{}, err
	}
	answering, err := inbox.ModelName(ctx, in, r, chosen)
	if err != nil {
		return inbox.Reply{}, err
	}
	key := "notice.model_now"
	if unknown {
		key = "error.no_model"
	}
	if len(r.Rules.Models) < 2 {
		return in.ReplyText(r, "notice.model_only", map[string]any{"Name": answering}), nil
	}
	s := in.Notice(r, key, map[string]any{"Name": answering, "Allowed": strings.Join(r.Rules.Models, ", ")})
	for _, m := range r.Rules.Models {
		if data := pressModel + m; len(data) <= inbox.MaxPressData {
			s.Buttons = append(s.Buttons, bot.Button{Label: m, Data: data})
		}
	}
	s.Buttons = append(s.Buttons, in.Button(r.Lang, "button.usual", pressModel))
	return in.Reply(r, s), nil
}

// timezoneCommand changes the person's time zone, or shows it.
func timezoneCommand(ctx context.Context, in *inbox.Inbox, r *inbox.Request, name string) (inbox.Reply, error) {
	name = clip.Bytes(name, maxZone)
	if name == "" {
		zone, err := in.Settings.Timezone(ctx, r)
		if err != nil {
			return inbox.Reply{}, err
		}
		return in.ReplyText(r, "notice.timezone_now", map[string]any{"Name": zone, "Date": dateIn(in, zone)}), nil
	}
	zones, near := zonesNamed(in, name)
	switch len(zones) {
	case 0:
		return in.ReplyText(r, "error.no_timezone", map[string]any{"Name": cards.PlainText(name), "Near": near}), nil
	case 1:
		if err := in.Settings.Put(ctx, r.Message.From.Key(), tasks.SettingTimezone, zones[0]); err != nil {
			return inbox.Reply{}, err
		}
		return in.ReplyText(r, "notice.timezone", map[string]any{"Name": zones[0], "Date": dateIn(in, zones[0])}), nil
	}
	s := in.Notice(r, "error.which_timezone", map[string]any{"Name": cards.PlainText(name), "Allowed": strings.Join(zones, ", ")})
	for _, z := range zones {
		if data := pressZone + z; len(data) <= inbox.MaxPressData {
			s.Buttons = append(s.Buttons, bot.Button{Label: z, Data: data})
		}
	}
	return in.Reply(r, s), nil
}

// maxZone is the maximum length in bytes of a time zone's name.
const maxZone = 100

// zonesNamed finds the IANA zones that a name may mean.
func zonesNamed(in *inbox.Inbox, name string) (zones []string, near string) {
	if name != "Local" {
		if at, err := time.LoadLocation(name); err == nil {
			return []string{at.String()}, ""
		}
	}
	if in.Zones == nil {
		return nil, ""
	}
	return in.Zones(name)
}

// dateIn is the current time in a time zone.
func dateIn(in *inbox.Inbox, zone string) time.Time {
	at, err := time.LoadLocation(zone)
	if err != nil {
		at = time.UTC
	}
	return in.Wall().In(at)
}

// settingsCommand shows the person's settings.
func settingsCommand(ctx context.Context, in *inbox.Inbox, r *inbox.Request, _ string) (inbox.Reply, error) {
	zone, err := in.Settings.Timezone(ctx, r)
	if err != nil {
		return inbox.Reply{}, err
	}
	chosen, err := in.Settings.Model(ctx, r)
	if err != nil {
		return inbox.Reply{}, err
	}
	lines := []string{
		"- " + in.Texts.Text(r.Lang, "settings.language", map[string]any{"Name": languageName(r.Lang)}),
		"- " + in.Texts.Text(r.Lang, "settings.timezone", map[string]any{"Name": zone}),
	}
	buttons := []bot.Button{in.Button(r.Lang, "button.language", pressCommand+"lang")}
	if len(r.Rules.Models) > 1 {
		lines = append(lines, "- "+in.Texts.Text(r.Lang, "settings.model", map[string]any{"Name": chosen}))
		buttons = append(buttons, in.Button(r.Lang, "button.model", pressCommand+"model"))
	}
	lines = append(lines, "- "+in.Texts.Text(r.Lang, "settings.keys", map[string]any{"Person": cards.InCode(r.Message.From.Key()), "Chat": cards.InCode(r.Message.Chat.Room())}))
	return in.Reply(r, inbox.Notice{Draft: bot.Draft{Text: strings.Join(lines, "\n"), Buttons: buttons}}), nil
}

// pressedCommand runs a command that only shows something.
func pressedCommand(ctx context.Context, in *inbox.Inbox, r *inbox.Request, name string) (inbox.Reply, error) {
	switch name {
	case "lang":
		return langCommand(ctx, in, r, "")
	case "model":
		return modelCommand(ctx, in, r, "")
	}
	return in.ReplyText(r, "error.too_late", nil), nil
}

// pressedModel chooses a model; an empty name chooses the models of the roles.
func pressedModel(ctx context.Context, in *inbox.Inbox, r *inbox.Request, name string) (inbox.Reply, error) {
	if name == "" {
		name = defaultModel
	}
	return modelCommand(ctx, in, r, name)
}
