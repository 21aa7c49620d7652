package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"legwork/internal/clip"
)

// maxInput bounds standard input, or one line of it, in bytes.
const maxInput = 16 << 20

// ReadInput reads all of standard input.
func ReadInput(c Console) (string, error) {
	text, err := io.ReadAll(io.LimitReader(c.In, maxInput+1))
	if err != nil {
		return "", fmt.Errorf("reading standard input: %w", err)
	}
	if len(text) > maxInput {
		return "", MisuseError(fmt.Sprintf("standard input is larger than %d MiB; use --jsonl for many texts", maxInput>>20))
	}
	return string(text), nil
}

// EachLine reads one JSON object per line and prints one result for each: the
// converted text under key, or an error. It writes the results before it waits for
// more input.
func EachLine(c Console, key string, convert func(text string) (line string)) error {
	in, out := bufio.NewReaderSize(c.In, 64<<10), bufio.NewWriter(c.Out)
	for {
		line, tooLong, readError := clip.ReadLine(in, maxInput)
		if len(line) > 0 || tooLong {
			text, problem := textIn(line, key, tooLong)
			if problem == "" {
				fmt.Fprintln(out, convert(text))
			} else {
				fmt.Fprintln(out, JSON(map[string]string{"error": problem}))
			}
		}
		if readError == nil && in.Buffered() > 0 {
			continue
		}
		if err := out.Flush(); err != nil {
			return fmt.Errorf("writing results: %w", err)
		}
		if errors.Is(readError, io.EOF) {
			return nil
		}
		if readError != nil {
			return fmt.Errorf("reading standard input: %w", readError)
		}
	}
}

// textIn returns the text under key in a line.
func textIn(line []byte, key string, tooLong bool) (text, problem string) {
	want := fmt.Sprintf(`want a line such as {%q: "TEXT"}`, key)
	if tooLong {
		return "", fmt.Sprintf("the line is longer than %d MiB", maxInput>>20)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(bytes.TrimPrefix(line, []byte("\ufeff")), &object); err != nil {
		return "", "the line is not a JSON object; " + want
	}
	var found *string
	if json.Unmarshal(object[key], &found) != nil || found == nil {
		return "", want
	}
	return *found, ""
}

// JSON is value as JSON in one line, with <, > and & as they are.
func JSON(value any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // only called with texts, lists and maps of them
	}
	return string(bytes.TrimSuffix(out.Bytes(), []byte("\n")))
}
