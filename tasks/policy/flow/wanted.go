package flow

import (
	"regexp"
	"strings"
)

var (
	quotedLine  = regexp.MustCompile(`(?m)^[ \t]*>.*$`)
	sentenceEnd = regexp.MustCompile(`[.!?;]+(\s|$)|[。！？；\n]+`)
	addressForm = regexp.MustCompile(`\S*([./]\S*/|://|@)\S*|\S+\.\S+`)
	negation    = regexp.MustCompile(`(?i)\b(never|not|no|cannot|cant|dont|without|avoid|ignore|skip|except|neither|nor)\b|n['’]t\b|(^|[^\p{L}])(не|ни|нет|никогда|нельзя|без|кроме)([^\p{L}]|$)|不|别|勿|没|禁|除`)
	words       = regexp.MustCompile(`\p{L}`)
	listFollows = regexp.MustCompile(`[:：]\s*$`)
)

// Wanted returns the words of a person without the addresses in sentences that say no:
// "never open https://a.example/" does not ask for that address. Such a sentence goes on
// in addresses that stand alone, and to the end of the text if a list follows it. Lines
// that quote are not the person's words.
func Wanted(text string) string {
	var b strings.Builder
	no, list := false, false
	for text = quotedLine.ReplaceAllString(text, ""); text != ""; {
		end := len(text)
		if at := sentenceEnd.FindStringIndex(text); at != nil {
			end = at[1]
		}
		sentence := text[:end]
		without := addressForm.ReplaceAllString(sentence, "…")
		if !list && words.MatchString(without) {
			no = negation.MatchString(without)
			list = no && listFollows.MatchString(without)
		}
		if no {
			sentence = without
		}
		b.WriteString(sentence)
		text = text[end:]
	}
	return b.String()
}
