package e2e_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"legwork/conf"
	"legwork/internal/test/fakes/llmfake"
)

// birds are secrets that are nowhere to be seen. Each is unlike all others, so
// that the one who sang can be told.
var birds = struct {
	model, telegram, webhook, env, header, hook, hookPath, traces, admin, agent string
	goal                                                                        string // of people, in what they ask
}{
	model:    "sk-secret-e2e", // newWorld's
	telegram: telegramToken,
	webhook:  "canary-of-the-telegram-webhook-1",
	env:      "canary/of+the&environment=of a server-2",
	header:   "canary-of-the-header-of-a-server-3",
	hook:     "canary-of-the-secret-of-a-webhook-4",
	hookPath: "canary-in-the-address-of-a-webhook-5",
	traces:   "canary-of-the-collector-of-traces-6",
	admin:    "lw_7canary7of7the7admin7token7aaaaaaaaaaaaaaaaaaaaaaaaa7",
	agent:    "lw_6canary6of6the6agent6token6aaaaaaaaaaaaaaaaaaaaaaaaa6",
	goal:     "canary-in-the-address-of-a-goal-8",
}

// ofConfig are those that legwork knows from its config, and the API's tokens.
func ofConfig() map[string]string {
	c := birds
	return map[string]string{
		"the model's key": c.model, "Telegram's token": c.telegram, "the webhook's secret": c.webhook, "a server's environment": c.env,
		"a server's header": c.header, "an alert's secret": c.hook, "the address of an alert": c.hookPath, "the collector's header": c.traces,
		"the admin's token": c.admin, "the agent's token": c.agent,
	}
}

// sung are the forms in which a secret is in a text.
func sung(text, secret string) (forms []string) {
	all := map[string]string{
		"plain": secret, "in a query": url.QueryEscape(secret), "in a path": url.PathEscape(secret),
		"in JSON": strings.Trim(string(must(json.Marshal(secret))), `"`),
	}
	for before := range 3 {
		for name, e := range map[string]*base64.Encoding{"base64": base64.RawStdEncoding, "base64 for addresses": base64.RawURLEncoding} {
			whole := e.EncodeToString([]byte(strings.Repeat("x", before) + secret))
			all[fmt.Sprintf("%s behind %d", name, before)] = whole[[]int{0, 2, 3}[before] : (before+len(secret))*8/6]
		}
	}
	for name, form := range all {
		if i := strings.Index(text, form); i >= 0 {
			forms = append(forms, fmt.Sprintf("%s: …%s…", name, text[max(0, i-200):min(len(text), i+len(form)+100)]))
		}
	}
	return forms
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestCanaries puts secrets into every input, provokes what goes wrong, and looks
// for them in everything that comes out.
func TestCanaries(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			newCanaryEnv(t, format).sings()
		})
	}
}

// canaryEnv is an environment whose surroundings tell all that they are told.
type canaryEnv struct {
	*telegramEnv
	*apiEnv
	seen map[string]string // the found canaries, by place

	mu   sync.Mutex
	sent map[string]string // bodies that were sent to servers, webhooks and the collector of traces
}

// hears keeps what somebody is sent, and answers with it and with all headers.
func (k *canaryEnv) hears(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		if plain, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
			body, _ = io.ReadAll(plain)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sent["sent to "+r.URL.Path] += string(body) + "\n"
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = fmt.Fprintf(w, "cannot serve %s %s with %v: %s", r.Method, r.URL, r.Header, body)
}

func newCanaryEnv(t *testing.T, format string) *canaryEnv {
	t.Helper()
	k := &canaryEnv{seen: map[string]string{}, sent: map[string]string{}}
	echo := httptest.NewServer(http.HandlerFunc(k.hears))
	t.Cleanup(echo.Close)
	c := birds
	b := newTelegramEnv(t, telegramOptions{options: options{think: parrot, tools: ", env, fail", more: fmt.Sprintf(`  odd: {description: Is never there., servers: [odd]}
alerts: {after: 1s, webhooks: {ops: {url: "%s/hook?key=%s", secret: %q}}}
telemetry: {otlp_endpoint: %q, otlp_headers: {X-Api-Key: %q}}
`, echo.URL, c.hookPath, c.hook, echo.URL, c.traces)}, telegram: fmt.Sprintf(", webhook: {secret: %q}", c.webhook)})
	config := strings.Replace(b.config, "  desk: {command:", fmt.Sprintf("  odd: {url: %q, headers: {Authorization: %q}}\n  desk: {env: {API_KEY: %q}, command:", echo.URL+"/mcp", "Bearer "+c.header, c.env), 1)
	config = strings.Replace(config, "http: {listen: \"127.0.0.1:0\"}\n", fmt.Sprintf("http:\n  listen: \"127.0.0.1:0\"\n  tokens:\n"+
		"    - {name: boss, role: admin, sha256: %q}\n    - {name: scout, role: agent, sha256: %q}\n", conf.HashToken(c.admin), conf.HashToken(c.agent)), 1)
	b.configure(strings.Replace(config, "log: {level: debug}", "log: {level: debug, format: "+format+"}", 1))
	k.telegramEnv = b
	s := &serving{program: b.start("serve"), w: b.env}
	listens := regexp.MustCompile(`(?:msg=listening address=|"msg":"listening","address":")([0-9.:]+)`)
	s.until("the address in the log", func() bool { return listens.MatchString(s.err.String()) })
	s.address = listens.FindStringSubmatch(s.err.String())[1]
	k.apiEnv = &apiEnv{b.env, s}
	return k
}

// parrot is a model that repeats what it is told, and an endpoint that tells
// whose key it refuses.
func parrot(r llmfake.Request) llmfake.Response {
	step, _ := llmfake.StepOf(r)
	goal, _ := r.Tagged("goal")
	switch {
	case strings.Contains(goal, "refuse"):
		return llmfake.Response{Fault: llmfake.Fault{Kind: llmfake.FaultStatus, Status: http.StatusUnauthorized, Message: "Incorrect API key provided: " + birds.model}}
	case step == llmfake.StepPlan:
		return llmfake.Say(`{"plan": [{"name": "desk", "description": "Tell the environment."}, {"name": "odd", "description": "Tell the rest."}]}`)
	case step == llmfake.StepReview, step == llmfake.StepAnswer:
		return llmfake.Say("It says: " + prompt(r)[:min(len(prompt(r)), 3000)])
	}
	last := r.Messages[len(r.Messages)-1]
	if last.Role == "tool" {
		return llmfake.Say("It says: " + last.Content)
	}
	for _, tool := range r.Tools {
		if strings.HasSuffix(tool.Name, "env") {
			return llmfake.Call(tool.Name, "{}")
		}
	}
	return llmfake.Say("There is no tool.")
}

// sings makes everything go wrong and listens.
func (k *canaryEnv) sings() {
	t, goal := k.apiEnv.env.t, "look at https://me:"+birds.goal+"@example.com/?token="+birds.goal
	k.Say(k.ann.ID, k.ann, "environment, "+goal)
	k.sees(k.ann.ID, "It says")
	k.Say(k.ann.ID, k.ann, "refuse, "+goal)
	k.sees(k.ann.ID, "did not accept the access key")
	k.asksAll(goal)
	k.apiEnv.configure(strings.Replace(k.apiEnv.config, `models:`, "modells: {x: "+birds.env+"}\nmodels:", 1))
	k.apiEnv.until("the bad reload", func() bool { return strings.Contains(k.err.String(), "modells") })
	k.apiEnv.until("the alert", func() bool { return strings.Contains(k.err.String(), "delivery failed") })
	k.stops()
	k.seen["stdout"], k.seen["stderr"] = k.out.String(), k.err.String()
	k.mu.Lock()
	maps.Copy(k.seen, k.sent)
	k.mu.Unlock()
	for _, e := range k.Log() {
		for name, value := range e.Params {
			if name != "secret_token" {
				k.seen["Telegram's "+e.Method] += value + "\n"
			}
		}
	}
	for where, text := range k.seen {
		for what, secret := range ofConfig() {
			for _, form := range sung(text, secret) {
				t.Errorf("%s is in %s, %s", what, where, form)
			}
		}
		if strings.HasPrefix(where, "std") || strings.Contains(where, "/metrics") || strings.Contains(where, "/readyz") || strings.Contains(where, "/v1/audit") || strings.Contains(where, "/traces") {
			for _, form := range sung(text, birds.goal) {
				t.Errorf("what somebody asked is in %s, %s", where, form)
			}
		}
	}
	// The text is there, without the secret.
	for where, want := range map[string]string{"the events of ": "API_KEY=***", "stderr": "Incorrect API key provided: [api_key]", "GET /v1/tasks": birds.goal, "sent to /v1/traces": "legwork", "sent to /hook": "task.failed"} {
		heard := ""
		for name, text := range k.seen {
			if strings.HasPrefix(name, where) {
				heard += text
			}
		}
		if !strings.Contains(heard, want) {
			t.Errorf("%q is not in %s: %.3000s", want, where, heard)
		}
	}
	k.storesNone()
}

// storesNone looks into the files of the data folder.
func (k *canaryEnv) storesNone() {
	t := k.apiEnv.env.t
	err := filepath.WalkDir(k.apiEnv.file("data"), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		for what, secret := range ofConfig() {
			for _, form := range sung(string(text), secret) {
				t.Errorf("%s is in the file %s, %.600q", what, path, form)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// tells is calls as the admin; what it says is listened to.
func (k *canaryEnv) tells(method, path, body string, headers ...string) string {
	r := k.calls(birds.admin, method, path, body, headers...)
	k.seen[method+" "+path] += fmt.Sprint(r.header) + r.body
	return r.body
}

// asksAll calls the whole API, well and badly.
func (k *canaryEnv) asksAll(goal string) {
	t := k.apiEnv.env.t
	id := k.calls(birds.agent, "POST", "/v1/tasks", `{"goal":`+string(must(json.Marshal(goal)))+`,"run":false}`).field(t, "id")
	k.tells("POST", "/v1/tasks", `{"goal":"environment again","notify":{"webhook":"ops"}}`, "Prefer: wait=20")
	k.tells("PATCH", "/v1/tasks/"+id+"/state", `{"status":"NEEDS_HUMAN_REVIEW"}`)
	var tasks struct{ Items []struct{ ID string } }
	if err := json.Unmarshal([]byte(k.tells("GET", "/v1/tasks", "")), &tasks); err != nil || len(tasks.Items) < 4 {
		t.Fatalf("the tasks: %v, %v", tasks, err)
	}
	for _, task := range tasks.Items {
		for _, what := range []string{"", "/context", "/context/1", "/state"} {
			k.tells("GET", "/v1/tasks/"+task.ID+what, "")
		}
		if task.ID != id {
			k.seen["the events of "+task.ID] = k.streams("/v1/tasks/" + task.ID + "/events")
		}
	}
	for _, path := range []string{"/v1/approvals", "/v1/groups", "/v1/usage?by=model,user", "/v1/audit", "/v1/me", "/metrics", "/readyz", "/openapi.json", "/docs", "/nothing"} {
		k.tells("GET", path, "")
	}
	k.tells("GET", "/v1/tasks?token="+birds.admin, "")
	k.tells("POST", "/v1/tasks", `{"goal":5,"token":"`+birds.admin+`"}`)
	k.tells("POST", "/v1/tasks", `{"goal":`)
	k.tells("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_task","arguments":{"id":"`+birds.admin+`"}}}`, "Accept: application/json, text/event-stream")
	wrong := k.calls(birds.admin+"x", "GET", "/v1/tasks", "")
	k.seen["what a wrong token gets"] = fmt.Sprint(wrong.header) + wrong.body
	refused := k.calls(birds.agent, "GET", "/v1/audit", "")
	k.seen["what a refused token gets"] = fmt.Sprint(refused.header) + refused.body
}

// streams is a stream of a task that is over.
func (k *canaryEnv) streams(path string) string {
	t := k.apiEnv.env.t
	req := must(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+k.address+path, nil))
	req.Header.Set("Authorization", "Bearer "+birds.admin)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(text), "event: ") {
		t.Errorf("the events at %s: %v, %.300s", path, err, text)
	}
	return string(text)
}
