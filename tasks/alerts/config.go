package alerts

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"legwork/internal/issue"
)

// Config says who gets which alerts. It is the section alerts of the config file.
type Config struct {
	// After is how long a task may wait for a person before legwork alerts the admins. 0: never. It alerts them at once when a task asks for a review.
	After time.Duration `yaml:"after,omitempty"`
	// Chat says whether legwork also posts alerts about waiting and failed tasks, and about servers that are down, in the private chats of the admins.
	Chat bool `yaml:"chat"`
	// Webhooks are addresses of programs that get alerts, by names of your choice. Tasks that programs start can also send their outcome there.
	Webhooks map[string]Webhook `yaml:"webhooks,omitempty"`
}

// Webhook is the address of a program that gets alerts as signed requests
// (standardwebhooks.com).
type Webhook struct {
	// URL gets POST requests. It is https, or http within this machine or its private network.
	URL string `yaml:"url" jsonschema:"required,example=https://example.com/legwork"`
	// Secret signs the requests: whsec_ and the base64 of 24 to 64 bytes, or any text of at least 24 characters.
	Secret string `yaml:"secret" jsonschema:"required"`
	// Kinds of alerts that are sent; "task.*" means all that begin so. Default: all.
	Kinds []string `yaml:"kinds,omitempty"`
}

// maxAfter is longer than any question waits.
const maxAfter = 90 * 24 * time.Hour

// maxWebhooks bounds what can be sent at once.
const maxWebhooks = 50

var webhookName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`)

// Validate lists the mistakes, except unknown kinds, which Known finds.
func (c Config) Validate() issue.List {
	var list issue.List
	if c.After != 0 && (c.After < time.Second || c.After > maxAfter) {
		list.Add("after", "%s is out of range; allowed: 0 for never, or 1s to 90d", c.After)
	}
	if len(c.Webhooks) > maxWebhooks {
		list.Add("webhooks", "there are %d; allowed: up to %d", len(c.Webhooks), maxWebhooks)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Webhooks)) {
		path, w := "webhooks."+name, c.Webhooks[name]
		if !webhookName.MatchString(name) {
			list.Add(path, "is not a name for a webhook; allowed: up to 40 lower-case letters, digits, _ and -")
		}
		list.Unless(path+".url", urlProblem(w.URL))
		_, problem := signingKey(w.Secret)
		list.Unless(path+".secret", problem)
	}
	return list
}

// Secrets lists the texts that must not appear in a log. Addresses are among them,
// since knowing one is often enough to write to it.
func (c Config) Secrets() []string {
	var list []string
	for _, w := range c.Webhooks {
		list = append(list, w.URL, w.Secret, strings.TrimPrefix(w.Secret, secretPrefix))
	}
	return list
}

// wants reports whether a webhook gets alerts of a kind.
func (w Webhook) wants(kind string) bool {
	if len(w.Kinds) == 0 {
		return true
	}
	return slices.ContainsFunc(w.Kinds, func(entry string) bool { return matches(entry, kind) })
}

// matches reports whether an entry of Webhook.Kinds matches a kind.
func matches(entry, kind string) bool {
	family, all := strings.CutSuffix(entry, "*")
	return kind == entry || all && strings.HasPrefix(kind, family)
}

func urlProblem(address string) string {
	const allowed = "allowed: an address such as https://example.com/legwork"
	u, err := url.Parse(address)
	switch {
	case address == "":
		return "must be set; " + allowed
	case err != nil || u.Host == "" || u.Hostname() == "":
		return "is not the address of a program; " + allowed
	case u.Fragment != "":
		return "has a fragment (#), which is never sent; " + allowed
	case u.Scheme == "https", u.Scheme == "http" && isPrivateHost(u.Hostname()):
		return ""
	case u.Scheme == "http":
		return "would send alerts over the open network in plain text; allowed: https, and http to this machine or its private network"
	}
	return fmt.Sprintf("has the scheme %q; %s", u.Scheme, allowed)
}

// isPrivateHost reports whether a host is this machine, or by its name or address in
// a private network, so that requests to it do not cross the open network.
func isPrivateHost(host string) bool {
	if address, err := netip.ParseAddr(host); err == nil {
		return address.IsLoopback() || address.IsPrivate() || address.IsLinkLocalUnicast()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	private := []string{".localhost", ".local", ".internal", ".home.arpa", ".svc"} // RFC 6761, 6762, 8375, Kubernetes
	return !strings.Contains(host, ".") ||
		slices.ContainsFunc(private, func(end string) bool { return strings.HasSuffix(host, end) })
}

// secretPrefix is that of keys in base64, and these are bounds of the
// specification for the length of a key in bytes.
const (
	secretPrefix = "whsec_"
	shortestKey  = 24
	longestKey   = 64
)

// signingKey is the key of a secret, or the problem with it.
func signingKey(secret string) (raw []byte, problem string) {
	if secret == "" {
		return nil, fmt.Sprintf("must be set, so that receivers can check who sent a request; best is \"%s\" and the output of \"openssl rand -base64 32\"", secretPrefix)
	}
	text, encoded := strings.CutPrefix(secret, secretPrefix)
	if !encoded {
		if len(secret) < shortestKey {
			return nil, fmt.Sprintf("has %d characters, which can be guessed; allowed: at least %d; best is \"%s\" and the output of \"openssl rand -base64 32\"", len(secret), shortestKey, secretPrefix)
		}
		return []byte(secret), ""
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw) < shortestKey || len(raw) > longestKey {
		return nil, fmt.Sprintf("begins with %s, but the base64 of %d to %d bytes does not follow; allowed: the output of \"openssl rand -base64 32\"", secretPrefix, shortestKey, longestKey)
	}
	return raw, ""
}
