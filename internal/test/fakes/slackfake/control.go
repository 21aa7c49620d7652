package slackfake

import (
	"encoding/json"
	"net/http"
)

// order is the body of a control; each uses some of its fields.
type order struct {
	Fault
	Channel, User, Text, Thread, TS, Button, Command, Token, URL, Reason string
	Pings                                                                bool
	World                                                                Channel
}

// controls are what tests in other processes use: GET for what can be seen,
// POST with a JSON body for what can be done. Errors are 400 with a text.
func (s *Server) controls(mux *http.ServeMux) {
	mux.HandleFunc("GET /fake/messages", func(w http.ResponseWriter, r *http.Request) {
		show(w, s.Messages(r.FormValue("channel")))
	})
	mux.HandleFunc("GET /fake/transcript", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(s.Transcript(r.FormValue("channel"))))
	})
	mux.HandleFunc("GET /fake/status", func(w http.ResponseWriter, r *http.Request) {
		show(w, s.StatusOf(r.FormValue("channel"), r.FormValue("thread")))
	})
	mux.HandleFunc("GET /fake/log", func(w http.ResponseWriter, _ *http.Request) { show(w, s.Entries()) })
	mux.HandleFunc("GET /fake/violations", func(w http.ResponseWriter, _ *http.Request) { show(w, s.Violations()) })
	mux.HandleFunc("GET /fake/deliveries", func(w http.ResponseWriter, _ *http.Request) { show(w, s.Deliveries()) })
	mux.HandleFunc("GET /fake/connections", func(w http.ResponseWriter, _ *http.Request) { show(w, s.Connections()) })
	for name, do := range s.deeds() {
		mux.HandleFunc("POST /fake/"+name, func(w http.ResponseWriter, r *http.Request) {
			var o order
			err := json.NewDecoder(r.Body).Decode(&o)
			var id string
			if err == nil {
				id, err = do(o)
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			show(w, map[string]string{"id": id})
		})
	}
}

func show(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// deeds are the controls that do something; what they return is the ts or the
// trigger id, where there is one.
func (s *Server) deeds() map[string]func(order) (string, error) {
	done := func(do func(order)) func(order) (string, error) {
		return func(o order) (string, error) { do(o); return "", nil }
	}
	tried := func(do func(order) error) func(order) (string, error) {
		return func(o order) (string, error) { return "", do(o) }
	}
	return map[string]func(order) (string, error){
		"say":   func(o order) (string, error) { return s.say(o.Channel, o.User, o.Text, o.Thread) },
		"slash": func(o order) (string, error) { return s.Slash(o.Command, o.Text, o.Channel, o.User) },
		"press": func(o order) (string, error) { return s.Press(o.Channel, o.TS, o.Button, o.User) },
		"raw":   func(o order) (string, error) { return s.Raw(o.Text) },

		"stop":   tried(func(o order) error { return s.Stop(o.Channel, o.Thread, o.User) }),
		"edit":   tried(func(o order) error { return s.Edit(o.Channel, o.TS, o.Text) }),
		"delete": tried(func(o order) error { return s.Delete(o.Channel, o.TS) }),
		"repeat": tried(func(o order) error { return s.Repeat(o.TS) }),

		"fault":      done(func(o order) { s.Break(o.Fault) }),
		"down":       done(func(order) { s.Down() }),
		"heal":       done(func(order) { s.Heal() }),
		"revoke":     done(func(o order) { s.Revoke(o.Token, o.Reason) }),
		"refresh":    done(func(order) { s.Refresh() }),
		"disconnect": done(func(o order) { s.Disconnect(o.Reason) }),
		"deafen":     done(func(o order) { s.Deafen(o.Pings) }),
		"app":        done(func(o order) { s.SetApp(o.URL) }),
		"channel":    done(func(o order) { s.SetChannel(o.World) }),
	}
}
