package web

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"legwork/bot"
)

// hub gives changes to the streams that are open. A slow reader delays no other one: it
// has a list of what changed since its last event, in which the newest form of a post
// takes the place of earlier ones. The zero value is ready.
type hub struct {
	lanes   bot.Lanes // by the key of the person
	mu      sync.Mutex
	readers map[string]map[*reader]bool // by the key of the person
	growing map[place]*change           // answers whose text is not stored yet
}

// place names a post.
type place struct{ conversation, id string }

// change is the newest form of a post, or that all posts of a conversation are gone.
type change struct {
	place
	owner string
	post  Post
	gone  bool
	whole bool // gone: so is the conversation
	read  bool // the person has read the conversation up to the Seq of post
	grows bool // its text is not stored as it is
	// Of a growing answer: text is replaced, and not only longer, when base changes.
	// units is the length of its text in UTF-16, as browsers count.
	base, units int
	encoded     func() []byte // the post in JSON, made once for all readers
}

func newChange(owner string, p Post) *change {
	return &change{place: place{p.Conversation, p.ID}, owner: owner, post: p, encoded: sync.OnceValue(func() []byte {
		text, err := json.Marshal(p)
		if err != nil {
			return []byte("{}") // the values were read from JSON
		}
		return text
	})}
}

// units is the length of a text in UTF-16.
func units(text string) (n int) {
	for _, c := range text {
		if n++; c > 0xffff {
			n++
		}
	}
	return n
}

// reader is one stream of events. The hub's lock guards its fields.
type reader struct {
	wake    chan struct{} // has a value when something changed
	changed map[place]*change
}

// join adds a reader. It also returns the answers of the person that grow.
func (h *hub) join(owner string) (r *reader, growing []*change, leave func()) {
	r = &reader{wake: make(chan struct{}, 1), changed: map[place]*change{}}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.readers == nil {
		h.readers = map[string]map[*reader]bool{}
	}
	if h.readers[owner] == nil {
		h.readers[owner] = map[*reader]bool{}
	}
	h.readers[owner][r] = true
	for _, c := range h.growing {
		if c.owner == owner {
			growing = append(growing, c)
		}
	}
	return r, growing, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if delete(h.readers[owner], r); len(h.readers[owner]) == 0 {
			delete(h.readers, owner)
		}
	}
}

// take returns what changed since the last call, in the order of the changes: a browser
// that comes back names the last one that it has.
func (h *hub) take(r *reader) []*change {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := slices.Collect(maps.Values(r.changed))
	clear(r.changed)
	slices.SortFunc(list, func(a, b *change) int { return cmp.Compare(a.post.Seq, b.post.Seq) })
	return list
}

// lock waits until no other change of the person's posts is on its way to the readers:
// they get changes in the order in which they are stored.
func (h *hub) lock(ctx context.Context, owner string) (unlock func(), err error) {
	turn, leave := h.lanes.Join(owner)
	select {
	case <-turn:
		return leave, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// tell gives a change to the readers of its owner. h.mu is held.
func (h *hub) tell(c *change) {
	for r := range h.readers[c.owner] {
		r.changed[c.place] = c
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// show gives a stored post to the readers of its owner. An answer that grows is kept until
// its last form.
func (h *hub) show(owner string, p Post, grows bool) {
	c := newChange(owner, p)
	h.mu.Lock()
	defer h.mu.Unlock()
	if delete(h.growing, c.place); grows {
		c.grows, c.units = true, units(p.Text)
		if h.growing == nil {
			h.growing = map[place]*change{}
		}
		h.growing[c.place] = c
	}
	h.tell(c)
}

// grow gives the longer text of a growing answer to the readers. It returns false when the
// post is not known as one: it must be stored then.
func (h *hub) grow(conversation, id, text string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.growing[place{conversation, id}]
	if before == nil {
		return false
	}
	p := before.post
	p.Text = text
	c := newChange(before.owner, p)
	if more, longer := strings.CutPrefix(text, before.post.Text); longer {
		c.base, c.units = before.base, before.units+units(more)
	} else {
		c.base, c.units = before.base+1, units(text)
	}
	c.grows = true
	h.growing[c.place] = c
	h.tell(c)
	return true
}

// text returns the text of a growing answer; false for other posts.
func (h *hub) text(conversation, id string) (string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.growing[place{conversation, id}]
	if c == nil {
		return "", false
	}
	return c.post.Text, true
}

// remove tells that the posts of a conversation are gone; whole: so is the conversation.
func (h *hub) remove(owner, conversation string, whole bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	old := func(at place, _ *change) bool { return at.conversation == conversation }
	maps.DeleteFunc(h.growing, old)
	for r := range h.readers[owner] {
		maps.DeleteFunc(r.changed, old)
	}
	h.tell(&change{place: place{conversation: conversation}, owner: owner, gone: true, whole: whole})
}

// noteRead tells the readers up to which seq a person has read a conversation.
func (h *hub) noteRead(owner, conversation string, seq uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tell(&change{place: place{conversation, "read"}, owner: owner, post: Post{Seq: seq}, read: true})
}

// shown is what a reader has of a growing answer.
type shown struct{ base, bytes, units int }

// piece is what an event adds to a growing answer.
type piece struct {
	Conversation string `json:"conversation"`
	Post         string `json:"post"`
	At           int    `json:"at"` // in UTF-16 units
	Text         string `json:"text"`
}

// pieceAfter returns what a reader needs to have the newest text; false when it needs the
// whole post.
func (c *change) pieceAfter(has shown) (p piece, ok bool) {
	if has.base != c.base || has.bytes > len(c.post.Text) || !utf8.RuneStart((c.post.Text + " ")[has.bytes]) {
		return p, false
	}
	return piece{c.conversation, c.id, has.units, c.post.Text[has.bytes:]}, true
}
