package probe_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"legwork/app/cli"
	"legwork/app/probe"
	"legwork/conf"
	"legwork/llm"
)

// TestAddressWithTheWrongScheme: the probe says which of http and https an address
// should begin with.
func TestAddressWithTheWrongScheme(t *testing.T) {
	t.Parallel()
	secure, plain := httptest.NewTLSServer(http.NotFoundHandler()), httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	t.Cleanup(plain.Close)
	for address, want := range map[string]string{
		strings.Replace(secure.URL, "https:", "http:", 1): "the server speaks TLS: base_url should begin with https://",
		strings.Replace(plain.URL, "http:", "https:", 1):  "models.local.base_url speaks no TLS: it should begin with http://",
	} {
		var out bytes.Buffer
		config := &conf.Config{LLM: llm.Config{Models: map[string]llm.ModelConfig{"local": {BaseURL: address + "/v1", Model: "fake"}}}}
		if err := probe.Run(t.Context(), config, 0, cli.Console{Out: &out, Err: &out}); err == nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: got error %v and\n%s\nwant %s", address, err, out.String(), want)
		}
	}
}
