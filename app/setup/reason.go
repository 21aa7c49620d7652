package setup

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"legwork/llm"
)

// reason is a sentence that says why a try failed and what to do.
func (t *dialog) reason(err error) string {
	key, data := sentence(err)
	if key == "" {
		return err.Error()
	}
	return t.Texts.Text(t.language, key, data)
}

// sentence is the key of a text for an error, with its data; empty for an error that
// is a sentence itself.
func sentence(err error) (key string, data map[string]any) {
	if errors.Is(err, llm.ErrSpeaksTLS) {
		return "init.only_tls", nil
	}
	var e *llm.Error
	if errors.As(err, &e) {
		switch {
		case e.Status/100 == 3 && e.Hint != "":
			return "init.redirects", map[string]any{"URL": e.Hint}
		case e.Problem == llm.Refused && strings.Contains(e.Hint, "credit"):
			return "init.no_credit", nil
		case e.Problem == llm.Refused:
			return "init.wrong_key", nil
		case e.Problem == llm.NotFound:
			return "init.unknown_model", map[string]any{"Name": e.Model}
		case e.Problem == llm.Busy:
			return "init.busy", nil
		case e.Problem == llm.Garbage && e.Status == http.StatusOK:
			return "init.no_api", nil
		case e.Status >= http.StatusInternalServerError:
			return "init.down", map[string]any{"Status": e.Status}
		}
	}
	var dns *net.DNSError
	var address *url.Error
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var record tls.RecordHeaderError
	where := ""
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Addr != nil {
		where = op.Addr.String()
	}
	if errors.As(err, &address) {
		if u, parseErr := url.Parse(address.URL); parseErr == nil {
			where = u.Host
		}
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "init.no_answer", nil
	case errors.As(err, &dns):
		return "init.no_host", map[string]any{"Name": dns.Name}
	case errors.Is(err, syscall.ECONNREFUSED) && where != "":
		return "init.nothing_listens", map[string]any{"Name": where}
	case errors.As(err, &authority), errors.As(err, &host):
		return "init.not_trusted", map[string]any{"Name": where}
	case errors.As(err, &record), strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return "init.no_tls", nil
	}
	return "", nil
}
