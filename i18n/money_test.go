package i18n_test

import "testing"

func TestMoneyAndTokens(t *testing.T) {
	texts := load(t, "")
	for _, c := range []struct {
		lang   string
		micros int64
		want   string
	}{
		{"en", 0, "$0.00"},
		{"en", 500000, "$0.50"},
		{"en", 1234567, "$1.23"},
		{"en", 10000, "$0.01"},
		{"en", 9999, "$0.01"},
		{"en", 1234, "$0.0012"},
		{"en", 1200, "$0.0012"},
		{"en", 1000, "$0.001"},
		{"en", 7, "$0.000007"},
		{"en", -20000, "-$0.02"},
		{"ru", 1500000, "1,50\u00a0$"},
		{"zh", 20000, "0.02 美元"},
	} {
		if got := texts.Money(c.lang, c.micros); got != c.want {
			t.Errorf("Money(%s, %d) = %q, want %q", c.lang, c.micros, got, c.want)
		}
	}
	for _, c := range []struct {
		lang string
		n    int64
		want string
	}{
		{"en", 0, "0 tokens"},
		{"en", 1, "1 token"},
		{"en", 512, "512 tokens"},
		{"en", 994, "994 tokens"},
		{"en", 999, "1k tokens"},
		{"en", 1000, "1k tokens"},
		{"en", 4512, "4.5k tokens"},
		{"en", 12345, "12k tokens"},
		{"en", 999000, "1M tokens"},
		{"en", 3400000, "3.4M tokens"},
		{"ru", 4512, "4,5 тыс. токенов"},
		{"zh", 12000, "12k token"},
	} {
		if got := texts.Roughly(c.lang, c.n); got != c.want {
			t.Errorf("Roughly(%s, %d) = %q, want %q", c.lang, c.n, got, c.want)
		}
	}
}
