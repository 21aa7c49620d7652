package read

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"legwork/files/read/parse"
	"legwork/files/read/pdf"
)

// Main does one job in the process that reads: the job is on in, the file is descriptor
// 3, and messages go to out. It must be the only thing that a process does.
func Main(in io.Reader, out io.Writer) error {
	var j job
	if err := json.NewDecoder(in).Decode(&j); err != nil {
		return fmt.Errorf("reading the job: %w", err)
	}
	j.Limits = j.Limits.Defaults()
	file := os.NewFile(3, "file")
	if file == nil {
		return errors.New("reading the file: descriptor 3 is not open")
	}
	src, err := source(file, j.Name)
	if err != nil {
		return err
	}
	debug.SetMaxStack(64 << 20)
	debug.SetMemoryLimit(j.Limits.Memory / 4 * 3) // the collector works harder from here on
	// The timer also starts what timers need while the process may still open something.
	over := time.AfterFunc(LoadTime+j.Limits.Time, func() { panic("the file takes too long to read") })
	defer over.Stop()
	w := writer{json.NewEncoder(out)}
	if j.PDF { // its code is stored and loaded before anything of the file is read
		if src.PDF, err = pdf.Load(context.Background(), j.Cache, j.Limits.Unpacked); err != nil {
			return w.done(nil, err)
		}
	}
	used, reserved := processorTime(), int64(0)
	if j.PDF {
		reserved = j.Limits.Unpacked // the system gives pages of it as PDFium uses them
	}
	if err := confine(j.Limits, reserved, used); err != nil {
		return fmt.Errorf("giving up rights: %w", err)
	}
	over.Reset(j.Limits.Time)
	if j.PDF {
		if err := w.Encode(message{Ready: &used}); err != nil {
			return err
		}
	}
	switch j.Do {
	case doFile:
		d, err := parse.File(src, j.Limits, w.part)
		return w.done(&d, err)
	case doPicture:
		p, err := parse.ReadPicture(src, j.Limits)
		if err == nil {
			err = w.part(Part{Picture: &p})
		}
		return w.done(nil, err)
	case doMember:
		data := bufio.NewWriterSize(w, 64<<10)
		err := parse.Member(src, j.Name, j.Limits, data)
		if err == nil {
			err = data.Flush()
		}
		return w.done(nil, err)
	}
	return fmt.Errorf("reading the job: it is %q", j.Do)
}

// source is a file that is open.
func source(file *os.File, name string) (parse.Source, error) {
	info, err := file.Stat()
	if err != nil {
		return parse.Source{}, fmt.Errorf("reading the file: %w", err)
	}
	return parse.Source{ReaderAt: file, Size: info.Size(), Name: name}, nil
}

// writer writes messages.
type writer struct{ *json.Encoder }

func (w writer) part(p Part) error { return w.Encode(message{Part: &p}) }

// Write writes the data of a member.
func (w writer) Write(b []byte) (int, error) { return len(b), w.Encode(message{Data: b}) }

func (w writer) done(d *Document, err error) error {
	m := message{Document: d, Done: true}
	if err != nil {
		m.Error = &problem{Text: fmt.Sprintf("%.500s", err)}
		var kind KindError
		errors.As(err, &m.Error.Reason)
		if errors.As(err, &kind) {
			m.Error.Type = kind.Type
		}
	}
	return w.Encode(m)
}
