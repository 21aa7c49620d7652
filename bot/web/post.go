package web

import (
	"encoding/json"
	"strconv"
	"time"

	"legwork/bot"
	"legwork/files"
	"legwork/tasks"
)

// Kinds of posts besides those of drafts.
const kindText = "text" // the owner of the conversation wrote it

// Post is a post as browsers get it.
type Post struct {
	ID           string    `json:"id,omitempty"`
	Seq          uint64    `json:"seq,omitempty"` // grows with each change, over all posts of a person
	Conversation string    `json:"conversation,omitempty"`
	Mine         bool      `json:"mine,omitempty"`
	Kind         string    `json:"kind"`
	Text         string    `json:"text,omitempty"` // Markdown
	At           time.Time `json:"at,omitzero"`
	Task         string    `json:"task,omitempty"`
	Partial      bool      `json:"partial,omitempty"` // more of it follows
	Failed       bool      `json:"failed,omitempty"`
	Footer       string    `json:"footer,omitempty"`
	ReplyTo      string    `json:"reply_to,omitempty"`
	Adds         bool      `json:"adds,omitempty"` // the post that ReplyTo names was added to the running task

	Board    *Board       `json:"board,omitempty"`
	Buttons  []bot.Button `json:"buttons,omitempty"`
	Calls    []bot.Call   `json:"calls,omitempty"`
	Copy     string       `json:"copy,omitempty"`
	FreeText bool         `json:"free_text,omitempty"`
	Plan     *bot.Plan    `json:"plan,omitempty"`
	Form     *bot.Form    `json:"form,omitempty"`
	File     *File        `json:"file,omitempty"`  // that legwork sent
	Files    []File       `json:"files,omitempty"` // that the person sent
}

// Board is a bot.Board.
type Board struct {
	Title   string `json:"title"`
	Status  string `json:"status"`
	Waiting bool   `json:"waiting,omitempty"`
	Items   []Item `json:"items"`
}

// Item is a bot.Item.
type Item struct {
	bot.Item
	ElapsedMS int64 `json:"elapsed_ms,omitempty"`
}

// File is a file of a post. Its content is at
// /v1/chat/conversations/CONVERSATION/files/ID.
type File struct {
	ID    files.ID   `json:"id"`
	Name  string     `json:"name"`
	Type  string     `json:"type"`
	Bytes int64      `json:"bytes"`
	As    bot.FileAs `json:"as,omitempty"`
}

// postOf is a draft as a post.
func postOf(d bot.Draft) Post {
	p := Post{
		Kind: string(d.Kind), Text: d.Text, Task: d.Task, Partial: d.Partial, Failed: d.Failed, Footer: d.Footer, ReplyTo: d.ReplyTo, Adds: d.Adds,
		Buttons: d.Buttons, Calls: d.Calls, Copy: d.Copy, FreeText: d.FreeText, Plan: d.Plan, Form: d.Form,
	}
	if b := d.Board; b != nil {
		p.Board = &Board{Title: b.Title, Status: b.Status, Waiting: b.Waiting, Items: make([]Item, 0, len(b.Items))}
		for _, item := range b.Items {
			p.Board.Items = append(p.Board.Items, Item{item, item.Elapsed.Milliseconds()})
		}
	}
	return p
}

// body is the part of a post that tasks.Post has no field for.
func (p Post) body() json.RawMessage {
	p.ID, p.Seq, p.Conversation, p.Mine, p.Text, p.At = "", 0, "", false, "", time.Time{}
	body, err := json.Marshal(p)
	if err != nil { // arguments of a call that are not JSON
		p.Calls = nil
		body, _ = json.Marshal(p) //nolint:errchkjson // without the calls all of it can be written
	}
	return body
}

// read returns a stored post as browsers get it.
func read(stored tasks.Post) Post {
	var p Post
	_ = json.Unmarshal(stored.Body, &p) // the checksum of the record holds; the text is there in any case
	p.ID, p.Seq, p.Conversation = strconv.FormatUint(stored.Number, 10), stored.Seq, idOf(stored.Conversation)
	p.Mine, p.Text, p.At = stored.Mine, stored.Text, stored.At
	return p
}
