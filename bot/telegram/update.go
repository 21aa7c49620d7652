package telegram

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
)

// The kinds of update that legwork asks for (core.telegram.org/bots/api#update).
const allowedUpdates = `["message","edited_message","callback_query","my_chat_member"]`

// update is one of Telegram's updates: the fields that legwork reads.
type update struct {
	ID       int64     `json:"update_id"`
	Message  *message  `json:"message"`
	Edited   *message  `json:"edited_message"`
	Callback *callback `json:"callback_query"`
	Member   *member   `json:"my_chat_member"`
}

type user struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Username  string `json:"username"`
	Language  string `json:"language_code"`
	ReadsAll  bool   `json:"can_read_all_group_messages"` // of the bot itself
}

type chat struct {
	ID      int64  `json:"id"`
	Type    string `json:"type"` // private, group, supergroup, channel
	Title   string `json:"title"`
	IsForum bool   `json:"is_forum"`
}

type entity struct {
	Type   string `json:"type"`
	Offset int    `json:"offset"` // in UTF-16 code units, as Length
	Length int    `json:"length"`
	URL    string `json:"url"`  // of text_link
	User   *user  `json:"user"` // of text_mention
}

type message struct {
	ID         int64  `json:"message_id"`
	Thread     int64  `json:"message_thread_id"`
	InTopic    bool   `json:"is_topic_message"`
	From       *user  `json:"from"`
	SenderChat *chat  `json:"sender_chat"`
	Chat       chat   `json:"chat"`
	Date       int64  `json:"date"`
	EditDate   int64  `json:"edit_date"`
	Linked     bool   `json:"is_automatic_forward"` // a channel's post in its discussion group
	Album      string `json:"media_group_id"`

	Text            string   `json:"text"`
	Entities        []entity `json:"entities"`
	Caption         string   `json:"caption"`
	CaptionEntities []entity `json:"caption_entities"`

	Origin   *origin        `json:"forward_origin"` // of a forwarded message
	ReplyTo  *message       `json:"reply_to_message"`
	External *externalReply `json:"external_reply"` // to a message of another chat or topic
	OfStory  *struct{}      `json:"reply_to_story"`
	Quote    *quotation     `json:"quote"`

	MigrateTo int64 `json:"migrate_to_chat_id"`
	media

	album []message // the messages of an album that it stands for, see albums.join
}

// forwarded reports whether its author only passes it on.
func (m message) forwarded() bool { return m.Origin != nil }

// quotation is the part of the replied message that the person selected.
type quotation struct {
	Text   string `json:"text"`
	Manual bool   `json:"is_manual"`
}

// media is the content of a message other than text. A venue comes with a location,
// and an animation with a document: the first field counts.
type media struct {
	Animation json.RawMessage `json:"animation"`
	Audio     json.RawMessage `json:"audio"`
	Checklist json.RawMessage `json:"checklist"`
	Contact   json.RawMessage `json:"contact"`
	Dice      json.RawMessage `json:"dice"`
	Document  json.RawMessage `json:"document"`
	Game      json.RawMessage `json:"game"`
	Venue     json.RawMessage `json:"venue"`
	Location  json.RawMessage `json:"location"`
	Photo     json.RawMessage `json:"photo"`
	PaidMedia json.RawMessage `json:"paid_media"`
	Poll      json.RawMessage `json:"poll"`
	Rich      json.RawMessage `json:"rich_message"` // blocks in place of a text
	Sticker   json.RawMessage `json:"sticker"`
	Story     json.RawMessage `json:"story"`
	Video     json.RawMessage `json:"video"`
	VideoNote json.RawMessage `json:"video_note"`
	Voice     json.RawMessage `json:"voice"`
}

// name is the kind of media; empty when there is none, as in service messages.
func (m media) name() string {
	for kind, held := range reflect.ValueOf(m).Fields() {
		if content := held.Bytes(); len(content) > 0 && string(content) != "null" {
			return kind.Tag.Get("json")
		}
	}
	return ""
}

// fileName is the name of the media's file; empty when it has none.
func (m media) fileName() string {
	for _, held := range []json.RawMessage{m.Document, m.Audio, m.Video, m.Animation} {
		var file struct {
			Name string `json:"file_name"`
		}
		if json.Unmarshal(held, &file) == nil && file.Name != "" {
			return file.Name
		}
	}
	return ""
}

type callback struct {
	ID      string   `json:"id"`
	From    user     `json:"from"`
	Message *message `json:"message"` // only chat and id when it became inaccessible
	Data    string   `json:"data"`
}

type member struct {
	Chat chat `json:"chat"`
	New  struct {
		Status string `json:"status"`
	} `json:"new_chat_member"`
}

// batch is what one poll brought.
type batch struct {
	updates []update
	broken  []error // of updates that cannot be read
	next    int64   // offset that confirms all of them
}

// readBatch reads the result of a poll that began at offset. The offset also
// moves past updates that cannot be read, so that they do not block later ones.
// After a week without updates, Telegram begins with other ids
// (core.telegram.org/bots/api#update). The offset follows them down: one that is
// too high confirms nothing, and the same updates would come again and again.
func readBatch(raw []json.RawMessage, offset int64) batch {
	b := batch{next: offset}
	last := int64(0)
	for _, one := range raw {
		u, err := readUpdate(one)
		if err != nil {
			b.broken = append(b.broken, err)
		} else {
			b.updates = append(b.updates, u)
		}
		last = max(last, u.ID)
	}
	switch {
	case last > 0:
		b.next = min(last, math.MaxInt64-1) + 1
	case len(raw) > 0 && offset > 0:
		b.next++ // no readable id: the first update that is left has this one
	}
	return b
}

// readUpdate reads one update. The id is set as well when the rest cannot be
// read, if it has one.
func readUpdate(raw []byte) (update, error) {
	var u update
	err := json.Unmarshal(raw, &u)
	if err == nil && u.ID > 0 {
		return u, nil
	}
	if err == nil {
		err = errors.New("it has no update_id")
	}
	var head struct {
		ID json.Number `json:"update_id"`
	}
	if json.Unmarshal(raw, &head) == nil {
		id, _ := head.ID.Int64() // 0 when it is no number
		return update{ID: max(id, 0)}, fmt.Errorf("reading update %d: %w", id, err)
	}
	return update{}, fmt.Errorf("reading update: %w", err)
}
