package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Errors of Posts.
var (
	// ErrNoConversation means that the web chat has no such conversation, or that it
	// belongs to another person.
	ErrNoConversation = errors.New("no such conversation")
	// ErrNoPost means that the conversation has no such post.
	ErrNoPost = errors.New("no such post")
)

// Post is a message of the web chat as it is now. On other platforms the service keeps
// messages; here legwork does.
type Post struct {
	// Seq numbers the changes of all posts. A post gets a new one with each change.
	Seq uint64
	// Number is the Seq of its first form. It orders the posts of a conversation.
	Number       uint64
	Conversation string // key of its bot.Chat
	// Mark is unique in the conversation: a new post with the mark of another one replaces
	// it. Empty: none.
	Mark string
	At   time.Time // of its first form
	Mine bool      // the owner of the conversation wrote it
	Text string    // Markdown; SearchPosts looks into it
	Body json.RawMessage // the rest, as the platform writes it
}

// Conversation is a conversation of the web chat.
type Conversation struct {
	Key   string // of its bot.Chat
	Owner string // key of the person who began it; nobody else may read it
	Title string // the beginning of the first text of its owner; empty before that
	Seq   uint64    // of the post that was added last
	Read  uint64    // Seq up to which the owner has read it
	At    time.Time // of that post
	Found string // of SearchPosts: a text that holds the words
}

// Posts keeps the conversations of the web chat. Forget deletes the posts of a
// conversation, Erase also those of a person, and Retain old ones.
type Posts interface {
	// Begin makes a conversation, unless its owner has made it before. ErrNoConversation
	// when it is another person's.
	Begin(ctx context.Context, key, owner string) (Conversation, error)
	// Conversation returns a conversation. ErrNoConversation.
	Conversation(ctx context.Context, key string) (Conversation, error)
	// ConversationsOf lists the conversations of a person, the one with the newest post
	// first; before is the Seq of the last one of the page before, 0 for the first page.
	ConversationsOf(ctx context.Context, owner string, before uint64, limit int) (list []Conversation, more bool, err error)
	// PutPost stores a new post, or the new form of one if Number or the Mark of a stored
	// post is set. It returns the post with Seq, Number and At. ErrNoConversation; ErrNoPost.
	PutPost(ctx context.Context, p Post) (Post, error)
	// Post returns a post. ErrNoPost.
	Post(ctx context.Context, conversation string, number uint64) (Post, error)
	// PostsOf returns the newest posts of a conversation whose Number is below before, the
	// oldest first; 0: the newest of all.
	PostsOf(ctx context.Context, conversation string, before uint64, limit int) (list []Post, more bool, err error)
	// ChangedPosts returns the posts of a person with a Seq above after, by Seq. newest is
	// the Seq that was given last, to any post.
	ChangedPosts(ctx context.Context, owner string, after uint64, limit int) (list []Post, newest uint64, more bool, err error)
	// SearchPosts lists the conversations of a person with a post that holds all words, in
	// any case, the newest first.
	SearchPosts(ctx context.Context, owner string, words []string, limit int) ([]Conversation, error)
	// ReadPosts notes up to which Seq the owner has read a conversation. ErrNoConversation.
	ReadPosts(ctx context.Context, key string, seq uint64) error
	// EndConversation deletes a conversation with its posts.
	EndConversation(ctx context.Context, key string) error
}
