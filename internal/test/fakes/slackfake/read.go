package slackfake

import (
	"slices"
	"strconv"
	"strings"
)

func (s *webAPI) authTest(c call) (answer, *refusal) {
	if c.token == s.o.AppToken {
		return answer{"app_name": BotName, "app_id": AppID}, nil
	}
	return answer{
		"url": s.URL + "/", "team": "Legwork Inc", "user": BotName, "team_id": Team, "user_id": BotUser, "bot_id": BotID,
		"is_enterprise_install": false,
	}, nil
}

func (s *webAPI) teamInfo(c call) (answer, *refusal) {
	if team := c.text("team"); team != "" && team != Team {
		return nil, refuse("team_not_found")
	}
	return answer{"team": answer{"id": Team, "name": "Legwork Inc", "domain": "legwork"}}, nil
}

func (s *webAPI) userInfo(c call) (answer, *refusal) {
	u := s.users[c.text("user")]
	if u == nil {
		return nil, refuse("user_not_found")
	}
	user := answer{
		"id": u.ID, "team_id": u.Team, "name": u.Name, "real_name": u.Name, "deleted": u.Gone, "tz": u.TZ, "tz_offset": 0,
		"is_restricted": u.Guest || u.OneGuest, "is_ultra_restricted": u.OneGuest, "is_bot": u.ID == BotUser,
		"is_stranger": u.Team != Team, "is_app_user": false, "is_admin": false, "is_owner": false,
		"profile": answer{"real_name": u.Name, "display_name": u.Name, "team": u.Team},
	}
	if c.flag("include_locale") {
		user["locale"] = u.Locale
	}
	return answer{"user": user}, nil
}

func (s *webAPI) openDirect(c call) (answer, *refusal) {
	users := strings.Split(c.text("users"), ",")
	switch {
	case c.text("channel") != "":
		channel, refused := s.place(c.text("channel"))
		if refused != nil {
			return nil, refused
		}
		return answer{"channel": answer{"id": channel.ID}}, nil
	case len(users) != 1 || users[0] == "":
		return nil, blame("users_list_not_supplied", "users %q: this fake opens conversations with one person", users)
	case s.users[users[0]] == nil:
		return nil, refuse("user_not_found")
	}
	channel, refused := s.place(users[0])
	if refused != nil {
		return nil, refused
	}
	opened := answer{"id": channel.ID}
	if c.flag("return_im") {
		opened = channel.wire()
	}
	return answer{"channel": opened}, nil
}

func (s *webAPI) channelInfo(c call) (answer, *refusal) {
	channel := s.channels[c.text("channel")]
	if channel == nil || channel.Private && channel.Outside {
		return nil, refuse("channel_not_found")
	}
	return answer{"channel": channel.wire()}, nil
}

// wire is a channel as the API tells it.
func (c *Channel) wire() answer {
	w := answer{
		"id": c.ID, "is_im": c.User != "", "is_channel": c.User == "" && !c.Private, "is_group": false, "is_mpim": false,
		"is_private": c.Private || c.User != "", "is_archived": c.Archived, "is_ext_shared": c.Shared, "is_shared": c.Shared,
		"is_org_shared": false, "is_pending_ext_shared": false, "context_team_id": Team,
	}
	if c.User != "" {
		w["user"], w["is_open"] = c.User, true
		return w
	}
	w["name"], w["name_normalized"], w["is_member"] = c.Name, c.Name, !c.Outside
	return w
}

// history are a channel's messages, newest first, without replies.
func (s *webAPI) history(c call) (answer, *refusal) {
	return s.page(c, true, func(m *Message) bool { return m.Thread == "" })
}

// replies are a thread's messages, its first one included, oldest first.
func (s *webAPI) replies(c call) (answer, *refusal) {
	ts := c.text("ts")
	result, refused := s.page(c, false, func(m *Message) bool { return m.Thread == ts || m.TS == ts })
	if refused == nil && s.find(c.text("channel"), ts) == nil {
		return nil, refuse("thread_not_found")
	}
	return result, refused
}

func (s *webAPI) page(c call, newest bool, fits func(*Message) bool) (answer, *refusal) {
	channel := s.channels[c.text("channel")]
	switch {
	case channel == nil || channel.Private && channel.Outside:
		return nil, refuse("channel_not_found")
	case channel.Outside:
		return nil, refuse("not_in_channel")
	}
	var found []*Message
	for _, m := range s.messages[channel.ID] {
		s.age(m)
		if !m.Deleted && m.To == "" && fits(m) && c.within(m.TS) {
			found = append(found, m)
		}
	}
	if newest {
		slices.Reverse(found)
	}
	from, err := strconv.Atoi(or(c.text("cursor"), "0"))
	limit := c.number("limit", 100)
	if err != nil || from < 0 || from > len(found) {
		return nil, blame("invalid_cursor", "cursor %q", c.text("cursor"))
	}
	if limit < 1 || limit > 999 {
		return nil, blame("invalid_limit", "limit %d", limit)
	}
	end := min(len(found), from+limit)
	next := ""
	if end < len(found) {
		next = strconv.Itoa(end)
	}
	list := []answer{}
	for _, m := range found[from:end] {
		w := m.wire(channel)
		if m.Metadata != nil && c.flag("include_all_metadata") {
			w["metadata"] = m.Metadata
		}
		list = append(list, w)
	}
	return answer{"messages": list, "has_more": next != "", "response_metadata": answer{"next_cursor": next}}, nil
}

// within reports whether a ts lies between oldest and latest.
func (c *call) within(ts string) bool {
	oldest, latest := c.text("oldest"), c.text("latest")
	if c.flag("inclusive") && (ts == oldest || ts == latest) {
		return true
	}
	return (oldest == "" || ts > oldest) && (latest == "" || ts < latest)
}

func (s *webAPI) react(c call) (answer, *refusal) {
	m, refused := s.reacted(c)
	switch {
	case refused != nil:
		return nil, refused
	case slices.Contains(m.Reactions, c.text("name")):
		return nil, refuse("already_reacted")
	}
	m.Reactions = append(m.Reactions, c.text("name"))
	s.change()
	return nil, nil
}

func (s *webAPI) unreact(c call) (answer, *refusal) {
	m, refused := s.reacted(c)
	switch {
	case refused != nil:
		return nil, refused
	case !slices.Contains(m.Reactions, c.text("name")):
		return nil, refuse("no_reaction")
	}
	m.Reactions = slices.DeleteFunc(m.Reactions, func(name string) bool { return name == c.text("name") })
	s.change()
	return nil, nil
}

func (s *webAPI) reacted(c call) (*Message, *refusal) {
	channel, refused := s.place(c.text("channel"))
	if refused != nil {
		return nil, refused
	}
	m := s.find(channel.ID, c.text("timestamp"))
	if m == nil {
		return nil, refuse("message_not_found")
	}
	return m, nil
}
