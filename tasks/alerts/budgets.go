package alerts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"legwork/internal/telemetry"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/inbox"
)

// BudgetWatch resumes tasks when their budget has room again. It also notifies
// admins and webhooks about budgets that are nearly used up or reached.
type BudgetWatch struct {
	in      *inbox.Inbox
	hook    func(ctx context.Context, reached bool, list []planner.Overdraft) error
	signal  chan struct{} // buffer of one: waiting tasks may continue, or a budget was reached
	mu      sync.Mutex
	reached []planner.Overdraft // not reported yet
}

// NewBudgetWatch makes the watch of one process. hook, unless nil, gets the
// budgets before the admins do. After an error it gets them again.
func NewBudgetWatch(in *inbox.Inbox, hook func(ctx context.Context, reached bool, list []planner.Overdraft) error) *BudgetWatch {
	return &BudgetWatch{in: in, hook: hook, signal: make(chan struct{}, 1)}
}

// Extended wakes the watch because a budget has more room. It returns at once.
func (w *BudgetWatch) Extended() {
	wake(w.signal)
}

// Reached queues a report to the admins that a budget has no room. It returns at
// once.
func (w *BudgetWatch) Reached(over planner.Overdraft) {
	if over.Day == "" {
		return // a task's own budget: the presenter asks in the task's chat
	}
	w.mu.Lock()
	if !slices.ContainsFunc(w.reached, func(o planner.Overdraft) bool { return budgetKey(o) == budgetKey(over) }) {
		w.reached = append(w.reached, over)
	}
	w.mu.Unlock()
	w.Extended()
}

// takeReports returns the budgets that were reached since the last call.
func (w *BudgetWatch) takeReports() []planner.Overdraft {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.reached
	w.reached = nil
	return list
}

// putBack returns budgets to the queue that could not be reported.
func (w *BudgetWatch) putBack(list []planner.Overdraft) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reached = append(list, w.reached...)
}

// budgetsEvery is the time between two checks of the budgets when nothing happens:
// a new day or a new config may have made room.
const budgetsEvery = time.Minute

// Run checks the budgets until ctx ends.
func (w *BudgetWatch) Run(ctx context.Context) error {
	ticker := time.NewTicker(budgetsEvery)
	defer ticker.Stop()
	for {
		if err := w.Check(ctx); err != nil && ctx.Err() == nil {
			w.in.Log.WarnContext(ctx, "budgets not checked", "cause", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-w.signal:
		}
	}
}

// Check checks the budgets once.
func (w *BudgetWatch) Check(ctx context.Context) error {
	return errors.Join(renewTasks(ctx, w.in), w.report(ctx))
}

// renewTasks resumes the tasks whose budget has room again.
func renewTasks(ctx context.Context, in *inbox.Inbox) error {
	live, err := in.Store.Live(ctx, "")
	if err != nil {
		return fmt.Errorf("listing tasks: %w", err)
	}
	for _, l := range live {
		s, err := in.Store.State(ctx, l.Task)
		if err != nil || s.Budget == "" {
			continue // a damaged task does not wait
		}
		if err := renewTask(ctx, in, l, s.Overdraft); err != nil {
			return err
		}
	}
	return nil
}

func renewTask(ctx context.Context, in *inbox.Inbox, l tasks.Live, over planner.Overdraft) error {
	if over.Limit == 0 {
		return nil // the usage is unknown: people decide
	}
	rules := in.CurrentRules().Budget
	wants := llm.Usage{Cost: over.Wanted}
	if tasks.InTokens(over.Budget) {
		wants = llm.Usage{Input: int(over.Wanted)}
	}
	err := in.Store.Room(ctx, l.Task, tasks.Reservation{
		ID: tasks.ReservationID{Call: "room"}, Day: rules.Day(in.Wall()), User: l.From.Key(), Chat: l.Chat.Room(), Most: wants, Budgets: rules.Budgets,
	})
	if errors.Is(err, tasks.ErrBudget) || errors.Is(err, tasks.ErrNoTask) || errors.Is(err, tasks.ErrRefused) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("checking room in budget %s: %w", over.Budget, err)
	}
	err = tasks.AppendEvents(ctx, in.Store, in.Now, l.Task, planner.Event{Type: planner.BudgetRenewed, Budget: over.Budget})
	if tasks.Superseded(err) || errors.Is(err, tasks.ErrNoTask) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("resuming task %s: %w", l.Task, err)
	}
	in.Log.InfoContext(ctx, "budget renewed", "task", l.Task, "budget", over.Budget)
	return in.Wake(ctx, l.Task)
}

// nearPart is the used percentage of a day's budget from which admins are notified
// that it is nearly used up.
const nearPart = 80

// settingReportedBudgets is the setting with the budgets that were reported to the
// admins on a day.
const settingReportedBudgets = "budgets_reported"

// reportedBudgets is the value of that setting.
type reportedBudgets struct {
	Day  string   `json:"day"`
	Keys []string `json:"keys"`
}

// report notifies admins, once a day for each budget, that it is nearly used up,
// and once that it is reached.
func (w *BudgetWatch) report(ctx context.Context) error {
	in := w.in
	rules := in.CurrentRules().Budget
	today := rules.Day(in.Wall())
	spent, err := in.Store.Spent(ctx, tasks.SpentQuery{From: today, To: today})
	if err != nil {
		return fmt.Errorf("reading what was spent: %w", err)
	}
	extended, err := in.Store.Extended(ctx, today)
	if err != nil {
		return fmt.Errorf("reading by how much budgets were extended: %w", err)
	}
	var told reportedBudgets
	if err := in.Settings.Read(ctx, tasks.OwnerLegwork, settingReportedBudgets, &told); err != nil {
		return err
	}
	if told.Day != today {
		told = reportedBudgets{Day: today}
	}
	before := len(told.Keys)
	reached := told.fresh("reached", w.takeReports())
	near := told.fresh("near", nearBudgets(rules.Budgets, today, spent, extended))
	if len(told.Keys) == before {
		return nil
	}
	err = errors.Join(w.notify(ctx, true, reached), w.notify(ctx, false, near))
	if err == nil {
		err = in.Settings.Write(ctx, tasks.OwnerLegwork, settingReportedBudgets, told)
	}
	if err != nil {
		w.putBack(reached)
		return err
	}
	sendBudgetNotice(ctx, in, "admin.budget_reached", reached)
	sendBudgetNotice(ctx, in, "admin.budget_near", near)
	return nil
}

// notify passes budgets to the hook.
func (w *BudgetWatch) notify(ctx context.Context, reached bool, list []planner.Overdraft) error {
	if w.hook == nil || len(list) == 0 {
		return nil
	}
	if err := w.hook(ctx, reached, list); err != nil {
		return fmt.Errorf("reporting budgets: %w", err)
	}
	return nil
}

// fresh returns the budgets that were not reported today, and records them. It
// leaves out the warning that a budget is nearly used up if that budget was
// reported as reached.
func (t *reportedBudgets) fresh(what string, list []planner.Overdraft) []planner.Overdraft {
	var out []planner.Overdraft
	for _, over := range list {
		key := budgetKey(over)
		if over.Day != t.Day || slices.Contains(t.Keys, what+" "+key) || slices.Contains(t.Keys, "reached "+key) {
			continue
		}
		t.Keys = append(t.Keys, what+" "+key)
		out = append(out, over)
	}
	return out
}

// budgetKey identifies a budget by its name, day and owner.
func budgetKey(over planner.Overdraft) string {
	return strings.Join([]string{over.Budget, over.Day, over.Who}, " ")
}

// nearBudgets lists the budgets of a day that are nearly used up.
func nearBudgets(b tasks.Budgets, day string, spent []tasks.Spent, extended []tasks.Extended) []planner.Overdraft {
	var list []planner.Overdraft
	add := func(budget, who string, limit, used int64) {
		if limit > 0 && used >= limit/100*nearPart {
			list = append(list, planner.Overdraft{Budget: budget, Day: day, Who: who, Limit: limit, Spent: used})
		}
	}
	var all llm.Usage
	users, chats := tasks.NewUsageByName(), tasks.NewUsageByName()
	for _, s := range spent {
		all = all.Add(s.Usage)
		users.Add(s.User, s.Usage)
		chats.Add(s.Chat, s.Usage)
	}
	whole := b.ExtendedBy(extended, "", "")
	add(tasks.BudgetDayUSD, "", whole.DayUSD, all.Cost)
	add(tasks.BudgetDayTokens, "", whole.DayTokens, all.Tokens())
	for _, who := range users.Names {
		add(tasks.BudgetUserDayUSD, who, b.ExtendedBy(extended, who, "").UserDayUSD, users.Usage[who].Cost)
	}
	for _, who := range chats.Names {
		add(tasks.BudgetChatDayUSD, who, b.ExtendedBy(extended, "", who).ChatDayUSD, chats.Usage[who].Cost)
	}
	return list
}

// maxNoticeBudgets is the maximum number of budgets in one notice to the admins.
const maxNoticeBudgets = 10

// sendBudgetNotice reports budgets to the admins in one notice.
func sendBudgetNotice(ctx context.Context, in *inbox.Inbox, key string, list []planner.Overdraft) {
	if len(list) == 0 {
		return
	}
	more := max(0, len(list)-maxNoticeBudgets)
	list = list[:len(list)-more]
	text := func(lang string) string {
		lines := make([]string, 0, len(list)+1)
		for _, over := range list {
			lines = append(lines, in.Texts.Text(lang, "admin.budget_"+cards.ScopeOf(over.Budget), map[string]any{
				"Name": cards.InCode(over.Who), "Keys": "budget." + over.Budget,
				"Spent": cards.AmountText(in.Texts, lang, over.Budget, over.Spent), "Limit": cards.AmountText(in.Texts, lang, over.Budget, over.Limit),
			}))
		}
		if more > 0 {
			lines = append(lines, in.Texts.Text(lang, "board.more", map[string]any{"Count": more}))
		}
		return in.Texts.Text(lang, key, nil) + "\n\n" + strings.Join(lines, "\n")
	}
	in.NotifyAdminsWith(ctx, text)
}

// DayBudgets returns the state of today's budgets for all people together. It
// leaves out budgets without a limit.
func DayBudgets(ctx context.Context, in *inbox.Inbox) ([]telemetry.Budget, error) {
	rules := in.CurrentRules().Budget
	if rules.DayUSD <= 0 && rules.DayTokens <= 0 {
		return nil, nil
	}
	today := rules.Day(in.Wall())
	spent, err := in.Store.Spent(ctx, tasks.SpentQuery{From: today, To: today})
	if err != nil {
		return nil, fmt.Errorf("reading what was spent: %w", err)
	}
	extended, err := in.Store.Extended(ctx, today)
	if err != nil {
		return nil, fmt.Errorf("reading by how much budgets were extended: %w", err)
	}
	var used llm.Usage
	for _, s := range spent {
		used = used.Add(s.Usage)
	}
	whole := rules.ExtendedBy(extended, "", "")
	var list []telemetry.Budget
	if whole.DayUSD > 0 {
		list = append(list, telemetry.Budget{Name: tasks.BudgetDayUSD, Money: true, Limit: whole.DayUSD, Spent: used.Cost})
	}
	if whole.DayTokens > 0 {
		list = append(list, telemetry.Budget{Name: tasks.BudgetDayTokens, Limit: whole.DayTokens, Spent: used.Tokens()})
	}
	return list, nil
}
