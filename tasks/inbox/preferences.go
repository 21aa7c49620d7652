package inbox

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
)

// What the buttons about a person's settings carry; the value follows, or for
// the first the name of a command.
const (
	pressCommand  = "c:"
	pressLanguage = "l:"
	pressModel    = "m:"
	pressZone     = "z:"
)

// langCommand changes the person's language, or tells which there are.
func langCommand(ctx context.Context, in *Inbox, r *Request, code string) (Reply, error) {
	var allowed []string
	var buttons []bot.Button
	for _, l := range i18n.Languages() {
		allowed = append(allowed, l.Code)
		buttons = append(buttons, bot.Button{Label: l.Name, Data: pressLanguage + l.Code})
		if !strings.EqualFold(l.Code, code) && !strings.EqualFold(l.Name, code) {
			continue
		}
		if err := in.put(ctx, r.Message.From.Key(), tasks.SettingLanguage, l.Code); err != nil {
			return Reply{}, err
		}
		changed := *r
		changed.Lang = l.Code
		return in.replyText(&changed, "notice.language", map[string]any{"Name": l.Name}), nil
	}
	key := "error.no_language"
	if code == "" {
		key = "notice.language_now"
	}
	s := in.notice(r, key, map[string]any{"Name": languageName(r.Lang), "Allowed": strings.Join(allowed, ", ")})
	s.Buttons = buttons
	return in.reply(r, s), nil
}

func languageName(code string) string {
	for _, l := range i18n.Languages() {
		if l.Code == code {
			return l.Name
		}
	}
	return code
}

// usualModel is what a person writes to go back to the roles' models.
const usualModel = "default"

// modelCommand changes which model answers the person, or tells which there are.
func modelCommand(ctx context.Context, in *Inbox, r *Request, name string) (Reply, error) {
	models := r.Rules.Models
	if strings.EqualFold(name, usualModel) && !slices.Contains(models, name) {
		if err := in.put(ctx, r.Message.From.Key(), tasks.SettingModel, ""); err != nil {
			return Reply{}, err
		}
		return in.replyText(r, "notice.model_usual", nil), nil
	}
	same := func(m string) bool { return m == name }
	if !slices.Contains(models, name) {
		same = func(m string) bool { return strings.EqualFold(m, name) }
	}
	if i := slices.IndexFunc(models, same); i >= 0 {
		if err := in.put(ctx, r.Message.From.Key(), tasks.SettingModel, models[i]); err != nil {
			return Reply{}, err
		}
		return in.replyText(r, "notice.model", map[string]any{"Name": models[i]}), nil
	}
	return tellModels(ctx, in, r, name != "")
}

// tellModels tells which models there are.
func tellModels(ctx context.Context, in *Inbox, r *Request, unknown bool) (Reply, error) {
	chosen, err := chosenModel(ctx, in, r)
	if err != nil {
		return Reply{}, err
	}
	key := "notice.model_now"
	if unknown {
		key = "error.no_model"
	}
	if len(r.Rules.Models) < 2 {
		return in.replyText(r, "notice.model_only", nil), nil
	}
	s := in.notice(r, key, map[string]any{"Name": chosen, "Allowed": strings.Join(r.Rules.Models, ", ")})
	for _, m := range r.Rules.Models {
		if data := pressModel + m; len(data) <= maxPress {
			s.Buttons = append(s.Buttons, bot.Button{Label: m, Data: data})
		}
	}
	s.Buttons = append(s.Buttons, in.button(r.Lang, "button.usual", pressModel))
	return in.reply(r, s), nil
}

// chosenModel is what the person has chosen, as long as it is configured; empty
// for the usual one.
func chosenModel(ctx context.Context, in *Inbox, r *Request) (string, error) {
	chosen, err := in.setting(ctx, r.Message.From.Key(), tasks.SettingModel)
	if err != nil || !slices.Contains(r.Rules.Models, chosen) {
		return "", err
	}
	return chosen, nil
}

// timezoneCommand changes the person's time zone, or tells which it is.
func timezoneCommand(ctx context.Context, in *Inbox, r *Request, name string) (Reply, error) {
	name = clip.Bytes(name, maxZone)
	if name == "" {
		zone, err := in.timezone(ctx, r)
		if err != nil {
			return Reply{}, err
		}
		return in.replyText(r, "notice.timezone_now", map[string]any{"Name": zone, "Date": dateIn(in, zone)}), nil
	}
	zones, near := zonesNamed(in, name)
	switch len(zones) {
	case 0:
		return in.replyText(r, "error.no_timezone", map[string]any{"Name": cards.PlainText(name), "Near": near}), nil
	case 1:
		if err := in.put(ctx, r.Message.From.Key(), tasks.SettingTimezone, zones[0]); err != nil {
			return Reply{}, err
		}
		return in.replyText(r, "notice.timezone", map[string]any{"Name": zones[0], "Date": dateIn(in, zones[0])}), nil
	}
	s := in.notice(r, "error.which_timezone", map[string]any{"Name": cards.PlainText(name), "Allowed": strings.Join(zones, ", ")})
	for _, z := range zones {
		if data := pressZone + z; len(data) <= maxPress {
			s.Buttons = append(s.Buttons, bot.Button{Label: z, Data: data})
		}
	}
	return in.reply(r, s), nil
}

// maxZone is how much of a time zone's name is read, in bytes.
const maxZone = 100

// zonesNamed finds the IANA zones that a name means.
func zonesNamed(in *Inbox, name string) (zones []string, near string) {
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

// dateIn is the present moment in a time zone.
func dateIn(in *Inbox, zone string) time.Time {
	at, err := time.LoadLocation(zone)
	if err != nil {
		at = time.UTC
	}
	return in.Wall().In(at)
}

// settingsCommand tells what the person has set.
func settingsCommand(ctx context.Context, in *Inbox, r *Request, _ string) (Reply, error) {
	zone, err := in.timezone(ctx, r)
	if err != nil {
		return Reply{}, err
	}
	chosen, err := chosenModel(ctx, in, r)
	if err != nil {
		return Reply{}, err
	}
	lines := []string{
		"- " + in.Texts.Text(r.Lang, "settings.language", map[string]any{"Name": languageName(r.Lang)}),
		"- " + in.Texts.Text(r.Lang, "settings.timezone", map[string]any{"Name": zone}),
	}
	buttons := []bot.Button{in.button(r.Lang, "button.language", pressCommand+"lang")}
	if len(r.Rules.Models) > 1 {
		lines = append(lines, "- "+in.Texts.Text(r.Lang, "settings.model", map[string]any{"Name": chosen}))
		buttons = append(buttons, in.button(r.Lang, "button.model", pressCommand+"model"))
	}
	return in.reply(r, Notice{Draft: bot.Draft{Text: strings.Join(lines, "\n"), Buttons: buttons}}), nil
}
