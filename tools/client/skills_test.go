package client_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"legwork/internal/test/skillserver"
	"legwork/internal/test/watch"
	"legwork/tools/client"
)

// TestSkills: a skill is a tool that reads its files, SKILL.md first, and none of them
// before it is called.
func TestSkills(t *testing.T) {
	t.Parallel()
	srv := skillserver.Start(t)
	srv.Offer("acme/refunds", "Pays money back.", "See rules/EU.md.", map[string]string{"rules/EU.md": "14 days."})
	srv.Offer("greeting", "Says hello.", "Say hello.", nil)
	srv.List(map[string]any{"uri": "skill://daily/SKILL.md", "frontmatter": map[string]any{"name": "daily", "description": "d"}, "resources": "dynamic"})
	srv.List(map[string]any{"uri": "skill://other/SKILL.md", "frontmatter": map[string]any{"name": "not-other", "description": "d"}, "resources": []any{}})
	s := ready(t, client.Config{Name: "s", URL: srv.URL})

	cat := s.Catalog()
	d := cat.Tools["skill_acme_refunds"]
	if d == nil || cat.Tools["skill_greeting"] == nil || cat.Tools["do"] == nil {
		t.Fatalf("the tools are %v, want two skills and do", cat.Tools)
	}
	if !strings.Contains(d.Description, "Pays money back.") || !d.Reads() || s.Status().Tools != 1 {
		t.Errorf("got %q, reads %v, %d tools; want the description of a skill, which is not one of the server's tools", d.Description, d.Reads(), s.Status().Tools)
	}
	for name, want := range map[string]string{"skill_daily": "cannot be checked", "skill_other": "its address"} {
		if why := cat.NotOffered[name]; !strings.Contains(why, want) {
			t.Errorf("%s: got %q in %v, want that it is not offered: %q", name, why, cat.NotOffered, want)
		}
	}
	if read := srv.Read(); len(read) > 0 {
		t.Errorf("read %q before a call, want nothing", read)
	}

	if _, err := try(t, s, "skill_acme_refunds", `{"file":"rules/EU.md"}`); !errors.Is(err, client.ErrArguments) || !strings.Contains(err.Error(), "come first") {
		t.Errorf("a file before the instructions: got %v, want that they come first", err)
	}
	wantText(t, "instructions", call(t, s, "skill_acme_refunds", ""), false,
		"[skill refunds of the server s, file SKILL.md. Its other files, to be read when they are needed: rules/EU.md (8 bytes)]\n---\nname: refunds", "See rules/EU.md.")
	wantText(t, "file", call(t, s, "skill_acme_refunds", `{"file":"./rules/EU.md"}`), false, "[skill refunds of the server s, file rules/EU.md.]\n14 days.")
	for _, file := range []string{"rules/US.md", "../greeting/SKILL.md", "skill://greeting/SKILL.md"} {
		if _, err := try(t, s, "skill_acme_refunds", `{"file":"`+file+`"}`); !errors.Is(err, client.ErrArguments) {
			t.Errorf("%s: got %v, want %v", file, err, client.ErrArguments)
		}
	}
	if got, want := srv.Read(), []string{"skill://acme/refunds/SKILL.md", "skill://acme/refunds/rules/EU.md"}; !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
}

// TestChangedSkillFile: a file that is not the listed one is not used. The skill has to be
// read again, and the list too, whose definition of the skill is another one then.
func TestChangedSkillFile(t *testing.T) {
	t.Parallel()
	srv := skillserver.Start(t)
	srv.Offer("refunds", "Pays money back.", "See EU.md.", map[string]string{"EU.md": "14 days."})
	s := ready(t, client.Config{Name: "s", URL: srv.URL})
	before := s.Catalog().Tools["skill_refunds"].Hash
	wantText(t, "instructions", call(t, s, "skill_refunds", ""), false, "See EU.md.")
	srv.Offer("refunds", "Pays money back.", "See EU.md.", map[string]string{"EU.md": "99 days."})
	r := call(t, s, "skill_refunds", `{"file":"EU.md"}`)
	if wantText(t, "changed", r, true, "the file is not the one that the server listed"); strings.Contains(r.Text, "99") || r.Unknown {
		t.Errorf("changed: got %+v, want nothing of the file", r)
	}
	watch.Until(t, "the skill is listed again", func() bool { return s.Catalog().Tools["skill_refunds"].Hash != before })
	if _, err := try(t, s, "skill_refunds", `{"file":"EU.md"}`); !errors.Is(err, client.ErrArguments) {
		t.Errorf("the file of the changed skill: got %v, want that its instructions come first", err)
	}
	wantText(t, "instructions again", call(t, s, "skill_refunds", ""), false, "See EU.md.")
	wantText(t, "file again", call(t, s, "skill_refunds", `{"file":"EU.md"}`), false, "99 days.")

	srv.Offer("long", "Says much.", strings.Repeat("word ", 1<<20), nil)
	s = ready(t, client.Config{Name: "s", URL: srv.URL})
	wantText(t, "long", call(t, s, "skill_long", ""), true, "max_result_bytes")
}
