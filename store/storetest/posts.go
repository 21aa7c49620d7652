package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"legwork/bot"
	"legwork/tasks"
)

// postEnv is an env whose store keeps the posts of the web chat.
type postEnv struct{ *env }

// onPosts makes a case of the suite of one that uses a postEnv.
func onPosts(test func(postEnv)) func(*env) { return func(b *env) { test(postEnv{b}) } }

// talk begins a conversation of the web chat.
func (b postEnv) talk(id, owner string) bot.Chat {
	b.Helper()
	c := bot.Chat{Platform: "web", ID: id, Private: true}
	_, err := b.store.Begin(b.Context(), c.Key(), owner)
	b.ok(err)
	return c
}

// write stores a post.
func (b postEnv) write(p tasks.Post) tasks.Post {
	b.Helper()
	stored, err := b.store.PutPost(b.Context(), p)
	b.ok(err)
	return stored
}

// texts are the texts of posts, in their order.
func texts(list []tasks.Post) (all []string) {
	for _, p := range list {
		all = append(all, p.Text)
	}
	return all
}

// page reads a page of posts.
func (b postEnv) page(c bot.Chat, before uint64, limit int, more bool, want ...string) []tasks.Post {
	b.Helper()
	list, next, err := b.store.PostsOf(b.Context(), c.Key(), before, limit)
	b.ok(err)
	b.same("posts", texts(list), want)
	b.same("more posts", next, more)
	return list
}

// talks lists the conversations of a person by their keys.
func (b postEnv) talks(owner string, before uint64, limit int, more bool, want ...string) []tasks.Conversation {
	b.Helper()
	list, next, err := b.store.ConversationsOf(b.Context(), owner, before, limit)
	b.ok(err)
	var keys []string
	for _, c := range list {
		keys = append(keys, c.Key)
	}
	b.same("conversations of "+owner, keys, want)
	b.same("more conversations", next, more)
	return list
}

func testPosts(b postEnv) {
	a, other := b.talk("a", "telegram:1"), b.talk("b", "web:ann")
	if _, err := b.store.Begin(b.Context(), a.Key(), "web:ann"); !errors.Is(err, tasks.ErrNoConversation) {
		b.Fatalf("beginning the conversation of another person: got %v, want ErrNoConversation", err)
	}
	if _, err := b.store.Conversation(b.Context(), "web:none"); !errors.Is(err, tasks.ErrNoConversation) {
		b.Fatalf("an unknown conversation: got %v, want ErrNoConversation", err)
	}
	if _, err := b.store.PutPost(b.Context(), tasks.Post{Conversation: "web:none", Text: "x"}); !errors.Is(err, tasks.ErrNoConversation) {
		b.Fatalf("a post without a conversation: got %v, want ErrNoConversation", err)
	}
	b.talks("telegram:1", 0, 10, false) // it has no posts
	first := b.write(tasks.Post{Conversation: a.Key(), Mine: true, Mark: "key", Text: "Find a  hotel\nin Rome", Body: json.RawMessage(`{"kind":"text"}`)})
	b.clock.add(time.Minute)
	board := b.write(tasks.Post{Conversation: a.Key(), Mark: "t.board", Text: "board"})
	b.write(tasks.Post{Conversation: other.Key(), Mine: true, Text: "of ann"})
	if board.Number == first.Number || !board.At.After(first.At) {
		b.Fatalf("got number %d at %v after %d at %v", board.Number, board.At, first.Number, first.At)
	}

	b.same("another form", b.write(tasks.Post{Conversation: a.Key(), Number: board.Number, Text: "answer"}).Number, board.Number)
	b.same("a repeated mark", b.write(tasks.Post{Conversation: a.Key(), Mark: "key", Mine: true, Text: first.Text, Body: first.Body}).Number, first.Number)
	if _, err := b.store.PutPost(b.Context(), tasks.Post{Conversation: a.Key(), Number: 99, Text: "x"}); !errors.Is(err, tasks.ErrNoPost) {
		b.Fatalf("the change of an unknown post: got %v, want ErrNoPost", err)
	}
	if _, err := b.store.PutPost(b.Context(), tasks.Post{Conversation: other.Key(), Number: first.Number, Text: "x"}); !errors.Is(err, tasks.ErrNoPost) {
		b.Fatalf("the change of a post of another conversation: got %v, want ErrNoPost", err)
	}
	for range 2 {
		list := b.page(a, 0, 10, false, first.Text, "answer")
		if got := list[1]; got.Mark != "t.board" || !got.At.Equal(board.At) || got.Seq <= board.Seq {
			b.Fatalf("the changed post: got %+v, want the mark and the time of %+v, and a later seq", got, board)
		}
		b.page(a, 0, 1, true, "answer")
		b.page(a, list[1].Number, 1, false, first.Text)
		one, err := b.store.Post(b.Context(), a.Key(), first.Number)
		b.ok(err)
		b.same("one post", string(one.Body), `{"kind":"text"}`)
		c := b.talks("telegram:1", 0, 10, false, a.Key())[0]
		b.same("title", c.Title, "Find a hotel in Rome")
		b.same("read", c.Read, first.Number)
		b.store = b.reopen()
	}
	b.ok(b.store.ReadPosts(b.Context(), a.Key(), 1<<60))
	c, err := b.store.Conversation(b.Context(), a.Key())
	b.ok(err)
	b.same("read up to the newest post", c.Read, c.Seq)

	third := b.talk("c", "telegram:1")
	b.write(tasks.Post{Conversation: third.Key(), Text: "notice"})
	planned := b.talk("p", "telegram:2")
	b.write(tasks.Post{Conversation: planned.Key(), Mine: true, Text: "/plan\nFind a hotel"})
	b.same("title without the command", b.talks("telegram:2", 0, 10, false, planned.Key())[0].Title, "Find a hotel")
	newest := b.talks("telegram:1", 0, 1, true, third.Key())
	b.talks("telegram:1", newest[0].Seq, 1, false, a.Key())
	b.write(tasks.Post{Conversation: a.Key(), Text: "again"})
	b.talks("telegram:1", 0, 10, false, a.Key(), third.Key())
}

func testChangedPosts(b postEnv) {
	a, c, other := b.talk("a", "web:ann"), b.talk("c", "web:ann"), b.talk("b", "web:bob")
	changed := func(after uint64, limit int, wantMore bool, want ...string) (newest uint64) {
		b.Helper()
		list, newest, more, err := b.store.ChangedPosts(b.Context(), "web:ann", after, limit)
		b.ok(err)
		b.same("changed posts", texts(list), want)
		b.same("more", more, wantMore)
		for i := range list[:max(0, len(list)-1)] {
			if list[i].Seq >= list[i+1].Seq {
				b.Fatalf("got seq %d before %d", list[i].Seq, list[i+1].Seq)
			}
		}
		return newest
	}
	b.same("newest of none", changed(0, 10, false), uint64(0))
	one := b.write(tasks.Post{Conversation: a.Key(), Text: "one"})
	b.write(tasks.Post{Conversation: c.Key(), Text: "two"})
	b.write(tasks.Post{Conversation: other.Key(), Text: "of bob"})
	seq := changed(0, 10, false, "one", "two")
	b.write(tasks.Post{Conversation: a.Key(), Number: one.Number, Text: "one, changed"})
	changed(0, 10, false, "two", "one, changed")
	changed(0, 1, true, "two")
	changed(seq, 10, false, "one, changed")
}

func testSearchPosts(b postEnv) {
	a, c, other := b.talk("a", "web:ann"), b.talk("c", "web:ann"), b.talk("b", "web:bob")
	b.write(tasks.Post{Conversation: a.Key(), Mine: true, Text: "Find a HOTEL in Rome"})
	b.write(tasks.Post{Conversation: c.Key(), Text: fmt.Sprintf("%0500d Гостиница in Oslo", 0)})
	b.write(tasks.Post{Conversation: other.Key(), Text: "hotel of bob"})
	for words, want := range map[string]string{"hotel rome": a.Key(), "гостиница": c.Key(), "bob": "", "in": c.Key()} {
		found, err := b.store.SearchPosts(b.Context(), "web:ann", []string{words}, 10)
		b.ok(err)
		var got, text string
		if len(found) > 0 {
			got, text = found[0].Key, found[0].Found
		}
		b.same("found with "+words, got, want)
		if len(text) > 250 {
			b.Fatalf("the excerpt has %d bytes: %q", len(text), text)
		}
	}
}

func testPostsEnd(b postEnv) {
	fill := func(owner, id string) bot.Chat {
		c := b.talk(id, owner)
		b.write(tasks.Post{Conversation: c.Key(), Mine: true, Mark: "k", Text: "old " + id})
		return c
	}
	a, ended, other := fill("web:ann", "a"), fill("web:ann", "e"), fill("web:bob", "b")
	b.ok(b.store.EndConversation(b.Context(), ended.Key()))
	b.page(ended, 0, 10, false)
	b.talks("web:ann", 0, 10, false, a.Key())
	_, err := b.store.Begin(b.Context(), ended.Key(), "web:bob") // the id is free again
	b.ok(err)

	b.forget(a, 0)
	b.page(a, 0, 10, false)
	b.talks("web:ann", 0, 10, false)
	b.write(tasks.Post{Conversation: a.Key(), Mark: "k", Mine: true, Text: "after forgetting"})
	b.talks("web:ann", 0, 10, false, a.Key())

	b.clock.add(24 * time.Hour)
	b.write(tasks.Post{Conversation: a.Key(), Text: "new"})
	d, err := b.store.Retain(b.Context(), time.Time{}, minute(0).Add(time.Hour))
	b.ok(err)
	b.same("old posts", d.Posts, 2)
	b.page(a, 0, 10, false, "new")
	b.page(other, 0, 10, false)

	b.write(tasks.Post{Conversation: other.Key(), Text: "of bob"})
	b.same("posts of a person", b.erase("web:ann").Posts, 1)
	if _, err := b.store.Conversation(b.Context(), a.Key()); !errors.Is(err, tasks.ErrNoConversation) {
		b.Fatalf("the conversation of an erased person: got %v, want ErrNoConversation", err)
	}
	b.page(other, 0, 10, false, "of bob")
	b.same("posts of a conversation", b.erase(other.Key()).Posts, 1)
}
