package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"legwork/internal/test/fakes/llmfake"
)

// TestLegworkDelegatesToLegwork: the agent of a group whose server is the /mcp of
// another legwork starts a task there, waits for it, and answers with its answer.
// What the other one reports meanwhile is on the board.
func TestLegworkDelegatesToLegwork(t *testing.T) {
	t.Parallel()
	seen := make(chan struct{}) // the board tells how far the other one is
	library := newEnv(t, options{
		think: func(llmfake.Request) llmfake.Response {
			<-seen
			return llmfake.Say("The library says 42.")
		},
		wait: patience,
		more: fmt.Sprintf("http: {listen: 127.0.0.1:0, tokens: [%s, %s]}\n", tokenLine("bureau", "agent"), tokenLine("ann", "viewer")),
	})
	release := sync.OnceFunc(func() { close(seen) })
	defer release()
	there := library.serve(tokenOf("bureau"))

	b := newTelegramEnv(t, telegramOptions{options: options{wait: patience, think: steps{
		plan: always(llmfake.Call("plan", `{"plan": [{"name": "library", "description": "ask the library"}]}`)),
		work: delegates,
	}.think}})
	b.configure(strings.Replace(b.config, "servers:\n", fmt.Sprintf("servers:\n  library: {url: \"http://%s/mcp\", headers: {Authorization: \"Bearer %s\"}}\n", there.address, tokenOf("bureau")), 1))
	b.configure(strings.Replace(b.config, "groups:\n", "groups:\n  library: {description: Asks the library., servers: [library], approve: never, tool_timeout: 30s}\n", 1))
	here := b.opens()
	b.Say(b.bob.ID, b.bob, "What does the library say?")
	b.offers(b.bob.ID, "Stop", "library.get_task: ", "planning")
	release()
	b.sees(b.bob.ID, "The library says 42.")
	here.stops()
	if strings.Contains(here.err.String(), tokenOf("bureau")) {
		t.Error("the token is in the log")
	}

	var list struct {
		Items []struct {
			Goal  string `json:"goal"`
			From  string `json:"from"`
			State string `json:"state"`
		} `json:"items"`
	}
	outsider{t, "http://" + there.address, tokenOf("ann")}.calls(http.MethodGet, "/v1/tasks", "", &list)
	if len(list.Items) != 1 || list.Items[0].From != "agent:bureau" || list.Items[0].State != "done" || list.Items[0].Goal != "What is the answer?" {
		t.Errorf("the other legwork has %+v, want the one task of the bureau", list.Items)
	}
	there.stops()
}

// delegates is an agent that starts a task and waits for it.
func delegates(r llmfake.Request) llmfake.Response {
	said, ok := toolResult(r)
	if !ok {
		return llmfake.Call(exposed(r, "start_task"), `{"goal":"What is the answer?","idempotency_key":"k"}`)
	}
	var task struct {
		ID     string `json:"id"`
		State  string `json:"state"`
		Answer string `json:"answer"`
	}
	begin, end := strings.Index(said, "{"), strings.LastIndex(said, "}")
	if begin < 0 || end < begin || json.Unmarshal([]byte(said[begin:end+1]), &task) != nil {
		return llmfake.Say("It said: " + said)
	}
	if task.State == "done" {
		return llmfake.Say("It answered: " + task.Answer)
	}
	return llmfake.Call(exposed(r, "get_task"), fmt.Sprintf(`{"task_id":%q,"wait_seconds":20}`, task.ID))
}
