package store

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"legwork/bot"
	"legwork/files"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
)

// Table is a table of the database. Its number is stored: a new table goes to the
// end, and no number is used for another one later.
type Table uint8

// The tables. The records of each are described below, where they are declared.
const (
	TableMeta Table = iota + 1
	TableJournal
	TableTasks
	TableLive
	TableSeen
	TableExpiry
	TableHistory
	TableCuts
	TableSettings
	TableAccounts
	TableTotals
	TableSpent
	TableSchedules
	TableDue
	TableSummaries
	TableOpen
	TableRows
	TableListed
	TableFeed
	TableTail
	TableAudit
	TableOutgoing
	TableOutbox
	TableLanes
	TableContents
	TableUses
	TableFiles
	TableOwners
	TableGarbage
	TableBlobs
	TableChunks
	TableSessions
	TableLinks
	TableConversations
	TablePosts
	TablePostMarks
	TablePostChanges
	TableNewestPosts
	TableConnections
	TableAttempts
	tableEnd
)

// names are the stored names of the tables.
var names = [tableEnd]string{
	TableMeta: "meta", TableJournal: "journal", TableTasks: "tasks", TableLive: "live", TableSeen: "seen", TableExpiry: "expiry",
	TableHistory: "history", TableCuts: "cuts", TableSettings: "settings", TableAccounts: "accounts", TableTotals: "sums",
	TableSpent: "spent", TableSchedules: "schedules", TableDue: "due", TableSummaries: "summaries", TableOpen: "open",
	TableRows: "rows", TableListed: "listed", TableFeed: "feed", TableTail: "tail", TableAudit: "audit",
	TableOutgoing: "outgoing", TableOutbox: "outbox", TableLanes: "lanes",
	TableContents: "contents", TableUses: "uses", TableFiles: "files", TableOwners: "owners", TableGarbage: "garbage",
	TableBlobs: "blobs", TableChunks: "chunks", TableSessions: "sessions", TableLinks: "links",
	TableConversations: "conversations", TablePosts: "posts", TablePostMarks: "post_marks", TablePostChanges: "post_changes",
	TableNewestPosts: "newest_posts", TableConnections: "connections", TableAttempts: "attempts",
}

// String is the stored name of the table.
func (t Table) String() string {
	if t == 0 || t >= tableEnd {
		return fmt.Sprintf("table %d", uint8(t))
	}
	return names[t]
}

// Tables lists all tables, by their numbers.
func Tables() []Table {
	list := make([]Table, 0, tableEnd-1)
	for t := TableMeta; t < tableEnd; t++ {
		list = append(list, t)
	}
	return list
}

// Short reports whether the table is short, or is read in short ranges by nearly
// every update. A database behind a network keeps such ranges in memory.
func (t Table) Short() bool {
	return t == TableMeta || t == TableLive || t == TableTotals || t == TableTail
}

// Grows reports whether new records of the table mostly go to its end.
func (t Table) Grows() bool { return t == TableRows || t == TableFeed || t == TableAudit }

// Bytes reports whether the table is about the bytes of contents, which each database
// keeps in its own way: see Contents. Its records are not copied to other databases.
func (t Table) Bytes() bool { return t == TableGarbage || t == TableBlobs || t == TableChunks }

// The records, table by table: what a key is made of -> what a value holds.
var (
	// meta: name -> a number or a text about the whole store. The database may have
	// names of its own here.
	metaNumbers = jsonTable[string, uint64](TableMeta, nameKey)         // metaOrder, metaAuditEnd, metaFileBytes, metaPosts
	metaCounts  = jsonTable[string, map[string]int](TableMeta, nameKey) // metaTasks
	metaTimes   = jsonTable[string, time.Time](TableMeta, nameKey)      // metaCopied

	// journal: task id, seq -> the event. It is the truth; the other tables about
	// tasks follow from it.
	journal = jsonTable[eventKey, planner.Event](TableJournal, journalKey)
	// tasks: task id -> everything about a task that is not in its journal.
	taskRows = jsonTable[tasks.ID, taskRow](TableTasks, nameKey[tasks.ID])
	// live: conversation, order -> an entry of the conversation's lane, until the task
	// ends.
	liveRows = jsonTable[turnKey, liveRow](TableLive, liveKey)
	// lanes: conversation -> the version of its lane, a random number that is new with
	// every change. It tells whether the cache holds the lane as it is.
	laneVersions = jsonTable[string, uint64](TableLanes, nameKey)

	// seen: dedupe key -> what became of a delivery.
	seenRows = jsonTable[string, seenDelivery](TableSeen, seenKey)
	// expiry: time, stored dedupe key -> nothing. The order in which the rows of seen
	// expire.
	expiries = keyTable(TableExpiry, expiryKey)

	// history: conversation, order, goal or answer -> one half of a turn.
	history = table[halfKey, historyRow]{TableHistory, historyKey, encodeHistory, decodeHistory}
	// cuts: conversation -> the order up to which its turns are cut off.
	cuts = jsonTable[string, uint64](TableCuts, nameKey)
	// summaries: conversation -> the summary of its older turns.
	summaries = jsonTable[string, tasks.Summary](TableSummaries, nameKey)
	// settings: owner, name -> text.
	settings = table[settingName, string]{
		TableSettings, settingKey,
		func(text string) ([]byte, error) { return []byte(text), nil },
		func(_, body []byte) (string, error) { return string(body), nil },
	}

	// accounts: task id -> what the task has spent and reserved, until it ends.
	accounts = jsonTable[tasks.ID, account](TableAccounts, nameKey[tasks.ID])
	// sums: day, person, chat -> what is spent and reserved of a day's budget.
	totals = jsonTable[totalKey, total](TableTotals, totalKeyBytes)
	// spent: day, person, chat, model, tool group if there is one -> calls and usage.
	spentRows = table[spentKey, tasks.Spent]{TableSpent, spentKeyBytes, encodeSpent, decodeSpent}

	// schedules: id -> the schedule.
	schedules = jsonTable[string, tasks.Schedule](TableSchedules, nameKey)
	// due: time, id of a schedule -> nothing. The order in which schedules fire.
	dueTimes = keyTable(TableDue, func(v tasks.Schedule) []byte { return timeKey(v.Next, v.ID) })

	// open: task id -> the task's row in lists, until its status is final.
	openRows = table[tasks.ID, listing]{TableOpen, nameKey[tasks.ID], encodeListing, decodeListing}
	// rows: task id -> the same, from then on.
	endedRows = table[tasks.ID, listing]{TableRows, nameKey[tasks.ID], encodeListing, decodeListing}
	// listed: room or platform, final status, task id -> nothing: see groupKey.
	listed = keyTable(TableListed, func(key []byte) []byte { return key })

	// feed: cursor of the first entry -> entries of the feed.
	feedRecords = table[uint64, []tasks.FeedEntry]{TableFeed, numberKey, encodeFeed, decodeFeed}
	// tail: the same. It is the last record of the feed, while that grows.
	tailRecord = table[uint64, []tasks.FeedEntry]{TableTail, numberKey, encodeFeed, decodeFeed}
	// audit: number -> an entry of the audit log.
	auditEntries = jsonTable[uint64, tasks.AuditEntry](TableAudit, numberKey)

	// outgoing: id -> a delivery to a webhook.
	deliveries = jsonTable[string, tasks.Delivery](TableOutgoing, nameKey)
	// outbox: time of queueing, id of a delivery -> when it is due, webhook.
	outbox = table[tasks.Delivery, outboxEntry]{TableOutbox, outboxKey, encodeOutbox, decodeOutbox}

	// contents: id -> a content that is kept.
	contentRows = jsonTable[files.ID, contentRow](TableContents, nameKey[files.ID])
	// uses: id of a content, owner, task or nothing -> why it is kept. Without a task it
	// is an upload.
	useRows = jsonTable[useKey, useRow](TableUses, useKeyBytes)
	// files: task id, id of a content -> the owner in the task's row of uses.
	taskFiles = jsonTable[useKey, string](TableFiles, func(k useKey) []byte { return orderedKey(string(k.task), string(k.id)) })
	// owners: owner -> the size of its contents together.
	ownerBytes = jsonTable[string, int64](TableOwners, nameKey)
	// garbage: id of a content -> nothing. Its bytes are to be deleted, unless it is kept.
	garbageRows = keyTable(TableGarbage, nameKey[files.ID])
	// blobs and chunks belong to package chunks.

	// conversations: conversation of the web chat -> its owner and what lists show of it.
	conversationRows = jsonTable[string, conversationRow](TableConversations, nameKey)
	// posts: conversation, number -> the post as it is now.
	postRows = jsonTable[postKey, postRow](TablePosts, postKeyBytes)
	// post_marks: conversation, mark -> the number of the post.
	postMarks = jsonTable[postMark, uint64](TablePostMarks, postMarkKey)
	// post_changes: owner, seq of a post -> the post. Only its newest change is there.
	postChanges = jsonTable[ownedSeq, postKey](TablePostChanges, ownedKey)
	// newest_posts: owner, seq of the newest post of a conversation -> the conversation.
	newestPosts = jsonTable[ownedSeq, string](TableNewestPosts, ownedKey)
	// sessions: id -> a sign-in of a browser.
	sessionRows = jsonTable[string, tasks.Session](TableSessions, nameKey)
	// links: id -> a link that signs a person in once.
	linkRows = jsonTable[string, tasks.SignInLink](TableLinks, nameKey)
	// connections: server, person or nothing -> a sign-in at a server.
	connectionRows = jsonTable[tasks.ConnectionID, tasks.Connection](TableConnections, func(id tasks.ConnectionID) []byte { return orderedKey(id.Server, id.Person) })
	// attempts: id -> a sign-in at a server that has begun.
	attemptRows = jsonTable[string, tasks.Attempt](TableAttempts, nameKey)
)

// The names in meta.
const (
	metaOrder     = "order"      // the order number that was given last
	metaAuditEnd  = "audited"    // the number of the audit log that was given last
	metaTasks     = "counts"     // tasks of each status
	metaFileBytes = "file_bytes" // size of all contents
	metaPosts     = "posts"      // the number that was given to a change of a post last
	metaCopied    = "copied"     // when the store was copied: its tasks must not continue
)

// MaxName bounds conversations, owners and names of settings, in bytes.
const MaxName = 1024

// taskRow is a task's row: everything about it that is not in its journal.
type taskRow struct {
	Chat  bot.Chat   `json:"chat"`
	From  bot.Person `json:"from"`  // the asker
	Order uint64     `json:"order"` // of opening, over all conversations, from 1
	Last  int        `json:"last"`  // seq of its last event: a journal that lost its tail is damaged
	Over  bool       `json:"over,omitempty"`
	Fence int64      `json:"fence,omitempty"` // the highest seen
}

// liveRow is one entry of a conversation's lane: a task that has not ended, with a
// copy of the row that it was opened with.
type liveRow struct {
	taskRow
	tasks.LaneEntry
}

// seenDelivery is what became of a delivery.
type seenDelivery struct {
	Task    tasks.ID  `json:"task,omitempty"`
	Refused bool      `json:"refused,omitempty"` // it was dropped with ErrRefused
	Missing bool      `json:"missing,omitempty"` // it was dropped with ErrNoTask
	At      time.Time `json:"at"`
}

// historyRow is one half of a turn.
type historyRow struct {
	Order   uint64 // of the task
	Answer  bool   // the answer; otherwise the goal
	Task    tasks.ID
	Failed  bool
	Labels  planner.Labels // of what may have gone into it
	From    string         // of a goal: key of the person who asked
	Brought []bot.Quoted   // of a goal: messages that it brought along
	At      time.Time
	Text    string
}

// settingName names a stored value.
type settingName struct{ owner, name string }

// amount is what budgets bound: tokens, and money in millionths of a US dollar.
type amount struct {
	Tokens int64 `json:"tokens,omitempty"`
	Cost   int64 `json:"cost,omitempty"`
}

// totalKey names a day's budget: of everybody, of one person, or of one chat.
type totalKey struct {
	Day        string
	User, Chat string // at most one of them
}

// total is what was spent and reserved of a day's budget, and by how much people
// extended it.
type total struct {
	Spent    amount `json:"spent,omitzero"`
	Reserved amount `json:"reserved,omitzero"`
	Extra    amount `json:"extra,omitzero"`
}

// spentKey names a row of the ledger.
type spentKey struct{ Day, User, Chat, Model, Group string }

// account is what a task that has not ended has spent and reserved.
type account struct {
	Spent    amount        `json:"spent,omitzero"`
	Reserved []reservation `json:"held,omitempty"` // reservations of actions, in order of their making
	Kept     *reservation  `json:"kept,omitempty"` // for the closing answer, once
	// Taken is the closing answer that took the kept amount, and may take it again
	// after a crash. Zero: the amount is free again. Nil: it is kept.
	Taken *tasks.ReservationID `json:"taken,omitempty"`
}

// reservation is an amount that is reserved for an action, or kept for the closing
// answer.
type reservation struct {
	tasks.ReservationID

	Day   string    `json:"day"`
	User  string    `json:"user,omitempty"`
	Chat  string    `json:"chat,omitempty"`
	Model string    `json:"model,omitempty"`
	Group string    `json:"group,omitempty"`
	Most  llm.Usage `json:"most,omitzero"`
	Least llm.Usage `json:"least,omitzero"`
}

// listing is a task's row in lists, with what is needed to keep it.
type listing struct {
	tasks.Row
	asked   int    // seq of the event that asked the oldest open question
	webhook string // gets the outcome
}

// outboxEntry is the place of a delivery in the outbox.
type outboxEntry struct {
	next    time.Time // when it is due
	webhook string
}

// contentRow is what is stored about a content.
type contentRow struct {
	Bytes int64 `json:"bytes"`
}

// turnKey names a turn of a conversation, and the task of it.
type turnKey struct {
	conversation string
	order        uint64
}

func liveKey(k turnKey) []byte {
	return binary.BigEndian.AppendUint64(namePrefix(k.conversation), k.order)
}

// halfKey names one half of a turn.
type halfKey struct {
	turnKey
	answer bool
}

func historyKey(k halfKey) []byte {
	if k.answer {
		return append(liveKey(k.turnKey), 1)
	}
	return append(liveKey(k.turnKey), 0)
}

// readHalfKey reads a key of the history. The name of its conversation is as long as
// the key says.
func readHalfKey(key []byte) (order uint64, answer, ok bool) {
	at := 2 + len(nameIn(key))
	if len(key) != at+9 {
		return 0, false, false
	}
	return binary.BigEndian.Uint64(key[at:]), key[at+8] == 1, true
}

func settingKey(s settingName) []byte { return append(namePrefix(s.owner), s.name...) }

// seenKey is the stored form of a dedupe key. Keys that are too long are hashed.
// So are keys of programs, which may contain anything that a program chose, and
// which stay for a while after everything else about their task is deleted.
func seenKey(key string) []byte {
	if len(key) > MaxName || strings.HasPrefix(key, tasks.PlatformAPI+":") {
		sum := sha256.Sum256([]byte(key))
		return append([]byte("sha256:"), sum[:]...)
	}
	return []byte(key)
}

// expiry is when a row of seen was written, and its stored key.
type expiry struct {
	at  time.Time
	key []byte
}

func expiryKey(e expiry) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(e.at.UnixNano())), e.key...)
}

func totalKeyBytes(of totalKey) []byte { return orderedKey(of.Day, of.User, of.Chat) }

func readTotalKey(key []byte) (of totalKey, ok bool) {
	ok = readNames(key, &of.Day, &of.User, &of.Chat)
	return of, ok
}

// spentKeyBytes is the key of a row of the ledger. One without a group has the key that
// rows of earlier versions have.
func spentKeyBytes(k spentKey) []byte {
	key := orderedKey(k.Day, k.User, k.Chat, k.Model)
	if k.Group != "" {
		key = append(key, orderedKey(k.Group)...)
	}
	return key
}

func readSpentKey(key []byte) (k spentKey, ok bool) {
	ok = readNames(key, &k.Day, &k.User, &k.Chat, &k.Model, &k.Group) || readNames(key, &k.Day, &k.User, &k.Chat, &k.Model)
	return k, ok
}
