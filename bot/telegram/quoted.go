package telegram

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"legwork/bot"
)

// origin says who wrote a message that somebody passes on
// (core.telegram.org/bots/api#messageorigin).
type origin struct {
	Type       string `json:"type"`
	Date       int64  `json:"date"`
	User       *user  `json:"sender_user"`
	HiddenName string `json:"sender_user_name"`
	SenderChat *chat  `json:"sender_chat"`
	Chat       *chat  `json:"chat"` // of a channel
	Signature  string `json:"author_signature"`
}

// name is the display name of the author; empty when it is not known.
func (o origin) name() string {
	switch {
	case o.User != nil:
		return person(*o.User).Name
	case o.SenderChat != nil:
		return o.SenderChat.Title
	case o.Chat != nil:
		return o.Chat.Title
	}
	return cmp.Or(o.HiddenName, o.Signature)
}

// externalReply is the message that a message replies to in another chat
// (core.telegram.org/bots/api#externalreplyinfo). Its text comes as the quotation.
type externalReply struct {
	Origin origin `json:"origin"`
	media
}

// pointedAt lists what the author of a message points at: its own content when it
// is forwarded, and the message that it replies to, here or in another chat. Of a
// message in which the person selected words, only these count.
func (r reader) pointedAt(m message, replied *message) []bot.Quoted {
	by, selected := user{ID: authorID(m)}, ""
	if m.Quote != nil && (m.Quote.Manual || m.External != nil) {
		selected = strings.TrimSpace(m.Quote.Text)
	}
	var list []bot.Quoted
	if q := r.quote(m, user{}); m.forwarded() && (q.Text != "" || q.Facts != bot.Facts{}) {
		q.Files = nil // the message itself has them
		list = append(list, q)
	}
	var q bot.Quoted
	switch {
	case replied != nil && selected != "":
		q = r.quote(*replied, by)
		q.Text, q.Media, q.Facts = selected, "", bot.Facts{}
	case replied != nil:
		q = r.quote(*replied, by)
	case m.External != nil:
		q = r.quote(message{Origin: &m.External.Origin, Text: selected, media: m.External.media}, by)
	}
	if !q.Empty() {
		list = append(list, q)
	}
	return list
}

// quote is a message as one that the person by points at.
func (r reader) quote(m message, by user) bot.Quoted {
	text, _ := readable(m.Text+m.Caption, append(m.Entities, m.CaptionEntities...), user{})
	q := bot.Quoted{Text: text, At: date(m.Date), Pointed: true, Media: m.name()}
	q.Facts = m.facts(q.Media)
	switch {
	case m.forwarded():
		q.From, q.At, q.Own, q.Bot = m.Origin.name(), date(m.Origin.Date), r.wrote(m.Origin.User, by), r.wrote(m.Origin.User, r.me)
	case m.SenderChat != nil:
		q.From = m.SenderChat.Title
	case m.From != nil:
		q.From, q.Own = person(*m.From).Name, r.wrote(m.From, by)
		if q.Bot = r.isOwn(&m); q.Bot {
			q.ID = number(m.ID)
		}
	}
	if q.Files = r.quotedFiles(m, q.From, by); len(q.Files) > 0 {
		q.Media = ""
	}
	return q
}

// wrote reports whether the author of a message, which may be nil, is the bot or by.
func (r reader) wrote(author *user, by user) bool {
	return author != nil && (author.ID == r.me.ID || author.ID == by.ID)
}

// authorID is the id of the person who wrote a message; 0 where it was no person.
func authorID(m message) int64 {
	if m.From == nil || m.SenderChat != nil {
		return 0
	}
	return m.From.ID
}

// facts are what Telegram says about media that can be put into words; zero for
// other media, and for media in an unknown form.
func (m media) facts(kind string) bot.Facts {
	switch kind {
	case "location":
		return readFacts(m.Location, location.facts)
	case "venue":
		return readFacts(m.Venue, venue.facts)
	case "contact":
		return readFacts(m.Contact, contact.facts)
	case "poll":
		return readFacts(m.Poll, poll.facts)
	case "checklist":
		return readFacts(m.Checklist, checklist.facts)
	case "dice":
		return readFacts(m.Dice, func(d dice) bot.Facts { return bot.Facts{Name: fact(d.Emoji), Text: strconv.Itoa(d.Value)} })
	case "sticker":
		return readFacts(m.Sticker, func(s sticker) bot.Facts { return bot.Facts{Text: fact(s.Emoji)} })
	}
	return bot.Facts{}
}

func readFacts[T any](raw json.RawMessage, facts func(T) bot.Facts) bot.Facts {
	var v T
	if json.Unmarshal(raw, &v) != nil {
		return bot.Facts{}
	}
	return facts(v)
}

// maxFact is how much is read of one text in media, in UTF-16 code units.
const maxFact = 1000

func fact(s string) string { return oneLine(s, maxFact) }

// location holds its numbers as they were written.
type location struct {
	Latitude  json.Number `json:"latitude"`
	Longitude json.Number `json:"longitude"`
}

func (l location) facts() bot.Facts {
	if l.Latitude == "" || l.Longitude == "" {
		return bot.Facts{}
	}
	return bot.Facts{Text: l.Latitude.String() + ", " + l.Longitude.String()}
}

type venue struct {
	Location location `json:"location"`
	Title    string   `json:"title"`
	Address  string   `json:"address"`
}

func (v venue) facts() bot.Facts {
	return bot.Facts{Name: joined(", ", fact(v.Title), fact(v.Address)), Text: v.Location.facts().Text}
}

type contact struct {
	Phone     string `json:"phone_number"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
}

func (c contact) facts() bot.Facts {
	return bot.Facts{Name: fact(c.FirstName + " " + c.LastName), Text: fact(c.Phone)}
}

type poll struct {
	Question string `json:"question"`
	Voters   int    `json:"total_voter_count"`
	Options  []struct {
		Text   string `json:"text"`
		Voters int    `json:"voter_count"`
	} `json:"options"`
}

func (p poll) facts() bot.Facts {
	lines := make([]string, len(p.Options))
	for i, o := range p.Options {
		lines[i] = "- " + fact(o.Text)
		if p.Voters > 0 {
			lines[i] += " (" + strconv.Itoa(o.Voters) + ")"
		}
	}
	return bot.Facts{Name: fact(p.Question), Text: strings.Join(lines, "\n")}
}

type checklist struct {
	Title string `json:"title"`
	Tasks []struct {
		Text string `json:"text"`
		Done int64  `json:"completion_date"` // 0 for open tasks
	} `json:"tasks"`
}

func (c checklist) facts() bot.Facts {
	lines := make([]string, len(c.Tasks))
	for i, t := range c.Tasks {
		mark := "- [ ] "
		if t.Done != 0 {
			mark = "- [x] "
		}
		lines[i] = mark + fact(t.Text)
	}
	return bot.Facts{Name: fact(c.Title), Text: strings.Join(lines, "\n")}
}

type dice struct {
	Emoji string `json:"emoji"`
	Value int    `json:"value"`
}

type sticker struct {
	Emoji string `json:"emoji"`
}

// joined joins texts that are not empty.
func joined(separator string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), separator)
}
