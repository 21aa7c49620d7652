package telegramfake_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime/multipart"
	"slices"
	"strings"
	"testing"

	"legwork/internal/test/fakes/telegramfake"
)

// form is a multipart body with parameters and a file, unless its name is empty.
func form(t *testing.T, params map[string]string, field, name, content string) (kind, body string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, key := range slices.Sorted(maps.Keys(params)) {
		if err := w.WriteField(key, params[key]); err != nil {
			t.Fatal(err)
		}
	}
	if name != "" {
		part, err := w.CreateFormFile(field, name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), b.String()
}

func TestDocuments(t *testing.T) {
	type params map[string]string
	tests := []struct {
		name                 string
		params               params
		field, file, content string
		want                 string // code and description; empty: accepted
		violation            string
	}{
		{"plain", params{"chat_id": "7"}, "document", "a.json", "{}", "", ""},
		{"attached", params{"chat_id": "7", "document": "attach://x"}, "x", "a.json", "{}", "", ""},
		{"with everything", params{"chat_id": "7", "caption": "<b>see</b>", "parse_mode": "HTML", "reply_parameters": `{"message_id":1}`, "disable_content_type_detection": "true", "reply_markup": `{"inline_keyboard":[[{"text":"A","callback_data":"a"}]]}`}, "document", "a.json", "{}", "", ""},
		{"topic", params{"chat_id": "FORUM", "message_thread_id": "TOPIC"}, "document", "a.json", "{}", "", ""},
		{"longest caption", params{"chat_id": "7", "caption": strings.Repeat("a", 1024)}, "document", "a.json", "{}", "", ""},
		{"long caption", params{"chat_id": "7", "caption": strings.Repeat("a", 1025)}, "document", "a.json", "{}", "400 Bad Request: message caption is too long", ""},
		{"largest", params{"chat_id": "7"}, "document", "a.json", strings.Repeat("a", 2000), "", ""},
		{"too large", params{"chat_id": "7"}, "document", "a.json", strings.Repeat("a", 2001), "413 Request Entity Too Large", ""},
		{"far too large", params{"chat_id": "7"}, "document", "a.json", strings.Repeat("a", 2<<20), "413 Request Entity Too Large", ""},
		{"empty", params{"chat_id": "7"}, "document", "a.json", "", "400 Bad Request: file must be non-empty", ""},
		{"no file", params{"chat_id": "7"}, "", "", "", "400 Bad Request: there is no document in the request", ""},
		{"other field", params{"chat_id": "7"}, "file", "a.json", "{}", "400 Bad Request: there is no document in the request", ""},
		{"attached nothing", params{"chat_id": "7", "document": "attach://y"}, "x", "a.json", "{}", "400 Bad Request: there is no document in the request", ""},
		{"file without a name", params{"chat_id": "7", "document": "{}"}, "", "", "", "400 Bad Request: wrong remote file identifier specified: Wrong character in the string", ""},
		{"no rights", params{"chat_id": "GROUP"}, "document", "a.json", "{}", "400 Bad Request: not enough rights to send documents to the chat", ""},
		{"blocked", params{"chat_id": "9"}, "document", "a.json", "{}", "403 Forbidden: bot was blocked by the user", ""},
		{"reply to nothing", params{"chat_id": "7", "reply_parameters": `{"message_id":99}`}, "document", "a.json", "{}", "400 Bad Request: message to be replied not found", ""},
		{"text", params{"chat_id": "7", "text": "x"}, "document", "a.json", "{}", "", `no parameter "text"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := buildWith(t, telegramfake.Options{NoLimits: true, MaxFile: 2000})
			w.ForbidFiles(w.group, true)
			for name, value := range test.params {
				if name == "chat_id" || name == "message_thread_id" {
					test.params[name] = w.fill(value)
				}
			}
			kind, body := form(t, test.params, test.field, test.file, test.content)
			r, err := try(t.Context(), w.Server, "sendDocument", kind, body)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if !r.OK {
				got = fmt.Sprintf("%d %s", r.Code, r.Description)
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if v := strings.Join(w.Violations(), ""); (v == "") != (test.violation == "") || !strings.Contains(v, test.violation) {
				t.Errorf("got violations %q, want %q", v, test.violation)
			}
		})
	}
}

func TestDocumentIsShown(t *testing.T) {
	w := build(t)
	kind, body := form(t, map[string]string{"chat_id": "7", "caption": "all of it", "reply_parameters": `{"message_id":1}`}, "document", "arguments.json", `{"a":1}`)
	r, err := try(t.Context(), w.Server, "sendDocument", kind, body)
	if err != nil || !r.OK {
		t.Fatalf("got %+v, %v", r, err)
	}
	var sent struct {
		Document struct {
			Name string `json:"file_name"`
			Size int    `json:"file_size"`
		}
		Caption string
	}
	if err := json.Unmarshal(r.Result, &sent); err != nil || sent.Document.Name != "arguments.json" || sent.Document.Size != 7 || sent.Caption != "all of it" {
		t.Errorf("got %s, %v, want the document with its caption", r.Result, err)
	}
	all := w.Chat(7).Bots()
	m := all[len(all)-1]
	if m.File == nil || string(m.File.Content) != `{"a":1}` || m.Media != "document" || m.ReplyTo != 1 || m.Text != "all of it" {
		t.Errorf("the chat shows %+v, want the document as a reply to message 1", m)
	}
	if text := w.Transcript(7); !strings.Contains(text, "(document arguments.json, 7 bytes) all of it") {
		t.Errorf("the transcript is\n%s\nwant the document in it", text)
	}
	log := w.Log()
	if e := log[len(log)-1]; e.File == nil || e.File.Size != 7 || e.File.Content != nil || e.Params["caption"] != "all of it" {
		t.Errorf("logged %+v, want the file without its content", e)
	}
	if r := do(t, w.Server, "editMessageText", fmt.Sprintf(`{"chat_id":7,"message_id":%d,"text":"x"}`, m.ID)); r.Description != "Bad Request: there is no text in the message to edit" {
		t.Errorf("editing the text of a document gave %+v, want a refusal", r)
	}
}

// Documents count among a chat's messages.
func TestDocumentsAreRated(t *testing.T) {
	s := start(t, telegramfake.Options{})
	s.Say(7, s.User(7, "Ann", "en"), "hello")
	kind, body := form(t, map[string]string{"chat_id": "7"}, "document", "a.json", "{}")
	for i := range 6 {
		r, err := try(t.Context(), s, "sendDocument", kind, body)
		if want := i < 5; err != nil || r.OK != want {
			t.Fatalf("document %d: got %+v, %v, want it taken: %t", i+1, r, err, want)
		}
	}
}
