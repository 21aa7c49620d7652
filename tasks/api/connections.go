package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"legwork/tasks"
	"legwork/tasks/inbox"
	"legwork/tasks/policy"
	"legwork/tools"
)

// Connection is a server at which people sign in.
type Connection struct {
	Server    string  `json:"server" doc:"Its name in the config."`
	Kind      string  `json:"kind" enum:"oauth,secret" doc:"How people sign in: 'oauth', at its authorization server; 'secret', by giving a secret of theirs to legwork."`
	Identity  string  `json:"identity" enum:"shared,person" doc:"'person': each person signs in; 'shared': an admin signs in for everybody."`
	SignIn    *SignIn `json:"sign_in,omitempty" doc:"The sign-in that the caller uses. Omitted: there is none."`
	MayChange bool    `json:"may_change" doc:"The caller may begin and end the sign-in that it uses."`
	People    *int    `json:"people,omitempty" nullable:"false" doc:"The number of people with a sign-in of their own. Only for admins."`
}

// SignIn is a sign-in at a server, without its secrets.
type SignIn struct {
	Kind   string   `json:"kind" enum:"oauth,secret" doc:"'oauth': the authorization server gave legwork a token; 'secret': the person gave legwork a secret."`
	By     string   `json:"by" doc:"Key of the person who signed in: 'telegram:12345'."`
	Scopes []string `json:"scopes" doc:"The rights that were granted, as far as the server says."`
	Since  Time     `json:"since_at" doc:"When the person signed in."`
	Used   *Time    `json:"used_at,omitempty" doc:"The hour of the last use. Omitted: never."`
}

// PersonSignIn is the sign-in of a person at a server.
type PersonSignIn struct {
	Person string `json:"person,omitempty" doc:"Key of the person. Omitted: everybody shares the sign-in."`
	SignIn
}

// BegunSignIn is a sign-in that a person finishes in a browser.
type BegunSignIn struct {
	URL     string `json:"url" doc:"The address at which the person goes on. It is a secret of the person, and can be used once."`
	Expires Time   `json:"expires_at" doc:"When the address ends."`
	Paste   bool   `json:"paste" doc:"The browser cannot return to legwork: the person copies the address on which it ends, and sends it to legwork in a private chat."`
}

// EndedSignIns says how many sign-ins were ended.
type EndedSignIns struct {
	Ended   int `json:"ended" doc:"Sign-ins that legwork has deleted."`
	Revoked int `json:"revoked" doc:"Those of them that the authorization server has ended, too."`
}

func signInOf(c tasks.Connection) SignIn {
	s := SignIn{Kind: c.Kind, By: c.By, Scopes: append([]string{}, c.Scopes...), Since: Time{c.Since}}
	if !c.Used.IsZero() {
		s.Used = &Time{c.Used}
	}
	return s
}

// signer is the person whose sign-ins the principal uses; empty for none.
func (p Principal) signer() string {
	if p.Person.ID == "" {
		return ""
	}
	return p.Person.Key()
}

// mayConnect returns ErrForbidden when the principal may not begin and end a connection.
func (o *Operations) mayConnect(p Principal, id tasks.ConnectionID) error {
	if id.Person != "" && id.Person == p.signer() {
		return p.Allowed(policy.OpConnect)
	}
	return o.allowed(p, policy.OpSignIns)
}

// connection names the connection to a server that the principal uses. ErrNotFound;
// ErrForbidden: the principal is no person, and each person signs in there.
func (o *Operations) connection(p Principal, server string) (tasks.ConnectionID, error) {
	if o.Inbox.SignIns == nil {
		return tasks.ConnectionID{}, notFoundError("no server of the config asks people to sign in")
	}
	id, err := o.Inbox.SignIns.ID(server, p.signer())
	switch {
	case errors.Is(err, tasks.ErrNoSignIn):
		return id, notFoundError("people sign in at no server of this name")
	case err != nil:
		return id, err
	case id.Person == "" && o.Inbox.SignIns.Servers()[server]:
		return id, fmt.Errorf("%w: each person signs in at this server, and this token stands for no person; a person signs in at the page, or in a chat with /connect %s", ErrForbidden, server)
	}
	return id, nil
}

// Connections lists the servers at which people sign in, by name, with the sign-ins that
// the principal uses.
func (o *Operations) Connections(ctx context.Context, p Principal) ([]Connection, error) {
	if err := p.Allowed(policy.OpConnections); err != nil {
		return nil, err
	}
	list := []Connection{}
	if o.Inbox.SignIns == nil {
		return list, nil
	}
	stored, err := o.Inbox.Store.Connections(ctx)
	if err != nil {
		return nil, err
	}
	perPerson := o.Inbox.SignIns.Servers()
	for _, name := range slices.Sorted(maps.Keys(perPerson)) {
		one := Connection{Server: name, Kind: tools.AuthOAuth, Identity: tools.IdentityShared}
		id, nobody := tasks.ConnectionID{Server: name}, false
		if perPerson[name] {
			one.Identity, id.Person = tools.IdentityPerson, p.signer()
			nobody = id.Person == ""
		}
		if o.Inbox.SignIns.TakesSecret(name) {
			one.Kind = tools.AuthSecret
		}
		people := 0
		for _, c := range stored {
			if c.Server == name && c.Person != "" {
				people++
			}
			if c.ConnectionID == id && !nobody {
				s := signInOf(c)
				one.SignIn = &s
			}
		}
		one.MayChange = !nobody && o.mayConnect(p, id) == nil
		if o.allowed(p, policy.OpSignIns) == nil {
			one.People = &people
		}
		list = append(list, one)
	}
	return list, nil
}

// SignIns lists the sign-ins at a server, by person, for admins. A server that has none
// may be one that no config knows.
func (o *Operations) SignIns(ctx context.Context, p Principal, server string) ([]PersonSignIn, error) {
	if err := o.allowed(p, policy.OpSignIns); err != nil {
		return nil, err
	}
	stored, err := o.Inbox.Store.Connections(ctx)
	if err != nil {
		return nil, err
	}
	list := []PersonSignIn{}
	for _, c := range stored {
		if c.Server == server {
			list = append(list, PersonSignIn{c.Person, signInOf(c)})
		}
	}
	return list, nil
}

// BeginSignIn begins a sign-in of the principal at a server, or the one that everybody
// shares. ErrNotFound, ErrForbidden, ErrConflict: the server does not work as it should.
func (o *Operations) BeginSignIn(ctx context.Context, p Principal, server string) (BegunSignIn, error) {
	if err := p.Allowed(policy.OpConnect); err != nil {
		return BegunSignIn{}, err
	}
	id, err := o.connection(p, server)
	if err == nil {
		err = o.mayConnect(p, id)
	}
	if err != nil {
		return BegunSignIn{}, err
	}
	by := p.Person
	if by.ID == "" {
		by = p.person()
	}
	language, err := o.Inbox.Settings.Get(ctx, by.Key(), tasks.SettingLanguage)
	if err != nil {
		return BegunSignIn{}, err
	}
	expires := o.Inbox.Wall().Add(tasks.AttemptTime)
	link, paste, err := o.Inbox.SignIns.Begin(ctx, inbox.SignIn{ID: id, By: by, Language: language})
	if err != nil {
		o.Inbox.Log.WarnContext(ctx, "beginning a sign-in failed", "server", server, "cause", err)
		return BegunSignIn{}, fmt.Errorf("%w: the sign-in could not begin, because the server, or its authorization server, does not work as it should; the log has the details", ErrConflict)
	}
	if link == "" {
		return BegunSignIn{}, fmt.Errorf("%w: people give a secret for this server, and this browser cannot reach the page for that; write /connect %s to legwork in a private chat", ErrConflict, server)
	}
	return BegunSignIn{link, Time{expires}, paste}, o.record(ctx, p, "connection.begin", server, "")
}

// EndSignIns ends the sign-in that the principal uses at a server; that of a person, when
// one is named; or, with all, those of everybody. ErrNotFound, ErrForbidden.
func (o *Operations) EndSignIns(ctx context.Context, p Principal, server, person string, all bool) (EndedSignIns, error) {
	if err := p.Allowed(policy.OpConnect); err != nil {
		return EndedSignIns{}, err
	}
	if all {
		return o.endAll(ctx, p, server, person)
	}
	id, err := tasks.ConnectionID{Server: server, Person: person}, error(nil)
	if person == "" {
		id, err = o.connection(p, server)
	}
	if err == nil {
		err = o.mayConnect(p, id)
	}
	if err != nil {
		return EndedSignIns{}, err
	}
	if o.Inbox.SignIns == nil {
		return EndedSignIns{}, notFoundError("there is no such sign-in")
	}
	revoked, err := o.Inbox.SignIns.Disconnect(ctx, id)
	if errors.Is(err, tasks.ErrNoConnection) {
		return EndedSignIns{}, notFoundError("there is no such sign-in")
	}
	if err != nil {
		return EndedSignIns{}, fmt.Errorf("ending a sign-in at %q: %w", server, err)
	}
	out := EndedSignIns{Ended: 1}
	if revoked {
		out.Revoked = 1
	}
	detail := person
	if person == p.signer() {
		detail = ""
	}
	return out, o.record(ctx, p, "connection.end", server, detail)
}

func (o *Operations) endAll(ctx context.Context, p Principal, server, person string) (EndedSignIns, error) {
	switch err := o.allowed(p, policy.OpSignIns); {
	case err != nil:
		return EndedSignIns{}, err
	case person != "":
		return EndedSignIns{}, &InvalidError{"person", "is for one person, and all is for everybody; leave one of them out"}
	case o.Inbox.SignIns == nil:
		return EndedSignIns{}, nil
	}
	ended, revoked, err := o.Inbox.SignIns.DisconnectAll(ctx, server)
	for _, id := range ended {
		err = cmp.Or(err, o.record(ctx, p, "connection.end", server, cmp.Or(id.Person, "shared")))
	}
	if err != nil {
		return EndedSignIns{}, fmt.Errorf("ending the sign-ins at %q: %w", server, err)
	}
	return EndedSignIns{len(ended), revoked}, nil
}
