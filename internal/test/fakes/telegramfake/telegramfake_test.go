package telegramfake_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"legwork/internal/test/fakes/telegramfake"
	"legwork/internal/test/fakes/wire"
	"legwork/internal/test/watch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start starts a fake whose violations the test looks at itself.
func start(t *testing.T, o telegramfake.Options) *telegramfake.Server {
	t.Helper()
	s, err := telegramfake.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	wire.Retire(t, s)
	return s
}

// reply is what the service answers.
type reply struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MigrateTo  int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// do calls a method with a JSON body.
func do(t *testing.T, s *telegramfake.Server, method, body string) reply {
	t.Helper()
	r, err := try(t.Context(), s, method, "application/json", body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, body, err)
	}
	return r
}

func try(ctx context.Context, s *telegramfake.Server, method, kind, body string) (reply, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/bot"+s.Token+"/"+method, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	request.Header.Set("Content-Type", kind)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return reply{}, err
	}
	var r reply
	return r, json.Unmarshal(text, &r)
}

func TestConversation(t *testing.T) {
	s := telegramfake.New(t, telegramfake.Options{})
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	ann := s.User(7, "Ann", "en")
	chat := s.Private(ann)
	asked := s.Say(chat, ann, "What time is it?")
	var updates []struct {
		ID      int `json:"update_id"`
		Message struct {
			ID   int `json:"message_id"`
			Text string
			From struct {
				Language string `json:"language_code"`
			}
		}
	}
	if r := do(t, s, "getUpdates", `{"timeout":1}`); json.Unmarshal(r.Result, &updates) != nil || len(updates) != 1 ||
		updates[0].Message.ID != asked || updates[0].Message.Text != "What time is it?" || updates[0].Message.From.Language != "en" {
		t.Fatalf("got %s, want the question", r.Result)
	}
	r := do(t, s, "sendMessage", `{"chat_id":7,"text":"It is <b>noon</b>","parse_mode":"HTML","reply_parameters":{"message_id":1},"reply_markup":{"inline_keyboard":[[{"text":"Again","callback_data":"again"}]]}}`)
	if !r.OK {
		t.Fatalf("got %+v", r)
	}
	ctx, cancel := context.WithTimeout(t.Context(), watch.Patience)
	defer cancel()
	if err := s.WaitFor(ctx, func(v telegramfake.View) bool { return len(v.Chat(chat).Bots()) == 1 }); err != nil {
		t.Fatal(err)
	}
	m := s.Chat(chat).Messages[1]
	if m.Text != "It is noon" || m.ReplyTo != asked || m.Button("Again") != "again" || len(m.Entities) != 1 {
		t.Errorf("got %+v", m)
	}
	press := s.Press(chat, m.ID, "Again", ann)
	if r := do(t, s, "answerCallbackQuery", `{"callback_query_id":"`+press+`","text":"Still noon"}`); !r.OK || s.Pressed(press).Text != "Still noon" {
		t.Errorf("got %+v and %+v", r, s.Pressed(press))
	}
	do(t, s, "editMessageText", `{"chat_id":7,"message_id":2,"text":"It is one"}`)
	if m := s.Chat(chat).Messages[1]; m.Text != "It is one" || m.Edits != 1 || m.Buttons != nil {
		t.Errorf("got %+v", m)
	}
}
