package presenter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"legwork/bot"
	"legwork/bot/markdown"
	"legwork/files/write"
	"legwork/planner"
	"legwork/tasks"
)

// Answers that do not fit a chat: of one with too many messages the chat gets the first
// part, and a file with all of it; of tables that are too wide it gets a workbook, too.

// outsize sends what does not fit, and returns the drafts of the answer's messages.
type outsize struct {
	outbox
	rules *tasks.PromptRules
	next  int // number of the next slot of a file
}

// Names of the files.
const (
	answerFile = "answer." + write.DOCX
	tablesFile = "tables." + write.XLSX
)

// fit returns the messages of an answer as they are shown. It first sends the files that
// replace or complete them. Where a file cannot be sent, the messages stay as they are.
func (o *outsize) fit(ctx context.Context, parts []bot.Draft) ([]bot.Draft, error) {
	if o.rules.Makes == nil || o.view.State.Answer == 0 || !o.Lasts() || !o.takesFiles() {
		return parts, nil
	}
	whole := o.view.State.Slot("answer.3").Name != "" // an earlier Show could not send the file
	if n := o.rules.AnswerMessages; n > 0 && len(parts) > n && !whole {
		sent, err := o.attach(ctx, answerFile, "made.answer", o.document)
		if err != nil || !sent {
			return parts, err
		}
		first, end := parts[0], parts[len(parts)-1]
		end.Text, end.Part = o.ps.Texts.Text(o.view.Opening().Language, "made.rest", map[string]any{"Name": answerFile}), 0
		parts = []bot.Draft{first, end}
	}
	if _, err := o.attach(ctx, tablesFile, "made.tables", o.tables); err != nil {
		return nil, err
	}
	return parts, nil
}

// attach makes a file of the answer and sends it. sent is false when there is nothing to
// make, or the file cannot be made or sent.
func (o *outsize) attach(ctx context.Context, name, caption string, fill func(*bytes.Buffer, write.Options) error) (sent bool, err error) {
	var content bytes.Buffer
	opening := o.view.Opening()
	err = fill(&content, write.Options{Author: "legwork", Language: opening.Language, Now: o.view.State.Last, Fonts: o.rules.Fonts})
	if err != nil {
		o.ps.Log.WarnContext(ctx, "file of answer not made", "task", o.id, "cause", err)
		return false, nil
	}
	if content.Len() == 0 {
		return false, nil
	}
	f := outFile{content: content.Bytes()}
	f.Name, f.Type, f.Bytes, f.Caption = name, write.TypeOf(planner.MadeKind(name)), int64(content.Len()), o.ps.Texts.Text(opening.Language, caption, nil)
	o.next++
	err = o.send(ctx, planner.FileSlot(o.next), f)
	if errors.Is(err, errNoFile) || errors.Is(err, errLater) {
		return false, nil
	}
	return err == nil, err
}

// document writes the answer as a document.
func (o *outsize) document(w *bytes.Buffer, options write.Options) error {
	return write.Document(w, write.DOCX, o.answer(), options)
}

func (o *outsize) answer() string { return planner.ShownAnswer(o.view.Event(o.view.State.Answer)) }

// tables writes the tables that are too wide as the sheets of a workbook. It writes
// nothing when there are none, or when the task has made a workbook.
func (o *outsize) tables(w *bytes.Buffer, options write.Options) error {
	for _, f := range planner.Made(o.view.State, o.view.Event) {
		if strings.HasSuffix(f.Name, "."+write.XLSX) || strings.HasSuffix(f.Name, "."+write.CSV) {
			return nil
		}
	}
	var book write.Workbook
	for i, t := range markdown.WideTables(o.answer()) {
		book.Sheets = append(book.Sheets, sheetOf(fmt.Sprintf("%d", i+1), t))
	}
	if len(book.Sheets) == 0 {
		return nil
	}
	return write.Spreadsheet(w, write.XLSX, book, options)
}

var plainNumber = regexp.MustCompile(`^[+-]?[0-9]{1,15}(?:\.[0-9]+)?$`)

// sheetOf is a table as a sheet. A column of nothing but numbers holds numbers.
func sheetOf(name string, t markdown.Table) write.Sheet {
	s := write.Sheet{Name: name}
	for i, title := range t.Rows[0] {
		c := write.Column{Title: title, Type: "number"}
		for _, row := range t.Rows[1:] {
			if i < len(row) && row[i] != "" && !plainNumber.MatchString(row[i]) {
				c.Type = "text"
			}
		}
		s.Columns = append(s.Columns, c)
	}
	for _, row := range t.Rows[1:] {
		cells := make([]any, min(len(row), len(s.Columns)))
		for i := range cells {
			cells[i] = row[i]
		}
		s.Rows = append(s.Rows, cells)
	}
	return s
}
