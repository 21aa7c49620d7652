package slackfake

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// call is one request of the Web API.
type call struct {
	method string
	spec   method
	token  string
	args   map[string]any // without the token; decoded by kind: string, bool, int, json.RawMessage
}

func (c *call) text(name string) string { value, _ := c.args[name].(string); return value }
func (c *call) flag(name string) bool   { value, _ := c.args[name].(bool); return value }
func (c *call) raw(name string) json.RawMessage {
	value, _ := c.args[name].(json.RawMessage)
	return value
}

func (c *call) number(name string, usual int) int {
	if value, set := c.args[name].(int); set {
		return value
	}
	return usual
}

func (c *call) has(name string) bool { _, set := c.args[name]; return set }

// refusal is an answer with ok false.
type refusal struct {
	code    string
	detail  []string // of response_metadata.messages
	blame   string   // why it is a violation; empty: it is none
	status  int      // 0: 200
	more    answer   // fields besides error
	headers map[string]string
}

// refuse is a refusal that depends on how things stand.
func refuse(code string) *refusal { return &refusal{code: code} }

// blame is a refusal of what a client must never send.
func blame(code, format string, a ...any) *refusal {
	why := fmt.Sprintf(format, a...)
	return &refusal{code: code, detail: []string{"[ERROR] " + why}, blame: why}
}

const maxBody = 4 << 20

// readCall reads a request as Slack does: the body is a form or JSON, by its
// Content-Type; the token is in the header or, for forms, among the arguments.
func readCall(r *http.Request, methods map[string]method) (call, *refusal) {
	c := call{method: r.PathValue("method")}
	spec, known := methods[c.method]
	if !known {
		return c, blame("unknown_method", "there is no method %s", c.method)
	}
	c.spec = spec
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil || len(body) > maxBody {
		return c, refuse("request_timeout")
	}
	values, isJSON, refused := readBody(r, body, c.spec)
	if refused == nil {
		refused = c.takeToken(r, values, isJSON)
	}
	if refused != nil {
		return c, refused
	}
	return c, c.takeArgs(values)
}

// readBody returns the arguments undecoded: strings of forms, JSON values of
// JSON.
func readBody(r *http.Request, body []byte, spec method) (map[string]any, bool, *refusal) {
	if r.Method == http.MethodGet {
		return flat(r.URL.Query()), false, nil
	}
	if r.Method != http.MethodPost {
		return nil, false, blame("invalid_arguments", "%s %s: only GET and POST are taken", r.Method, r.URL.Path)
	}
	if r.URL.RawQuery != "" {
		return nil, false, blame("invalid_arguments", "arguments in the query of a POST")
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case len(body) == 0 && (err != nil || kind == "application/json"):
		return map[string]any{}, true, nil
	case r.Header.Get("Content-Type") == "":
		return nil, false, blame("missing_post_type", "a body without Content-Type")
	case err != nil:
		return nil, false, blame("invalid_post_type", "Content-Type %q", r.Header.Get("Content-Type"))
	case params["charset"] != "" && !strings.EqualFold(params["charset"], "utf-8"):
		return nil, false, blame("invalid_charset", "charset %q", params["charset"])
	}
	return parseBody(kind, body, spec)
}

func parseBody(kind string, body []byte, spec method) (map[string]any, bool, *refusal) {
	values := map[string]any{}
	switch kind {
	case "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return nil, false, blame("invalid_form_data", "%v", err)
		}
		return flat(form), false, nil
	case "application/json":
		if !spec.json {
			return nil, true, blame("invalid_arguments", "this method takes forms, not JSON")
		}
		if !json.Valid(body) {
			return nil, true, blame("invalid_json", "the body is no JSON")
		}
		if err := json.Unmarshal(body, &values); err != nil {
			return nil, true, blame("json_not_object", "the body is no JSON object")
		}
		return values, true, nil
	}
	return nil, false, blame("invalid_post_type", "Content-Type %q", kind)
}

func flat(form url.Values) map[string]any {
	values := map[string]any{}
	for name, list := range form {
		values[name] = list[0]
	}
	return values
}

func (c *call) takeToken(r *http.Request, values map[string]any, isJSON bool) *refusal {
	header, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if bearer {
		c.token = header
	}
	inBody, _ := values["token"].(string)
	if _, set := values["token"]; set && isJSON {
		return blame("not_authed", "the token is in the JSON body, where it is not looked for")
	}
	delete(values, "token")
	if inBody != "" && r.Method == http.MethodGet {
		return blame("invalid_auth", "the token is in the query")
	}
	c.token = or(c.token, inBody)
	if c.token == "" {
		return blame("not_authed", "no token")
	}
	return nil
}

// takeArgs decodes the arguments by the method's table.
func (c *call) takeArgs(values map[string]any) *refusal {
	c.args = map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		kind := c.spec.args[name]
		if kind == 0 {
			return blame("invalid_arguments", "%s has no argument %q", c.method, name)
		}
		value, err := decode(kind, values[name])
		if err != nil {
			return blame(kind.refusal(), "%s of %s: %v", name, c.method, err)
		}
		if value != nil {
			c.args[name] = value
		}
	}
	for _, name := range c.spec.required {
		if !c.has(name) || c.args[name] == "" {
			return blame("invalid_arguments", "%s needs %s", c.method, name)
		}
	}
	return nil
}

// kind is the type of an argument.
type kind int

const (
	aString kind = iota + 1
	aTS
	aBool
	anInt
	anArray  // JSON, in forms as a string
	anObject // JSON, in forms as a string
	aBlocks  // an array of blocks
	aList    // ids with commas, or an array of strings
)

func (k kind) refusal() string {
	if k == aBlocks {
		return "invalid_blocks_format"
	}
	return "invalid_arguments"
}

// decode returns nil for a value that is absent.
func decode(k kind, value any) (any, error) {
	text, isText := value.(string)
	if value == nil || isText && text == "" && k != aString {
		return nil, nil
	}
	switch k {
	case aString, aTS:
		if !isText {
			return nil, fmt.Errorf("%v is no string", value)
		}
		if k == aTS && !goodTS(text) {
			return nil, fmt.Errorf("%q is no timestamp", text)
		}
		return text, nil
	case aBool:
		if flag, is := value.(bool); is {
			return flag, nil
		}
		return strconv.ParseBool(fmt.Sprint(value))
	case anInt:
		return strconv.Atoi(fmt.Sprint(value))
	case aList:
		return decodeList(value)
	}
	raw := json.RawMessage(text)
	if !isText {
		raw, _ = json.Marshal(value) // it was JSON
	}
	return decodeJSON(k, raw)
}

func decodeJSON(k kind, raw json.RawMessage) (any, error) {
	var into any
	if err := json.Unmarshal(raw, &into); err != nil {
		return nil, fmt.Errorf("no JSON: %w", err)
	}
	_, isArray := into.([]any)
	_, isObject := into.(map[string]any)
	if (k == anObject) != isObject || (k != anObject) != isArray {
		return nil, fmt.Errorf("the JSON has the wrong type: %.100s", raw)
	}
	return raw, nil
}

func decodeList(value any) (any, error) {
	if text, is := value.(string); is {
		return text, nil
	}
	list, is := value.([]any)
	if !is {
		return nil, fmt.Errorf("%v is no list", value)
	}
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = fmt.Sprint(list[i])
	}
	return strings.Join(texts, ","), nil
}

func goodTS(ts string) bool {
	seconds, micros, found := strings.Cut(ts, ".")
	_, err1 := strconv.ParseUint(seconds, 10, 64)
	_, err2 := strconv.ParseUint(micros, 10, 64)
	return found && err1 == nil && err2 == nil && len(micros) == 6
}
