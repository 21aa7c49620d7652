package harness

import (
	"bytes"
	"cmp"
	"context"
	"mime/multipart"
	"net/http"
	"slices"

	"legwork/internal/test/harness/record"
)

// uploads brings the file of an input to legwork, and in some cases one that no task uses.
// It returns the ids for the task.
func (f *apiRequests) uploads(ctx context.Context, token string, in record.Input) (ids []string, ok bool) {
	if in.File == nil {
		return nil, true
	}
	if record.Hash(in.Text+" spare")%3 == 0 {
		f.upload(ctx, token, in, &record.File{Name: "spare.txt", Content: []byte("spare of " + in.Text)})
	}
	id, ok := f.upload(ctx, token, in, in.File)
	return []string{id}, ok
}

// upload brings one file to legwork.
func (f *apiRequests) upload(ctx context.Context, token string, in record.Input, file *record.File) (id string, ok bool) {
	r, ok := f.ask(ctx, call{token: token, method: http.MethodPost, path: "/v1/files", file: file}, http.StatusCreated)
	if !ok {
		return "", false
	}
	id = decoded[struct{ ID string }](f, r).ID
	f.mu.Lock()
	defer f.mu.Unlock()
	f.uploaded = append(f.uploaded, record.Upload{Input: in.ID, Token: token, ID: id, Life: r.Life, Sent: string(file.Content)})
	return id, true
}

// form is a body with a file.
func form(file *record.File) (body *bytes.Buffer, kind string, err error) {
	body = &bytes.Buffer{}
	m := multipart.NewWriter(body)
	part, err := m.CreateFormFile("file", file.Name)
	if err == nil {
		_, err = part.Write(file.Content)
	}
	return body, m.FormDataContentType(), cmp.Or(err, m.Close())
}

// lookAtFiles reads all uploads, and the files that tasks have made, as they stand in the
// end.
func (f *apiClient) lookAtFiles(ctx context.Context) {
	f.mu.Lock()
	uploaded, contexts := slices.Clone(f.uploaded), map[string][]record.Context{}
	for input, ids := range f.tasks {
		for _, id := range ids {
			contexts[input] = append(contexts[input], f.final[id])
		}
	}
	f.mu.Unlock()
	found := map[string]string{}
	for _, u := range uploaded {
		found[u.Token+" "+u.ID] = f.content(ctx, u.Token, u.ID)
	}
	made := map[string][]record.Sent{}
	for _, in := range f.s.record.Inputs {
		for _, m := range in.Makes() {
			for _, c := range contexts[in.ID] {
				for _, message := range c.Messages {
					for _, file := range message.Files {
						if file.Name == m.Name {
							made[in.ID] = append(made[in.ID], record.Sent{Name: file.Name, Content: []byte(f.content(ctx, ops, file.ID))})
						}
					}
				}
			}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.made, f.found = made, found
}

// content reads a file; empty when there is none.
func (f *apiRequests) content(ctx context.Context, token, id string) string {
	r, ok := f.ask(ctx, call{token: token, method: http.MethodGet, path: "/v1/files/" + id}, http.StatusOK, http.StatusNotFound)
	if !ok || r.Status == http.StatusNotFound {
		return ""
	}
	return r.Reply
}
