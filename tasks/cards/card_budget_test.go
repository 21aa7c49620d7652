package cards_test

import (
	"testing"

	"legwork/i18n"
	"legwork/llm"
	"legwork/tasks/cards"
)

func TestCostText(t *testing.T) {
	t.Parallel()
	texts, err := i18n.Load("")
	if err != nil {
		t.Fatal(err)
	}
	all := llm.Usage{Input: 11000, Output: 1000, Images: 2, AudioSeconds: 61, Characters: 1200, Cost: 120_000}
	partly := all
	partly.Unpriced = true
	for _, c := range []struct {
		lang  string
		usage llm.Usage
		want  string
	}{
		{"en", llm.Usage{Input: 5, Output: 7}, "12 tokens"},
		{"en", all, "12k tokens, 2 pictures, 2 min of audio, 1,200 spoken characters, $0.12"},
		{"en", partly, "12k tokens, 2 pictures, 2 min of audio, 1,200 spoken characters, at least $0.12"},
		{"en", llm.Usage{Images: 1, Unpriced: true}, "0 tokens, 1 picture, price unknown"},
		{"ru", all, "12 тыс. токенов, 2 картинки, 2 мин аудио, 1\u00a0200 знаков озвучено, 0,12\u00a0$"},
		{"zh", all, "12k token, 2 张图片, 2 分钟音频, 1,200 个朗读字符, 0.12 美元"},
	} {
		if got := cards.CostText(texts, c.lang, c.usage); got != c.want {
			t.Errorf("%s: %+v is %q, want %q", c.lang, c.usage, got, c.want)
		}
	}
}
