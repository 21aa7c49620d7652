package llmfake

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
)

// status answers with an HTTP error.
func (r *reply) status() error {
	why := refusal{Status: r.Fault.Status, Message: r.Fault.Message, Code: r.Fault.Code, Type: "server_error"}
	usual := map[int]refusal{
		400: {Type: "invalid_request_error", Message: "Invalid request."},
		401: {Type: "invalid_request_error", Code: "invalid_api_key", Message: "Incorrect API key provided."},
		403: {Type: "invalid_request_error", Code: "unsupported_country_region_territory", Message: "Country, region, or territory not supported."},
		404: {Type: "invalid_request_error", Code: "model_not_found", Message: "The model does not exist or you do not have access to it."},
		429: {Type: "requests", Code: "rate_limit_exceeded", Message: "Rate limit reached."},
	}
	if u, ok := usual[why.Status]; ok {
		why.Type = u.Type
		if why.Code == "" {
			why.Code = u.Code
		}
		if why.Message == "" {
			why.Message = u.Message
		}
	}
	if why.Message == "" {
		why.Message = "The server had an error while processing your request. Sorry about that!"
	}
	if ms, ok := strings.CutSuffix(r.Fault.RetryAfter, "ms"); ok {
		r.w.Header().Set("Retry-After-Ms", ms)
	} else if r.Fault.RetryAfter != "" {
		r.w.Header().Set("Retry-After", r.Fault.RetryAfter)
	}
	if r.Fault.Type == "" {
		why.write(r.w)
		return nil
	}
	r.w.Header().Set("Content-Type", r.Fault.Type)
	r.w.WriteHeader(r.Fault.Status)
	_, err := r.w.Write([]byte(r.Fault.Message))
	return err
}

// flood sends the fault's message over and over.
func (r *reply) flood(ctx context.Context) error {
	for n := 0; r.Fault.Kind == FaultFlood && (r.Fault.After == 0 || n < r.Fault.After); n++ {
		if err := r.put(ctx, []byte(r.Fault.Message)); err != nil {
			return err
		}
	}
	return nil
}

// breaks reports that the fault ends the reply after a number of events.
func (r *reply) breaks() bool {
	if r.Fault.Bytes > 0 {
		return false // it does where so much is sent
	}
	switch r.Fault.Kind {
	case FaultEnd, FaultCut, FaultReset, FaultStall, FaultError:
		return true
	}
	return false
}

// breakOff ends the reply as the fault says.
func (r *reply) breakOff(ctx context.Context) error {
	if err := r.flush(ctx); err != nil {
		return err
	}
	if r.Fault.Begun {
		if err := http.NewResponseController(r.w).Flush(); err != nil {
			return err
		}
	}
	switch r.Fault.Kind {
	case FaultStall:
		return wait(ctx, nil)
	case FaultReset:
		r.reset()
		return errBroken
	case FaultCut:
		return errBroken
	case FaultError:
		message := r.Fault.Message
		if message == "" {
			message = "The server had an error while processing your request. Sorry about that!"
		}
		text, err := json.Marshal(map[string]any{"error": map[string]any{"message": message, "type": "server_error", "param": nil, "code": orNull(r.Fault.Code)}})
		if err != nil {
			return err
		}
		return r.put(ctx, append(append([]byte("data: "), text...), "\n\n"...))
	}
	return nil
}

// reset makes the peer see ECONNRESET instead of an orderly end.
func (r *reply) reset() {
	conn, _, err := http.NewResponseController(r.w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
