package app

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"legwork/app/control"
	"legwork/app/data"
	"legwork/bot"
	"legwork/bot/terminal"
	"legwork/conf"
	"legwork/tasks"
)

// The calls of the control socket that pause and resume.
const (
	pathPause  = "/pause"
	pathResume = "/resume"
)

// Pause stops all model and tool calls of the process that holds the data, or of
// the next one when there is none; then running is false. was is the pause in
// force; fresh says that it is this one.
func Pause(ctx context.Context, config *conf.Config, log *slog.Logger) (was tasks.Paused, fresh, running bool, err error) {
	login := terminal.Login()
	by := tasks.Paused{By: bot.Person{Platform: terminal.Name, ID: login}.Key(), Name: login, At: time.Now().Round(0).UTC()}
	was, running, err = data.Call(ctx, data.Owner{Config: config, Log: log, Create: true}, pathPause, by, func(a data.Admin, ctx context.Context, by tasks.Paused) (tasks.Paused, error) {
		pause, err := tasks.OpenPause(ctx, a.Store)
		if err != nil {
			return tasks.Paused{}, err
		}
		was, err := pause.Set(ctx, by)
		if err == nil && samePause(was, by) {
			data.Record(ctx, a.Store, log, data.ByHand("pause", "", "no legwork was running"))
		}
		return was, err
	})
	return was, samePause(was, by), running, err
}

func samePause(a, b tasks.Paused) bool { return a.By == b.By && a.At.Equal(b.At) }

// Resume ends a pause. was is nil when there was none.
func Resume(ctx context.Context, config *conf.Config, log *slog.Logger) (was *tasks.Paused, err error) {
	was, _, err = data.Call(ctx, data.Owner{Config: config, Log: log, Create: true}, pathResume, struct{}{}, func(a data.Admin, ctx context.Context, _ struct{}) (*tasks.Paused, error) {
		pause, err := tasks.OpenPause(ctx, a.Store)
		if err != nil {
			return nil, err
		}
		by, on, err := pause.Resume(ctx)
		if !on {
			return nil, err
		}
		data.Record(ctx, a.Store, log, data.ByHand("resume", "", "no legwork was running"))
		return &by, err
	})
	return was, err
}

// handlePause lets a second process pause and resume.
func (a *core) handlePause(mux *http.ServeMux) {
	control.Handle(mux, pathPause, func(ctx context.Context, by tasks.Paused) (tasks.Paused, error) {
		was, err := a.pause.Set(ctx, by)
		if err == nil && samePause(was, by) {
			a.log.WarnContext(ctx, "paused", "by", was.By, "since", was.At)
			data.Record(ctx, a.store, a.log, data.ByHand("pause", "", ""))
		}
		return was, err
	})
	control.Handle(mux, pathResume, func(ctx context.Context, _ struct{}) (*tasks.Paused, error) {
		by, on, err := a.pause.Resume(ctx)
		if !on {
			return nil, err
		}
		a.log.WarnContext(ctx, "resumed", "paused_by", by.By)
		data.Record(ctx, a.store, a.log, data.ByHand("resume", "", ""))
		return &by, err
	})
}
