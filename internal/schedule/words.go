package schedule

import "slices"

// The vocabulary of all languages at once: people who chose Russian texts may
// write English all the same.
var (
	comma      = same(0, ",")
	once       = same(0, "раз в", "once every", "once a", "once an")
	every      = same(0, "every", "each", "каждый", "каждая", "каждое", "каждую", "каждые", "каждого", "каждой", "каждому", "每", "每个", "每隔", "每逢")
	other      = same(2, "other", "second", "второй", "вторую", "隔")
	on         = same(0, "on", "on the", "the", "at the", "in", "по", "в", "во", "с", "со", "的")
	by         = same(0, "on", "по")
	at         = same(0, "at", "@", "в", "во", "к", "在", "于")
	and        = same(0, "and", ",", ", and", "&", "+", "и", ", и", "和", "、", "及", "与")
	to         = same(0, "to", "-", "–", "—", "through", "thru", "till", "until", "по", "до", "至", "到", "~")
	conditions = same(0, "from", "between", "until", "till", "starting", "except", "but not", "с", "от", "до", "между", "начиная", "кроме", "从", "直到", "除了")
	of         = same(0, "of", "of the", "in", "in the", "的")

	inWords = same(0, "in", "через", "过")
	after   = same(0, "后", "以后", "之后", "过后")
	ago     = same(0, "ago", "назад", "前", "以前", "之前")

	half    = same(30, "half an hour", "half hour", "half-hour", "a half hour", "a half-hour", "полчаса", "半小时", "半个小时", "半个钟头")
	hourly  = same(60, "hourly", "ежечасно")
	daily   = same(0, "daily", "everyday", "ежедневно")
	weekly  = same(0, "weekly", "еженедельно")
	monthly = same(0, "monthly", "ежемесячно")
	yearly  = same(0, "yearly", "annually", "ежегодно")

	workdays = same(0, "weekday", "weekdays", "workday", "workdays", "working day", "working days", "business day", "business days",
		"будний день", "будние дни", "будний", "будням", "будни", "будним дням", "рабочий день", "рабочие дни", "рабочим дням", "工作日", "个工作日", "平日")
	weekends = same(0, "weekend", "weekends", "выходной", "выходные", "выходным", "выходной день", "выходные дни", "выходным дням", "周末", "个周末", "双休日")

	lastDay = same(0, "last day", "последний день", "последнего дня", "последнее число", "последнего числа", "最后一天", "最后一日", "月底")
	suffix  = same(0, "st", "nd", "rd", "th", "-го", "-ое", "-е", "го", "е", "号", "日", "號")
	dayWord = same(0, "day", "числа", "число", "дня", "день", "числу")
)

const (
	unitSecond = iota
	unitMinute
	unitHour
	unitDay
	unitWeek
	unitMonth
	unitYear
)

var units = slices.Concat(
	same(unitSecond, "second", "seconds", "sec", "secs", "секунду", "секунды", "секунд", "сек", "秒", "秒钟"),
	same(unitMinute, "minute", "minutes", "min", "mins", "минута", "минуту", "минуты", "минут", "мин", "分钟", "分鐘"),
	same(unitHour, "hour", "hours", "hr", "hrs", "h", "час", "часа", "часов", "ч", "小时", "个小时", "钟头", "个钟头"),
	same(unitDay, "day", "days", "день", "дня", "дней", "сутки", "天", "日"),
	same(unitWeek, "week", "weeks", "неделю", "недели", "недель", "неделя", "周", "个星期", "星期", "个礼拜", "礼拜"),
	same(unitMonth, "month", "months", "месяц", "месяца", "месяцев", "月", "个月"),
	same(unitYear, "year", "years", "год", "года", "лет", "年"),
)

var numbers = slices.Concat(
	same(1, "a", "an", "one", "один", "одну", "одна"), same(2, "two", "два", "две"), same(3, "three", "три"), same(4, "four", "четыре"),
	same(5, "five", "пять"), same(6, "six", "шесть"), same(7, "seven", "семь"), same(8, "eight", "восемь"), same(9, "nine", "девять"),
	same(10, "ten", "десять"), same(11, "eleven", "одиннадцать"), same(12, "twelve", "двенадцать"), same(15, "fifteen", "пятнадцать"),
	same(20, "twenty", "двадцать"), same(30, "thirty", "тридцать"),
)

// lastOf is the ordinal of "the last Friday of the month".
const lastOf = 6

var ordinals = slices.Concat(
	same(1, "first", "1st", "первый", "первую", "первое", "первая", "第一个"),
	same(2, "second", "2nd", "второй", "вторую", "второе", "вторая", "第二个"),
	same(3, "third", "3rd", "третий", "третью", "третье", "третья", "第三个"),
	same(4, "fourth", "4th", "четвертый", "четвертую", "четвертое", "четвертая", "第四个"),
	same(lastOf, "last", "последний", "последнюю", "последнее", "последняя", "最后一个"),
)

var oneDay = slices.Concat(
	same(0, "sunday", "sun", "воскресенье", "воскресенья", "вс", "周日", "周天", "星期日", "星期天", "礼拜日", "礼拜天"),
	same(1, "monday", "mon", "понедельник", "понедельника", "пн", "周一", "星期一", "礼拜一"),
	same(2, "tuesday", "tue", "tues", "вторник", "вторника", "вт", "周二", "星期二", "礼拜二"),
	same(3, "wednesday", "wed", "среда", "среду", "среды", "ср", "周三", "星期三", "礼拜三"),
	same(4, "thursday", "thu", "thur", "thurs", "четверг", "четверга", "чт", "周四", "星期四", "礼拜四"),
	same(5, "friday", "fri", "пятница", "пятницу", "пятницы", "пт", "周五", "星期五", "礼拜五"),
	same(6, "saturday", "sat", "суббота", "субботу", "субботы", "сб", "周六", "星期六", "礼拜六"),
)

var manyDays = slices.Concat(
	same(0, "sundays", "воскресеньям"), same(1, "mondays", "понедельникам"), same(2, "tuesdays", "вторникам"), same(3, "wednesdays", "средам"),
	same(4, "thursdays", "четвергам"), same(5, "fridays", "пятницам"), same(6, "saturdays", "субботам"),
)

// bareDays are Chinese days without their first character, as they follow another
// day: "周一三五".
const bareDays = "日一二三四五六天"

var months = slices.Concat(
	same(1, "january", "jan", "января", "январь"), same(2, "february", "feb", "февраля", "февраль"), same(3, "march", "mar", "марта", "март"),
	same(4, "april", "apr", "апреля", "апрель"), same(5, "may", "мая", "май"), same(6, "june", "jun", "июня", "июнь"), same(7, "july", "jul", "июля", "июль"),
	same(8, "august", "aug", "августа", "август"), same(9, "september", "sep", "sept", "сентября", "сентябрь"),
	same(10, "october", "oct", "октября", "октябрь"), same(11, "november", "nov", "ноября", "ноябрь"), same(12, "december", "dec", "декабря", "декабрь"),
)

// The parts of the day.
const (
	anyPart = iota
	morning
	noon
	afternoon
	evening
	night
)

// partBefore is written before a time of the day, partAfter after one, and
// partEvery after "every".
var (
	partBefore = slices.Concat(
		same(morning, "早上", "早晨", "上午", "清晨", "凌晨", "早"), same(noon, "中午"), same(afternoon, "下午", "午后"),
		same(evening, "晚上", "傍晚", "晚"), same(night, "夜里", "半夜", "深夜"),
	)
	partAfter = slices.Concat(
		same(morning, "in the morning", "утра"), same(afternoon, "in the afternoon", "дня"), same(evening, "in the evening", "вечера"),
		same(night, "at night", "ночи"),
	)
	partEvery = slices.Concat(
		same(morning, "morning", "утро", "早", "早上", "早晨", "天早上"), same(afternoon, "afternoon"), same(evening, "evening", "вечер", "晚", "晚上", "天晚上"), same(night, "night", "ночь"),
	)
	halves    = slices.Concat(same(0, "am", "a.m.", "a.m"), same(12, "pm", "p.m.", "p.m"))
	points    = same(0, "点", "點", "时", "時", "点钟", "点整")
	minutesZh = same(0, "分", "分钟")
	quarters  = slices.Concat(same(30, "半"), same(15, "一刻"), same(45, "三刻"))
	oclock    = same(0, "o'clock", "часов", "часа", "час", "ч")
	minutesRu = same(0, "минут", "минуты", "минуту", "мин")
	named12   = slices.Concat(same(12, "noon", "midday", "полдень", "正午"), same(0, "midnight", "полночь", "午夜", "零点"))
)

// near are days close to today. The value is the distance in days, plus a hundred
// times the part of the day.
var near = slices.Concat(
	same(0, "today", "сегодня", "今天", "今日"), same(evening*100, "tonight", "this evening", "сегодня вечером", "今晚"),
	same(1, "tomorrow", "завтра", "明天", "明日"), same(morning*100+1, "明早", "tomorrow morning", "завтра утром"),
	same(evening*100+1, "明晚", "tomorrow evening", "завтра вечером"),
	same(2, "day after tomorrow", "the day after tomorrow", "послезавтра", "后天", "後天"), same(3, "大后天"),
)

var (
	next = same(0, "next", "следующий", "следующую", "следующее", "下", "下个")
	this = same(0, "this", "coming", "this coming", "в этот", "этот", "эту", "это", "本", "这")
)
