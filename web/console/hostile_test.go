package console_test

import (
	"fmt"
	"strings"
	"testing"

	"legwork/internal/test/browser"
)

// hostile are texts that would act, mislead or break a page that is careless: 500 of them.
func hostile() []string {
	acts := []string{
		`<script>window.hacked=1</script>`, `<img src=x onerror="window.hacked=1">`, `<svg onload="window.hacked=1">`, `<iframe src="javascript:parent.hacked=1"></iframe>`,
		`<a href="javascript:window.hacked=1">x</a>`, `[x](javascript:window.hacked=1)`, `[x](JaVaScRiPt:window.hacked=1)`, "[x](java\tscript:window.hacked=1)", `[x](data:text/html,<script>hacked=1</script>)`,
		`[x](vbscript:hacked)`, `![x](https://evil.example.com/p.png)`, `![x](javascript:hacked=1)`, `<https://evil.example.com/"onmouseover="hacked=1>`, `[x](https://evil.example.com/"onclick="hacked=1)`,
		`<style>*{display:none}</style>`, `<link rel=stylesheet href=https://evil.example.com/a.css>`, `<base href="https://evil.example.com/">`, `<meta http-equiv=refresh content="0;url=https://evil.example.com">`,
		`<form action="https://evil.example.com"><input name=q></form>`, `<object data="https://evil.example.com"></object>`, `<math><mi xlink:href="data:x,hacked"></math>`, `"><script>window.hacked=1</script>`,
		`' onfocus='window.hacked=1' autofocus='`, `" style="position:fixed;inset:0" x="`, `{{constructor.constructor("window.hacked=1")()}}`, `${window.hacked=1}`, `<!--`, `]]>`, `</textarea><script>hacked=1</script>`,
		`[x](//evil.example.com/a)`, `[x](/v1/session)`, `[x](blob:https://evil.example.com/1)`, `[x](file:///etc/passwd)`, `<x contenteditable onblur=hacked=1>`, `__proto__`, `constructor`, `toString`, `{"__proto__":{"hacked":1}}`,
	}
	misleads := []string{
		"\u202eevil\u202c", "\u2066\u2067\u2068", "\u200b\u200b\u200b", "\ufeff", "\u0000", "\u0007\u001b[31m", "a\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308", "\U000e0041\U000e0042", "ﷺ﷽", "🏳️‍🌈👩‍👩‍👧‍👦", "\ud7ff\ue000\uffff", "ة̷ͅ",
		"\r\n\r\nHTTP/1.1 200 OK", "\u2028\u2029", "data: x\n\nevent: gone\ndata: {}", "id: 9999999", "%s%n%x", "../../etc/passwd", "NaN", "null", "undefined", "-1", "9e999", "''", `\`, "`", "```", "~~~", "---", "|", "| a |\n|---|", "* ", "1.", "> > > > > > > > > >", "#", "<", "&amp;&#x27;", "[", "](", "[]()", "**", "__", "~~",
	}
	breaks := []string{
		strings.Repeat("A", 20_000), strings.Repeat("a ", 10_000), strings.Repeat("**a ", 5_000), strings.Repeat("[", 5_000), strings.Repeat("[a](", 5_000), strings.Repeat("`", 5_001), strings.Repeat("> ", 2_000) + "x", strings.Repeat("- ", 2_000) + "x",
		strings.Repeat(" ", 20_000) + "x", strings.Repeat("|", 5_000) + "\n" + strings.Repeat("|-", 5_000), strings.Repeat("\n", 5_000), strings.Repeat("_a_", 5_000), strings.Repeat("http://", 3_000), strings.Repeat("# ", 5_000), strings.Repeat("1. a\n", 500), strings.Repeat("\u0301", 5_000), strings.Repeat("م", 5_000), "```" + strings.Repeat(" ", 20_000) + "`",
	}
	all := append(append(acts, misleads...), breaks...)
	for i := 0; len(all) < 500; i++ {
		all = append(all, fmt.Sprintf([]string{"%s %s", "**%s**%s", "- %s\n- %s", "| %s | %s |\n| --- | --- |\n| 1 | 2 |", "`%s` %s", "> %s\n%s", "[%s](%s)", "# %s\n\n%s"}[i%8],
			acts[i%len(acts)], append(acts, misleads...)[(i*7)%(len(acts)+len(misleads))]))
	}
	return all[:500]
}

// everywhere is a post with a text in each of its fields.
func everywhere(s string) post {
	return post{
		"kind": "question", "text": s, "task": s, "footer": s, "reply_to": s, "copy": s,
		"board": post{"title": s, "status": s, "items": []post{{"id": s, "title": s, "group": s, "state": s, "doing": s, "elapsed_ms": 5}}},
		"calls": []post{{"tool": s, "arguments": post{s: s, "list": []any{s, nil, 1, post{}}}, "reason": s, "detail": s}},
		"file":  post{"id": "f", "name": s, "type": s, "bytes": 1}, "files": []post{{"id": "g", "name": s, "type": s, "bytes": 2}},
		"buttons": []post{{"label": s, "data": s, "style": s}}, "free_text": true,
		"plan": post{"data": s, "items": []post{{"id": s, "description": s, "name": s, "after": []string{s}}}},
		"form": post{"data": s, "fields": []post{
			{"name": s, "title": s, "description": s, "required": true, "default": s, "schema": post{"type": s, "format": s}},
			{"name": "b", "title": s, "schema": post{"type": "boolean"}},
			{"name": "c", "title": s, "choices": []post{{"value": s, "label": s}}},
			{"name": "m", "title": s, "many": true, "choices": []post{{"value": s, "label": s}}},
		}},
	}
}

// TestHostileTexts shows 500 texts in every field of a post: none acts, and none leads
// anywhere by itself.
func TestHostileTexts(t *testing.T) {
	f := newFake(t)
	const each = 50
	texts := hostile()
	for i, s := range texts {
		id := fmt.Sprintf("01jdtesthostile%011d", i/each)
		f.say(id, everywhere(s))
		f.say(id, post{"kind": "answer", "text": s, "footer": s, "task": s})
		f.say(id, post{"kind": "text", "mine": true, "text": s})
	}
	tab := chromium.Browser(t).Tab(t, browser.Wide)
	for i := range len(texts) / each {
		id := fmt.Sprintf("01jdtesthostile%011d", i)
		f.say(id, post{"kind": "notice", "text": "The end."})
		tab.Go(f.url + "chat/" + id)
		tab.Until(`document.querySelector(".chat-older button")?.click(), document.querySelectorAll(".post").length >= 151`) // four pages of posts
		var found []string
		tab.Eval(`[
			...[window.hacked, Object.prototype.hacked].filter((x) => x !== undefined).map(() => "a text was run"),
			...[...document.querySelectorAll("#page script, iframe, object, embed, base, meta[http-equiv], #page style, #page link, math, [onclick], [onerror], [onload], [onfocus], [style*=fixed]")].map((e) => "element: " + e.outerHTML.slice(0, 200)),
			...[...document.querySelectorAll("#page img")].filter((e) => !e.src.endsWith("/console/icon.svg") && !e.src.startsWith("blob:")).map((e) => "picture: " + e.src),
			...[...document.querySelectorAll(".post a")].filter((e) => !/^(https?|mailto):/.test(e.href) || e.target !== "_blank" && !e.href.startsWith(location.origin) || e.target === "_blank" && e.rel !== "noopener noreferrer").map((e) => "link: " + e.outerHTML.slice(0, 200)),
			...(document.documentElement.scrollWidth > innerWidth ? ["the page is wider than the window"] : []),
		]`, &found)
		if len(found) > 0 {
			t.Errorf("texts %d to %d: %s", i*each, (i+1)*each, strings.Join(found, "\n"))
		}
	}
}
