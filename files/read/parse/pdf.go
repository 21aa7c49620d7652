package parse

func parsePDF(src Source, s *sink) error { return KindError{s.Type} }
