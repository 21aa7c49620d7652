package setup_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/searchfake"
	"legwork/llm"
)

// TestPresets holds that each preset can be chosen by number and by name, and which
// of them ask for a key.
func TestPresets(t *testing.T) {
	for i, p := range []struct{ names, url, variable string }{
		{"OpenAI", "https://api.openai.com/v1", "OPENAI_API_KEY"},
		{"anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"},
		{"Gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"},
		{"open router", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"},
		{"DEEPSEEK", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"},
		{"mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"},
		{"ollama", "http://localhost:11434/v1", ""},
		{"lm-studio", "http://localhost:1234/v1", ""},
		{"vllm", "http://localhost:8000/v1", ""},
	} {
		for _, answer := range []string{fmt.Sprint(i + 1), p.names, p.url} {
			b := newEnv(t)
			var tried []llm.ModelConfig
			b.options.Try.Models = func(_ context.Context, c llm.ModelConfig) ([]string, error) {
				tried = append(tried, c)
				return []string{"one"}, nil
			}
			b.options.Try.Model = func(context.Context, llm.ModelConfig) error { return nil }
			lines := []string{"", answer, key, "", "", "", "", "", "", ""}
			wantKey := key
			if p.variable == "" {
				lines, wantKey = append(lines[:2], lines[3:]...), ""
			}
			if _, err := b.run(lines...); err != nil {
				t.Fatalf("%s: %v\n%s", answer, err, b.out.String())
			}
			if diff := cmp.Diff([]llm.ModelConfig{{BaseURL: p.url, APIKey: wantKey}}, tried); diff != "" {
				t.Errorf("%s (-want +tried):\n%s", answer, diff)
			}
			if got := b.load().LLM.Models["main"]; got.BaseURL != p.url || got.APIKey != wantKey || got.Model != "one" {
				t.Errorf("%s became %+v", answer, got)
			}
			if config := b.read("config.yaml"); p.variable != "" && !strings.Contains(config, "api_key: ${"+p.variable+"}") {
				t.Errorf("%s: the config has no ${%s}:\n%s", answer, p.variable, config)
			}
		}
	}
}

// TestModels holds how a model is chosen from the list of an endpoint.
func TestModels(t *testing.T) {
	many := []string{"text-embedding-3-small", "whisper-1", "gpt-5-mini", "gpt-5", "sonnet-5", "gpt-5-nano"}
	for i := range 60 {
		many = append(many, fmt.Sprintf("zoo-%02d", i))
	}
	for _, c := range []struct {
		name    string
		answers []string
		want    string
		talk    []string // must be said
	}{
		{"by number", []string{"2"}, "gpt-5-mini", []string{"   1  gpt-5\n   2  gpt-5-mini\n   3  gpt-5-nano\n   4  sonnet-5\n", "and 34 more"}},
		{"by name", []string{"gpt-5"}, "gpt-5", nil},
		{"by a part that one has", []string{"NANO"}, "gpt-5-nano", nil},
		{"by a part that some have, then by number", []string{"zoo-3", "10"}, "zoo-39", []string{"   1  zoo-30\n", "  10  zoo-39\n"}},
		{"one that is not listed because it does not chat", []string{"whisper-1"}, "whisper-1", nil},
		{"Enter without a choice", []string{"", "sonnet"}, "sonnet-5", []string{"Type a number or a name."}},
		{"unknown, then known", []string{"sonnnet", "", "4"}, "sonnet-5", []string{"It does not work: the endpoint does not know the model sonnnet. Check the name"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newEnv(t)
			models := llmfake.New(t, llmfake.Options{Models: many, Key: key, Respond: func(llmfake.Request) llmfake.Response { return llmfake.Say("ok") }})
			lines := append([]string{"", models.URL, key}, c.answers...)
			if _, err := b.run(append(lines, "", "", "", "", "", "")...); err != nil {
				t.Fatalf("%v\n%s", err, b.out.String())
			}
			if got := b.load().LLM.Models["main"].Model; got != c.want {
				t.Errorf("the model is %q, want %q\n%s", got, c.want, b.out.String())
			}
			for _, words := range c.talk {
				if !strings.Contains(b.out.String(), words) {
					t.Errorf("%q is not said:\n%s", words, b.out.String())
				}
			}
			if strings.Contains(b.out.String(), "text-embedding") {
				t.Errorf("a model that does not chat is listed:\n%s", b.out.String())
			}
		})
	}
}

// TestEndpointProblems holds that each error of an endpoint says what to do.
func TestEndpointProblems(t *testing.T) {
	answer := func(status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	plain := answer(http.StatusOK, "{}")
	redirect := httptest.NewServer(http.RedirectHandler("https://example.com/v1/models", http.StatusPermanentRedirect))
	t.Cleanup(redirect.Close)
	for _, c := range []struct{ name, url, want string }{
		{"no such host", "http://no-such-host.invalid/v1", "there is no host named no-such-host.invalid. Check the address for typing mistakes, and the network."},
		{"nothing listens", "http://127.0.0.1:1/v1", "nothing listens at 127.0.0.1:1. Start the server there, or check the address."},
		{"a page", answer(http.StatusOK, "<html>hello</html>") + "/v1", "a page answers at this address, and not OpenAI's protocol. Check the address; it usually ends in /v1."},
		{"a refused key", answer(http.StatusForbidden, "{}") + "/v1", "the endpoint does not accept the key. Copy the key again"},
		{"busy", answer(http.StatusTooManyRequests, "{}") + "/v1", "the endpoint has too many requests at the moment."},
		{"down", answer(http.StatusBadGateway, "bad") + "/v1", "the server answered with error 502. Try again later"},
		{"a certificate of its own", secure.URL + "/v1", "is not trusted. Check the address"},
		{"http in place of https", strings.Replace(secure.URL, "https:", "http:", 1) + "/v1", "the server at this address speaks https. Begin the address with https://."},
		{"http in place of https, where the server hangs up", strings.Replace(hangsUp(t), "https:", "http:", 1) + "/v1", "the server at this address speaks https. Begin the address with https://."},
		{"a redirect", redirect.URL + "/v1", "the server redirects to https://example.com/v1. Use that address."},
		{"https in place of http", strings.Replace(plain, "http:", "https:", 1) + "/v1", "does not speak https at this address. Begin the address with http://."},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newEnv(t)
			if _, err := b.run("", c.url, key); err == nil {
				t.Fatal("Run went on without an answer")
			}
			if !strings.Contains(b.out.String(), c.want) {
				t.Errorf("%q is not said:\n%s", c.want, b.out.String())
			}
		})
	}
}

// hangsUp is the address of a server that speaks TLS, and closes a connection without
// it.
func hangsUp(t *testing.T) string {
	t.Helper()
	certified := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(certified.Close)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", certified.TLS)
	if err != nil {
		t.Fatal(err)
	}
	var ended sync.WaitGroup
	t.Cleanup(func() { _ = listener.Close(); ended.Wait() })
	ended.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = connection.Read(make([]byte, 1))
			_ = connection.Close()
		}
	})
	return "https://" + listener.Addr().String()
}

// TestWindow holds that the window of the model is written when the endpoint tells it,
// and that none is written that is larger than the default.
func TestWindow(t *testing.T) {
	for _, c := range []struct {
		name  string
		pages map[string]string
		want  int
	}{
		{"nothing is told", map[string]string{"/v1/models": `{"data": [{"id": "big"}]}`}, 0},
		{"vLLM", map[string]string{"/v1/models": `{"data": [{"id": "small", "max_model_len": 4096}, {"id": "big", "max_model_len": 16384}]}`}, 16384},
		{"OpenRouter", map[string]string{"/v1/models": `{"data": [{"id": "big", "context_length": 131072, "top_provider": {"context_length": 65536}}]}`}, 65536},
		{"OpenRouter, without a provider", map[string]string{"/v1/models": `{"data": [{"id": "big", "context_length": 32768, "top_provider": {"context_length": null}}]}`}, 32768},
		{"a large one", map[string]string{"/v1/models": `{"data": [{"id": "big", "context_length": 2000000}]}`}, 0},
		{"LM Studio", map[string]string{
			"/v1/models":     `{"data": [{"id": "big", "object": "model"}]}`,
			"/api/v0/models": `{"data": [{"id": "big", "state": "loaded", "max_context_length": 131072, "loaded_context_length": 8192}]}`,
		}, 8192},
		{"Ollama", map[string]string{
			"/v1/models":   `{"data": [{"id": "big"}]}`,
			"/api/version": `{"version": "0.12.6"}`,
			"/api/show":    `{"model_info": {"qwen3.context_length": 40960}}`,
			"/api/ps":      `{"models": [{"name": "big", "model": "big", "context_length": 4096}]}`,
		}, 4096},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newEnv(t)
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				page, there := c.pages[r.URL.Path]
				if !there {
					http.NotFound(w, r)
				}
				_, _ = io.WriteString(w, page)
			}))
			t.Cleanup(s.Close)
			b.options.Try.Model = func(context.Context, llm.ModelConfig) error { return nil }
			if _, err := b.run("", s.URL+"/v1", "", "big", "", "", "", "", "", ""); err != nil {
				t.Fatalf("%v\n%s", err, b.out.String())
			}
			config := b.read("config.yaml")
			if line := fmt.Sprintf("    context_tokens: %d\n", c.want); strings.Contains(config, "context_tokens") != (c.want > 0) || c.want > 0 && !strings.Contains(config, line) {
				t.Errorf("want context_tokens %d (0: no line) in\n%s", c.want, config)
			}
			b.load()
		})
	}
}

// TestAddressWithoutVersion holds that /v1 is added where the endpoint answers there
// alone, and that an endpoint without a list is no mistake.
func TestAddressWithoutVersion(t *testing.T) {
	b := newEnv(t)
	if _, err := b.run("", strings.TrimSuffix(b.model, "/v1")+"/", key, "", "", "", "", "", "", ""); err != nil {
		t.Fatalf("%v\n%s", err, b.out.String())
	}
	if got := b.load().LLM.Models["main"]; got.BaseURL != b.model || got.Model != "big" {
		t.Errorf("the model is %+v, want it at %s", got, b.model)
	}

	b = newEnv(t)
	noList := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		r.URL.Path = "/v1/chat/completions"
		proxy(t, w, r, b.model)
	}))
	t.Cleanup(noList.Close)
	if _, err := b.run("", noList.URL+"/api", key, "big", "", "", "", "", "", ""); err != nil {
		t.Fatalf("%v\n%s", err, b.out.String())
	}
	if want := noList.URL + "/api has no list of its models, so type the name."; !strings.Contains(b.out.String(), want) {
		t.Errorf("%q is not said:\n%s", want, b.out.String())
	}
}

// proxy hands a request on to the endpoint at base.
func proxy(t *testing.T, w http.ResponseWriter, r *http.Request, base string) {
	out, err := http.NewRequestWithContext(r.Context(), r.Method, base+"/chat/completions", r.Body)
	if err != nil {
		t.Error(err)
		return
	}
	out.Header, out.ContentLength = r.Header, r.ContentLength
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(out)
	if err != nil {
		t.Error(err)
		return
	}
	defer res.Body.Close()
	w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
	w.WriteHeader(res.StatusCode)
	buffer := make([]byte, 4096)
	for {
		n, err := res.Body.Read(buffer)
		_, _ = w.Write(buffer[:n])
		if err != nil {
			return
		}
	}
}

// TestSearchByKey holds that a provider is chosen by number or name, and that the next
// question after a wrong key hides its answer, because people paste another key.
func TestSearchByKey(t *testing.T) {
	for _, answer := range []string{"1", "brave", "Brave Search"} {
		b := newEnv(t)
		brave := searchfake.New(t, "brave", searchfake.Result{Title: "Weather", Address: "https://example.com/"})
		b.options.SearchAPI = brave.URL
		if _, err := b.run("", b.model, key, "big", "", "", answer, "search-key-of-nobody", "", searchfake.Key, "", "", ""); err != nil {
			t.Fatalf("%v\n%s", err, b.out.String())
		}
		for _, words := range []string{"It does not work: Brave Search refused the API key; check api_key", "It works: Brave Search"} {
			if !strings.Contains(b.out.String(), words) {
				t.Errorf("%q is not said:\n%s", words, b.out.String())
			}
		}
		want := map[string]any{"provider": "brave", "api_key": searchfake.Key, "base_url": brave.URL}
		if diff := cmp.Diff(want, b.load().Tools.Servers["search"].Options); diff != "" {
			t.Errorf("options of the search (-want +got):\n%s", diff)
		}
		if config := b.read("config.yaml"); !strings.Contains(config, `{provider: brave, api_key: "${BRAVE_API_KEY}", base_url: `) || strings.Contains(config, searchfake.Key) {
			t.Errorf("the config is\n%s", config)
		}
	}
	// A wrong key: another search is chosen.
	b := newEnv(t)
	b.options.SearchAPI = searchfake.New(t, "brave").URL
	if _, err := b.run("", b.model, key, "big", "", "", "brave", "search-key-of-nobody", "", "-", b.search, "", "", ""); err != nil {
		t.Fatalf("%v\n%s", err, b.out.String())
	}
	if got := b.load().Tools.Servers["search"].Options["url"]; got != b.search {
		t.Errorf("after a wrong key the search is at %v, want %s", got, b.search)
	}
	// No key: another search is chosen, or none.
	b = newEnv(t)
	if _, err := b.run("", b.model, key, "big", "", "", "tavily", "", "searxng", b.search, "", "", ""); err != nil {
		t.Fatalf("%v\n%s", err, b.out.String())
	}
	if got := b.load().Tools.Servers["search"].Options["url"]; got != b.search {
		t.Errorf("the search is at %v, want %s", got, b.search)
	}
}

// TestSlowEndpoint holds that an endpoint that does not answer is left alone after a
// while.
func TestSlowEndpoint(t *testing.T) {
	b := newEnv(t)
	b.options.Try.Models = func(ctx context.Context, _ llm.ModelConfig) ([]string, error) {
		if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > time.Minute {
			t.Errorf("the try may last until %v", deadline)
		}
		return nil, fmt.Errorf("asking: %w", context.DeadlineExceeded)
	}
	if _, err := b.run("", b.model, key); err == nil || !strings.Contains(b.out.String(), "It does not work: there was no answer in time. Check the address and the network.") {
		t.Errorf("Run returned %v after\n%s", err, b.out.String())
	}
}

// TestPlatformAway holds that a platform that cannot be reached is told like an
// endpoint.
func TestPlatformAway(t *testing.T) {
	b := newEnv(t)
	b.options.TelegramAPI, b.options.SlackAPI = "http://127.0.0.1:1", "http://127.0.0.1:1/api/"
	if _, err := b.run("", b.model, key, "big", botToken, "-", "", ""); err == nil {
		t.Fatal("Run went on without an answer")
	}
	if want := "It does not work: nothing listens at 127.0.0.1:1. Start the server there"; !strings.Contains(b.out.String(), want) {
		t.Errorf("%q is not said:\n%s", want, b.out.String())
	}
}
