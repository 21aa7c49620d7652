package harness

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// serverArgs are the tool server's arguments, as items of a YAML list.
func serverArgs(log string) string { return fmt.Sprintf("-log, %q", log) }

// Output is what the tool server returns for a call.
func Output(tool, text string) string {
	if tool == book {
		return "booked " + text
	}
	return "value of " + text
}

// readCalls reads the tool server's log of a life. There is no file when it was never
// started.
func readCalls(path string, life int) ([]Call, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading calls: %w", err)
	}
	defer file.Close()
	var calls []Call
	for decoder := json.NewDecoder(bufio.NewReader(file)); ; {
		var line struct {
			Time      time.Time
			Event     string
			Tool      string
			Arguments map[string]string
		}
		if err := decoder.Decode(&line); errors.Is(err, io.EOF) {
			return calls, nil
		} else if err != nil {
			return calls, fmt.Errorf("reading calls: %w", err)
		}
		if line.Event == "call" {
			calls = append(calls, Call{At: line.Time, Life: life, Tool: line.Tool, Text: strings.TrimSpace(line.Arguments["key"] + line.Arguments["item"])})
		}
	}
}
