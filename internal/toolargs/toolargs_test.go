package toolargs_test

import (
	"encoding/json"
	"testing"

	"legwork/internal/toolargs"
)

func TestArgumentsBecomeWhatTheSchemaWants(t *testing.T) {
	const schema = `{"type": "object", "required": ["city"], "$defs": {"level": {"type": "integer"}, "loop": {"$ref": "#/$defs/loop"}}, "properties": {
		"city": {"type": "string"}, "days": {"type": "integer"}, "share": {"type": "number"}, "metric": {"type": "boolean"},
		"limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]}, "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
		"types": {"type": ["integer", "string"]}, "any": {}, "level": {"$ref": "#/$defs/level"}, "loop": {"$ref": "#/$defs/loop"},
		"tags": {"type": "array", "items": {"type": "string"}}, "sizes": {"type": "array", "items": {"type": "integer"}},
		"box": {"type": "object", "required": ["w"], "properties": {"w": {"type": "number"}, "h": {"type": "number"}}, "additionalProperties": {"type": "boolean"}},
		"boxes": {"type": "array", "items": {"type": "object", "properties": {"w": {"type": "number"}}}},
		"perhaps": {"anyOf": [{"type": "object", "properties": {"n": {"type": "integer"}}}, {"type": "null"}]},
		"shape": {"oneOf": [{"type": "object", "properties": {"r": {"type": "number"}}}, {"type": "object", "properties": {"r": {"type": "string"}}}]}
	}}`
	for name, c := range map[string]struct{ args, want string }{
		"nothing to change stays to the byte": {`{ "days": 2,  "city":"Rome", "share": 1.50 }`, `{ "days": 2,  "city":"Rome", "share": 1.50 }`},
		"integer":                             {`{"days":"2"}`, `{"days":2}`},
		"integer with blanks":                 {`{"days":" 2 "}`, `{"days":2}`},
		"a large integer":                     {`{"days":"12345678901234567890"}`, `{"days":12345678901234567890}`},
		"no integer":                          {`{"days":"2.5"}`, `{"days":"2.5"}`},
		"no number":                           {`{"days":"two","share":"007"}`, `{"days":"two","share":"007"}`},
		"number":                              {`{"share":"-2.5e3"}`, `{"share":-2.5e3}`},
		"booleans":                            {`{"metric":"True"}`, `{"metric":true}`},
		"a number is no boolean":              {`{"metric":1}`, `{"metric":1}`},
		"null for an optional one":            {`{"city":"Rome","days":null}`, `{"city":"Rome"}`},
		"null for a required one":             {`{"city":null}`, `{"city":null}`},
		"null where it is allowed":            {`{"limit":null}`, `{"limit":null}`},
		"null of any type":                    {`{"any":null}`, `{"any":null}`},
		"null of an unknown one":              {`{"other":null}`, `{"other":null}`},
		"nothing in a string":                 {`{"days":"","share":"null"}`, `{}`},
		"an empty string":                     {`{"city":""}`, `{"city":""}`},
		"a string or null":                    {`{"limit":"7"}`, `{"limit":7}`},
		"null as a string":                    {`{"limit":"None"}`, `{"limit":null}`},
		"two readings":                        {`{"either":"7","types":"8"}`, `{"either":"7","types":"8"}`},
		"any type":                            {`{"any":"7"}`, `{"any":"7"}`},
		"a reference":                         {`{"level":"3"}`, `{"level":3}`},
		"a reference to itself":               {`{"loop":"3"}`, `{"loop":"3"}`},
		"a string":                            {`{"city":75001}`, `{"city":"75001"}`},
		"a list":                              {`{"sizes":["1",2,"x"],"tags":[1,"a",true]}`, `{"sizes":[1,2,"x"],"tags":["1","a","true"]}`},
		"a list in a string":                  {`{"sizes":"[\"1\", 2]"}`, `{"sizes":[1,2]}`},
		"an object":                           {`{"box":{"w":"1.5","h":null,"deep":"true"}}`, `{"box":{"deep":true,"w":1.5}}`},
		"an object in a string":               {`{"box":"{\"w\": \"1\"}"}`, `{"box":{"w":1}}`},
		"objects in a list":                   {`{"boxes":[{"w":"1"},{"w":null}]}`, `{"boxes":[{"w":1},{}]}`},
		"an object or null":                   {`{"perhaps":{"n":"1"}}`, `{"perhaps":{"n":1}}`},
		"two kinds of objects":                {`{"shape":{"r":"1"}}`, `{"shape":{"r":"1"}}`},
		"signs of HTML":                       {`{"city":"<a&b>","days":"1"}`, `{"city":"<a&b>","days":1}`},
		"no object":                           {`["days"]`, `["days"]`},
		"no JSON":                             {`days=2`, `days=2`},
		"nothing":                             {``, ``},
	} {
		if got := toolargs.Fit(json.RawMessage(schema), c.args); got != c.want {
			t.Errorf("%s: Fit(%s) = %s, want %s", name, c.args, got, c.want)
		}
	}
	for _, schema := range []string{``, `true`, `{}`, `{"properties": []}`, `{"$ref": "#/x"}`} {
		if got := toolargs.Fit(json.RawMessage(schema), `{"a":"1"}`); got != `{"a":"1"}` {
			t.Errorf("schema %q: Fit = %s, want no change", schema, got)
		}
	}
}

func TestArgumentsAreUnwrapped(t *testing.T) {
	const schema = `{"type": "object", "required": ["query"], "properties": {"query": {"type": "string"}, "max_days": {"type": "integer"}, "input": {"type": "object"}}}`
	for name, c := range map[string]struct{ args, want string }{
		"nothing to change":        {`{ "query":"x" }`, `{ "query":"x" }`},
		"in a string":              {`"{\"query\": \"x\"}"`, `{"query": "x"}`},
		"wrapped":                  {`{"arguments": {"query": "x"}}`, `{"query": "x"}`},
		"wrapped twice":            {`{"arguments": {"arguments": {"query": "x"}}}`, `{"query": "x"}`},
		"wrapped in a string":      {`{"arguments": "{\"query\": \"x\"}"}`, `{"query": "x"}`},
		"a property with a value":  {`{"input": {"query": "x"}}`, `{"input": {"query": "x"}}`},
		"a wrapper and a property": {`{"arguments": {"query": "x"}, "max_days": 2}`, `{"arguments": {"query": "x"}, "max_days": 2}`},
		"a text":                   {`"x <y>"`, `{"query":"x <y>"}`},
		"another case":             {`{"Query": "x", "maxDays": 2}`, `{"max_days":2,"query":"x"}`},
		"both cases":               {`{"Query": "x", "query": "y"}`, `{"Query": "x", "query": "y"}`},
		"two other cases":          {`{"Query": "x", "QUERY": "y"}`, `{"Query": "x", "QUERY": "y"}`},
		"an unknown key":           {`{"q": "x"}`, `{"query":"x"}`},
		"an unknown key of two":    {`{"q": "x", "max_days": 2}`, `{"q": "x", "max_days": 2}`},
		"null":                     {`null`, `null`},
		"no JSON":                  {`query=x`, `query=x`},
	} {
		if got := toolargs.Unwrap(json.RawMessage(schema), c.args); got != c.want {
			t.Errorf("%s: Unwrap(%s) = %s, want %s", name, c.args, got, c.want)
		}
	}
	const two = `{"required": ["a", "b"], "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}`
	const optional = `{"required": ["a"], "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}`
	for _, schema := range []string{two, optional, `{}`, `{"required": ["a"], "properties": {"a": {"type": "integer"}}}`} {
		if got := toolargs.Unwrap(json.RawMessage(schema), `"x"`); got != `"x"` {
			t.Errorf("schema %s: Unwrap = %s, want no change", schema, got)
		}
	}
}

func FuzzFit(f *testing.F) {
	f.Add(`{"properties":{"a":{"type":"integer"},"b":{"anyOf":[{"$ref":"#/properties/a"},{"type":"null"}]}}}`, `{"a":"1","b":"{}","c":null}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		if got := toolargs.Fit(json.RawMessage(schema), toolargs.Unwrap(json.RawMessage(schema), args)); json.Valid([]byte(args)) && !json.Valid([]byte(got)) {
			t.Fatalf("Fit(%q, %q) = %q, which is no JSON", schema, args, got)
		}
	})
}
