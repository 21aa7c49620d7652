package telegramfake

func (s *Server) setWebhook(c *call) (any, *refusal)     { return true, nil }
func (s *Server) deleteWebhook(c *call) (any, *refusal)  { return true, nil }
func (s *Server) getWebhookInfo(c *call) (any, *refusal) { return true, nil }

type hook struct{}
