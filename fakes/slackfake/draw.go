package slackfake

func (s *Server) Transcript(channel string) string { return "" }
