package store

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"legwork/internal/clip"
	"legwork/tasks"
)

// Posts implements tasks.Posts.
type Posts struct{ *core }

// conversationRow is a conversation of the web chat.
type conversationRow struct {
	Owner string    `json:"owner"`
	Title string    `json:"title,omitempty"`
	Seq   uint64    `json:"seq,omitempty"` // of the post that was added last
	Read  uint64    `json:"read,omitempty"`
	At    time.Time `json:"at"`
}

func (r conversationRow) conversation(key string) tasks.Conversation {
	return tasks.Conversation{Key: key, Owner: r.Owner, Title: r.Title, Seq: r.Seq, Read: r.Read, At: r.At}
}

// postKey names a post.
type postKey struct {
	Conversation string `json:"conversation"`
	Number       uint64 `json:"number"`
}

func postKeyBytes(k postKey) []byte {
	return binary.BigEndian.AppendUint64(namePrefix(k.Conversation), k.Number)
}

// postRow is a post without what its key says.
type postRow struct {
	Seq  uint64          `json:"seq"`
	Mark string          `json:"mark,omitempty"`
	At   time.Time       `json:"at"`
	Mine bool            `json:"mine,omitempty"`
	Text string          `json:"text,omitempty"`
	Body json.RawMessage `json:"body,omitempty"`
}

func (r postRow) post(k postKey) tasks.Post {
	return tasks.Post{Seq: r.Seq, Number: k.Number, Conversation: k.Conversation, Mark: r.Mark, At: r.At, Mine: r.Mine, Text: r.Text, Body: r.Body}
}

// postMark names a post by its mark.
type postMark struct{ conversation, mark string }

func postMarkKey(m postMark) []byte { return append(namePrefix(m.conversation), m.mark...) }

// ownedSeq is the seq of a post in a conversation of a person.
type ownedSeq struct {
	owner string
	seq   uint64
}

func ownedKey(o ownedSeq) []byte { return binary.BigEndian.AppendUint64(namePrefix(o.owner), o.seq) }

// ownedBetween is the range of the keys of an owner after one seq and before another one;
// 0: no bound.
func ownedBetween(owner string, after, before uint64) (from, to []byte) {
	if to = afterPrefix(namePrefix(owner)); before > 0 {
		to = ownedKey(ownedSeq{owner, before})
	}
	return ownedKey(ownedSeq{owner, after + 1}), to
}

// Bounds of what is kept and looked at.
const (
	maxTitle    = 60     // characters
	maxSearched = 50_000 // posts of one search, the newest conversations first
)

// posts are the conversations of the web chat within a transaction.
type posts struct{ *txn }

// Begin implements tasks.Posts.
func (p Posts) Begin(ctx context.Context, key, owner string) (c tasks.Conversation, err error) {
	if owner == "" || len(owner) > MaxName || len(key) > MaxName {
		return c, fmt.Errorf("beginning a conversation: the names of the conversation and its owner need 1 to %d bytes", MaxName)
	}
	err = p.update(ctx, "beginning a conversation", func(x *txn) {
		row, known := conversationRows.load(x, key)
		switch {
		case known && row.Owner != owner:
			x.fail(tasks.ErrNoConversation)
		case !known:
			row = conversationRow{Owner: owner, At: x.time}
			conversationRows.put(x, key, row)
		}
		c = row.conversation(key)
	})
	return c, err
}

// Conversation implements tasks.Posts.
func (p Posts) Conversation(ctx context.Context, key string) (c tasks.Conversation, err error) {
	err = p.read(ctx, "reading a conversation", func(x *txn) { c = posts{x}.existing(key).conversation(key) })
	return c, err
}

// existing returns the row of a conversation that must exist.
func (x posts) existing(key string) conversationRow {
	row, known := conversationRows.load(x, key)
	if !known {
		x.fail(tasks.ErrNoConversation)
	}
	return row
}

// ConversationsOf implements tasks.Posts.
func (p Posts) ConversationsOf(ctx context.Context, owner string, before uint64, limit int) (list []tasks.Conversation, more bool, err error) {
	err = p.read(ctx, "listing conversations", func(x *txn) {
		list, more = nil, false
		for c := range (posts{x}).newest(owner, before) {
			if more = len(list) == limit; more {
				return
			}
			list = append(list, c)
		}
	})
	return list, more, err
}

// newest returns the conversations of a person that have posts, the one with the newest
// post first.
func (x posts) newest(owner string, before uint64) func(yield func(tasks.Conversation) bool) {
	return func(yield func(tasks.Conversation) bool) {
		from, to := ownedBetween(owner, 0, before)
		for e := range newestPosts.sound(x, from, to, Descending) {
			row, known, damaged := conversationRows.get(x, e.value)
			if damaged != nil {
				x.skip(TableConversations, []byte(e.value), damaged)
			}
			if known && damaged == nil && !yield(row.conversation(e.value)) {
				return
			}
		}
	}
}

// PutPost implements tasks.Posts.
func (p Posts) PutPost(ctx context.Context, post tasks.Post) (stored tasks.Post, err error) {
	if len(post.Mark) > MaxName {
		return stored, fmt.Errorf("storing a post: its mark has %d bytes, at most %d are allowed", len(post.Mark), MaxName)
	}
	err = p.update(ctx, "storing a post", func(x *txn) { stored = posts{x}.put(post) })
	return stored, err
}

func (x posts) put(post tasks.Post) tasks.Post {
	c := x.existing(post.Conversation)
	if x.failed != nil {
		return post
	}
	seq, _ := metaNumbers.load(x, metaPosts)
	post.Seq = seq + 1
	metaNumbers.put(x, metaPosts, post.Seq)
	mark := postMark{post.Conversation, post.Mark}
	if post.Number == 0 && post.Mark != "" {
		post.Number, _ = postMarks.load(x, mark)
	}
	if fresh := post.Number == 0; fresh {
		post.Number, post.At = post.Seq, x.time
		if post.Mark != "" {
			postMarks.put(x, mark, post.Number)
		}
		newestPosts.drop(x, ownedSeq{c.Owner, c.Seq})
		newestPosts.put(x, ownedSeq{c.Owner, post.Seq}, post.Conversation)
		if c.Seq, c.At = post.Seq, x.time; post.Mine {
			c.Read = post.Seq
			if c.Title == "" {
				c.Title = titleOf(post.Text)
			}
		}
		conversationRows.put(x, post.Conversation, c)
	} else {
		row, known := postRows.load(x, postKey{post.Conversation, post.Number})
		if !known {
			x.fail(tasks.ErrNoPost)
		}
		post.At, post.Mark, post.Mine = row.At, row.Mark, row.Mine
		postChanges.drop(x, ownedSeq{c.Owner, row.Seq})
	}
	key := postKey{post.Conversation, post.Number}
	postRows.put(x, key, postRow{Seq: post.Seq, Mark: post.Mark, At: post.At, Mine: post.Mine, Text: post.Text, Body: post.Body})
	postChanges.put(x, ownedSeq{c.Owner, post.Seq}, key)
	return post
}

// titleOf is the beginning of a text in one line, without the command of a question.
func titleOf(text string) string {
	for _, command := range []string{"/task", "/plan"} {
		if rest, ok := strings.CutPrefix(text, command); ok && strings.TrimLeft(rest, " \t\n") != rest {
			text = rest
		}
	}
	return clip.Words(clip.Bytes(text, 16*maxTitle), maxTitle)
}

// Post implements tasks.Posts.
func (p Posts) Post(ctx context.Context, conversation string, number uint64) (post tasks.Post, err error) {
	key := postKey{conversation, number}
	err = p.read(ctx, "reading a post", func(x *txn) {
		row, known := postRows.load(x, key)
		if !known {
			x.fail(tasks.ErrNoPost)
		}
		post = row.post(key)
	})
	return post, err
}

// PostsOf implements tasks.Posts. Damaged posts are left out.
func (p Posts) PostsOf(ctx context.Context, conversation string, before uint64, limit int) (list []tasks.Post, more bool, err error) {
	err = p.read(ctx, "reading posts", func(x *txn) {
		list, more = nil, false
		for post := range (posts{x}).of(conversation, before) {
			if more = len(list) == limit; more {
				return
			}
			list = append(list, post)
		}
	})
	slices.Reverse(list)
	return list, more, err
}

// of returns the posts of a conversation, the newest first.
func (x posts) of(conversation string, before uint64) func(yield func(tasks.Post) bool) {
	return func(yield func(tasks.Post) bool) {
		from, to := ownedBetween(conversation, 0, before) // the keys have the same form
		for e := range postRows.sound(x, from, to, Descending) {
			if !yield(e.value.post(postKey{conversation, numberOf(e.key[len(e.key)-8:])})) {
				return
			}
		}
	}
}

// ChangedPosts implements tasks.Posts.
func (p Posts) ChangedPosts(ctx context.Context, owner string, after uint64, limit int) (list []tasks.Post, newest uint64, more bool, err error) {
	err = p.read(ctx, "reading changed posts", func(x *txn) {
		list, more = nil, false
		newest, _ = metaNumbers.load(x, metaPosts)
		from, to := ownedBetween(owner, after, 0)
		for e := range postChanges.sound(x, from, to, Ascending) {
			if more = len(list) == limit; more {
				return
			}
			if row, known, damaged := postRows.get(x, e.value); known && damaged == nil {
				list = append(list, row.post(e.value))
			}
		}
	})
	return list, newest, more, err
}

// SearchPosts implements tasks.Posts. It reads the posts of the newest conversations, up
// to a bound.
func (p Posts) SearchPosts(ctx context.Context, owner string, words []string, limit int) (found []tasks.Conversation, err error) {
	words = strings.Fields(strings.ToLower(strings.Join(words, " ")))
	err = p.read(ctx, "searching posts", func(x *txn) {
		found = nil
		read := 0
		for c := range (posts{x}).newest(owner, 0) {
			for post := range (posts{x}).of(c.Key, 0) {
				if read++; read > maxSearched || ctx.Err() != nil {
					return
				}
				if at := foundIn(post.Text, words); at >= 0 {
					c.Found = excerpt(post.Text, at)
					found = append(found, c)
					break
				}
			}
			if len(found) == limit {
				return
			}
		}
	})
	return found, err
}

// foundIn returns where the first of the words is in a text that holds all of them; -1 for
// other texts.
func foundIn(text string, words []string) int {
	text = strings.ToLower(text)
	for _, word := range words {
		if !strings.Contains(text, word) {
			return -1
		}
	}
	if len(words) == 0 {
		return 0
	}
	return strings.Index(text, words[0])
}

// Lengths of an excerpt, in bytes.
const (
	excerptBefore = 40
	excerptBytes  = 200
)

// excerpt is one line of a text around a place. The place may be some bytes off, since
// lower case can be longer.
func excerpt(text string, at int) string {
	from := max(0, min(at, len(text))-excerptBefore)
	part := strings.ToValidUTF8(text[from:min(len(text), from+excerptBytes)], "")
	line := strings.Join(strings.Fields(part), " ")
	if from > 0 {
		line = "…" + line
	}
	return line
}

// ReadPosts implements tasks.Posts.
func (p Posts) ReadPosts(ctx context.Context, key string, seq uint64) error {
	return p.update(ctx, "noting what was read", func(x *txn) {
		row := posts{x}.existing(key)
		if x.failed == nil && seq > row.Read {
			row.Read = min(seq, row.Seq)
			conversationRows.put(x, key, row)
		}
	})
}

// EndConversation implements tasks.Posts.
func (p Posts) EndConversation(ctx context.Context, key string) error {
	var d tasks.Deleted
	err := Deletion(p).dropPosts(ctx, key, time.Time{}, true, &d)
	return wrap("deleting a conversation", err)
}

// dropPosts deletes the posts of a conversation that were added before a time; zero: all.
// With whole it also deletes the conversation.
func (k Deletion) dropPosts(ctx context.Context, key string, before time.Time, whole bool, d *tasks.Deleted) error {
	old := func(x *txn) (list []tasks.Post, over bool) {
		from, to := ownedBetween(key, 0, 0)
		for e := range postRows.scan(x, from, to, Ascending) {
			post := e.value.post(postKey{key, numberOf(e.key[len(e.key)-8:])})
			if e.damaged == nil && !before.IsZero() && !post.At.Before(before) {
				break
			}
			if list = append(list, post); len(list) == deleteAtOnce {
				return list, false
			}
		}
		return list, true
	}
	if err := deleteFound(ctx, k, d, old, func(x *txn, post tasks.Post, d *tasks.Deleted) { posts{x}.drop(post, d) }); err != nil {
		return err
	}
	return k.change(ctx, d, func(x *txn, _ *tasks.Deleted) {
		c, known := conversationRows.load(x, key)
		if !known {
			return
		}
		from, to := ownedBetween(key, 0, 0)
		if empty := firstKey(x, TablePosts, from, to, Ascending) == nil; empty || whole {
			newestPosts.drop(x, ownedSeq{c.Owner, c.Seq})
			c.Seq, c.Title = 0, ""
			conversationRows.put(x, key, c)
		}
		if whole {
			conversationRows.drop(x, key)
		}
	})
}

// drop deletes a post.
func (x posts) drop(post tasks.Post, d *tasks.Deleted) {
	c, _ := conversationRows.load(x, post.Conversation)
	postRows.drop(x, postKey{post.Conversation, post.Number})
	postChanges.drop(x, ownedSeq{c.Owner, post.Seq})
	if post.Mark != "" {
		postMarks.drop(x, postMark{post.Conversation, post.Mark})
	}
	x.frees = true
	d.Posts++
}

// erasePosts deletes the web conversations of a person, and a conversation by its key.
func (k Deletion) erasePosts(ctx context.Context, who string, d *tasks.Deleted) error {
	return k.eachWebConversation(ctx, func(key string, c conversationRow) error {
		if c.Owner != who && key != who {
			return nil
		}
		return k.dropPosts(ctx, key, time.Time{}, true, d)
	})
}

// retainPosts deletes old posts. A conversation stays: its owner may go on with it.
func (k Deletion) retainPosts(ctx context.Context, before time.Time, d *tasks.Deleted) error {
	return k.eachWebConversation(ctx, func(key string, _ conversationRow) error {
		return k.dropPosts(ctx, key, before, false, d)
	})
}

// eachWebConversation calls do for each conversation of the web chat.
func (k Deletion) eachWebConversation(ctx context.Context, do func(key string, c conversationRow) error) error {
	after := ""
	for {
		type found struct {
			key string
			row conversationRow
		}
		var list []found
		err := k.view(ctx, "looking for conversations", func(x *txn) {
			for e := range conversationRows.sound(x, []byte(after+"\x00"), nil, Ascending) {
				if list = append(list, found{string(e.key), e.value}); len(list) == deleteAtOnce {
					return
				}
			}
		})
		if err != nil || len(list) == 0 {
			return err
		}
		for _, c := range list {
			if err := do(c.key, c.row); err != nil {
				return err
			}
			after = c.key
		}
	}
}
