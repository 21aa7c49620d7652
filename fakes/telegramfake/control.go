package telegramfake

import "net/http"

func (s *Server) control(w http.ResponseWriter, r *http.Request, rest string) { http.NotFound(w, r) }
