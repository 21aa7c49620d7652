// Package legwork_test holds the architecture of the repository as a test.
package legwork_test

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// table is the architecture: which package may import which others of this
// repository, and which modules from outside, by their path or its end. Floors
// are separated by blank lines, and imports go to lower ones; a name under
// another (llm/offline) also serves the one above it. Everything may import
// failpoint. "*" means every package that is below.
const table = `
package            | of this repository                      | modules
cmd/legwork        | *                                       | kong yaml/v3
examples/travel    | nearest                                 | mcp-go flock
examples/agents/reviewer |                                         |

app                | *                                       | x/sys

app/setup          | app/cli app/confedit bot/slack bot/telegram conf i18n llm issue clip tools/builtin/search tools/registry | x/term cancelreader
app/probe          | app/cli app/tooladmin bot/slack bot/telegram conf llm llm/offline redact store/postgres tasks/alerts telemetry tools tools/client |
app/tooladmin      | app/cli app/control app/data bot bot/terminal conf form i18n llm nearest tasks telemetry tools tools/client tools/registry clip | cancelreader
app/confedit       | conf fsutil tasks tasks/api web/api | go-udiff yaml/v3
app/data           | app/cli app/control files bot bot/terminal clock conf fsutil planner retry seal store store/backup store/bolt store/postgres tasks telemetry tools/builtin/memory |
app/cli            | bot conf redact telemetry clip | x/term displaywidth
app/control        |                                         | x/sys

conf               | tasks/alerts bot bot/slack bot/telegram i18n llm nearest planner schedule seal tools tools/client tools/registry issue loopback | yaml/v3 fsnotify godotenv hujson

bot/terminal       | bot bot/markdown i18n clip | x/term x/sys displaywidth cancelreader
bot/telegram       | bot bot/markdown retry telemetry issue  | telegram-bot-api/v5 displaywidth golang-lru/v2
bot/slack          | bot bot/markdown retry telemetry issue clip | slack-go/slack gorilla/websocket golang-lru/v2
bot/web            | bot clip files tasks web/problem          |
web/connect        | i18n tasks tasks/connections            |
web                | bot clip tasks tasks/api telemetry web/problem tasks/policy | x/time golang-lru/v2 coreos/go-oidc/v3 go-jose/v4 x/oauth2
web/api            | clip files planner plainjson tasks tasks/api telemetry web/problem tasks/policy | huma/v2
web/console        |                                         |
web/mcp            | bot clip files plainjson planner tasks tasks/api telemetry tasks/policy | mcp-go jsonschema/v6 x/text
tasks/alerts       | bot clip llm planner redact retry tasks tasks/api tasks/cards telemetry tasks/inbox issue | standard-webhooks
tasks/engine       | bot i18n llm planner tasks tasks/executor tasks/presenter telemetry tools |
tasks/enginetest   | bot form i18n llm planner tasks tasks/alerts tasks/commands tasks/executor tasks/inbox tasks/policy tasks/presenter tools | pgregory.net/rapid go-cmp
store/bolt         | files tasks store fsutil telemetry      | bbolt flock
store/memory       | tasks store store/chunks                |
store/postgres     | clock tasks store store/chunks retry telemetry | pgx/v5
store/chunks       | files store tasks                       |
store/backup       | fsutil                                  |
store/storetest    | bot files llm planner store store/memory tasks | pgregory.net/rapid go-cmp
store              | bot clip files llm planner tasks telemetry    | tidwall/btree golang-lru/v2

tasks/api          | bot clip files files/read form i18n llm plainjson planner tasks telemetry tasks/inbox tasks/input tasks/steps tools tasks/policy |

tasks/commands     | bot bot/markdown clip i18n llm planner schedule tasks tasks/cards tasks/inbox tasks/input tools tasks/policy loopback |
tasks/connections  | tasks tools tools/client tools/oauth     |
tasks/scheduler    | bot schedule tasks tasks/cards tasks/inbox |
tasks/inbox        | bot clip files form i18n nearest planner retry tasks tasks/cards tasks/input tasks/policy telemetry tools | golang-lru/v2
tasks/executor     | bot bot/markdown clip files files/read files/write form i18n llm plainjson planner retry tasks tasks/policy tasks/policy/flow telemetry toolargs tools | golang-lru/v2
tasks/presenter    | bot bot/markdown clip files files/write i18n llm planner retry tasks tasks/cards tools |

tasks/input        | bot form i18n tasks/cards tools          |
tasks/cards        | bot bot/markdown clip files form i18n llm planner schedule tasks tasks/policy tasks/policy/flow tools |
tasks/steps        | llm planner                             |
tasks/policy       | bot bot/markdown planner tasks tasks/policy/flow tools |

tasks/policy/flow  |                                         | x/net
tasks              | bot files form llm planner schedule tools          | ulid/v2

planner            | bot clip files form i18n llm llm/lenient lookalike nearest toolargs |
tools              | bot clip form nearest plainjson search tools/builtin tools/builtin/caller tools/client tools/oauth telemetry issue | mcp-go go-udiff
tools/oauth        | clip tools/client loopback | go-sdk go-jose x/oauth2
tools/client       | clip form llm lookalike plainjson redact retry telemetry tools/client/skill | mcp-go jsonschema/v6 x/sys x/text go-landlock
tools/client/skill |                                         | yaml/v3
tools/registry     | clip loopback |
tools/builtin      | nearest tools/builtin/files tools/builtin/memory tools/builtin/search tools/builtin/web | mcp-go apd/v3 x/text
tools/builtin/caller |                                         | mcp-go
tools/builtin/files | tools/builtin/caller                    | mcp-go doublestar/v4 x/sys x/text
tools/builtin/web  | charset clip files/read                 | mcp-go go-readability html-to-markdown/v2 x/net x/text golang-lru/v2
tools/builtin/search | clip nearest retry                      | mcp-go x/net
tools/builtin/memory | fsutil search tools/builtin/caller      | mcp-go bbolt

files/read         | files/read/parse files/read/pdf         | go-landlock x/sys
files/read/parse   | charset files/read/pdf                  | mimetype html-to-markdown/v2 x/image x/net x/text
files/read/pdf     |                                         | go-pdfium wazero flock
form               | plainjson                               | jsonschema/v6
files              |                                         |
bot                |                                         | displaywidth x/time
bot/markdown       | bot                                     | goldmark displaywidth
bot/ratelimit      | bot telemetry                           |
llm                | clip llm/lenient retry telemetry issue  | go-openai
llm/lenient        |                                         | jsonrepair
llm/offline        | clip llm llm/lenient retry              | go-openai
i18n               | nearest                                 | go-i18n/v2 x/text yaml/v3
redact             |                                         |
seal               | fsutil                                  |
schedule           |                                         | adhocore/gronx
search             |                                         | kljensen/snowball x/text
failpoint          |                                         |
clock              |                                         | x/sys

telemetry          | clip                                    | go.opentelemetry.io/otel prometheus/client_golang backoff/v5

charset            |                                         | x/net x/text
clip               |                                         |
fsutil             |                                         |
lookalike          |                                         | x/text
loopback           |                                         |
nearest            |                                         | levenshtein
retry              |                                         | backoff/v5
issue              |                                         |
files/write        |                                         | goldmark fpdf excelize/v2 gonum.org/v1/plot go-fonts/liberation x/image x/text
plainjson          |                                         |
toolargs           |                                         |
web/problem        |                                         |
`

// forTests are packages that only tests import, and modules that only tests
// and those packages may use beside what the table allows. Tests may import
// every package: they put real parts together.
const (
	forTests       = "test store/storetest tasks/enginetest"
	modulesOfTests = "go-cmp go-jose/v4 standard-webhooks goleak goldmark gorilla/websocket slack-go/slack pgregory.net/rapid go-internal creack/pty vt10x go-openai mcp-go jsonschema/v6 bbolt yaml/v3 x/sys x/term x/text x/image invopop/jsonschema pgx/v5 chromedp/chromedp chromedp/cdproto"
)

// pure packages decide by values alone; impure is what they must not reach for.
const (
	pure   = "planner llm/lenient"
	impure = "os os/exec net net/http syscall math/rand math/rand/v2 crypto/rand log log/slog"
)

type row struct {
	text     string
	packages []string // "*" for all that are below
	modules  []string
	below    []string // all packages of lower floors
}

func TestImports(t *testing.T) {
	rows := readTable(t)
	for _, p := range list(t) {
		name := short(p.ImportPath)
		r, known := rows[name]
		switch {
		case name == "" || under(name, "test"):
			checkModules(t, p, p.Imports, row{text: "modulesOfTests"}, modulesOfTests)
		case !known:
			t.Errorf("package %s is in no row of the table: give it a floor", name)
		default:
			for _, imported := range p.Imports {
				checkPackage(t, name, imported, r)
			}
			checkModules(t, p, p.Imports, r, "")
		}
		checkModules(t, p, slices.Concat(p.TestImports, p.XTestImports), r, modulesOfTests)
	}
}

// short is the name of a package in the table: its path without the module and
// without "internal/".
func short(importPath string) string {
	name := strings.TrimPrefix(strings.TrimPrefix(importPath, "legwork"), "/")
	return strings.TrimPrefix(name, "internal/")
}

// readTable returns the rows by package and fails on a row that points up.
func readTable(t *testing.T) map[string]row {
	t.Helper()
	rows := map[string]row{}
	var below []string
	floors := strings.Split(strings.TrimSpace(table), "\n\n")
	for i, floor := range slices.Backward(floors) {
		lines := strings.Split(floor, "\n")
		if i == 0 {
			lines = lines[1:] // the head of the table
		}
		var here []string
		for _, line := range lines {
			cells := strings.Split(line, "|")
			if len(cells) != 3 {
				t.Fatalf("the row %q has %d cells, want 3", line, len(cells))
			}
			name := strings.TrimSpace(cells[0])
			rows[name] = row{text: line, packages: strings.Fields(cells[1]), modules: strings.Fields(cells[2]), below: below}
			here = append(here, name)
		}
		for _, name := range here {
			for _, imported := range rows[name].packages {
				if imported != "*" && !slices.Contains(below, imported) && !family(name, imported) {
					t.Errorf("the row %q lets %s import %s, which is not on a lower floor", rows[name].text, name, imported)
				}
			}
		}
		below = append(slices.Clone(below), here...)
	}
	return rows
}

// family tells packages that may import each other on one floor: a package and
// its own parts, and parts of the same folder.
func family(a, b string) bool {
	return under(a, b) || under(b, a) || path.Dir(a) == path.Dir(b) && path.Dir(a) != "."
}

// under reports whether a package is one of the listed, or inside one.
func under(name, list string) bool {
	for _, top := range strings.Fields(list) {
		if name == top || strings.HasPrefix(name, top+"/") {
			return true
		}
	}
	return false
}

func checkPackage(t *testing.T, name, imported string, r row) {
	t.Helper()
	if under(name, pure) && slices.Contains(strings.Fields(impure), imported) {
		t.Errorf("%s imports %s, but it is pure: pass in what it needs", name, imported)
	}
	other, ours := short(imported), strings.HasPrefix(imported, "legwork/")
	switch {
	case !ours || other == "failpoint" || slices.Contains(r.packages, other) || under(name, forTests) && under(other, forTests):
	case under(other, forTests):
		t.Errorf("%s imports %s, which is for tests", name, other)
	case slices.Contains(r.packages, "*") && slices.Contains(r.below, other):
	default:
		t.Errorf("%s imports %s, but its row allows only %q: %s", name, other, r.packages, strings.TrimSpace(r.text))
	}
}

func checkModules(t *testing.T, p listed, imports []string, r row, more string) {
	t.Helper()
	allowed := slices.Concat(r.modules, strings.Fields(more))
	for _, imported := range imports {
		host, _, _ := strings.Cut(imported, "/")
		if !strings.Contains(host, ".") || slices.ContainsFunc(allowed, func(m string) bool {
			return strings.Contains("/"+imported+"/", "/"+m+"/")
		}) {
			continue
		}
		t.Errorf("%s imports %s, but only the modules %q are allowed: %s", p.ImportPath, imported, allowed, strings.TrimSpace(r.text))
	}
}

type listed struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

// list returns all packages, with what they import in releases and in the
// binary of the crash harness.
func list(t *testing.T) []listed {
	t.Helper()
	all := map[string]listed{}
	for _, tags := range []string{"", "failpoints"} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-e", "-tags", tags, "-json=ImportPath,Imports,TestImports,XTestImports", "./...").Output()
		if err != nil {
			t.Fatalf("listing packages: %v", err)
		}
		for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
			var p listed
			if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("reading go list: %v", err)
			}
			known := all[p.ImportPath]
			all[p.ImportPath] = listed{p.ImportPath, join(known.Imports, p.Imports), join(known.TestImports, p.TestImports), join(known.XTestImports, p.XTestImports)}
		}
	}
	if len(all) < 2 {
		t.Fatal("go list found no packages")
	}
	return slices.SortedFunc(maps.Values(all), func(a, b listed) int { return strings.Compare(a.ImportPath, b.ImportPath) })
}

func join(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
