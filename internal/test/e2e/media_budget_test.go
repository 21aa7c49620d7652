package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/telegramfake"
)

// mediaEnv is an environment with priced models that paint, speak and listen.
func mediaEnv(t *testing.T, budget string) *telegramEnv {
	t.Helper()
	b := newTelegramEnv(t, telegramOptions{http: ", tokens: [" + tokenLine("ops", "operator") + "]", options: options{
		think: makesFiles, more: "roles: {vision: main, image: painter, speech: speaker, transcribe: ear}\n" + "budget: " + budget + "\n",
	}})
	models := fmt.Sprintf(artists+"  ear: {base_url: %[1]q, api_key: sk-secret-e2e, model: whisper-1, price: {input: 0, output: 0, audio_minute: 0.6}}\n", b.models.URL)
	b.configure(strings.Replace(b.config, "servers:\n", models+"servers:\n", 1))
	return b
}

// media is how often the models were called for something else than text.
func (w *env) media(call string) (n int) {
	for _, r := range w.models.Requests() {
		if r.Call == call {
			n++
		}
	}
	return n
}

// TestMediaUsage: pictures, recordings and spoken words count in /usage, in the API and
// in the metrics, at their prices.
func TestMediaUsage(t *testing.T) {
	t.Parallel()
	b := mediaEnv(t, "{task_usd: 1}")
	s := b.opens()
	for _, goal := range []string{"a picture of a cat", "a spoken summary"} {
		b.Say(b.ann.ID, b.ann, goal)
		b.once(b.ann.ID, "Here it is: "+goal)
	}
	b.Say(b.ann.ID, b.ann, "", spoken())
	b.sees(b.ann.ID, "hello from the recording")
	b.Say(b.ann.ID, b.ann, "/usage")
	b.sees(b.ann.ID, "Everybody", "1 picture", "1 min of audio", "28 spoken characters", "$0.05") // 0.04 + 0.00042 + 0.01
	ops := outsider{t, "http://" + s.address, tokenOf("ops")}
	if _, text := ops.sends(http.MethodGet, "/v1/usage?by=model", ""); !holdsAll(string(text), []string{`"images":1`, `"audio_seconds":1`, `"spoken_characters":28`, `"usd":0.04`, `"usd":0.01`}) {
		t.Errorf("GET /v1/usage gives %s", text)
	}
	want := []string{
		`legwork_model_media_total{kind="images",model="painter"} 1`, `legwork_model_media_total{kind="audio_seconds",model="ear"} 1`,
		`legwork_model_media_total{kind="spoken_characters",model="speaker"} 28`, `legwork_model_cost_usd_total{model="painter"} 0.04`,
	}
	if _, text := ops.sends(http.MethodGet, "/metrics", ""); !holdsAll(string(text), want) {
		t.Errorf("GET /metrics gives %s", text)
	}
}

// TestMediaBudget: what a picture, a recording and spoken words may cost is reserved
// before the call. A call that does not fit is not made, and the person is asked or told.
func TestMediaBudget(t *testing.T) {
	t.Parallel()
	t.Run("of a task", func(t *testing.T) {
		t.Parallel()
		b := mediaEnv(t, "{task_usd: 0.03}")
		b.opens()
		b.Say(b.ann.ID, b.ann, "a picture of a cat")
		card := b.offers(b.ann.ID, "Extend by $0.04", "The next step would exceed this task's budget.", "the next step may need up to $0.04")
		if n := b.media(llmfake.CallImage); n > 0 {
			t.Errorf("%d pictures were made over the budget", n)
		}
		b.taps(b.ann, b.ann.ID, card.ID, "Extend by $0.04")
		b.once(b.ann.ID, "Here it is: a picture of a cat")
		b.Say(b.ann.ID, b.ann, "/usage")
		b.sees(b.ann.ID, "Everybody", "1 picture", "$0.04")
	})
	t.Run("of a day", func(t *testing.T) {
		t.Parallel()
		b := mediaEnv(t, "{day_usd: 0.0003}")
		b.opens()
		for i, goal := range []string{"a picture of a cat", "a spoken summary"} {
			b.Say(b.bob.ID, b.bob, goal)
			b.until("the refusal of "+goal, func(v telegramfake.View) bool {
				refused := 0
				for _, m := range v.Chat(b.bob.ID).Bots() {
					if strings.Contains(m.Text, "no budget is left for it") { // the model says what it was told
						refused++
					}
				}
				return refused == i+1
			})
		}
		b.Say(b.bob.ID, b.bob, "", spoken())
		b.sees(b.bob.ID, b.says("file.budget", map[string]any{"Name": "voice"}))
		for _, call := range []string{llmfake.CallImage, llmfake.CallSpeech, llmfake.CallTranscribe} {
			if n := b.media(call); n > 0 {
				t.Errorf("%d calls of %s were made over the budget", n, call)
			}
		}
	})
}
