package slack

import (
	"strconv"
	"strings"
	"time"
)

// plain turns the text of a message as Slack writes it into what its author
// saw: mentions by name, links with their address, entities as characters. name
// returns the name of a person, or "". Mentions of bot, unless that is empty, are
// removed with the spaces around them.
func plain(text, bot string, name func(id string) string) string {
	var b strings.Builder
	for {
		start := strings.IndexByte(text, '<')
		if start < 0 {
			break
		}
		length := strings.IndexAny(text[start+1:], "<>")
		if length < 0 || text[start+1+length] == '<' {
			b.WriteString(text[:start+1]) // not markup: Slack writes a typed < as &lt;
			text = text[start+1:]
			continue
		}
		b.WriteString(text[:start])
		inner, rest := text[start+1:start+1+length], text[start+length+2:]
		if bot != "" && mentioned(inner) == bot {
			rest = strings.TrimLeft(rest, " ")
			if b.Len() == 0 {
				rest = strings.TrimLeft(rest, ",: ")
			}
		} else {
			b.WriteString(displayText(inner, name))
		}
		text = rest
	}
	b.WriteString(text)
	return strings.TrimSpace(unescape(b.String()))
}

// mentioned is the person that <inner> mentions; empty for none.
func mentioned(inner string) string {
	id, ok := strings.CutPrefix(inner, "@")
	if !ok {
		return ""
	}
	id, _, _ = strings.Cut(id, "|")
	return id
}

// mentions reports whether a text as Slack writes it mentions a person.
func mentions(text, id string) bool {
	return id != "" && (strings.Contains(text, "<@"+id+">") || strings.Contains(text, "<@"+id+"|"))
}

// displayText is what people see in place of <inner>
// (docs.slack.dev/messaging/formatting-message-text).
func displayText(inner string, name func(string) string) string {
	target, label, labelled := strings.Cut(inner, "|")
	switch {
	case strings.HasPrefix(target, "@"):
		if !labelled || label == "" {
			label = name(target[1:])
		}
		if label == "" {
			return target
		}
		return "@" + strings.TrimPrefix(label, "@")
	case strings.HasPrefix(target, "#"):
		if label == "" {
			return target
		}
		return "#" + strings.TrimPrefix(label, "#")
	case strings.HasPrefix(target, "!"):
		if label != "" {
			return label // <!subteam^S1|@ops>, <!date^1^{date}|19 May>
		}
		word, _, _ := strings.Cut(target[1:], "^")
		return "@" + word
	case target == "":
		return "<" + inner + ">"
	case label == "", label == target, "mailto:"+label == target, "tel:"+label == target, withoutScheme(label) == withoutScheme(target):
		return target
	default:
		return label + " (" + target + ")"
	}
}

// withoutScheme is an address without the parts that people do not type.
func withoutScheme(address string) string {
	address = strings.TrimPrefix(strings.TrimPrefix(address, "https://"), "http://")
	return strings.TrimSuffix(address, "/")
}

func unescape(text string) string {
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(text)
}

// cut shortens a text to at most limit characters.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	runes := 0
	for i := range text {
		if runes++; runes > limit {
			short := []rune(text[:i])
			return string(short[:limit-1]) + "…"
		}
	}
	return text
}

// command turns commands as people write them in threads and direct messages
// ("stop", "!status") into the form of all platforms ("/status").
func command(text string, private, thread bool) string {
	word := strings.ToLower(text)
	if private || thread {
		switch word {
		case "stop", "!stop":
			return "/stop"
		case "!status", "!retry", "!help", "!new", "!history", "!groups", "!settings", "!pause", "!resume":
			return "/" + word[1:]
		}
		switch verb, rest, _ := strings.Cut(text, " "); strings.ToLower(verb) {
		case "!task", "!plan", "!model", "!lang", "!timezone", "!forget", "!approvals", "!prompt", "!schedule", "!usage", "!connect", "!connections":
			return strings.TrimSpace("/" + strings.ToLower(verb[1:]) + " " + strings.TrimSpace(rest))
		}
	}
	if fields := strings.Fields(text); private && len(fields) == 2 && strings.EqualFold(fields[0], "claim") {
		return "/start " + fields[1]
	}
	return text
}

// timeOf is the time in a message's ts, "1700000000.000100"; zero when it has none.
func timeOf(ts string) time.Time {
	whole, fraction, _ := strings.Cut(ts, ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || len(fraction) > 6 {
		return time.Time{}
	}
	micros, err := strconv.ParseInt((fraction + "000000")[:6], 10, 64)
	if err != nil {
		micros = 0
	}
	return time.Unix(seconds, micros*1000)
}
