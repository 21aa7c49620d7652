package tooladmin

import (
	"context"
	"fmt"
	"time"

	"legwork/app/cli"
	"legwork/app/data"
	"legwork/conf"
	"legwork/tasks"
	"legwork/tools"
)

// signInEntry is the sign-ins at a server. With zero People and no By there is none, or
// Unknown says why they could not be read.
type signInEntry struct {
	Identity string     `json:"identity"`         // shared or person
	People   int        `json:"people,omitempty"` // the number of those who have signed in for themselves
	By       string     `json:"by,omitempty"`     // key of the person who signed in for everybody
	Since    *time.Time `json:"since_at,omitempty"`
	Unknown  string     `json:"unknown,omitempty"`
}

// signIns are the sign-ins of the servers at which people sign in, by server. The process
// that owns the data knows them; when there is none, the data is read here.
func signIns(ctx context.Context, config *conf.Config, c cli.Console) map[string]*signInEntry {
	entries := map[string]*signInEntry{}
	for name, s := range config.Tools.Servers {
		if s.Auth.Asks() {
			entries[name] = &signInEntry{Identity: tools.IdentityShared}
			if s.Auth.PerPerson() {
				entries[name].Identity = tools.IdentityPerson
			}
		}
	}
	if len(entries) == 0 {
		return entries
	}
	list, err := data.Owner{Config: config, Log: c.Log(config)}.Connections(ctx)
	for _, e := range entries {
		if err != nil {
			e.Unknown = err.Error()
		}
	}
	for _, one := range list {
		if e := entries[one.Server]; e != nil {
			e.add(one)
		}
	}
	return entries
}

func (e *signInEntry) add(c tasks.Connection) {
	switch {
	case e.Identity == tools.IdentityPerson && c.Person != "":
		e.People++
	case e.Identity == tools.IdentityShared && c.Person == "":
		e.By, e.Since = c.By, &c.Since
	}
}

// Line is the sign-ins at a server on one line, with what to do when there is none.
func (e *signInEntry) Line(server string) string {
	switch {
	case e.Unknown != "":
		return fmt.Sprintf("%s: its sign-ins could not be read: %s", server, cli.OneLine(e.Unknown))
	case e.People == 1:
		return server + ": one person has signed in, for their own tasks"
	case e.People > 1:
		return fmt.Sprintf("%s: %d people have signed in, each for their own tasks", server, e.People)
	case e.By != "":
		return fmt.Sprintf("%s: connected for everybody, by %s since %s", server, cli.OneLine(e.By), e.Since.Local().Format(time.DateOnly))
	case e.Identity == tools.IdentityPerson:
		return fmt.Sprintf("%s: no person has signed in; each person writes /connect %[1]s to legwork in a private chat", server)
	}
	return fmt.Sprintf("%s: no person has signed in; an admin writes /connect %[1]s to legwork in a private chat", server)
}
