package telegram

import (
	"slices"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"legwork/bot"
)

// Files that a person sends together come as messages of their own with a common
// media_group_id (core.telegram.org/bots/api#message), mostly in one batch. The messages
// of an album in a batch are read as one message. Those that come later are further
// messages of the same second, which the inbox takes as parts of the question.

// maxAlbums is how many albums are remembered.
const maxAlbums = 1000

// albums remember the albums that this process has seen. They are safe for concurrent
// use.
type albums struct {
	mu   sync.Mutex
	seen *lru.Cache[string, album]
}

// album is what was seen of an album. Its slices are never changed, only replaced.
type album struct {
	files   []albumFile
	handled []int64 // messages that were handed on and stored
	heard   bool    // one of its messages was for the bot, so all of them are
}

type albumFile struct {
	message int64
	bot.Attachment
}

func newAlbums() *albums {
	cache, err := lru.New[string, album](maxAlbums)
	if err != nil {
		panic(err) // the size is positive
	}
	return &albums{seen: cache}
}

// albumKey names the album of a message; empty for none.
func albumKey(m message) string {
	if m.Album == "" {
		return ""
	}
	return number(m.Chat.ID) + "/" + m.Album
}

// join makes one update of the updates of an album. It has the place of the first one,
// and the id of the last one: after a kill Telegram may bring the same album with more
// messages, and the store must not take these for messages that it has. It leaves out
// messages that were handled before, which Telegram now and then brings again.
func (a *albums) join(updates []update) []update {
	var joined []update
	at := map[string]int{}
	for _, u := range updates {
		name := ""
		if u.Message != nil {
			name = albumKey(*u.Message)
		}
		i, begun := at[name]
		switch {
		case name == "":
			joined = append(joined, u)
		case !a.learn(name, *u.Message):
		case begun:
			joined[i] = update{ID: u.ID, Message: joined[i].Message.with(*u.Message)}
		default:
			at[name] = len(joined)
			joined = append(joined, u)
		}
	}
	return joined
}

// with is a message of an album with a further one. It has the id of the first message
// with a caption: that is the one which people edit.
func (m message) with(part message) *message {
	if len(m.album) == 0 {
		m.album = []message{m}
	}
	m.album = append(slices.Clip(m.album), part)
	switch {
	case part.Caption == "":
	case m.Caption == "":
		m.ID, m.Caption, m.CaptionEntities = part.ID, part.Caption, part.CaptionEntities
	default:
		before := units(m.Caption + "\n")
		m.Caption, m.CaptionEntities = m.Caption+"\n"+part.Caption, slices.Clone(m.CaptionEntities)
		for _, e := range part.CaptionEntities {
			e.Offset += before
			m.CaptionEntities = append(m.CaptionEntities, e)
		}
	}
	return &m
}

// learn remembers a message of an album. It is false when the message brings nothing:
// it was handled before, or goes on with an album and holds nothing that can be read.
func (a *albums) learn(name string, m message) (news bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	of, known := a.seen.Get(name)
	files := m.media.files()
	news = !slices.Contains(of.handled, m.ID) && (!known || len(files) > 0 || m.Caption != "")
	if !slices.ContainsFunc(of.files, func(f albumFile) bool { return f.message == m.ID }) {
		for _, f := range files {
			of.files = append(slices.Clip(of.files), albumFile{m.ID, f})
		}
	}
	a.seen.Add(name, of)
	return news
}

// hear notes that a message of an album was for the bot.
func (a *albums) hear(m message) {
	a.change(m, func(of *album) { of.heard = true })
}

// store notes that a message of an album, with those that were joined to it, is stored.
func (a *albums) store(m message) {
	a.change(m, func(of *album) {
		of.handled = append(slices.Clip(of.handled), m.ID)
		for _, part := range m.album {
			of.handled = append(of.handled, part.ID)
		}
	})
}

func (a *albums) change(m message, change func(*album)) {
	if m.Album == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	of, _ := a.seen.Get(albumKey(m))
	change(&of)
	a.seen.Add(albumKey(m), of)
}

// of is what was seen of a message's album.
func (a *albums) of(m message) album {
	if m.Album == "" {
		return album{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	of, _ := a.seen.Get(albumKey(m))
	return of
}
