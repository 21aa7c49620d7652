package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"legwork/internal/clip"
	"legwork/tools/client/skill"
)

// errSkillTooLong means that not all of a file came, so that it cannot be checked.
var errSkillTooLong = errors.New("the file is longer than the longest result that legwork reads (max_result_bytes)")

// listSkills adds a tool for each skill of the server to a catalog: it reads the skill.
// No file is read before a model calls the tool. left says for each skill that was left
// out why.
func (c *connection) listSkills(ctx context.Context, cat *Catalog) (left []string) {
	got := captured{method: skill.List}
	if _, err := c.client.ListResources(withCapture(ctx, &got), mcp.ListResourcesRequest{}); err != nil {
		return []string{fmt.Sprintf("its skills: %v", plainError(err))}
	}
	for _, page := range got.pages {
		var list struct {
			Skills []json.RawMessage `json:"skills"`
		}
		if err := json.Unmarshal(page, &list); err != nil {
			left = append(left, fmt.Sprintf("a page of skills: %v", err))
		}
		for _, raw := range list.Skills {
			if err := cat.addSkill(raw, c.cfg.Name); err != nil {
				left = append(left, fmt.Sprintf("a skill: %v", err))
			}
		}
	}
	return left
}

// addSkill adds a tool that reads a skill. Its definition has the whole entry of the
// skill: what people accept is these files, and a change of one changes the definition.
func (c *Catalog) addSkill(raw json.RawMessage, server string) error {
	s, why := skill.Read(raw)
	if s.Server = server; s.Label() == "" {
		return why
	}
	name := "skill_" + s.Label()
	switch {
	case len(c.Tools)+len(c.NotOffered) >= maxTools:
		return fmt.Errorf("%q: there are more than %d tools and skills", s.URI, maxTools)
	case c.Tools[name] != nil || c.NotOffered[name] != "":
		return fmt.Errorf("%q: there is another tool or skill %q", s.URI, name)
	case why != nil:
		c.NotOffered[name] = why.Error()
		return nil //nolint:nilerr // the catalog says why it is not offered
	}
	definition, err := json.Marshal(map[string]any{
		"name": name, "description": "Skill: " + clip.Marked(s.Description, maxDescription/2) + "\nReads this server's instructions for such work. Read them before you begin it.",
		"inputSchema": json.RawMessage(`{"type":"object","properties":{"file":{"type":"string","description":"another file of the skill, as the skill names it; empty: the instructions, which come first"}},"additionalProperties":false}`),
		"skill":       s.Entry(),
	})
	if err != nil {
		return fmt.Errorf("%q: %w", s.URI, err)
	}
	d, err := readDefinition(definition)
	if err != nil {
		return fmt.Errorf("%q: %w", s.URI, err)
	}
	d.Skill = &s
	c.Tools[name] = d
	return nil
}

// skillFile is the file that a call of a skill's tool is about.
func (d *Definition) skillFile(args json.RawMessage) (skill.File, error) {
	var a struct {
		File string `json:"file"`
	}
	_ = json.Unmarshal(args, &a) // checked against the schema; nothing is no argument
	return d.Skill.File(a.File)
}

// skillRequest reads a file of a skill. The files beside SKILL.md can be read after it.
func (c *connection) skillRequest(d *Definition, args json.RawMessage) (requestFunc, error) {
	file, err := d.skillFile(args)
	if err != nil {
		return nil, err
	}
	if _, loaded := c.loaded.Load(d.Hash); !loaded && !d.Skill.Main(file) {
		return nil, errors.New("the instructions of the skill come first: leave \"file\" out")
	}
	return func(ctx context.Context, got *captured) error {
		r := mcp.ReadResourceRequest{}
		r.Params.URI = file.URI
		_, err := c.client.ReadResource(withCapture(ctx, got), r)
		return err
	}, nil
}

// checkSkill checks that a file of a skill is what the server listed. When it is not, the
// server is asked for its list again, so that a skill that was changed is quarantined.
func (c *connection) checkSkill(d *Definition, args json.RawMessage, got captured) error {
	file, err := d.skillFile(args)
	if err != nil {
		return err
	}
	if got.dropped > 0 {
		return errSkillTooLong
	}
	content, err := onlyContent(got.result())
	if err == nil {
		err = d.Skill.Check(file, content)
	}
	switch {
	case err != nil:
		c.loaded.Delete(d.Hash)
		c.listChanged()
	case d.Skill.Main(file):
		c.loaded.Store(d.Hash, true)
	}
	return err
}

// onlyContent is the content in a result of resources/read that has one.
func onlyContent(raw []byte) ([]byte, error) {
	var r struct {
		Contents []resource `json:"contents"`
	}
	if err := json.Unmarshal(raw, &r); err != nil || len(r.Contents) != 1 {
		return nil, fmt.Errorf("%w: the server did not send one content", skill.ErrChanged)
	}
	if text := r.Contents[0].Text; text != nil {
		return []byte(*text), nil
	}
	b, err := base64.StdEncoding.DecodeString(r.Contents[0].Blob)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", skill.ErrChanged, err)
	}
	return b, nil
}

// skillHeading is what a model reads above a file of a skill; empty for other results.
func (d *Definition) skillHeading(args json.RawMessage) string {
	if d.Skill == nil {
		return ""
	}
	file, err := d.skillFile(args)
	if err != nil {
		return ""
	}
	return clean(d.Skill.Heading(file, 4<<10))
}
