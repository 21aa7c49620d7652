package telegramfake_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/fakes/telegramfake"
)

// download gets a file by its id, as far as the service gives it.
func download(t *testing.T, s *telegramfake.Server, token, id string) (status int, content, refused string) {
	t.Helper()
	r := do(t, s, "getFile", `{"file_id":"`+id+`"}`)
	if !r.OK {
		return 0, "", r.Description
	}
	var f struct {
		Path string `json:"file_path"`
	}
	if err := json.Unmarshal(r.Result, &f); err != nil {
		t.Fatal(err)
	}
	return get(t, s.URL+"/file/bot"+token+"/"+f.Path)
}

func get(t *testing.T, address string) (status int, content, failed string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		failed = err.Error()
	}
	return resp.StatusCode, string(body), failed
}

// TestDownloads: files of people can be fetched for an hour, by the bot alone, up to
// 20 MB.
func TestDownloads(t *testing.T) {
	now := time.Now()
	s := start(t, telegramfake.Options{NoLimits: true, Now: func() time.Time { return now }})
	ann := s.User(7, "Ann", "en")
	ids := s.SayAlbum(7, ann, "two", "photo", []telegramfake.File{{Content: []byte("one")}, {Content: make([]byte, 20<<20+1)}})
	s.Say(7, ann, "a sticker", telegramfake.Media("sticker"))
	all := s.Chat(7).Messages
	if len(ids) != 2 || all[0].Album == "" || all[0].Album != all[1].Album || all[0].Text != "two" || all[1].Text != "" {
		t.Fatalf("the album is %+v", all)
	}
	id := all[0].File.ID
	if status, content, _ := download(t, s, s.Token, id); status != 200 || content != "one" {
		t.Errorf("got %d %q, want the file", status, content)
	}
	if status, _, _ := download(t, s, "1:other", id); status != 401 {
		t.Errorf("another token gave %d, want 401", status)
	}
	if _, _, why := download(t, s, s.Token, all[1].File.ID); !strings.Contains(why, "file is too big") {
		t.Errorf("a file of more than 20 MB gave %q", why)
	}
	if _, _, why := download(t, s, s.Token, id+"-small"); !strings.Contains(why, "invalid file_id") {
		t.Errorf("an unknown id gave %q", why)
	}
	if status, content, _ := download(t, s, s.Token, "AgADfile-voice"); status != 200 || content == "" {
		t.Errorf("a sample gave %d %q", status, content)
	}
	r := do(t, s, "getFile", `{"file_id":"`+id+`"}`)
	var f struct {
		Path string `json:"file_path"`
	}
	if err := json.Unmarshal(r.Result, &f); err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * time.Hour)
	if status, _, _ := get(t, s.URL+"/file/bot"+s.Token+"/"+f.Path); status != 404 {
		t.Errorf("an address of two hours ago gave %d, want 404", status)
	}
	for kind, want := range map[string]string{telegramfake.FaultShort: "o", telegramfake.FaultLong: "oneone"} {
		s.Fail(telegramfake.Fault{Kind: kind, Method: "download"})
		if _, content, failed := download(t, s, s.Token, id); content != want || failed != "" {
			t.Errorf("%s gave %q, %s, want %q", kind, content, failed, want)
		}
	}
	s.Fail(telegramfake.Fault{Kind: telegramfake.FaultHalf, Method: "download"})
	if _, content, failed := download(t, s, s.Token, id); content != "o" || failed == "" {
		t.Errorf("a cut gave %q, %s, want half and an error", content, failed)
	}
	s.LoseFile(id)
	if _, _, why := download(t, s, s.Token, id); !strings.Contains(why, "invalid file_id") {
		t.Errorf("a lost file gave %q", why)
	}
}
