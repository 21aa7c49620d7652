package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"legwork/internal/test/harness/record"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// hooks receives webhooks.
type hooks struct {
	url    string
	server *http.Server
	signer *standardwebhooks.Webhook
	serve  sync.WaitGroup
	seen   func()

	mu    sync.Mutex // guards the fields below
	got   []record.Webhook
	fails int // of the next requests
}

func newHooks(ctx context.Context, seen func()) (*hooks, error) {
	signer, err := standardwebhooks.NewWebhook(record.WebhookSecret)
	if err != nil {
		return nil, fmt.Errorf("preparing the secret: %w", err)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for webhooks: %w", err)
	}
	h := &hooks{url: "http://" + l.Addr().String() + "/hook", signer: signer, seen: seen}
	h.server = &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	h.serve.Go(func() { _ = h.server.Serve(l) }) // until it is closed
	return h, nil
}

func (h *hooks) close() {
	_ = h.server.Close()
	h.serve.Wait()
}

// fail lets the next requests fail: some get 503, others are read
// and not answered.
func (h *hooks) fail(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fails += n
}

func (h *hooks) list() []record.Webhook {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.got)
}

// ServeHTTP implements http.Handler.
func (h *hooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender was killed
	}
	var p struct {
		Type string
		Data struct{ Task record.Task }
	}
	in := record.Webhook{At: time.Now(), ID: r.Header.Get(standardwebhooks.HeaderWebhookID), Status: http.StatusNoContent}
	if err := h.signer.Verify(body, r.Header); err != nil {
		in.Misuse = err.Error()
	} else if err := json.Unmarshal(body, &p); err != nil {
		in.Misuse = err.Error()
	}
	in.Type, in.Task = p.Type, p.Data.Task
	h.mu.Lock()
	if h.fails > 0 {
		in.Status = []int{http.StatusServiceUnavailable, 0, 0}[h.fails%3]
		h.fails--
	}
	h.got = append(h.got, in)
	h.mu.Unlock()
	h.seen()
	if in.Status == 0 {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(in.Status)
}
