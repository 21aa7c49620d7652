package telegramfake

// MaxRich is the most that a rich message holds, in UTF-16 units.
const MaxRich = 32_768

// rich reads the rich message of a call: exactly one of its contents is given
// (core.telegram.org/bots/api#inputrichmessage). The fake takes Markdown alone and
// keeps its source.
func (s *botAPI) rich(c *call) (string, *refusal) {
	given := struct {
		Markdown string `json:"markdown"`
		HTML     string `json:"html"`
		Blocks   []any  `json:"blocks"`
		RTL      bool   `json:"is_rtl"`
		Skip     bool   `json:"skip_entity_detection"`
	}{}
	if _, why := c.params.object("rich_message", &given); why != nil {
		return "", why
	}
	switch {
	case given.HTML != "" || len(given.Blocks) > 0:
		s.violate("%s: the fake takes rich messages in Markdown alone", c.method.name)
		return "", bad("rich message is not supported")
	case c.params["text"] != "" || c.params["parse_mode"] != "":
		s.violate("%s: a rich message beside a text", c.method.name)
		return "", bad("rich message can't be used with text")
	case clean(given.Markdown) == "":
		return "", bad("rich message must be non-empty")
	case Length(given.Markdown) > MaxRich:
		return "", bad("rich message is too long")
	}
	return given.Markdown, nil
}

// composeRich puts the rich message and the buttons of a call into a message.
func (s *botAPI) composeRich(c *call, m Message) (Message, *refusal) {
	text, why := s.rich(c)
	if why != nil {
		return m, why
	}
	m.Text, m.Entities, m.Rich = text, nil, true
	m.Buttons, why = s.markup(c)
	return m, why
}

func (s *botAPI) sendRichMessage(c *call) (any, *refusal) {
	if c.params["rich_message"] == "" {
		return nil, bad("rich message must be non-empty")
	}
	return s.sendMessage(c)
}

func (s *botAPI) sendRichMessageDraft(c *call) (any, *refusal) {
	id, why := s.draftID(c)
	if why != nil {
		return nil, why
	}
	text, why := s.rich(c)
	if why != nil {
		return nil, why
	}
	return s.preview(c, Draft{ID: id, Text: text})
}
