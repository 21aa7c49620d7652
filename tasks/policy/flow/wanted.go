package flow

import (
	"regexp"
	"strings"
)

var (
	sentenceEnd = regexp.MustCompile(`[.!?;]+(\s|$)|[。！？；\n]+`)
	addressForm = regexp.MustCompile(`\S*([./]\S*/|://|@)\S*|\S+\.\S+`)
	negation    = regexp.MustCompile(`(?i)\b(never|not|no|cannot|without|avoid|except|neither|nor)\b|n['’]t\b|(^|[^\p{L}])(не|ни|нет|никогда|нельзя|без|кроме)([^\p{L}]|$)|不|别|勿|没|禁|除`)
)

// Wanted returns the words of a person without the addresses in sentences that say
// no: "never open https://a.example/" does not ask for that address.
func Wanted(text string) string {
	var b strings.Builder
	for text != "" {
		end := len(text)
		if at := sentenceEnd.FindStringIndex(text); at != nil {
			end = at[1]
		}
		sentence := text[:end]
		if negation.MatchString(sentence) {
			sentence = addressForm.ReplaceAllString(sentence, "…")
		}
		b.WriteString(sentence)
		text = text[end:]
	}
	return b.String()
}
