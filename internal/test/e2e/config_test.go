package e2e_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// TestConfigOverHTTP: an admin changes the config file over HTTP. legwork uses it at once,
// shows no secret, and wants a code, which it prints, for a program.
func TestConfigOverHTTP(t *testing.T) {
	o := newAPIEnv(t, options{})
	body := func(fields map[string]string) string { return string(asJSON(t, fields)) }
	text := func() (text, tag string) {
		r := o.calls(adminToken, "GET", "/v1/config", "")
		return r.field(t, "text"), r.field(t, "etag")
	}
	now, tag := text()
	if strings.Contains(now, "sk-secret-e2e") || !strings.Contains(now, "api_key: «hidden:") {
		t.Fatalf("the config is shown as\n%s", now)
	}
	if r := o.calls(operatorToken, "GET", "/v1/config", ""); r.status != http.StatusForbidden {
		t.Errorf("an operator reads the config: got %d", r.status)
	}
	plainer := strings.Replace(now, "Looks things up safely.", "Looks up what is safe.", 1)
	if r := o.calls(adminToken, "PUT", "/v1/config", body(map[string]string{"text": plainer}), "If-Match: "+tag); r.status != http.StatusOK {
		t.Fatalf("saving: got %d %s", r.status, r.body)
	}
	if r := o.calls(adminToken, "GET", "/v1/groups", ""); !strings.Contains(r.body, "Looks up what is safe.") {
		t.Errorf("the change is not in use: %s", r.body)
	}
	if saved := o.read("config.yaml"); !strings.Contains(saved, "api_key: sk-secret-e2e") || strings.Contains(saved, "hidden") {
		t.Errorf("saved as\n%s", saved)
	}
	if r := o.calls(adminToken, "PUT", "/v1/config", body(map[string]string{"text": now}), "If-Match: "+tag); r.status != http.StatusPreconditionFailed {
		t.Errorf("saving over another version: got %d", r.status)
	}

	now, tag = text()
	withProgram := strings.Replace(now, "servers:\n", "servers:\n  mine: {builtin: clock}\n", 1)
	r := o.calls(adminToken, "PUT", "/v1/config", body(map[string]string{"text": withProgram}), "If-Match: "+tag)
	if r.status != http.StatusForbidden || r.field(t, "code") != "code_needed" {
		t.Fatalf("without a code: got %d %s", r.status, r.body)
	}
	if r := o.calls(adminToken, "POST", "/v1/config/code", body(map[string]string{"text": withProgram})); r.status != http.StatusOK {
		t.Fatalf("asking for a code: got %d %s", r.status, r.body)
	}
	code := regexp.MustCompile(`code ([A-Z2-7]{10})`)
	o.until("the code on standard output", func() bool { return code.MatchString(o.out.String()) })
	shown := code.FindStringSubmatch(o.out.String())[1]
	if strings.Contains(r.body, shown) {
		t.Error("the code is in a reply")
	}
	r = o.calls(adminToken, "PUT", "/v1/config", body(map[string]string{"text": withProgram, "code": shown}), "If-Match: "+tag)
	if r.status != http.StatusOK {
		t.Fatalf("with the code: got %d %s", r.status, r.body)
	}
	if r := o.calls(adminToken, "GET", "/v1/groups", ""); !strings.Contains(r.body, `"mine"`) {
		t.Errorf("the server is not in use: %s", r.body)
	}
	var versions struct {
		Items []struct{ ID string }
	}
	if r := o.calls(adminToken, "GET", "/v1/config/versions", ""); json.Unmarshal([]byte(r.body), &versions) != nil || len(versions.Items) != 2 {
		t.Fatalf("got versions %s, want 2", r.body)
	}
	if r := o.calls(adminToken, "GET", "/v1/config/versions/"+versions.Items[1].ID, ""); strings.Contains(r.body, "sk-secret-e2e") || !strings.Contains(r.body, "Looks things up safely.") {
		t.Errorf("the first version: %s", r.body)
	}
	if r := o.calls(adminToken, "GET", "/v1/audit", ""); strings.Count(r.body, "config.save") != 2 || !strings.Contains(r.body, "servers.mine.builtin") || strings.Count(r.body, "token.refused") != 1 { // of the operator
		t.Errorf("the audit log: %s", r.body)
	}
}
