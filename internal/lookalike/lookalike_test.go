package lookalike_test

import (
	"testing"
	"unicode/utf8"

	"legwork/internal/lookalike"
)

func TestWithoutHidden(t *testing.T) {
	for in, want := range map[string]string{
		"":                                     "",
		"plain\ttext\r\n":                      "plain\ttext\r\n",
		"a\u200bb\u200cc\u200dd\u2060e\ufefff": "abcdef",
		"\U000e0041\U000e0042hidden\U000e007f": "hidden",
		"soft\u00adhyphen \u202eevil\u202c \u2066x\u2069 \u200e\u200f\u061c": "softhyphen evil x ",
		"\x00\x1b[31mred\u009b":                       "[31mred",
		"a\ufe0f\ufe0e\U000e0100b\u034f\u3164\u115fc": "abc",
		"葛\U000e0100城":                                "葛城",
		"👩\u200d👩\u200d👧 🏳\ufe0f\u200d🌈 ❤\ufe0f 1\ufe0f\u20e3 👍🏽 👩🏽\u200d🚀 ↔\ufe0f": "👩\u200d👩\u200d👧 🏳\ufe0f\u200d🌈 ❤\ufe0f 1\ufe0f\u20e3 👍🏽 👩🏽\u200d🚀 ↔\ufe0f",
		"❤\ufe0f\ufe0f\ufe0e\u200d\u200dx": "❤\ufe0fx",
		"می\u200cخواهم":                    "می\u200cخواهم", // Persian: I want
		"क्\u200dष":                        "क्\u200dष",
		"שלום \u200fעולם, مرحبا ؀":         "שלום עולם, مرحبا ؀",
		"bad \xff byte":                    "bad \xff byte",
	} {
		if got := lookalike.WithoutHidden(in); got != want {
			t.Errorf("WithoutHidden(%+q) = %+q, want %+q", in, got, want)
		}
	}
}

func TestSkeleton(t *testing.T) {
	for _, same := range [][]string{
		{"send_mail", "ѕend_mail", "Send_Mail", "send_mаil", "ｓｅｎｄ＿ｍａｉｌ", "send\u200b_mail", "𝓼end_mail", "sénd_mail", "ꜱend_mail", "send_mai1", "send_maiI", "Ѕend_mail", "ѕеnԁ_mаіӏ"},
		{"data", "ԁата", "𝐝𝐚𝐭𝐚", "ⓓⓐⓣⓐ", "dαtα", "DATA", "d\u0301ata", "d\U000e0061ata", "ᴅᴀᴛᴀ", "ꭰꭺꭲꭺ", "ᎠᎪᎢᎪ"},
	} {
		for _, s := range same {
			if got, want := lookalike.Skeleton(s), lookalike.Skeleton(same[0]); got != want {
				t.Errorf("Skeleton(%q) = %q, that of %q is %q", s, got, same[0], want)
			}
		}
	}
	for _, pair := range [][2]string{{"send_mail", "send-mail"}, {"send_mail", "sendmail"}, {"read", "reads"}, {"读", "写"}, {"отправить", "получить"}} {
		if lookalike.Skeleton(pair[0]) == lookalike.Skeleton(pair[1]) {
			t.Errorf("%q and %q have one skeleton", pair[0], pair[1])
		}
	}
}

// FuzzWithoutHidden: nothing is left to remove, and valid text stays valid.
func FuzzWithoutHidden(f *testing.F) {
	for _, s := range []string{"", "a\u200b\u200d❤\ufe0f\u200d🔥", "\xff<", "1\ufe0f\u20e3", "م\u200cم"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := lookalike.WithoutHidden(s)
		if twice := lookalike.WithoutHidden(once); utf8.ValidString(s) && (twice != once || !utf8.ValidString(once)) {
			t.Errorf("WithoutHidden(%+q) = %+q, again %+q", s, once, twice)
		}
		lookalike.Skeleton(s)
	})
}
