package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"legwork/internal/clip"
	"legwork/internal/lookalike"
	"legwork/internal/plainjson"
	"legwork/tools/client/skill"
)

// Bounds on the catalog of one server.
const (
	maxTools       = 1000
	maxDescription = 4 << 10
	maxSchema      = 64 << 10
)

// Catalog is what a server offers; it is never changed once it is made.
type Catalog struct {
	Instructions string
	Tools        map[string]*Definition // by the server's names
	Resources    bool                   // the server has resources; Tools has two of legwork's own for them then
	Prompts      []Prompt               // in the server's order
	NotOffered   map[string]string      // tools that models cannot use, by the server's names, and why
}

// Definition is one tool as its server describes it.
type Definition struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"` // for people
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"` // of structured output; empty: none is announced
	Annotations  struct {
		Title       string `json:"title"`
		ReadOnly    bool   `json:"readOnlyHint"`
		Idempotent  bool   `json:"idempotentHint"`
		Destructive *bool  `json:"destructiveHint"`
		OpenWorld   *bool  `json:"openWorldHint"`
	} `json:"annotations"`

	Hash         string          `json:"-"` // of the whole definition as it came, its order of keys aside
	Raw          json.RawMessage `json:"-"` // the definition as it came
	ForResources bool            `json:"-"` // not the server's: the client's way to its resources
	Skill        *skill.Skill    `json:"-"` // not the server's: the client's way to this skill; nil: another tool

	task   bool    // it can be called as a task of the protocol
	schema *schema // nil when the server's schema cannot be used
	output *schema // nil when structured output cannot be checked
}

// Reads reports whether the definition is the client's own and only reads from the server.
func (d *Definition) Reads() bool { return d.ForResources || d.Skill != nil }

// newCatalog reads the raw pages of tools/list. left says for each tool that
// was left out, or whose arguments cannot be checked, why. asTasks says that tools which
// run only as tasks can be called.
func newCatalog(instructions string, pages [][]byte, asTasks bool) (c *Catalog, left []string) {
	c = &Catalog{Instructions: clean(instructions), Tools: map[string]*Definition{}, NotOffered: map[string]string{}}
	looks := map[string]string{} // the first name of each look
	for _, page := range pages {
		var list struct {
			Tools []json.RawMessage `json:"tools"`
		}
		if err := json.Unmarshal(page, &list); err != nil {
			left = append(left, fmt.Sprintf("a page of tools: %v", err))
			continue
		}
		for _, raw := range list.Tools {
			if len(c.Tools)+len(c.NotOffered) >= maxTools {
				return c, append(left, fmt.Sprintf("everything after %d tools", maxTools))
			}
			d, err := readDefinition(raw)
			if err != nil {
				left = append(left, fmt.Sprintf("%q: %v", d.Name, err))
			}
			if d.Name == "" || len(d.InputSchema) > maxSchema {
				continue
			}
			delete(c.Tools, d.Name) // of two with one name, the last counts
			delete(c.NotOffered, d.Name)
			look := lookalike.Skeleton(d.Name)
			why := d.notOffered(asTasks)
			if first, taken := looks[look]; !taken {
				looks[look] = d.Name
			} else if !strings.EqualFold(first, d.Name) { // people see whether letters are small or capital
				why = fmt.Sprintf("its name, %+q, looks like that of the tool %+q", d.Name, first)
			}
			if why != "" {
				c.NotOffered[d.Name] = why
			} else {
				c.Tools[d.Name] = d
			}
		}
	}
	return c, left
}

func readDefinition(raw json.RawMessage) (*Definition, error) {
	d := &Definition{}
	if err := json.Unmarshal(raw, d); err != nil {
		return &Definition{}, fmt.Errorf("reading its definition: %w", err)
	}
	d.Raw, d.Hash = raw, definitionHash(raw)
	d.task = d.taskSupport() == mcp.TaskSupportRequired || d.taskSupport() == mcp.TaskSupportOptional
	d.Description = clip.Bytes(clean(d.Description), maxDescription)
	d.Title = clip.Bytes(clean(cmp.Or(d.Title, d.Annotations.Title)), 200)
	if t := bytes.TrimSpace(d.InputSchema); len(t) == 0 || t[0] != '{' {
		d.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	if len(d.InputSchema) > maxSchema {
		return d, fmt.Errorf("its schema has %d bytes; the limit is %d", len(d.InputSchema), maxSchema)
	}
	var err error
	if d.schema, err = compile(d.InputSchema); err != nil {
		return d, fmt.Errorf("its arguments are not checked: %w", err)
	}
	if t := bytes.TrimSpace(d.OutputSchema); len(t) > 0 && t[0] == '{' && len(t) <= maxSchema {
		if d.output, err = compile(t); err != nil {
			return d, fmt.Errorf("its results are not checked: %w", err)
		}
	}
	return d, nil
}

// notOffered says why models cannot use a tool; empty when they can. Its sources are
// "Tool-Level Negotiation" of tasks (MCP 2025-11-25, "Tasks") and "Visibility" of the
// extension MCP Apps (2026-01-26).
func (d *Definition) notOffered(asTasks bool) string {
	var t struct {
		Meta struct {
			UI struct {
				Visibility []string `json:"visibility"`
			} `json:"ui"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(d.Raw, &t) // members of other types count as absent
	switch {
	case d.taskSupport() == mcp.TaskSupportRequired && !asTasks:
		return "it runs only as a task of the protocol, which its server does not support"
	case t.Meta.UI.Visibility != nil && !slices.Contains(t.Meta.UI.Visibility, "model"):
		return "its server offers it to its own app only, not to models"
	}
	return ""
}

// arguments returns what to send for args, or an error that tells a model what
// to change. Nothing, null and an empty string are no arguments.
func (d *Definition) arguments(args json.RawMessage) (json.RawMessage, error) {
	if t := strings.TrimSpace(string(args)); t == "" || t == "null" || t == `""` {
		args = json.RawMessage("{}")
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		return nil, fmt.Errorf("they are not valid JSON (%w)", err)
	}
	if key, twice := plainjson.RepeatedKey(args); twice {
		return nil, fmt.Errorf("the key %q appears twice in one object", key)
	}
	if _, ok := v.(map[string]any); !ok {
		return nil, errors.New("they must be a JSON object")
	}
	if d.schema == nil {
		return args, checkNumbers(args)
	}
	return args, d.schema.check(v, args)
}

// explainMismatch lists the innermost reasons, at most five.
func explainMismatch(e *jsonschema.ValidationError, sofar []string) []string {
	for _, c := range e.Causes {
		sofar = explainMismatch(c, sofar)
	}
	if len(e.Causes) > 0 || len(sofar) >= 5 {
		return sofar
	}
	at := "" // of all arguments
	if len(e.InstanceLocation) > 0 {
		at = `"` + strings.Join(e.InstanceLocation, ".") + `": `
	}
	return append(sofar, at+e.ErrorKind.LocalizedString(message.NewPrinter(language.English)))
}

// definitionHash is the same for two definitions that differ only in white space and the
// order of their keys. Where a key comes again, the order says which value counts,
// and the other ones reach a model too: such a definition has to stay as it is to
// the byte.
func definitionHash(raw json.RawMessage) string {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if _, again := plainjson.SimilarKey(raw); err == nil && !again {
		if b, err := json.Marshal(doc); err == nil {
			raw = b
		}
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// list asks for everything that the server offers. left says for each part that
// was left out why.
func (c *connection) list(ctx context.Context) (cat *Catalog, left []string, err error) {
	tools := captured{readHeaders: c.http != nil && c.modern()}
	if c.capabilities.Tools != nil || c.capabilities.Resources == nil && c.capabilities.Prompts == nil {
		res, err := c.client.ListTools(withCapture(ctx, &tools), mcp.ListToolsRequest{})
		if err != nil {
			return nil, nil, c.withStderr(fmt.Errorf("listing its tools: %w", plainError(err)))
		}
		tools.keepBadHeaders(res.Tools)
	}
	cat, left = newCatalog(c.instructions, tools.pages, c.runsTasks())
	if tools.more {
		left = append(left, fmt.Sprintf("everything after %d pages of tools", len(tools.pages)))
	}
	for name := range tools.badHeaders {
		delete(cat.Tools, name)
		left = append(left, fmt.Sprintf("%q: its parameters ask for headers (x-mcp-header) in a way that is not allowed", name))
	}
	if c.capabilities.Prompts != nil {
		var got captured
		if _, err := c.client.ListPrompts(withCapture(ctx, &got), mcp.ListPromptsRequest{}); err != nil {
			left = append(left, fmt.Sprintf("its prompts: %v", plainError(err)))
		}
		cat.Prompts = readPrompts(got.pages)
	}
	if c.capabilities.Resources != nil {
		cat.Resources = true
		if err := cat.addResourceTools(); err != nil {
			left = append(left, fmt.Sprintf("its resources: %v", err))
		}
	}
	if _, declared := c.capabilities.Extensions[skill.Extension]; declared {
		left = append(left, c.listSkills(ctx, cat)...)
	}
	return cat, left, nil
}

// headerTools returns the tools that the library has to know, since some of their
// arguments go into headers of HTTP too (x-mcp-header, revision 2026-07-28).
func (c *captured) headerTools(page []byte) []json.RawMessage {
	known := []json.RawMessage{}
	if !c.readHeaders || !bytes.Contains(page, []byte("x-mcp-header")) {
		return known
	}
	var list struct {
		Tools []json.RawMessage `json:"tools"`
	}
	_ = json.Unmarshal(page, &list)
	for _, raw := range list.Tools {
		var t mcp.Tool
		if !bytes.Contains(raw, []byte("x-mcp-header")) || json.Unmarshal(raw, &t) != nil {
			continue
		}
		if c.badHeaders == nil {
			c.badHeaders = map[string]bool{}
		}
		c.badHeaders[t.Name] = true
		known = append(known, raw)
	}
	return known
}

// keepBadHeaders keeps the tools whose headers break the rules: the library leaves
// them out of kept.
func (c *captured) keepBadHeaders(kept []mcp.Tool) {
	for _, t := range kept {
		delete(c.badHeaders, t.Name)
	}
}
