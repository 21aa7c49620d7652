package bot

import "net/url"

// AddressProblem says why a configured text is not the address of a server, and
// what is allowed. It returns "" for a valid or empty address. It does not repeat
// the text, which may contain a password.
func AddressProblem(address string) string {
	if address == "" {
		return ""
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "is not an address; allowed: http://... or https://..."
	case u.User != nil:
		return "must not contain a user name or password"
	case u.RawQuery != "" || u.Fragment != "":
		return "must not contain ? or #"
	}
	return ""
}
