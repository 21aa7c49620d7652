package schedule_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"legwork/internal/schedule"
)

// friday is when the texts of the tests are written: in Berlin, 23:10 o'clock.
var friday = time.Date(2026, 11, 20, 22, 10, 30, 0, time.UTC)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestParse(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	for _, c := range []struct{ text, spec, rest string }{
		{"every weekday 9:00 news", "cron 0 9 * * 1,2,3,4,5", "news"},
		{"Every weekday at 9, what is new?", "cron 0 9 * * 1,2,3,4,5", "what is new?"},
		{"every day at 9 sum up the news", "cron 0 9 * * *", "sum up the news"},
		{"daily at 9am: news", "cron 0 9 * * *", "news"},
		{"at 9 every day news", "cron 0 9 * * *", "news"},
		{"9:00 every day news", "cron 0 9 * * *", "news"},
		{"at 7 in the evening every friday news", "cron 0 19 * * 5", "news"},
		{"every evening at 7 news", "cron 0 19 * * *", "news"},
		{"every night at 11 news", "cron 0 23 * * *", "news"},
		{"every monday and thursday 18:30 news", "cron 30 18 * * 1,4", "news"},
		{"mondays, wednesdays and fridays at 8 pm news", "cron 0 20 * * 1,3,5", "news"},
		{"every mon, wed, fri at 8.15 news", "cron 15 8 * * 1,3,5", "news"},
		{"mon-fri 9:00 news", "cron 0 9 * * 1,2,3,4,5", "news"},
		{"every friday to monday at noon news", "cron 0 12 * * 0,1,5,6", "news"},
		{"weekends 10:00 news", "cron 0 10 * * 0,6", "news"},
		{"every day at 9:00 and 17:00 news", "cron 0 9,17 * * *", "news"},
		{"every day at 9:00 and at 17:30 news", "cron 0 9 * * * | 30 17 * * *", "news"},
		{"every day at 9:00 and then sum up the news", "cron 0 9 * * *", "and then sum up the news"},
		{"every 2 hours check", "every 2h0m0s since 2026-11-20T22:10:00Z", "check"},
		{"every hour check", "every 1h0m0s since 2026-11-20T22:10:00Z", "check"},
		{"hourly check", "every 1h0m0s since 2026-11-20T22:10:00Z", "check"},
		{"every half hour check", "every 30m0s since 2026-11-20T22:10:00Z", "check"},
		{"every 15 minutes check", "every 15m0s since 2026-11-20T22:10:00Z", "check"},
		{"every other day at 8:00 check", "days 2 since 2026-11-21T08:00", "check"},
		{"every two weeks on friday 15:00 review", "days 14 since 2026-11-27T15:00", "review"},
		{"every week on tuesday at 9 review", "cron 0 9 * * 2", "review"},
		{"weekly on tuesday at 9 review", "cron 0 9 * * 2", "review"},
		{"every month on the 1st 8:00 bills", "cron 0 8 1 * *", "bills"},
		{"every month on the last day at 8:00 bills", "cron 0 8 L * *", "bills"},
		{"on the 15th of every month at 8:00 bills", "cron 0 8 15 * *", "bills"},
		{"every 15th of the month at 8:00 bills", "cron 0 8 15 * *", "bills"},
		{"every first monday of the month at 8:00 bills", "cron 0 8 * * 1#1", "bills"},
		{"every last friday at 8:00 bills", "cron 0 8 * * 5L", "bills"},
		{"every year on 24 december at 18:00 sing", "cron 0 18 24 12 *", "sing"},
		{"every december 24 at 18:00 sing", "cron 0 18 24 12 *", "sing"},
		{"tomorrow 9:00 call", "once 2026-11-21T08:00:00Z", "call"},
		{"tomorrow at 9 call", "once 2026-11-21T08:00:00Z", "call"},
		{"tomorrow's weather at 9", "", schedule.Unknown},
		{"tomorrow evening at 9 call", "once 2026-11-21T20:00:00Z", "call"},
		{"at 9 tomorrow call", "once 2026-11-21T08:00:00Z", "call"},
		{"the day after tomorrow at 9 call", "once 2026-11-22T08:00:00Z", "call"},
		{"in 2 hours call", "once 2026-11-21T00:10:30Z", "call"},
		{"in an hour call", "once 2026-11-20T23:10:30Z", "call"},
		{"in half an hour call", "once 2026-11-20T22:40:30Z", "call"},
		{"in 3 days call", "once 2026-11-23T22:10:30Z", "call"},
		{"in 3 days at 9:00 call", "once 2026-11-23T08:00:00Z", "call"},
		{"in a week at 9:00 call", "once 2026-11-27T08:00:00Z", "call"},
		{"in 3 months at 9:00 call", "once 2027-02-20T08:00:00Z", "call"},
		{"2026-12-24 18:00 sing", "once 2026-12-24T17:00:00Z", "sing"},
		{"2026-12-24T18:00 sing", "once 2026-12-24T17:00:00Z", "sing"},
		{"24.12.2026 at 18:00 sing", "once 2026-12-24T17:00:00Z", "sing"},
		{"24.12. 18:00 sing", "once 2026-12-24T17:00:00Z", "sing"},
		{"on 24 december 18:00 sing", "once 2026-12-24T17:00:00Z", "sing"},
		{"december 24th, 2027 at 6pm sing", "once 2027-12-24T17:00:00Z", "sing"},
		{"january 3 at 6pm sing", "once 2027-01-03T17:00:00Z", "sing"},
		{"at 17:30 call", "once 2026-11-21T16:30:00Z", "call"},
		{"17:30 call", "once 2026-11-21T16:30:00Z", "call"},
		{"at 23:30 call", "once 2026-11-20T22:30:00Z", "call"},
		{"on monday at 9 call", "once 2026-11-23T08:00:00Z", "call"},
		{"friday 9:00 call", "once 2026-11-27T08:00:00Z", "call"},
		{"next monday 9:00 call", "once 2026-11-23T08:00:00Z", "call"},
		{"0 9 * * 1-5 news", "cron 0 9 * * 1,2,3,4,5", "news"},
		{`"0 9 * * mon-fri" news`, "cron 0 9 * * 1,2,3,4,5", "news"},
		{"`*/15 8-18 * * *` news", "cron */15 8-18 * * *", "news"},
		{"*/15 * 1,15 jan *\tnews", "cron */15 * 1,15 1 *", "news"},
		{"0 9 * * 7 news", "cron 0 9 * * 0", "news"},
		{"0 9 L * ? news", "cron 0 9 L * *", "news"},
		{"every weekday, 9:00: news", "cron 0 9 * * 1,2,3,4,5", "news"},
		{"every other monday at 9 news", "days 14 since 2026-11-23T09:00", "news"},
		{"on the first monday of the month at 9 news", "cron 0 9 * * 1#1", "news"},
		{"in 1 hour 30 minutes call", "once 2026-11-20T23:40:30Z", "call"},
		{"every 2 hours and 30 minutes check", "every 2h30m0s since 2026-11-20T22:10:00Z", "check"},
		{"every hour on 5 sites", "every 1h0m0s since 2026-11-20T22:10:00Z", "on 5 sites"},
		{"every day at 9:00 USA news", "cron 0 9 * * *", "USA news"},
		{"0 9 * * 1 5 things to read", "cron 0 9 * * 1", "5 things to read"},
		{"каждый час 30 минут новостей", "every 1h0m0s since 2026-11-20T22:10:00Z", "30 минут новостей"},
		{"сегодня вечером в 11:30 позвони", "once 2026-11-20T22:30:00Z", "позвони"},
		{"每晚8点新闻", "cron 0 20 * * *", "新闻"},
		{"每早7点新闻", "cron 0 7 * * *", "新闻"},
		{"每天晚上8点半新闻", "cron 30 20 * * *", "新闻"},
		{"@daily news", "cron 0 0 * * *", "news"},
		{"@weekly: news", "cron 0 0 * * 0", "news"},
		{`"every weekday 9:00" "news"`, "cron 0 9 * * 1,2,3,4,5", `"news"`},

		{"каждый будний день в 9:00 новости", "cron 0 9 * * 1,2,3,4,5", "новости"},
		{"по будням в 9 новости", "cron 0 9 * * 1,2,3,4,5", "новости"},
		{"Каждый день в 9 утра новости", "cron 0 9 * * *", "новости"},
		{"ежедневно в 7 вечера новости", "cron 0 19 * * *", "новости"},
		{"каждое утро в 8:30 новости", "cron 30 8 * * *", "новости"},
		{"по понедельникам в 9 новости", "cron 0 9 * * 1", "новости"},
		{"по понедельникам и четвергам в 18:30 новости", "cron 30 18 * * 1,4", "новости"},
		{"каждую среду в 18.30 новости", "cron 30 18 * * 3", "новости"},
		{"каждый понедельник и каждую пятницу в 9 новости", "cron 0 9 * * 1,5", "новости"},
		{"с понедельника по пятницу в 9:00 новости", "cron 0 9 * * 1,2,3,4,5", "новости"},
		{"по выходным в 10 часов новости", "cron 0 10 * * 0,6", "новости"},
		{"каждые 2 часа проверь", "every 2h0m0s since 2026-11-20T22:10:00Z", "проверь"},
		{"каждый час проверь", "every 1h0m0s since 2026-11-20T22:10:00Z", "проверь"},
		{"раз в час проверь", "every 1h0m0s since 2026-11-20T22:10:00Z", "проверь"},
		{"каждые полчаса проверь", "every 30m0s since 2026-11-20T22:10:00Z", "проверь"},
		{"раз в неделю по пятницам в 9 проверь", "cron 0 9 * * 5", "проверь"},
		{"каждое 1 число в 8:00 счета", "cron 0 8 1 * *", "счета"},
		{"1 числа каждого месяца в 8:00 счета", "cron 0 8 1 * *", "счета"},
		{"ежемесячно 15-го числа в 8:00 счета", "cron 0 8 15 * *", "счета"},
		{"в последний день каждого месяца в 8:00 счета", "cron 0 8 L * *", "счета"},
		{"каждый первый понедельник месяца в 8:00 счета", "cron 0 8 * * 1#1", "счета"},
		{"завтра в 9 позвони", "once 2026-11-21T08:00:00Z", "позвони"},
		{"послезавтра в 9:15 позвони", "once 2026-11-22T08:15:00Z", "позвони"},
		{"через 2 часа позвони", "once 2026-11-21T00:10:30Z", "позвони"},
		{"через час позвони", "once 2026-11-20T23:10:30Z", "позвони"},
		{"через полчаса позвони", "once 2026-11-20T22:40:30Z", "позвони"},
		{"через неделю в 9 позвони", "once 2026-11-27T08:00:00Z", "позвони"},
		{"в пятницу в 9 позвони", "once 2026-11-27T08:00:00Z", "позвони"},
		{"24 декабря в 18:00 пой", "once 2026-12-24T17:00:00Z", "пой"},
		{"24 декабря 2027 года в 18:00 пой", "once 2027-12-24T17:00:00Z", "пой"},
		{"в полдень позвони", "once 2026-11-21T11:00:00Z", "позвони"},

		{"每个工作日9:00 新闻", "cron 0 9 * * 1,2,3,4,5", "新闻"},
		{"每个工作日9：00总结新闻", "cron 0 9 * * 1,2,3,4,5", "总结新闻"},
		{"每天早上9点总结新闻", "cron 0 9 * * *", "总结新闻"},
		{"每天下午3点半总结新闻", "cron 30 15 * * *", "总结新闻"},
		{"每天晚上八点十五分总结新闻", "cron 15 20 * * *", "总结新闻"},
		{"每日9点和17点，总结新闻", "cron 0 9,17 * * *", "总结新闻"},
		{"每周一9:00 新闻", "cron 0 9 * * 1", "新闻"},
		{"每周一和周四18:30 新闻", "cron 30 18 * * 1,4", "新闻"},
		{"每周一三五9点新闻", "cron 0 9 * * 1,3,5", "新闻"},
		{"每周一三点新闻", "cron 0 3 * * 1", "新闻"},
		{"每周一至周五9点新闻", "cron 0 9 * * 1,2,3,4,5", "新闻"},
		{"每星期天中午12点新闻", "cron 0 12 * * 0", "新闻"},
		{"每周末10点新闻", "cron 0 10 * * 0,6", "新闻"},
		{"每小时检查", "every 1h0m0s since 2026-11-20T22:10:00Z", "检查"},
		{"每隔两个小时检查", "every 2h0m0s since 2026-11-20T22:10:00Z", "检查"},
		{"每15分钟检查", "every 15m0s since 2026-11-20T22:10:00Z", "检查"},
		{"每半小时检查", "every 30m0s since 2026-11-20T22:10:00Z", "检查"},
		{"每月1号8:00 账单", "cron 0 8 1 * *", "账单"},
		{"每个月十五日8点账单", "cron 0 8 15 * *", "账单"},
		{"每月最后一天8点账单", "cron 0 8 L * *", "账单"},
		{"每年12月24日18点唱歌", "cron 0 18 24 12 *", "唱歌"},
		{"明天9点打电话", "once 2026-11-21T08:00:00Z", "打电话"},
		{"明早9点打电话", "once 2026-11-21T08:00:00Z", "打电话"},
		{"明天下午3点打电话", "once 2026-11-21T14:00:00Z", "打电话"},
		{"后天9点打电话", "once 2026-11-22T08:00:00Z", "打电话"},
		{"2小时后打电话", "once 2026-11-21T00:10:30Z", "打电话"},
		{"半小时后打电话", "once 2026-11-20T22:40:30Z", "打电话"},
		{"三天后9点打电话", "once 2026-11-23T08:00:00Z", "打电话"},
		{"周五9点打电话", "once 2026-11-27T08:00:00Z", "打电话"},
		{"下周一9点打电话", "once 2026-11-23T08:00:00Z", "打电话"},
		{"下周五9点打电话", "once 2026-11-27T08:00:00Z", "打电话"},
		{"12月24日18:00唱歌", "once 2026-12-24T17:00:00Z", "唱歌"},
		{"2027年12月24日18:00唱歌", "once 2027-12-24T17:00:00Z", "唱歌"},
	} {
		got, rest, err := schedule.Parse(c.text, friday, berlin)
		if c.spec == "" {
			if bad := new(schedule.Error); !errors.As(err, &bad) || bad.Code != c.rest {
				t.Errorf("Parse(%q) = %q, %q, %v; want the error %s", c.text, got, rest, err, c.rest)
			}
			continue
		}
		if err != nil || got.String() != c.spec || rest != c.rest {
			t.Errorf("Parse(%q) = %q, %q, %v; want %q, %q", c.text, got, rest, err, c.spec, c.rest)
			continue
		}
		again, err := schedule.Read(got.String(), berlin)
		if err != nil || again.String() != c.spec || !again.Next(friday).Equal(got.Next(friday)) {
			t.Errorf("Read(%q) = %q, %v; want the same", c.spec, again, err)
		}
	}
}

func TestParseAgain(t *testing.T) {
	for text, want := range map[string]string{
		"every weekday 9:00":      "",
		"0 9 * * 1-5":             "",
		"@daily":                  "",
		"every weekday 9:00 news": `"news" is not part of a time`,
		"tomorrow 9:00":           "comes only once",
		"2020-01-01 9:00":         "comes only once",
		"sometimes":               "does not begin with a time",
	} {
		s, err := schedule.ParseAgain(text, friday, time.UTC)
		if want == "" && (err != nil || !s.Again()) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("ParseAgain(%q) = %q, %v; want the error %q", text, s, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	for _, c := range []struct{ text, code string }{
		{"", schedule.Unknown},
		{"news", schedule.Unknown},
		{"every", schedule.Unknown},
		{"every news", schedule.Unknown},
		{"sometimes check the news", schedule.Unknown},
		{"in 5 words, what is new", schedule.Unknown},
		{"2 hours ago", schedule.Unknown},
		{"every weekday news", schedule.NoTime},
		{"every day 9 news items", schedule.NoTime},
		{"every day at 9x news", schedule.NoTime},
		{"tomorrow news", schedule.NoTime},
		{"2026-12-24 sing", schedule.NoTime},
		{"каждый день новости", schedule.NoTime},
		{"每天总结新闻", schedule.NoTime},
		{"every week 9:00 news", schedule.NoDay},
		{"every month at 9:00 news", schedule.NoDay},
		{"every year at 9:00 news", schedule.NoDay},
		{"every day at 25:00 news", schedule.BadTime},
		{"every day at 9:60 news", schedule.BadTime},
		{"every day at 9:00:30 news", schedule.BadTime},
		{"every day at 13 pm news", schedule.BadTime},
		{"every day at 0 am news", schedule.BadTime},
		{"每天25点新闻", schedule.BadTime},
		{"2026-02-30 9:00 news", schedule.BadDate},
		{"31.11.2026 9:00 news", schedule.BadDate},
		{"every month on the 32nd 9:00 news", schedule.BadDate},
		{"every year on 30 february 9:00 news", schedule.BadDate},
		{"12/24/2026 18:00 sing", schedule.Unclear},
		{"5/6 18:00 sing", schedule.Unclear},
		{"next sunday 9:00 rest", schedule.Unclear},
		{"every 30 seconds check", schedule.TooShort},
		{"every 0 minutes check", schedule.TooShort},
		{"in 10 seconds check", schedule.TooShort},
		{"every 9000 hours check", schedule.TooLong},
		{"in 20 years check", schedule.TooLong},
		{"in 99999 days check", schedule.TooLong},
		{"2026-11-19 9:00 news", schedule.Past},
		{"today at 9:00 news", schedule.Past},
		{"0 0 30 2 * news", schedule.Never},
		{"0 0 31 2,4,6,9,11 * news", schedule.Never},
		{`"0 0 31 4 */7" news`, schedule.Never},
		{`"0 9 * *" news`, schedule.BadCron},
		{"*/5 check", schedule.BadCron},
		{"61 * * * * check", schedule.BadField},
		{"0 24 * * * check", schedule.BadField},
		{"0 9 * * 8 check", schedule.BadField},
		{"0 9 0 * * check", schedule.BadField},
		{"*/0 9 * * * check", schedule.BadField},
		{"5-1 9 * * * check", schedule.BadField},
		{"@reboot check", schedule.BadTag},
		{`"every day at 9:00`, schedule.Unquoted},
		{`"every day at 9:00 news" news`, schedule.UnknownIn},
		{"every monday 9:00 and thursday 18:00 news", schedule.TooMuch},
		{"every 15 minutes from 9:00 to 17:00 check", schedule.TooMuch},
		{"every day at 9 and 17 check", schedule.TooMuch},
		{"every day at 9:00 until friday check", schedule.TooMuch},
		{"every day 9:00 10:00 check", schedule.TooMuch},
		{"every weekday at 9:30 and weekends at 11 news", schedule.TooMuch},
		{"every hour on weekdays check", schedule.TooMuch},
		{"every 5 minutes on monday check", schedule.TooMuch},
		{"каждый час по будням проверь", schedule.TooMuch},
		{"every day at 9:00 Europe/Berlin news", schedule.TooMuch},
		{"every day at 9:00 UTC news", schedule.TooMuch},
		{"every second monday at 9 news", schedule.Unclear},
		{"0 9 * * * * news", schedule.BadCron},
		{"every 3 months on the 1st 9:00 check", schedule.TooMuch},
		{"каждые 15 минут с 9:00 до 17:00 проверь", schedule.TooMuch},
		{"每15分钟从9点到17点检查", schedule.TooMuch},
	} {
		got, rest, err := schedule.Parse(c.text, friday, berlin)
		if bad := new(schedule.Error); !errors.As(err, &bad) || bad.Code != c.code || bad.Error() == "" {
			t.Errorf("Parse(%q) = %q, %q, %v; want the error %s", c.text, got, rest, err, c.code)
		}
	}
}
