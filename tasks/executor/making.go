package executor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"legwork/bot"
	"legwork/bot/markdown"
	"legwork/files"
	"legwork/files/write"
	"legwork/internal/clip"
	"legwork/internal/failpoint"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/policy"
	"legwork/tools"
)

// making makes the file of one call of make_file.
type making struct {
	x     *Executor
	v     *tasks.View
	a     planner.Action
	makes *planner.Makes
}

// refusal is why no file was made: a sentence for the model, which may then call
// make_file in another way.
type refusal string

func (r refusal) Error() string { return string(r) }

// makeFile makes a file, keeps it, and appends that it was made. What the model can mend
// becomes the result of its call.
func (x *Executor) makeFile(ctx context.Context, v *tasks.View, a planner.Action, wanted planner.Make) error {
	m := making{x, v, a, x.rules.Load().Makes}
	f, used, err := m.file(ctx, wanted)
	over, reached := errors.AsType[*overdraftError](err)
	reason, mendable := reasonOf(err)
	switch {
	case reached:
		return x.budgetReached(ctx, v, a, over.reserved, over.Overdraft)
	case mendable:
		logWithCause(ctx, x.Log, err.Error()).InfoContext(ctx, "file not made", "task", v.ID, "action", a.ID, "kind", madeKind(wanted.Name))
		text := m.text("prompt.not_made", map[string]any{"Reason": reason})
		return x.settled(ctx, v, a, planner.Result{Text: text, Failed: true, Usage: used})
	case err != nil:
		x.budget.settle(ctx, v.ID, tasks.ReservationID{Action: a.ID}, used)
		return err
	}
	failpoint.Hit("file.made")
	text := m.text("prompt.made", map[string]any{"Name": f.Name, "Text": files.Size(f.Bytes)})
	return x.settled(ctx, v, a, planner.Result{Text: text, Files: []files.File{f}, Caption: m.unlinked(clip.Line(wanted.Caption, maxMadeCaption)), Usage: used})
}

// maxMadeCaption is the longest caption of a made file, in bytes.
const maxMadeCaption = 300

// settled appends the result of a call that may have cost something. It counts the cost
// also when the task no longer wants the result.
func (x *Executor) settled(ctx context.Context, v *tasks.View, a planner.Action, r planner.Result) error {
	err := x.returned(ctx, v, a, r)
	if err != nil && !r.Usage.Empty() {
		x.budget.settle(ctx, v.ID, tasks.ReservationID{Action: a.ID}, r.Usage)
	}
	return err
}

func (m making) text(key string, data map[string]any) string {
	return m.x.Texts.Text(m.v.Opening().Language, key, data)
}

// unlinked is a Markdown text of the model in which an address that the task has not read
// is no link, as in an answer.
func (m making) unlinked(text string) string {
	return markdown.Unlinked(text, policy.Linkable(m.v, planner.PromptInput{}))
}

// reasonOf is a sentence for the model about an error; ok is false for an error that
// the model cannot mend.
func reasonOf(err error) (reason string, ok bool) {
	kind, isKind := errors.AsType[*write.KindError](err)
	large, isLarge := errors.AsType[*write.TooLargeError](err)
	table, isTable := errors.AsType[*write.TableError](err)
	font, isFont := errors.AsType[*write.FontError](err)
	picture, isPicture := errors.AsType[*write.PictureError](err)
	no, isRefusal := errors.AsType[refusal](err)
	switch {
	case isKind:
		return kind.Error(), true
	case isLarge:
		return large.Error() + ". Make it smaller, or several files", true
	case isTable:
		return table.Error(), true
	case isFont:
		return font.Error(), true
	case isPicture:
		return picture.Error() + ". Make the picture first, under this name, or leave it out", true
	case isRefusal:
		return no.Error(), true
	case errors.Is(err, files.ErrTotal):
		return "all files together have reached their limit in the config (files.total_bytes). Say so to the person, who can tell the admin", true
	case errors.Is(err, files.ErrRoom), errors.Is(err, files.ErrLarge):
		return "the files of this chat have reached their limit in the config (files.chat_bytes). Say so to the person", true
	case errors.Is(err, tasks.ErrFull): // a picture or speech would be paid for again with each try
		return "the disk is full. Say so to the person, who can tell the admin", true
	}
	return "", false
}

// file makes a file and keeps it. used is what models used for it.
func (m making) file(ctx context.Context, wanted planner.Make) (f files.File, used llm.Usage, err error) {
	switch {
	case m.makes == nil:
		return f, used, refusal("no files can be made here")
	case wanted.File != "":
		f, err = m.sentOn(wanted)
		return f, used, err
	}
	name, kind := bot.BaseName(wanted.Name), madeKind(wanted.Name)
	if paid := m.medium(kind, wanted); paid != nil {
		media, err := paid(ctx)
		if err != nil {
			return f, media.Usage, err
		}
		name = strings.TrimSuffix(name, path.Ext(name)) + "." + cmp.Or(endingOf(media.Type), kind)
		f, err = m.x.contents.keep(ctx, m.v, bytes.NewReader(media.Data), name, media.Type)
		return f, media.Usage, err
	}
	content, err := m.content(ctx, kind, wanted)
	if err != nil {
		return f, used, err
	}
	f, err = m.x.contents.keep(ctx, m.v, bytes.NewReader(content), name, write.TypeOf(kind))
	return f, used, err
}

// content makes a file that needs no model. Files are made one after the other, since a
// large one takes memory.
func (m making) content(ctx context.Context, kind string, wanted planner.Make) ([]byte, error) {
	select {
	case m.x.writing <- struct{}{}:
		defer func() { <-m.x.writing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var out bytes.Buffer
	untilDone := writerFunc(func(p []byte) (int, error) {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		return out.Write(p)
	})
	err := m.write(ctx, untilDone, kind, wanted)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return out.Bytes(), err
}

// writerFunc is a writer.
type writerFunc func(p []byte) (int, error)

func (w writerFunc) Write(p []byte) (int, error) { return w(p) }

func (m making) write(ctx context.Context, w io.Writer, kind string, wanted planner.Make) error {
	options := write.Options{
		Author: "legwork", Language: m.v.Opening().Language, Now: m.v.State.Last, Fonts: m.x.rules.Load().Fonts,
		Pictures: func(name string) ([]byte, error) { return m.picture(ctx, name) },
	}
	switch kind {
	case write.DOCX, write.PDF, write.HTML, write.Markdown, write.Text:
		if err := m.takes(kind, "text", wanted.Text != ""); err != nil {
			return err
		}
		text := wanted.Text
		if kind != write.Text {
			text = m.unlinked(text)
		}
		return write.Document(w, kind, text, options)
	case write.XLSX, write.CSV:
		sheets, err := m.sheets(kind, wanted)
		if err != nil {
			return err
		}
		return write.Spreadsheet(w, kind, write.Workbook{Sheets: sheets}, options)
	case write.PNG, write.SVG:
		if err := m.takes(kind, "chart", len(wanted.Chart) > 0); err != nil {
			return err
		}
		var chart write.Chart
		if err := decode(wanted.Chart, &chart); err != nil {
			return refusal("the chart cannot be read: " + err.Error())
		}
		return write.Draw(w, kind, chart, options)
	case kindJSON:
		if err := m.takes(kind, "text", wanted.Text != ""); err != nil {
			return err
		}
		return write.JSON(w, []byte(wanted.Text))
	}
	if kind == "" {
		return refusal("the name needs an ending that says the kind: known are " + m.makes.Kinds)
	}
	return refusal(fmt.Sprintf("there is no kind %q: known are %s", clip.Marked(kind, 20), m.makes.Kinds))
}

// takes refuses a kind that is made from another argument than the given one.
func (m making) takes(kind, argument string, given bool) error {
	if given {
		return nil
	}
	return refusal(fmt.Sprintf("a %s file is made from %q", kind, argument))
}

// sheets are the tables of a call. A CSV may also come as text.
func (m making) sheets(kind string, wanted planner.Make) (list []write.Sheet, err error) {
	if kind == write.CSV && wanted.Text != "" {
		return table(wanted.Text)
	}
	if err := m.takes(kind, "sheets", len(wanted.Sheets) > 0); err != nil {
		return nil, err
	}
	if err := decode(wanted.Sheets, &list); err != nil {
		return nil, refusal("the sheets cannot be read: " + err.Error())
	}
	return list, nil
}

// decode reads arguments of a model without losing digits of its numbers.
func decode(text json.RawMessage, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(v)
}

// table reads the text of a CSV, whose separator is that of its first line.
func table(text string) ([]write.Sheet, error) {
	first, _, _ := strings.Cut(text, "\n")
	r := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
	r.FieldsPerRecord, r.LazyQuotes = -1, true
	for _, c := range []rune{';', '\t'} {
		if strings.Count(first, string(c)) > strings.Count(first, string(r.Comma)) {
			r.Comma = c
		}
	}
	records, err := r.ReadAll()
	if err != nil {
		return nil, refusal("the CSV cannot be read: " + err.Error())
	}
	rows := make([][]any, len(records))
	for i, record := range records {
		for _, cell := range record {
			rows[i] = append(rows[i], cell)
		}
	}
	return []write.Sheet{{Name: "CSV", Rows: rows}}, nil
}

// picture reads a picture that a document shows: a file of the task, by its name.
func (m making) picture(ctx context.Context, name string) ([]byte, error) {
	f, ok := m.named(name)
	if !ok {
		return nil, errors.New("there is no such file")
	}
	return m.x.contents.load(ctx, f.ID, write.MaxBytes+1)
}

// sentOn is a file of the task that goes to the person as it is.
func (m making) sentOn(wanted planner.Make) (files.File, error) {
	f, ok := m.named(wanted.File)
	if !ok {
		return f, refusal(fmt.Sprintf("there is no file %q to be sent", clip.Marked(wanted.File, 80)))
	}
	if wanted.Name != "" && planner.MadeKind(wanted.Name) == planner.MadeKind(f.Name) {
		f.Name = wanted.Name
	}
	f.Name = bot.BaseName(f.Name)
	return f, nil
}

// keepReturned keeps the files that a tool returned, so that make_file can send them. What
// cannot be kept is left out: the text of the result still speaks of it.
func (x *Executor) keepReturned(ctx context.Context, v *tasks.View, a planner.Action, r tools.Result) (list []files.File) {
	if x.rules.Load().Makes == nil || !v.State.WantsFile || r.Failed {
		return nil
	}
	for _, f := range r.Files {
		kept, err := x.contents.keep(ctx, v, bytes.NewReader(f.Data), bot.BaseName(f.Name), cmp.Or(f.Type, "application/octet-stream"))
		if err != nil {
			x.Log.WarnContext(ctx, "file of tool not kept", "task", v.ID, "action", a.ID, "bytes", len(f.Data), "cause", err)
			continue
		}
		list = append(list, kept)
	}
	return list
}

// named is the file of the task with that name: a made one, one that a tool returned, or
// one that came with a message.
func (m making) named(name string) (files.File, bool) {
	journal := m.v.Event
	name = strings.TrimSpace(name)
	is := func(id string, f files.File) bool {
		return f.ID != "" && (strings.EqualFold(name, id) || name == f.Name)
	}
	for _, f := range planner.Made(m.v.State, journal) {
		if is(f.Name, f.File) {
			return f.File, true
		}
	}
	for i, f := range planner.FromTools(m.v.State, journal) {
		if is(planner.ReturnedName(i), f) {
			return f, true
		}
	}
	for i, a := range m.v.State.Files {
		if a.Read == 0 || a.Gone {
			continue
		}
		if r := journal(a.Read).Read; is(planner.FileName(i), r.File) {
			return r.File, true
		}
	}
	return files.File{}, false
}
