package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
)

// budgetWatch knows which budgets to report to the admins.
type budgetWatch struct {
	bell    chan struct{} // rings when waiting tasks may go on
	mu      sync.Mutex
	reached []planner.Overdraft // not reported yet
}

func newBudgetWatch() *budgetWatch { return &budgetWatch{bell: make(chan struct{}, 1)} }

func (w *budgetWatch) ring() {
	select {
	case w.bell <- struct{}{}:
	default:
	}
}

// take returns what was reached since the last time.
func (w *budgetWatch) take() []planner.Overdraft {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.reached
	w.reached = nil
	return list
}

// again puts back the notices that could not be delivered.
func (w *budgetWatch) again(list []planner.Overdraft) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reached = append(list, w.reached...)
}

// BudgetReached notes that a budget has no room, so that admins are told. It
// returns at once.
func BudgetReached(_ context.Context, in *Inbox, over planner.Overdraft) {
	if over.Day == "" {
		return // a task's own: its chat is asked
	}
	in.budgets.mu.Lock()
	if !slices.ContainsFunc(in.budgets.reached, func(o planner.Overdraft) bool { return budgetKey(o) == budgetKey(over) }) {
		in.budgets.reached = append(in.budgets.reached, over)
	}
	in.budgets.mu.Unlock()
	in.budgets.ring()
}

// budgetsEvery is how often the budgets are looked at when nothing happens: a
// new day or another config may have made room.
const budgetsEvery = time.Minute

// WatchBudgets lets tasks go on whose budget has room again, and tells admins of
// budgets that are nearly used up or reached, until ctx ends.
func WatchBudgets(ctx context.Context, in *Inbox) error {
	ticker := time.NewTicker(budgetsEvery)
	defer ticker.Stop()
	for {
		if err := LookAtBudgets(ctx, in); err != nil && ctx.Err() == nil {
			in.Log.WarnContext(ctx, "the budgets could not be looked at", "cause", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-in.budgets.bell:
		}
	}
}

// LookAtBudgets does once what WatchBudgets does again and again.
func LookAtBudgets(ctx context.Context, in *Inbox) error {
	return errors.Join(renewTasks(ctx, in), reportBudgets(ctx, in))
}

// renewTasks lets the tasks go on that wait for a budget which has room again.
func renewTasks(ctx context.Context, in *Inbox) error {
	live, err := in.Store.Live(ctx, "")
	if err != nil {
		return fmt.Errorf("listing tasks: %w", err)
	}
	for _, l := range live {
		s, err := in.Store.State(ctx, l.Task)
		if err != nil || s.Budget == "" {
			continue // one that is damaged waits for nothing
		}
		if err := renewTask(ctx, in, l, s.Overdraft); err != nil {
			return err
		}
	}
	return nil
}

func renewTask(ctx context.Context, in *Inbox, l tasks.Live, over planner.Overdraft) error {
	if over.Limit == 0 {
		return nil // its use is not known: people decide
	}
	rules := in.rules.Load().Budget
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
		return fmt.Errorf("asking for room in the budget %s: %w", over.Budget, err)
	}
	err = tasks.AppendEvents(ctx, in.Store, in.Now, l.Task, planner.Event{Type: planner.BudgetRenewed, Budget: over.Budget})
	if tasks.Superseded(err) || errors.Is(err, tasks.ErrNoTask) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("letting task %s go on: %w", l.Task, err)
	}
	in.Log.InfoContext(ctx, "a budget has room again", "task", l.Task, "budget", over.Budget)
	return in.Wake(ctx, l.Task)
}

// nearPart of a day's budget is when admins are told that it is nearly used up,
// in per cent.
const nearPart = 80

// settingBudgetsTold lists the budgets that were reported to the admins on a
// day.
const settingBudgetsTold = "budgets_told"

// toldBudgets is the value of that setting.
type toldBudgets struct {
	Day  string   `json:"day"`
	Keys []string `json:"keys"`
}

// reportBudgets tells admins, once a day for each budget, that it is nearly used
// up, and once that it is reached.
func reportBudgets(ctx context.Context, in *Inbox) error {
	rules := in.rules.Load().Budget
	today := rules.Day(in.Wall())
	spent, err := in.Store.Spent(ctx, tasks.SpentQuery{From: today, To: today})
	if err != nil {
		return fmt.Errorf("reading what was spent: %w", err)
	}
	extended, err := in.Store.Extended(ctx, today)
	if err != nil {
		return fmt.Errorf("reading by how much budgets were extended: %w", err)
	}
	var told toldBudgets
	if err := in.read(ctx, tasks.OwnerLegwork, settingBudgetsTold, &told); err != nil {
		return err
	}
	if told.Day != today {
		told = toldBudgets{Day: today}
	}
	before := len(told.Keys)
	reached := told.fresh("reached", in.budgets.take())
	near := told.fresh("near", nearBudgets(rules.Budgets, today, spent, extended))
	if len(told.Keys) == before {
		return nil
	}
	err = errors.Join(notifyBudgetHooks(ctx, in, true, reached), notifyBudgetHooks(ctx, in, false, near))
	if err == nil {
		err = in.write(ctx, tasks.OwnerLegwork, settingBudgetsTold, told)
	}
	if err != nil {
		in.budgets.again(reached)
		return err
	}
	sendBudgetNotice(ctx, in, "admin.budget_reached", reached)
	sendBudgetNotice(ctx, in, "admin.budget_near", near)
	return nil
}

// notifyBudgetHooks lets programs hear of budgets.
func notifyBudgetHooks(ctx context.Context, in *Inbox, reached bool, list []planner.Overdraft) error {
	if in.Budgets == nil || len(list) == 0 {
		return nil
	}
	if err := in.Budgets(ctx, reached, list); err != nil {
		return fmt.Errorf("passing on how budgets stand: %w", err)
	}
	return nil
}

// fresh returns the budgets that were not reported today, and records them.
// For a reached budget, the warning that it is nearly used up is left out.
func (t *toldBudgets) fresh(what string, list []planner.Overdraft) []planner.Overdraft {
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

// budgetKey names a budget: whose and of which day.
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
	users, chats := newSums(), newSums()
	for _, s := range spent {
		all = all.Add(s.Usage)
		users.add(s.User, s.Usage)
		chats.add(s.Chat, s.Usage)
	}
	whole := b.ExtendedBy(extended, "", "")
	add(tasks.BudgetDayUSD, "", whole.DayUSD, all.Cost)
	add(tasks.BudgetDayTokens, "", whole.DayTokens, all.Tokens())
	for _, who := range users.names {
		add(tasks.BudgetUserDayUSD, who, b.ExtendedBy(extended, who, "").UserDayUSD, users.usage[who].Cost)
	}
	for _, who := range chats.names {
		add(tasks.BudgetChatDayUSD, who, b.ExtendedBy(extended, "", who).ChatDayUSD, chats.usage[who].Cost)
	}
	return list
}

// toldAtOnce is how many budgets one notice to the admins lists.
const toldAtOnce = 10

// sendBudgetNotice tells admins of budgets in one notice.
func sendBudgetNotice(ctx context.Context, in *Inbox, key string, list []planner.Overdraft) {
	if len(list) == 0 {
		return
	}
	more := max(0, len(list)-toldAtOnce)
	list = list[:len(list)-more]
	in.tellAdmins(ctx, func(lang string) string {
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
	})
}

// sums adds usages by name, in the order of the names' coming.
type sums struct {
	names []string
	usage map[string]llm.Usage
	calls map[string]int
}

func newSums() *sums { return &sums{usage: map[string]llm.Usage{}, calls: map[string]int{}} }

func (s *sums) add(name string, u llm.Usage) {
	if _, known := s.usage[name]; !known {
		s.names = append(s.names, name)
	}
	s.usage[name] = s.usage[name].Add(u)
	s.calls[name]++
}
