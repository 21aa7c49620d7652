package memory_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"

	"legwork/tools/builtin/caller"
	"legwork/tools/builtin/memory"
)

var nobody caller.Caller // of a server that runs by itself

func TestOffered(t *testing.T) {
	t.Parallel()
	d := open(t, memory.Options{}, t.TempDir())
	res, err := d.client.ListTools(t.Context(), mcp.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, tool := range res.Tools {
		a := tool.Annotations
		got[tool.Name] = fmt.Sprintf("reads %v, destroys %v, repeats %v, open %v", *a.ReadOnlyHint, *a.DestructiveHint, *a.IdempotentHint, *a.OpenWorldHint)
	}
	want := map[string]string{
		"remember": "reads false, destroys false, repeats true, open false",
		"recall":   "reads true, destroys false, repeats true, open false",
		"forget":   "reads false, destroys true, repeats true, open false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
}

func TestRememberRecallForget(t *testing.T) {
	t.Parallel()
	d := open(t, memory.Options{}, filepath.Join(t.TempDir(), "data"))
	if got := d.must(nobody, "recall", args{}); got != "Nothing is remembered yet." {
		t.Errorf("an empty memory says %q", got)
	}
	if _, err := os.Stat(d.dir); err == nil {
		t.Error("recalling made a folder")
	}
	if got := d.must(nobody, "remember", args{"text": " The dog is called Rex.\x00\nHe is three. ", "about": []string{"dog", "pets"}}); got != "Remembered as p1." {
		t.Errorf("remembering said %q", got)
	}
	d.must(nobody, "remember", args{"text": "Prefers window seats"})
	d.must(nobody, "remember", args{"text": "The team meets on Mondays", "scope": "chat"})
	if got := d.must(nobody, "remember", args{"text": "Prefers window seats"}); got != "Was known already, as p2." {
		t.Errorf("remembering twice said %q", got)
	}
	want := "[p2] Prefers window seats (2026-11-20)\n[c1] The team meets on Mondays (2026-11-20)\n[p1] The dog is called Rex.\n  He is three. (about: dog, pets; 2026-11-20)"
	if diff := cmp.Diff(want, d.must(nobody, "recall", args{})); diff != "" {
		t.Errorf("the latest notes (-want +got):\n%s", diff)
	}
	for _, test := range []struct {
		a    args
		want string
	}{
		{args{"query": "pet"}, "p1"},
		{args{"query": "window or Monday"}, "p2 c1"},
		{args{"query": "seats", "scope": "chat"}, ""},
		{args{"scope": "chat"}, "c1"},
		{args{"scope": "person", "limit": 1}, "p2"},
		{args{"query": "   "}, "p2 c1 p1"},
	} {
		if got := ids(d.must(nobody, "recall", test.a)); got != test.want {
			t.Errorf("recall with %v found %q, want %q", test.a, got, test.want)
		}
	}
	if got := d.must(nobody, "recall", args{"query": "xylophone"}); !strings.HasPrefix(got, "None of the 3 notes matches.") {
		t.Errorf("recall of something unknown said %q", got)
	}
	d.must(nobody, "remember", args{"text": "The cat is called Tom"})
	d.mustFail(nobody, "forget", args{"query": "called"}, "several notes match and none was deleted")
	d.mustFail(nobody, "forget", args{"id": "p9"}, `no note "p9"`)
	d.mustFail(nobody, "forget", args{}, "one of id, query and everything")
	d.mustFail(nobody, "forget", args{"id": "p1", "everything": true}, "one of id, query and everything")
	if got := d.must(nobody, "forget", args{"query": "cats"}); got != "Forgot: [p3] The cat is called Tom (2026-11-20)" {
		t.Errorf("forgetting by query said %q", got)
	}
	if got := d.must(nobody, "forget", args{"query": "cats"}); got != "There was nothing to forget." {
		t.Errorf("forgetting again said %q", got)
	}
	d.must(nobody, "forget", args{"id": "c1"})
	if got := d.must(nobody, "forget", args{"everything": true}); got != "Forgot 2 notes." {
		t.Errorf("forgetting everything said %q", got)
	}
	if got := d.must(nobody, "remember", args{"text": "new"}); got != "Remembered as p4." {
		t.Errorf("an id came back: %q", got)
	}
}

// TestPrivacy tells a note in one place and looks for it from others.
func TestPrivacy(t *testing.T) {
	t.Parallel()
	ann, bob := "telegram:1", "telegram:2"
	annAlone := caller.Caller{Chat: "telegram:1", Person: ann, Private: true}
	bobAlone := caller.Caller{Chat: "telegram:2", Person: bob, Private: true}
	annInGroup, bobInGroup := caller.Caller{Chat: "telegram:-9", Person: ann}, caller.Caller{Chat: "telegram:-9", Person: bob}
	annInOther, bobInOther := caller.Caller{Chat: "telegram:-8", Person: ann}, caller.Caller{Chat: "telegram:-8", Person: bob}
	annInSlack := caller.Caller{Chat: "slack:-9", Person: "slack:1"}
	local := caller.Caller{Chat: "local", Person: "local"}
	unknownInGroup := caller.Caller{Chat: "telegram:-9", Person: "local"}
	all := map[string]caller.Caller{
		"ann alone": annAlone, "bob alone": bobAlone, "ann in the group": annInGroup, "bob in the group": bobInGroup, "ann in another group": annInOther,
		"bob in another group": bobInOther, "ann in Slack": annInSlack, "local": local, "unknown in the group": unknownInGroup,
	}
	tests := []struct {
		name, scope string
		by          caller.Caller
		seen        string // by whom
	}{
		{"in private", "person", annAlone, "ann alone"},
		{"in private, for the chat", "chat", annAlone, "ann alone"},
		{"in a group", "person", annInGroup, "ann in the group, ann alone"},
		{"in a group, for the chat", "chat", annInGroup, "ann in the group, bob in the group, unknown in the group"},
		{"by nobody known", "person", unknownInGroup, "unknown in the group"},
		{"on standard input", "person", local, "local"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := open(t, memory.Options{}, t.TempDir())
			told := d.must(test.by, "remember", args{"text": "the password is swordfish", "scope": test.scope})
			id := strings.TrimSuffix(strings.TrimPrefix(told, "Remembered as "), ".")
			for name, who := range all {
				want := false
				for _, s := range strings.Split(test.seen, ", ") {
					want = want || s == name
				}
				for _, a := range []args{{}, {"query": "swordfish"}, {"query": "password", "scope": test.scope}} {
					if got := d.must(who, "recall", a); strings.Contains(got, "swordfish") != want {
						t.Errorf("%s recalls %q, want it to be seen: %v", name, got, want)
					}
				}
				if want {
					continue
				}
				d.mustFail(who, "forget", args{"id": id}, "there is no note")
				d.must(who, "forget", args{"query": "swordfish", "scope": test.scope})
				d.must(who, "forget", args{"everything": true, "scope": test.scope})
			}
			if got := d.must(test.by, "recall", args{}); !strings.Contains(got, "swordfish") {
				t.Errorf("others made it forget: %q", got)
			}
		})
	}
}

func TestLanguages(t *testing.T) {
	t.Parallel()
	d := open(t, memory.Options{}, t.TempDir())
	for _, text := range []string{
		"Is allergic to peanuts and walks two dogs", "Любит рейсы утром, живёт в Казани", "他最喜欢的饮料是绿茶", "Her project is called legwork_tools", "下个月去北京出差，需要预订酒店",
	} {
		d.must(nobody, "remember", args{"text": text})
	}
	for query, want := range map[string]string{
		"dog": "p1", "what are the allergies": "p1", "утренний рейс": "p2", "Казань": "p2", "绿茶": "p3", "他喜欢喝什么饮料": "p3", "北京的酒店": "p5", "酒": "p5", "legwork": "p4", "projects": "p4", "ЖИВЕТ": "p2",
	} {
		if got, _, _ := strings.Cut(ids(d.must(nobody, "recall", args{"query": query})), " "); got != want {
			t.Errorf("recall of %q found %q first, want %q", query, got, want)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	if _, err := memory.New(memory.Options{MaxNotes: -1}, "", nil); err == nil {
		t.Error("a negative limit was accepted")
	}
	d := open(t, memory.Options{MaxTextBytes: 10, MaxNotes: 2}, t.TempDir())
	d.mustFail(nobody, "remember", args{"text": "абвгде"}, "the text has 12 bytes, and 10 is the most")
	d.mustFail(nobody, "remember", args{"text": " \n"}, "the text is empty")
	d.mustFail(nobody, "remember", args{"text": "x", "scope": "world"}, "scope")
	d.must(nobody, "remember", args{"text": "one"})
	d.must(nobody, "remember", args{"text": "two"})
	d.mustFail(nobody, "remember", args{"text": "three"}, "2 notes are kept for a person, and that is the most")
	d.must(nobody, "remember", args{"text": "three", "scope": "chat"})
	d.must(nobody, "remember", args{"text": "two"})
	d.must(nobody, "forget", args{"id": "p1"})
	d.must(nobody, "remember", args{"text": "three"})
}

func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	d := open(t, memory.Options{}, t.TempDir())
	for i := range 40 {
		d.must(nobody, "remember", args{"text": fmt.Sprint(i, strings.Repeat(" tea", 900))})
	}
	if got := d.must(nobody, "recall", args{"query": "tea", "limit": 50}); len(got) > 64<<10 || !strings.HasSuffix(got, "more; recall with a query or a larger limit.]") {
		t.Errorf("recall gave %d bytes that end in %q", len(got), got[len(got)-60:])
	}
	if got := d.must(nobody, "recall", args{}); !strings.HasSuffix(got, "[30 more; recall with a query or a larger limit.]") {
		t.Errorf("recall ends in %q", got[len(got)-60:])
	}
}

func TestForgetWho(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if n, err := memory.Forget(dir, "telegram:1"); n != 0 || err != nil {
		t.Errorf("forgetting in an empty folder: %d, %v", n, err)
	}
	d := open(t, memory.Options{}, dir)
	ann, bob := caller.Caller{Chat: "telegram:-9", Person: "telegram:1"}, caller.Caller{Chat: "telegram:-9", Person: "telegram:2"}
	alone := caller.Caller{Chat: "telegram:1", Person: "telegram:1", Private: true}
	d.must(ann, "remember", args{"text": "of ann"})
	d.must(alone, "remember", args{"text": "of ann alone"})
	d.must(alone, "remember", args{"text": "of her chat", "scope": "chat"})
	d.must(bob, "remember", args{"text": "of bob"})
	d.must(bob, "remember", args{"text": "of all", "scope": "chat"})
	if n, err := memory.Forget(dir, "telegram:1"); n != 3 || err != nil {
		t.Errorf("forgetting a person: %d, %v, want 3", n, err)
	}
	if got := d.must(alone, "recall", args{}); got != "Nothing is remembered yet." {
		t.Errorf("a forgotten person still recalls %q", got)
	}
	if got := d.must(bob, "recall", args{}); ids(got) != "c1 p1" {
		t.Errorf("another person recalls %q", got)
	}
	if n, err := memory.Forget(dir, "telegram:-9"); n != 2 || err != nil {
		t.Errorf("forgetting a chat: %d, %v, want 2", n, err)
	}
}

func FuzzNotes(f *testing.F) {
	f.Add("The dog is called Rex", "dogs", "pet", "telegram:1")
	f.Add("绿茶", "茶", "", "local")
	f.Add("a\nb\x00\u202e", "\"'", ";", "\x00")
	f.Fuzz(func(t *testing.T, text, query, about, person string) {
		d := open(t, memory.Options{}, t.TempDir())
		who, other := caller.Caller{Chat: "c", Person: person}, caller.Caller{Chat: "c", Person: person + "x"}
		if _, failed := d.call(who, "remember", args{"text": text, "about": []string{about}}); failed {
			return // refused with a reason
		}
		d.call(who, "recall", args{"query": query})
		if got := d.must(who, "recall", args{}); ids(got) == "" {
			t.Errorf("%q is not recalled: %q", text, got)
		}
		if got := d.must(other, "recall", args{}); got != "Nothing is remembered yet." {
			t.Errorf("%q sees %q of %q", other.Person, got, who.Person)
		}
		if got := d.must(who, "forget", args{"id": "p1"}); !strings.HasPrefix(got, "Forgot: [p1]") {
			t.Errorf("forgetting said %q", got)
		}
	})
}

func BenchmarkRecall(b *testing.B) {
	d := open(b, memory.Options{}, b.TempDir())
	for i := range 200 {
		d.must(nobody, "remember", args{"text": fmt.Sprintf("Note %d: the meeting about flights to Shanghai number %d is on Monday, and Rex the dog comes along", i, i*i)})
	}
	for b.Loop() {
		d.must(nobody, "recall", args{"query": "flight 441"})
	}
}
