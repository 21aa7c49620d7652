package offline

import (
	"regexp"
	"strings"
)

// rules are the patterns by which texts are understood.
type rules struct {
	tag, state                          *regexp.Regexp
	file                                *regexp.Regexp // attributes of a file, with its name
	remark                              *regexp.Regexp // what legwork says about a file
	turn, before                        *regexp.Regexp // of a request for a summary
	url, zone, date, time, path, place  *regexp.Regexp
	number                              *regexp.Regexp
	expression, percent, amount, quoted *regexp.Regexp
	border, asks, greeting, filler      *regexp.Regexp
	months, bare, span, root            *regexp.Regexp
	mark                                *regexp.Regexp // behind the description of a group
	note                                *regexp.Regexp // a request to save a note, and its text
	wanted                              *regexp.Regexp // words that ask for a file
	sentence                            *regexp.Regexp // the end of a sentence
	operators, signs                    *strings.Replacer
}

func newRules() *rules {
	re := regexp.MustCompile
	const number = `\d+(?:[.,]\d+)*`
	const month = `(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Oct|Nov|Dec|January|February|March|April|May|June|July|August|September|October|November|December)`
	return &rules{
		turn:   re(`(?s)<question>\n(.*?)\n</question>\s*<answer>\n(.*?)\n</answer>`),
		before: re(`(?s)<summary>\n(.*?)\n</summary>`),
		tag:    re(`(?s)<(goal|task|guidance|result|data|earlier_question)\b([^>]*)>(.*?)</(?:goal|task|guidance|result|data|earlier_question)>`),
		mark:   re(`\s*(?:\([^()]*\)|（[^（）]*）)\s*$`),
		state:  re(`state="([^"]*)"`),
		file:   re(`file="[^"]*" name="([^"]*)"`),
		remark: re(`\[(?:From legwork: |От legwork: |legwork 说明：|Shown: |Показано: |已显示：)([^\]]*)\]`),
		url:    re(`https?://[^\s<>"'，。）)]+[^\s<>"'，。）).,;:!?]`),
		zone:   re(`\b(?:(?:Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Europe|Indian|Pacific|Etc)/[A-Za-z_/+0-9-]+|(?:UTC|GMT)(?:[+-]\d{1,2}(?::\d\d)?)?)`),
		date:   re(`\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2})?)?|\d{4}年\d{1,2}月\d{1,2}日|\b\d{1,2}\.\d{1,2}\.\d{4}\b|(?i)\b(?:\d{1,2} ` + month + `|` + month + ` \d{1,2},?) \d{4}\b|\b(?:tomorrow|yesterday)\b|завтра|вчера|明天|昨天`),
		time:   re(`(?i)\b\d{1,2}(?::\d\d){1,2}(?: ?[ap]m)?\b|\b\d{1,2} ?[ap]m\b`),
		path:   re(`(?:[\w.-]*/)*[\w-]+\.(?:txt|md|csv|json|ya?ml|pdf|go|log|html?|docx?|xlsx?|png|jpe?g)\b`),
		// In order: behind a preposition or a time of day, the whole text, behind "in" in small letters, before 现在 and the like.
		place:      re(`(?:\b(?i:in|at|for|of|from|to) |\x00 |(?:^|\s)[Вв]о? )(\p{Han}+|\p{Lu}[\p{L}'’.-]*(?: \p{Lu}[\p{L}'’.-]*)*)|^(\p{Lu}[\p{L}'’-]*(?: \p{Lu}[\p{L}'’-]*)*)$|\btime .*\bin ([a-z' -]+)$|(?:[请請][问問]|[现現]在|在)*(\p{Han}{2,8}?)(?:[现現]在|[当當][前地]|的?[时時][间間]|[几幾][点點])`),
		months:     re(`^(?:January|February|March|April|May|June|July|August|September|October|November|December|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)`),
		bare:       re(`^(?:[请請][问問]|在)?(\p{Han}{2,8}|\p{Lu}[\p{L} '’-]*)$`),
		span:       re(`(?i)\bbetween\b|между|之间|从`),
		number:     re(`-?` + number),
		expression: re(`(?:[a-z]+\()?[-(\s]*` + number + `[)!%]*(?:\s*(?:\*\*|//|[-+*/^%])[-(\s]*(?:[a-z]+\()?` + number + `[)!%]*)+|\b(?:sqrt|abs|ln|log|sin|cos|tan|exp)\([^)]*\)`),
		percent:    re(`(` + number + `)\s*% (?:of|от) (` + number + `)`),
		note:       re(`(?is)^([^:：]*(?:\bnotes?\b|заметк|笔记|筆記)[^:：\d]*[:：])\s*(\S.*)$`),
		root:       re(`(?i)(?:square root of|корень из) (` + number + `)`),
		amount:     re(`(?i)(-?\d+)\s*(second|minute|hour|day|week|month|year|секунд|минут|час|дн|день|недел|месяц|год|лет|秒|分钟|小时|天|周|个月|年)`),
		quoted:     re(`["“«]([^"”»]+)["”»]`),
		border:     re(`[?？!！。；;\n]+\s*|\.\s+|(?:,\s+|[，、]\s*)(?:(?i:and then|and|then|и|а также|затем)\s+)?|\s+(?i:and then|and|as well as|и|а также)\s+|以及|[还還]有|[并並]且|和`),
		asks:       re(`(?i)^(?:please |could you |can you |пожалуйста,? )?(?:what|who|when|where|why|how|which|is|are|does|do|write|tell|find|search|look|compare|make|give|translate|summari[sz]e|explain|list|show|send|read|fetch|open|calculate|compute|convert|plan|add|create|draw|draft|count|save)\b|^(?:что|кто|когда|где|почему|как|сколько|котор|напиши|найди|поищи|сравни|переведи|объясни|покажи|прочитай|посчитай|вычисли|расскажи|отправь|сохрани|запиши)|[请請帮幫写寫查找吗嗎记記]|翻[译譯]|[总總][结結]|比[较較]|什[么麼]|怎[么麼]|多少|[几幾][点點]`),
		wanted:     re(`(?i)[,;，]?\s*(?:\b(?:and|then|please|give|make|write|save|send|put|it|that|them|this|the|results?|me|as|in|into|to|a|an)\s+|(?:и|потом|сделай|запиши|сохрани|пришли|в|как|это|результаты?|файл\p{L}*)\s+|(?:并|和|把|将|结果|做成|保存为|写成|存为|一个))*\b(?:csv|markdown)\b(?:[- ](?:files?|tables?|documents?|файл\p{L}*)|(?:文件|表格|文档))?`),
		sentence:   re(`\.\s|。`),
		greeting:   re(`(?i)^(?:(?:hi|hello|hey|привет|здравствуйте?)(?:,? \p{L}+)?|good (?:morning|evening|day|afternoon)|thanks?(?: you)?|bye|who are you|how are you|what can you do|help|добрый день|спасибо|пока|кто ты|как дела|你好|您好|[谢謝][谢謝]|再[见見]|你是[谁誰]|嗨)(?:[\s,!.?。！？]+(?:please|very much|большое))?[\s,!.?。！？]*$`),
		filler:     re(`(?i)^(?:and|in|at|for|of|the|также|и|в|во|на|из|和|在|呢)*$`),
		operators: strings.NewReplacer(" plus ", " + ", " minus ", " - ", " times ", " * ", " multiplied by ", " * ", " divided by ", " / ",
			" плюс ", " + ", " минус ", " - ", " умножить на ", " * ", " разделить на ", " / ", "乘以", "*", "除以", "/", "加上", "+", "减去", "-",
			"×", "*", "÷", "/", "·", "*", "−", "-"),
		signs: strings.NewReplacer("_", " ", "-", " "),
	}
}

// facts are the values that a text names.
type facts struct {
	urls, places, dates, times, paths []string
	expression                        string
}

// facts looks at the beginning of a long text only.
func (r *rules) facts(text string) facts {
	var f facts
	text = text[:min(len(text), longest)]
	take := func(re *regexp.Regexp) []string {
		list := re.FindAllString(text, -1)
		text = re.ReplaceAllString(text, "\x00")
		return list
	}
	f.urls = take(r.url)
	f.places = take(r.zone)
	f.dates = take(r.date)
	f.times = take(r.time)
	f.paths = take(r.path)
	math := r.root.ReplaceAllString(r.percent.ReplaceAllString(r.operators.Replace(text), "$1/100*$2"), "sqrt($1)")
	f.expression = strings.TrimSpace(r.expression.FindString(math))
	for _, m := range r.place.FindAllStringSubmatch(text, -1) {
		name := strings.TrimRight(m[1]+m[2]+m[3]+m[4], ".- ")
		if !r.months.MatchString(name) && (m[2] == "" || !r.asks.MatchString(name)) {
			f.places = append(f.places, name)
		}
	}
	return f
}

// nominative turns a Russian place behind "в" into its name.
func nominative(place string) string {
	const feminine = " Москве Праге Варшаве Вене Риге Анкаре Барселоне Оттаве Гаване Лиме Женеве "
	stem, ok := strings.CutSuffix(place, "е")
	switch {
	case !ok:
		return place
	case strings.Contains(feminine, " "+place+" "):
		return stem + "а"
	case strings.HasSuffix(stem, "е") || strings.HasSuffix(stem, "а"):
		return stem + "й"
	}
	return stem
}
