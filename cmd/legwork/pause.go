package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"legwork/app/control"
	"legwork/bot"
	"legwork/bot/terminal"
	"legwork/internal/redact"
	"legwork/tasks"
)

type pauseCommand struct {
	Config string `placeholder:"FILE" help:"The config file. Default: config.yaml, or the environment where there is none."`
}

// Run stops all work on the data of the config, in the process that holds them,
// or for the next one when there is none.
func (command pauseCommand) Run(ctx context.Context, c console) error {
	login := terminal.Login()
	by := tasks.Paused{By: bot.Person{Platform: terminal.Name, ID: login}.Key(), Name: login, At: time.Now().Round(0).UTC()}
	var was tasks.Paused
	running, err := toggle(ctx, command.Config, c, pathPause, by, &was, func(p *tasks.Pause) (err error) {
		was, err = p.Set(ctx, by)
		return err
	})
	switch {
	case err != nil:
		return err
	case was.By != by.By || !was.At.Equal(by.At):
		fmt.Fprintf(c.out, "It is paused already, by %s since %s. \"legwork resume\" lets everything go on.\n", flat(was.Name), was.At.Local().Format("2006-01-02 15:04"))
	case running:
		fmt.Fprintln(c.out, `Paused. No model and no tool is called until "legwork resume"; what is under way ends.`)
	default:
		fmt.Fprintln(c.out, `Paused. legwork is not running; when it starts, no model and no tool is called until "legwork resume".`)
	}
	return nil
}

type resumeCommand struct {
	Config string `placeholder:"FILE" help:"The config file. Default: config.yaml, or the environment where there is none."`
}

// Run lets everything go on that "legwork pause" has stopped.
func (command resumeCommand) Run(ctx context.Context, c console) error {
	var was *tasks.Paused
	_, err := toggle(ctx, command.Config, c, pathResume, nil, &was, func(p *tasks.Pause) error {
		by, on, err := p.Lift(ctx)
		if on {
			was = &by
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case was == nil:
		fmt.Fprintln(c.out, "Nothing is paused.")
	default:
		fmt.Fprintf(c.out, "Everything goes on; %s had paused it.\n", flat(was.Name))
	}
	return nil
}

// The calls of the control socket that switch.
const (
	pathPause  = "/pause"
	pathResume = "/resume"
)

// toggle asks the process that holds the data to switch, or does it here when
// there is none; then running is false.
func toggle(ctx context.Context, path string, c console, verb string, in, out any, here func(*tasks.Pause) error) (running bool, err error) {
	config, _, err := loadConfig(path, c)
	if err != nil {
		return false, err
	}
	owner := control.NewClient(config.DataDir)
	defer owner.Close()
	err = owner.Call(ctx, http.MethodPost, verb, in, out)
	if !errors.Is(err, control.ErrNobody) {
		return true, err
	}
	store, err := openStore(ctx, config, "legwork"+verb, slog.New(slog.DiscardHandler))
	if err != nil {
		return false, err
	}
	pause, err := tasks.OpenPause(ctx, store)
	if err == nil {
		err = here(pause)
	}
	if err == nil {
		record(ctx, store, newLog(config.Log, c.err, redact.New(config.Secrets())), byHand(strings.TrimPrefix(verb, "/"), "", "no legwork was running"))
	}
	return false, errors.Join(err, store.Close())
}

// handlePause lets a second process switch.
func (a *app) handlePause(mux *http.ServeMux) {
	mux.HandleFunc("POST "+pathPause, func(w http.ResponseWriter, r *http.Request) {
		var by tasks.Paused
		if err := json.NewDecoder(io.LimitReader(r.Body, 4<<10)).Decode(&by); err != nil {
			http.Error(w, "reading who pauses: "+err.Error(), http.StatusBadRequest)
			return
		}
		was, err := a.pause.Set(r.Context(), by)
		a.log.WarnContext(r.Context(), "everything is paused", "by", was.By, "since", was.At)
		if err == nil && was.By == by.By && was.At.Equal(by.At) {
			record(r.Context(), a.store, a.log, byHand("pause", "", ""))
		}
		control.Reply(w, was, err)
	})
	mux.HandleFunc("POST "+pathResume, func(w http.ResponseWriter, r *http.Request) {
		by, on, err := a.pause.Lift(r.Context())
		if !on {
			control.Reply(w, nil, err)
			return
		}
		a.log.WarnContext(r.Context(), "everything goes on", "paused_by", by.By)
		record(r.Context(), a.store, a.log, byHand("resume", "", ""))
		control.Reply(w, by, err)
	})
}
