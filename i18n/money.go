package i18n

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Money writes millionths of a US dollar as a person reads them: "$1.50",
// "$0.02", "$0.0012". Less than a cent keeps two digits that say something;
// what rounds away is never shown as nothing.
func (t *Texts) Money(lang string, micros int64) string {
	text := t.Text(lang, "unit.money", map[string]any{"Text": decimals(micros, t.Text(lang, "unit.decimal", nil))})
	if micros < 0 {
		return "-" + text
	}
	return text
}

// decimals writes millionths with as many digits as say something.
func decimals(micros int64, point string) string {
	usd := math.Abs(float64(micros)) / 1e6
	digits := 2
	if usd > 0 && usd < 0.01 {
		digits = min(6, 1-int(math.Floor(math.Log10(usd))))
	}
	text := strconv.FormatFloat(usd, 'f', digits, 64)
	for ; digits > 2 && strings.HasSuffix(text, "0"); digits-- {
		text = text[:len(text)-1]
	}
	return strings.Replace(text, ".", point, 1)
}

// Roughly writes a number of tokens as a person remembers it: "512 tokens",
// "12k tokens", "3.4M tokens".
func (t *Texts) Roughly(lang string, n int64) string {
	for _, unit := range []struct {
		size int64
		key  string
	}{{1e6, "unit.million_tokens"}, {1000, "unit.thousand_tokens"}} {
		if n < unit.size-unit.size/200 { // what rounds up to it belongs to it
			continue
		}
		value := float64(n) / float64(unit.size)
		digits := 0
		if value < 9.95 {
			digits = 1
		}
		text := strings.TrimSuffix(strconv.FormatFloat(value, 'f', digits, 64), ".0")
		text = strings.Replace(text, ".", t.Text(lang, "unit.decimal", nil), 1)
		return t.Text(lang, unit.key, map[string]any{"Text": text})
	}
	return t.tokens(lang, n)
}

func (t *Texts) money(lang string, v any) string {
	if n, ok := integer(v); ok {
		return t.Money(lang, n)
	}
	return fmt.Sprint(v)
}

func (t *Texts) roughly(lang string, v any) string {
	if n, ok := integer(v); ok {
		return t.Roughly(lang, n)
	}
	return fmt.Sprint(v)
}
