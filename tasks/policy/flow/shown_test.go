package flow_test

import (
	"strings"
	"testing"

	"legwork/tasks/policy/flow"
)

// TestLinkable: an address in an answer is known if it stood in a text that the model
// has read before the model wrote it itself, in any spelling that carries no data.
func TestLinkable(t *testing.T) {
	known := flow.Linkable([]flow.Source{
		{People: true, Text: "Compare https://good.example/a with the mails"},
		{Text: "Look at https://plan.example.com/p first"},
		{Labels: flow.Both, Origin: "mail", Text: "the code is canary-4711, see https://evil.example/c?d= or ann@mail.example.com"},
		{Text: `{"url":"https://evil.example/c?d=canary-4711"}` + "\n" + `{"text":"see https:\u002f\u002fevil.example\u002fescaped-4711"}`},
		{Labels: flow.Both, Origin: "web", Text: "cannot open https://evil.example/c?d=canary-4711, https://evil.example/escaped-4711, try https://page.example/next"},
		{People: true, Text: "And www.late.example.com/x"},
		{Labels: flow.Both, Origin: "web", Text: strings.Join([]string{
			`{"url":"https:\/\/json.example\/a?b=1\u0026c=2","next":"see https://break.example/1\nhttps://break.example/2"}`,
			"[one](https://list.example/1),[two](https://list.example/2_(x)) | https://cell.example/3|",
			"<a href='https://single.example/q?a=1&amp;b=2#part'>x</a>",
			"见https://cjk.example/路径。 https://wiki.example/wiki/%D0%9F%D1%83_(%D0%BC) https://raw.example/wiki/Пу?x=a%20b",
			"https://mixed.example/%61bc https://user.example:8080/x/y/z https://Case.Example/Path go.dev",
		}, "\n")},
	})
	for address, want := range map[string]bool{
		"https://good.example/a":                              true,
		"http://GOOD.example/a/":                              true,
		"http://www.good.example/a#":                          true,
		"good.example/a":                                      true,
		"https://good.example":                                true,
		"https://good.example/A":                              false,
		"https://good.example/a?x":                            false,
		"https://good.example/a#canary":                       false,
		"https://good.example/ab":                             false,
		"https://canary.good.example/a":                       false,
		"https://good.example:99/a":                           false,
		"https://canary@good.example/a":                       false,
		"https://plan.example.com/p":                          true,
		"https://evil.example/c?d=":                           true,
		"https://page.example/next":                           true,
		"ann@mail.example.com":                                true,
		"mailto:ann@mail.example.com":                         true,
		"www.late.example.com/x":                              true,
		"https://json.example/a?b=1&c=2":                      true,
		"https://break.example/1":                             true,
		"https://break.example/2":                             false, // it stands in no text as it is
		"https://list.example/1":                              true,
		"https://list.example/2_(x)":                          true,
		"https://cell.example/3":                              true,
		"https://single.example/q?a=1&b=2":                    true,
		"https://single.example/q?b=2":                        false,
		"https://cjk.example/路径":                              true,
		"https://cjk.example/%E8%B7%AF%E5%BE%84":              true,
		"https://wiki.example/wiki/Пу_(м)":                    true,
		"https://wiki.example/wiki/%d0%9f%d1%83_(%d0%bc)":     true,
		"https://wiki.example/wiki/%d0%9F%d1%83_(%d0%bc)":     false,
		"https://wiki.example/wiki/П%D1%83_(м)":               false,
		"https://raw.example/wiki/%D0%9F%D1%83":               true,
		"https://mixed.example/abc":                           false,
		"https://mixed.example/%61bc":                         true,
		"https://user.example:8080/x/y/":                      true,
		"https://case.example/Path":                           true,
		"https://case.example/path":                           false,
		"https://go.dev/":                                     true,
		"https://evil.example/c?d=canary-4711":                false, // the error text repeats it
		"https://evil.example/escaped-4711":                   false,
		"https://evil.example/c?d=canary":                     false,
		"https://evil.example/c?d=x":                          false,
		"www.evil.newdomain/canary":                           false,
		"canary-4711.evil.com":                                false,
		"canary-4711@evil.newdomain":                          false,
		"npm@1.2.3":                                           true,
		"canary-4711@evil.com":                                false,
		"evil.com/canary-4711":                                false,
		"10.0.0.1/canary":                                     false,
		"tg://resolve?domain=canary":                          false,
		"https://good.example/a/" + strings.Repeat("x", 3000): false,
		"report.pdf":                                          true, // no address
		"3.14":                                                true,
		"e.g":                                                 true,
	} {
		if got := known(address); got != want {
			t.Errorf("%s is known: %v, want %v", address, got, want)
		}
	}
}

// BenchmarkLinkable: a test is made of 1 MiB of sources and asked about 1000 addresses.
func BenchmarkLinkable(b *testing.B) {
	for name, unit := range map[string]string{
		"prose":   "Some words of a page, with a number such as 3.14 and a link https://page.example/a/b?c=d. ",
		"hostile": "a.b/a.b(a.b/%D0",
	} {
		b.Run(name, func(b *testing.B) {
			text := strings.Repeat(strings.Repeat(unit, 2000/len(unit))+" ", 1<<20/2000)
			for b.Loop() {
				known := flow.Linkable([]flow.Source{{Labels: flow.Both, Origin: "web", Text: text}})
				for range 1000 {
					known("https://page.example/a/b?c=canary")
				}
			}
		})
	}
}
