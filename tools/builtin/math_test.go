package builtin_test

import (
	"strings"
	"testing"
	"time"

	"legwork/internal/test/watch"
)

func TestCalculate(t *testing.T) {
	calculate := caller(t, "math", time.Now)
	for _, c := range []struct{ expression, want string }{
		{"17*23", "391"},
		{"17 × 23 =", "391"},
		{"１７＊２３", "391"},
		{"0.1 + 0.2", "0.3"},
		{"1/3 + 1/6", "0.5"},
		{"1/3", "1/3 (≈ 0.333333333333333333333333333333)"},
		{"2^100", "1267650600228229401496703205376"},
		{"2**10", "1024"},
		{"2^-2", "0.25"},
		{"-2^2", "-4"},
		{"(-2)^2", "4"},
		{"2^3^2", "512"},
		{"20!", "2432902008176640000"},
		{"3!!", "720"},
		{"15% of 80", "12"},
		{"15% * 80", "12"},
		{"50%", "0.5"},
		{"17 % 5", "2"},
		{"-7 mod 3", "2"},
		{"200 + 10%", "200.1"},
		{"1,234,567.5 * 2", "2469135"},
		{"max(1,200,3)", "200"},
		{"sum(1, 2, 3) / avg(2, 4)", "2"},
		{"gcd(12, 18) + lcm(4, 6)", "18"},
		{"binomial(5, 2)", "10"},
		{"sqrt(144)", "12"},
		{"sqrt(1/4)", "0.5"},
		{"√16 + 1", "5"},
		{"2√4", "4"},
		{"sqrt(2)", "≈ 1.41421356237309504880168872421"},
		{"sqrt(2)^2", "≈ 2"},
		{"cbrt(27)", "3"},
		{"cbrt(-8)", "-2"},
		{"8^(1/3)", "≈ 2"},
		{"4^0.5", "2"},
		{"pi", "≈ 3.14159265358979323846264338328"},
		{"2π", "≈ 6.28318530717958647692528676656"},
		{"sin(30°)", "≈ 0.5"},
		{"log(1000)", "3"},
		{"log2(1024)", "10"},
		{"log(8, 2)", "3"},
		{"ln(e)", "≈ 1"},
		{"exp(1)", "≈ 2.71828182845904523536028747135"},
		{"round(2.345, 2)", "2.35"},
		{"round(-2.5)", "-3"},
		{"round(1234, -2)", "1200"},
		{"floor(-1.5) + ceil(-1.5) + trunc(-1.5)", "-4"},
		{"1.5e3", "1500"},
		{"2(3+4)", "14"},
		{"3²+4²", "25"},
		{"10 - 4 - 3", "3"},
		{"100/10/2", "5"},
		{"1e30 * 1e30", "1" + strings.Repeat("0", 60)},
		{"0^0", "1"},
		{"abs(-5) + min(3, 1)", "6"},
	} {
		got, failed := calculate("calculate", map[string]any{"expression": c.expression})
		if failed || got != c.want {
			t.Errorf("calculate(%q): got %q, failed %v; want %q", c.expression, got, failed, c.want)
		}
	}
}

// TestHostileExpressions: each is refused with a reason, and soon.
func TestHostileExpressions(t *testing.T) {
	calculate := caller(t, "math", time.Now)
	for _, c := range []struct{ expression, want string }{
		{"9^9^9^9", "more than 100,000 digits"},
		{"10^100000000", "more than 100,000 digits"},
		{"1e999999999", "more than 100,000 digits"},
		{"(10^99999)*(10^99999)", "more than 100,000 digits"},
		{"1000000!", "from 0 to 20000"},
		{"(-1)!", "from 0 to 20000"},
		{"exp(10^9)", "more than 100,000 digits"},
		{"2.5^(10^20)", "more than 100,000 digits"},
		{strings.Repeat("(", 1000) + "1", "nested more than 100 deep"},
		{strings.Repeat("-", 1000) + "1", "nested more than 100 deep"},
		{strings.Repeat("1+", 6000) + "1", ""},
		{strings.Repeat("((10^99999+1)/(10^99998+3))+", 300) + "1", ""},
		{strings.Repeat("20000!^0.5-", 800) + "1", "takes too long"},
		{strings.Repeat("exp(20000)-", 800) + "1", "takes too long"},
		{strings.Repeat("1e83000-", 1000) + "1", "takes too long"},
		{"1/0", "division by zero"},
		{"5 % 0", "division by zero"},
		{"0^-1", "division by zero"},
		{"sqrt(-1)", "not real"},
		{"ln(0)", "positive number"},
		{".", "a number is missing"},
		{"asin(2)", "no value"},
		{"1 +", "a number is missing before the end"},
		{"(1", "closing parenthesis"},
		{"1 2", `"2" is not expected`},
		{"import os", `"import" is not a number`},
		{"system(1)", `no function "system"`},
		{"__import__('os')", "not part of arithmetic"},
		{"1;2", "not part of arithmetic"},
		{"round(1,2,3)", "wrong number of arguments"},
		{"   ", "it is empty"},
		{"1..2", `".2" is not expected`},
	} {
		var got string
		var failed bool
		took := watch.Work(func() { got, failed = calculate("calculate", map[string]any{"expression": c.expression}) })
		short := c.expression[:min(len(c.expression), 40)]
		if !failed || !strings.Contains(got, c.want) {
			t.Errorf("calculate(%q): got %.200q, failed %v; want a failure with %q", short, got, failed, c.want)
		}
		if took > 20*time.Second { // under the race detector some 3 s; without bounds, minutes
			t.Errorf("calculate(%q): took %v of the processor", short, took)
		}
	}
}

func FuzzCalculate(f *testing.F) {
	for _, s := range []string{"1+1", "2^0.5!", "15% of 80", "sin(30°)", "1,000", "((", "log(8,2)", "9^9^9", "-√2", "1e5e5"} {
		f.Add(s)
	}
	calculate := caller(f, "math", time.Now)
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		took := watch.Work(func() { got, _ = calculate("calculate", map[string]any{"expression": s}) })
		if got == "" {
			t.Errorf("calculate(%q): got nothing", s)
		}
		if took > 20*time.Second {
			t.Errorf("calculate(%q): took %v of the processor", s, took)
		}
	})
}
