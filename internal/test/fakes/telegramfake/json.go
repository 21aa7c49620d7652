package telegramfake

// messageJSON is a message as the service shows it to the bot.
func (s *Server) messageJSON(c *chat, m *Message) map[string]any {
	j := c.shallowJSON(m)
	switch to := c.messages[m.ReplyTo]; {
	case to != nil:
		j["reply_to_message"] = c.shallowJSON(to)
		if c.kind == "supergroup" && m.Topic == 0 {
			j["message_thread_id"] = c.root(to).ID // a chain of replies, no topic
		}
	case m.Topic != 0 && c.forum && !m.Bot:
		// What is no reply is one to the message that opened the topic.
		j["reply_to_message"] = map[string]any{
			"message_id": m.Topic, "from": m.From.json(), "chat": c.json(), "date": m.Sent.Unix(), "message_thread_id": m.Topic,
			"is_topic_message": true, "forum_topic_created": map[string]any{"name": c.topics[m.Topic], "icon_color": 7322096},
		}
	}
	return j
}

// root is the first message of a chain of replies.
func (c *chat) root(m *Message) *Message {
	for to := c.messages[m.ReplyTo]; to != nil && to.ID < m.ID; to = c.messages[m.ReplyTo] {
		m = to
	}
	return m
}

// shallowJSON leaves out the message that is replied to.
func (c *chat) shallowJSON(m *Message) map[string]any {
	j := map[string]any{"message_id": m.ID, "from": m.From.json(), "chat": c.json(), "date": m.Sent.Unix()}
	text, entities := "text", "entities"
	if m.Media != "" {
		text, entities = "caption", "caption_entities"
		j[m.Media] = mediaJSON(m.Media)
		if m.File != nil {
			j[m.Media] = m.File.json()
		}
	}
	if m.Text != "" {
		j[text] = m.Text
	}
	if len(m.Entities) > 0 {
		j[entities] = m.Entities
	}
	if m.Topic != 0 {
		j["message_thread_id"], j["is_topic_message"] = m.Topic, true
	}
	if !m.Edited.IsZero() {
		j["edit_date"] = m.Edited.Unix()
	}
	if m.Buttons != nil {
		j["reply_markup"] = map[string]any{"inline_keyboard": m.Buttons}
	}
	return j
}

// mediaJSON is what a message holds in place of text, such as a sticker.
func mediaJSON(kind string) any {
	file := map[string]any{"file_id": "AgADfile", "file_unique_id": "QQAD", "file_size": 1000}
	switch kind {
	case "photo":
		file["width"], file["height"] = 90, 90
		return []any{file}
	case "sticker":
		file["type"], file["width"], file["height"], file["is_animated"], file["is_video"], file["emoji"] = "regular", 512, 512, false, false, "👍"
	case "voice", "audio", "video":
		file["duration"] = 3
	case "location":
		return map[string]any{"latitude": 59.9, "longitude": 10.7}
	}
	return file
}
