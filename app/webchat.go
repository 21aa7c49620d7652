package app

import (
	"errors"
	"net/http"
	"strings"

	"legwork/bot"
	botweb "legwork/bot/web"
	"legwork/files"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/web/problem"
)

// newWebChat builds the platform of the page in the browser. Its handler works when
// core.service is set.
func (a *core) newWebChat(stop <-chan struct{}) *botweb.Web {
	return botweb.New(botweb.Config{Store: a.store, Caller: chatCaller, Attach: a.attachUploads, Stop: stop, Now: a.clock.Now, Log: a.log})
}

// chatCaller is the person who sends a request to the web chat.
func chatCaller(r *http.Request) (tasks.ChatPerson, bool) {
	p := api.Caller(r.Context())
	return tasks.ChatPerson{Person: p.Person, Team: p.Team, External: p.External}, p.Person.ID != ""
}

// attachUploads returns uploads of the caller as files of a message.
func (a *core) attachUploads(r *http.Request, names []string) ([]bot.Attachment, error) {
	ids := make([]files.ID, len(names))
	for i, name := range names {
		ids[i] = files.ID(name)
	}
	list, err := a.service.Attachments(r.Context(), api.Caller(r.Context()), ids)
	if wrong, ok := errors.AsType[*api.InvalidError](err); ok {
		p := problem.New(problem.Invalid, "See errors for what is wrong and what is allowed.")
		p.Errors = []problem.Mistake{{Location: "body." + wrong.Field, Message: wrong.Detail}}
		return nil, p
	}
	return list, err
}

// withChat serves the web chat beside the other calls below /v1/.
func withChat(chat *botweb.Web, others http.Handler) http.Handler {
	if chat == nil {
		return others
	}
	own := chat.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/chat/") {
			own.ServeHTTP(w, r)
			return
		}
		others.ServeHTTP(w, r)
	})
}
