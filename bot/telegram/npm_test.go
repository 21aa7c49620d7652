package telegram_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"legwork/bot"
	"legwork/bot/telegram"
	"legwork/internal/test/need"
)

// server starts telegram-test-api, and stops it at the end of its input.
const server = `
const { TelegramServer } = require('telegram-test-api/lib/telegramServer');
const s = new TelegramServer({ host: '127.0.0.1', port: Number(process.argv[1]) });
s.start().then(() => console.log('started'), (e) => { console.log(String(e)); process.exit(1); });
process.stdin.resume().on('end', () => s.stop().then(() => process.exit(0)));
`

// TestSecondOpinion talks to a stand-in for Telegram that others wrote.
func TestSecondOpinion(t *testing.T) {
	t.Parallel()
	node := need.Command(t, "node", "apt-get install nodejs npm")
	need.NPMPackage(t, "telegram-test-api")
	address := closedPort(t)
	command := exec.CommandContext(t.Context(), node, "-e", server, address[strings.LastIndex(address, ":")+1:])
	command.Dir = filepath.Join(need.Root(t), "internal", "test", "npm")
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = command.Wait() // killed when it hangs
	})
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "started\n" {
		t.Fatalf("telegram-test-api said %q, want started", line)
	}
	url := "http://" + address
	r := &env{t: t, limiter: &limiter{}, inbox: &inbox{news: make(chan struct{}, 1)}, log: &log{}}
	r.talk(url)
	defer r.stop()
	r.ready()

	tell(t, url+"/sendMessage", `{"botToken":"`+token+`","date":1700000000,"text":"what is it?","from":{"id":7,"first_name":"Ann"},"chat":{"id":7,"type":"private","first_name":"Ann"}}`)
	m := r.next()
	if m.Text != "what is it?" || m.From.Name != "Ann" || !m.Chat.Private {
		t.Errorf("the message came as %+v", m)
	}
	id := r.post(m.Chat, bot.Draft{Kind: bot.KindBoard, ReplyTo: m.ID, Board: &bot.Board{Status: "Thinking"}, Buttons: []bot.Button{{Label: "Stop", Data: "s:1"}}})
	if err := r.tg.Edit(context.Background(), m.Chat, id, bot.Draft{Kind: bot.KindAnswer, Text: "It is **this**."}); err != nil {
		t.Fatal(err)
	}
	tell(t, url+"/sendCallback", `{"botToken":"`+token+`","data":"s:1","from":{"id":7,"first_name":"Ann"},"message":{"message_id":`+id+`,"chat":{"id":7,"type":"private"}}}`)
	press := r.next()
	if press.Data != "s:1" || press.ID != id || press.Chat.Key() != m.Chat.Key() {
		t.Errorf("the press came as %+v", press)
	}
	if err := r.tg.Answer(context.Background(), press, "Stopped"); err != nil {
		t.Errorf("answering the press: %v", err)
	}
	var history struct {
		Result []struct {
			Message map[string]any `json:"message"`
		} `json:"result"`
	}
	if err := json.Unmarshal(tell(t, url+"/getUpdatesHistory", `{"token":"`+token+`"}`), &history); err != nil {
		t.Fatal(err)
	}
	for _, one := range history.Result {
		if one.Message["chat_id"] == "7" {
			if got := fmt.Sprint(one.Message["text"], one.Message["parse_mode"]); got != "It is <b>this</b>.HTML" {
				t.Errorf("the message reads %s after its edit", got)
			}
			return
		}
	}
	t.Errorf("the history %+v does not hold the answer", history)
}

// talk runs a platform before another server than the fake.
func (r *env) talk(url string) {
	r.run(func(c *telegram.Config, _ *telegram.Options) { c.APIURL = url })
}

// tell does what a person does there.
func tell(t *testing.T, url, body string) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer resp.Body.Close()
	var answer bytes.Buffer
	if _, err := answer.ReadFrom(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s answered %d %s, %v", url, resp.StatusCode, answer.String(), err)
	}
	return answer.Bytes()
}
