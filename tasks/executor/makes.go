package executor

import (
	"encoding/json"
	"slices"
	"strings"

	"legwork/files/write"
	"legwork/planner"
)

// Kinds of made files beside those of package write: the endings of their names.
const (
	kindJSON = "json"
	kindJPG  = "jpg"
	kindMP3  = "mp3"
	kindOGG  = "ogg"
)

// Makes are the files that can be made, with or without a model for pictures and one for
// speech.
func Makes(pictures, speech bool) *planner.Makes {
	kinds := []string{
		write.DOCX, write.PDF, write.XLSX, write.CSV, write.Markdown, write.Text, write.HTML, kindJSON, write.PNG + " and " + write.SVG + " (chart)",
	}
	if pictures {
		kinds = append(kinds, write.PNG+" and "+kindJPG+" (picture)")
	}
	if speech {
		kinds = append(kinds, kindMP3+" and "+kindOGG+" (speech)")
	}
	return &planner.Makes{Kinds: strings.Join(kinds, ", "), Schema: json.RawMessage(makeSchema), Pictures: pictures, Speech: speech}
}

// makeSchema is the schema of the arguments of make_file. Names say what they mean where
// they can, since each prompt with the tool carries them.
const makeSchema = `{"type":"object","properties":{` +
	`"name":{"type":"string"},"text":{"type":"string"},` +
	`"sheets":{"type":"array","description":"of xlsx; csv: one","items":{"type":"object","properties":{` +
	`"name":{"type":"string"},` +
	`"columns":{"type":"array","items":{"type":"object","properties":{"title":{"type":"string"},` +
	`"type":{"type":"string","enum":["text","number","date","percent","currency","boolean"]},` +
	`"format":{"type":"string","description":"0.00; of currency: EUR"}},"required":["title"]}},` +
	`"rows":{"type":"array","description":"cells: text, number, true, false, null or {\"formula\":\"SUM(B2:B9)\"}; rows begin at row 2","items":{"type":"array","items":{}}},` +
	`"charts":{"type":"array","description":"as chart; each series is named like a column and has no values","items":{"type":"object"}}},"required":["name","rows"]}},` +
	`"chart":{"type":"object","properties":{"kind":{"type":"string","enum":["line","bar","stacked","scatter","pie","histogram"]},` +
	`"title":{"type":"string"},"x_title":{"type":"string"},"y_title":{"type":"string"},"unit":{"type":"string"},` +
	`"labels":{"type":"array","items":{"type":"string"}},` +
	`"series":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"values":{"type":"array","items":{"type":"number"}},` +
	`"points":{"type":"array","description":"[x, y] of scatter","items":{"type":"array","items":{"type":"number"}}}}}}},"required":["kind","series"]},` +
	`"file":{"type":"string"},"caption":{"type":"string"}},"required":["name"]}`

// madeKind is the kind of a file by its name. Spellings that models also use count as
// the usual one.
func madeKind(name string) string {
	kind := planner.MadeKind(name)
	for usual, others := range map[string][]string{
		write.Markdown: {"markdown"}, write.Text: {"text"}, write.HTML: {"htm"}, kindJPG: {"jpeg"}, kindOGG: {"opus", "oga"},
	} {
		if slices.Contains(others, kind) {
			return usual
		}
	}
	return kind
}

// endingOf is the ending of the name of a picture or recording, whose model chose the
// type; empty for an unknown type.
func endingOf(mediaType string) string {
	return map[string]string{
		"image/png": write.PNG, "image/jpeg": kindJPG, "image/webp": "webp", "image/gif": "gif",
		"audio/mpeg": kindMP3, "audio/ogg": kindOGG, "audio/wav": "wav", "audio/flac": "flac", "audio/aac": "aac", "audio/mp4": "m4a",
	}[mediaType]
}
