package slackfake

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of Block Kit.
const (
	maxBlocks    = 50
	maxAllBlocks = 13200 // characters in all blocks of a message; measured
	maxSection   = 3000
	maxField     = 2000
	maxHeader    = 150
	maxButton    = 75
	maxValue     = 2000
	maxID        = 255
	maxTable     = 10000 // characters in all cells of a message
)

// The types of block that messages and streams take.
const (
	messageBlocks = "section divider actions context header image markdown rich_text table plan task_card input video file context_actions"
	streamBlocks  = messageBlocks + " alert card carousel container data_table data_visualization"
)

// blockCheck walks over the blocks of a message and stops at the first fault.
type blockCheck struct {
	refused  *refusal
	ids      map[string]bool
	markdown int
	cells    int
	tables   int
	all      int
}

// checkBlocks refuses what Slack would. nil blocks are fine.
func checkBlocks(raw json.RawMessage, types string) *refusal {
	if empty(raw) {
		return nil
	}
	var blocks []map[string]any
	if err := json.Unmarshal(raw, &blocks); err != nil {
		return blame("invalid_blocks_format", "%v", err)
	}
	check := &blockCheck{ids: map[string]bool{}}
	if len(blocks) > maxBlocks {
		check.bad("/blocks", "%d items, no more than %d allowed", len(blocks), maxBlocks)
	}
	for i, block := range blocks {
		check.block(fmt.Sprintf("/blocks/%d", i), block, types)
	}
	switch {
	case check.refused != nil:
		return check.refused
	case check.tables > 1:
		return blame("invalid_attachments", "only_one_table_allowed")
	case check.markdown > maxMarkdown, check.cells > maxTable:
		return blame("msg_too_long", "markdown blocks of %d characters in all, tables of %d", check.markdown, check.cells)
	}
	check.measure(blocks)
	if check.all > maxAllBlocks {
		return blame("msg_blocks_too_long", "blocks of %d characters in all, over %d", check.all, maxAllBlocks)
	}
	return nil
}

func (b *blockCheck) bad(at, format string, a ...any) {
	if b.refused == nil {
		b.refused = blame("invalid_blocks", "%s [json-pointer:%s]", fmt.Sprintf(format, a...), at)
	}
}

// measure adds up the characters that are shown.
func (b *blockCheck) measure(v any) {
	switch v := v.(type) {
	case []map[string]any:
		for _, item := range v {
			b.measure(item)
		}
	case []any:
		for _, item := range v {
			b.measure(item)
		}
	case map[string]any:
		for name, item := range v {
			if text, is := item.(string); is && (name == "text" || name == "title") {
				b.all += utf8.RuneCountInString(text)
			}
			b.measure(item)
		}
	}
}

func (b *blockCheck) block(at string, block map[string]any, types string) {
	kind, _ := block["type"].(string)
	if !slices.Contains(strings.Fields(types), kind) {
		b.bad(at, "unsupported type: %s", kind)
		return
	}
	if id, set := block["block_id"].(string); set {
		if n := utf8.RuneCountInString(id); n > maxID {
			b.bad(at+"/block_id", "must be less than %d characters", maxID+1)
		}
		if id != "" && b.ids[id] {
			b.bad(at+"/block_id", "block_id %q already exists", id)
		}
		b.ids[id] = true
	}
	switch kind {
	case "section":
		b.section(at, block)
	case "header":
		b.textObject(at+"/text", block["text"], maxHeader, "plain_text")
	case "context":
		b.elements(at, block, 10, func(at string, e map[string]any) {
			if e["type"] != "image" {
				b.textObject(at, e, maxSection, "mrkdwn plain_text")
			}
		})
	case "actions":
		b.actions(at, block)
	case "markdown":
		b.markdown += b.text(at+"/text", block["text"], maxMarkdown)
	case "rich_text":
		b.elements(at, block, 1<<20, func(at string, e map[string]any) {
			b.rich(at, e)
		})
	case "table":
		b.table(at, block)
	case "plan":
		b.plan(at, block)
	case "task_card":
		b.card(at, block)
	case "image":
		b.text(at+"/alt_text", block["alt_text"], 2000)
	}
}

// rich checks an element of a rich text.
func (b *blockCheck) rich(at string, e map[string]any) {
	inside := "text link emoji user usergroup channel broadcast date color team"
	switch {
	case e["type"] == "rich_text_list":
		inside = "rich_text_section"
	case e["type"] == "rich_text_preformatted":
		inside = "text link"
	case !oneOf(e["type"], "rich_text_section rich_text_quote"):
		b.bad(at, "unsupported type: %v", e["type"])
		return
	}
	b.elements(at, e, 1<<20, func(at string, piece map[string]any) {
		switch {
		case !oneOf(piece["type"], inside):
			b.bad(at, "unsupported type: %v", piece["type"])
		case piece["type"] == "rich_text_section":
			b.rich(at, piece)
		case piece["type"] == "text":
			b.text(at+"/text", piece["text"], 1<<20)
		case piece["type"] == "link":
			b.text(at+"/url", piece["url"], 3000)
		}
	})
}

func oneOf(v any, list string) bool {
	text, is := v.(string)
	return is && slices.Contains(strings.Fields(list), text)
}

// text checks a string and returns its length in characters.
func (b *blockCheck) text(at string, v any, most int) int {
	text, is := v.(string)
	n := utf8.RuneCountInString(text)
	switch {
	case !is:
		b.bad(at, "missing or no string: %v", v)
	case n == 0:
		b.bad(at, "must be more than 0 characters")
	case n > most:
		b.bad(at, "must be less than %d characters, not %d", most+1, n)
	}
	return n
}

func (b *blockCheck) textObject(at string, v any, most int, kinds string) {
	object, is := v.(map[string]any)
	if !is {
		b.bad(at, "missing text object")
		return
	}
	if !oneOf(object["type"], kinds) {
		b.bad(at+"/type", "%v is none of %s", object["type"], kinds)
	}
	b.text(at+"/text", object["text"], most)
}

func (b *blockCheck) elements(at string, block map[string]any, most int, each func(at string, e map[string]any)) {
	list, _ := block["elements"].([]any)
	if len(list) == 0 || len(list) > most {
		b.bad(at+"/elements", "%d items, 1 to %d allowed", len(list), most)
	}
	for i, v := range list {
		e, is := v.(map[string]any)
		if !is {
			b.bad(at, "element %d is no object", i)
			return
		}
		each(fmt.Sprintf("%s/elements/%d", at, i), e)
	}
}

func (b *blockCheck) section(at string, block map[string]any) {
	fields, has := block["fields"].([]any)
	if block["text"] != nil || !has {
		b.textObject(at+"/text", block["text"], maxSection, "mrkdwn plain_text")
	}
	if len(fields) > 10 {
		b.bad(at+"/fields", "%d items, no more than 10 allowed", len(fields))
	}
	for i, field := range fields {
		b.textObject(fmt.Sprintf("%s/fields/%d", at, i), field, maxField, "mrkdwn plain_text")
	}
	if accessory, is := block["accessory"].(map[string]any); is {
		b.element(at+"/accessory", accessory, map[string]bool{})
	}
}

func (b *blockCheck) actions(at string, block map[string]any) {
	ids := map[string]bool{}
	b.elements(at, block, 25, func(at string, e map[string]any) { b.element(at, e, ids) })
}

// element checks what can be pressed. ids are the action ids of its block.
func (b *blockCheck) element(at string, e map[string]any, ids map[string]bool) {
	id, _ := e["action_id"].(string)
	switch {
	case utf8.RuneCountInString(id) > maxID:
		b.bad(at+"/action_id", "must be less than %d characters", maxID+1)
	case id != "" && ids[id]:
		b.bad(at+"/action_id", "action_id %q already exists for block", id)
	}
	ids[id] = true
	if e["type"] != "button" {
		return
	}
	b.textObject(at+"/text", e["text"], maxButton, "plain_text")
	if value, _ := e["value"].(string); utf8.RuneCountInString(value) > maxValue {
		b.bad(at+"/value", "must be less than %d characters", maxValue+1)
	}
	if style := e["style"]; style != nil && !oneOf(style, "primary danger") {
		b.bad(at+"/style", "%v is no style", style)
	}
}

func (b *blockCheck) table(at string, block map[string]any) {
	b.tables++
	rows, _ := block["rows"].([]any)
	if len(rows) == 0 || len(rows) > 100 {
		b.bad(at+"/rows", "%d items, 1 to 100 allowed", len(rows))
	}
	for i, row := range rows {
		cells, _ := row.([]any)
		if len(cells) == 0 || len(cells) > 20 {
			b.bad(fmt.Sprintf("%s/rows/%d", at, i), "%d items, 1 to 20 allowed", len(cells))
		}
		for j, v := range cells {
			cell, _ := v.(map[string]any)
			at := fmt.Sprintf("%s/rows/%d/%d", at, i, j)
			switch {
			case !oneOf(cell["type"], "raw_text rich_text raw_number"):
				b.bad(at, "unsupported type: %v", cell["type"])
			case cell["type"] == "rich_text":
				b.elements(at, cell, 1<<20, b.rich)
			}
			inside := &blockCheck{}
			inside.measure(cell)
			b.cells += inside.all
			if cell["type"] == "raw_text" && inside.all == 0 {
				b.bad(at+"/text", "must be more than 0 characters")
			}
		}
	}
}

func (b *blockCheck) plan(at string, block map[string]any) {
	b.text(at+"/title", block["title"], maxCard)
	tasks, _ := block["tasks"].([]any)
	for i, v := range tasks {
		card, _ := v.(map[string]any)
		b.card(fmt.Sprintf("%s/tasks/%d", at, i), card)
	}
}

func (b *blockCheck) card(at string, card map[string]any) {
	b.text(at+"/task_id", card["task_id"], maxID)
	b.text(at+"/title", card["title"], maxCard)
	if status := card["status"]; status != nil && !oneOf(status, "pending in_progress complete error") {
		b.bad(at+"/status", "%v is no status", status)
	}
	for _, name := range []string{"details", "output"} {
		part, is := card[name].(map[string]any)
		if card[name] != nil && (!is || part["type"] != "rich_text") {
			b.bad(at+"/"+name, "must be rich_text")
		}
	}
}

// allBlocks are the blocks of a message and of its stream.
func (m Message) allBlocks() json.RawMessage {
	if m.Stream == nil || m.Stream.Blocks == nil {
		return m.Blocks
	}
	var all, more []json.RawMessage
	_ = json.Unmarshal(m.Stream.Blocks, &all) // checked before
	_ = json.Unmarshal(m.Blocks, &more)
	joined, _ := json.Marshal(append(all, more...))
	return joined
}
