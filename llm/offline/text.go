package offline

import (
	"strings"
	"unicode"
)

// frame holds the texts of the stand-in in one language.
type frame struct{ notice, found, failed, cannot, blind, chat, file, made, question, result string }

// frames chooses the language by the script of most letters of a text; those of
// addresses and files do not count.
func (r *rules) frames(text string) frame {
	text = r.path.ReplaceAllString(r.url.ReplaceAllString(text[:min(len(text), longest)], " "), " ")
	han, cyrillic, latin := count(text, unicode.Han), count(text, unicode.Cyrillic), count(text, unicode.Latin)
	switch {
	case han > 0 && han >= max(cyrillic, latin):
		return frame{
			notice:   "*离线替身：按规则应答，不是语言模型。*",
			found:    "结果如下：",
			failed:   "（未完成）",
			cannot:   "离线替身只按规则工作，做不了这件事：%s",
			made:     "文件里有 %d 个结果。",
			question: "问题",
			result:   "结果",
			blind:    "离线替身看不到图片。要看图片，请为角色 vision 配置一个能看图的模型。",
			file:     "**%s**（%d 行，%d 个词）的开头：",
			chat:     "你好！我能演示时间、日期和算术之类的任务，例如：“17*23 等于多少？东京现在几点？”要聊天或做别的事，请配置一个语言模型。",
		}
	case cyrillic > 0 && cyrillic >= latin:
		return frame{
			notice:   "*Офлайн-заместитель: правила, а не языковая модель.*",
			found:    "Вот что удалось узнать:",
			failed:   "(не выполнено)",
			cannot:   "Офлайн-заместитель работает по правилам и этого не умеет: %s",
			made:     "Результатов в файле: %d.",
			question: "Вопрос",
			result:   "Результат",
			blind:    "Офлайн-заместитель не видит картинок. Чтобы их рассмотреть, настройте для роли vision модель, которая их видит.",
			file:     "**%s** (строк: %d, слов: %d), начало:",
			chat:     "Здравствуйте! Я показываю работу на задачах о времени, датах и арифметике, например: «Сколько будет 17*23 и который час в Токио?» Для беседы и остального настройте языковую модель.",
		}
	}
	return frame{
		notice:   "*Offline stand-in: rules, not a language model.*",
		found:    "Here is what was found:",
		failed:   "(not done)",
		cannot:   "The offline stand-in works by rules and cannot do this: %s",
		made:     "The file holds the results. Their number: %d.",
		question: "Question",
		result:   "Result",
		blind:    "The offline stand-in sees no pictures. To have them looked at, configure a model that sees them for the role vision.",
		file:     "**%s** (lines: %d, words: %d) begins:",
		chat:     "Hello! I show how it works on tasks about time, dates and arithmetic, such as: “What is 17*23, and what time is it in Tokyo?” To talk, and for everything else, configure a language model.",
	}
}

// count is the number of a script's letters in a text.
func count(text string, script *unicode.RangeTable) int {
	return strings.Count(strings.Map(func(c rune) rune {
		if unicode.Is(script, c) {
			return 'x'
		}
		return -1
	}, text), "x")
}
