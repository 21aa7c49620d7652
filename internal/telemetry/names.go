package telemetry

// families are all metrics that are counted as things happen. Their names and those
// of the gauges are promises to dashboards and alerts.
type families struct {
	opened, finished      counter
	taskTime, slotWait    histogram
	subtasks              counter
	subtaskTime           histogram
	approvals             counter
	modelCalls            counter
	modelTime, firstToken histogram
	attempts              counter
	tokens, cost          counter
	toolCalls             counter
	toolTime              histogram
	messages              counter
	platformCalls         counter
	platformTime          histogram
	paceWait              histogram
	frames                counter
	commitTime, batch     histogram
	events, commitErrors  counter
	requests              counter
	requestTime           histogram
	webhooks              counter
	reloads               counter
	spans                 counter

	build, followers, reloaded, reloadOK gauge
}

// gauges are all metrics that are read at a scrape. A gauge that could not be
// read is missing, so that an old value is not taken for a new one.
type gauges struct {
	tasks, oldestTask                  gauge
	approvalsWaiting, oldestApproval   gauge
	deliveriesWaiting, oldestDelivery  gauge
	modelUp, serverUp, partUp          gauge
	ready, paused                      gauge
	budgetLimit, budgetSpent           gauge
	tokenLimit, tokensSpent, storeSize gauge
}

// Bounds of histograms, in seconds unless something else is said.
func commitBounds() []float64 {
	return []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}
}

func requestBounds() []float64 {
	return []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
}

func callBounds() []float64 {
	return []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300}
}

func workBounds() []float64 {
	return []float64{.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 3600, 21600, 86400}
}

func batchBounds() []float64 { return []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096} }

func newFamilies(r registry) families {
	var f families
	f.addTasks(r)
	f.addCalls(r)
	f.addProcess(r)
	return f
}

// addTasks adds metrics about tasks.
func (f *families) addTasks(r registry) {
	f.opened = r.counter("legwork_tasks_opened_total", "Tasks that were opened, by the platform they came from.", "platform")
	f.finished = r.counter("legwork_tasks_finished_total", "Tasks that are over, by how they ended.", "platform", "outcome")
	f.taskTime = r.histogram("legwork_task_duration_seconds", "From the opening of a task to its end, waiting for people included.", workBounds(), "outcome")
	f.slotWait = r.histogram("legwork_task_slot_wait_seconds", "How long tasks with work to do waited for one of the slots of limits.concurrent_tasks.", callBounds())
	f.subtasks = r.counter("legwork_subtasks_total", "Sub-tasks that ended, by tool group and outcome.", "group", "outcome")
	f.subtaskTime = r.histogram("legwork_subtask_duration_seconds", "From the first call of a sub-task to its end.", workBounds(), "group")
	f.approvals = r.counter("legwork_approvals_total", "Questions to people that were decided, by what was decided.", "decision")
}

// addCalls adds metrics about the calls that legwork makes.
func (f *families) addCalls(r registry) {
	f.modelCalls = r.counter("legwork_model_calls_total", "Calls of language models, each with all its attempts, by the model that answered or failed last.", "model", "role", "outcome")
	f.modelTime = r.histogram("legwork_model_call_duration_seconds", "Duration of calls of language models, with all attempts.", callBounds(), "model", "role")
	f.firstToken = r.histogram("legwork_model_first_token_seconds", "From the request of an attempt to the first piece of its reply.", callBounds(), "model")
	f.attempts = r.counter("legwork_model_attempts_total", "Single requests to models' endpoints.", "model", "outcome")
	f.tokens = r.counter("legwork_model_tokens_total", "Tokens that were used, of failed calls too. Those of the kind cached_input are part of input.", "model", "kind")
	f.cost = r.counter("legwork_model_cost_usd_total", "Money that was spent on models whose price is in the config.", "model")
	f.toolCalls = r.counter("legwork_tool_calls_total", "Tool calls, by server, tool and outcome.", "server", "tool", "outcome")
	f.toolTime = r.histogram("legwork_tool_call_duration_seconds", "Duration of tool calls.", callBounds(), "server")
	f.messages = r.counter("legwork_platform_messages_total", "Messages that came from platforms, presses of buttons included.", "platform")
	f.platformCalls = r.counter("legwork_platform_calls_total", "Requests to platforms.", "platform", "method", "outcome")
	f.platformTime = r.histogram("legwork_platform_call_duration_seconds", "Duration of requests to platforms.", callBounds(), "platform")
	f.paceWait = r.histogram("legwork_platform_pace_wait_seconds", "How long requests waited so that the platform's limits were kept.", callBounds(), "platform")
	f.frames = r.counter("legwork_platform_frames_skipped_total", "Frames of growing messages that were left out because their turn had not come.", "platform")
	f.webhooks = r.counter("legwork_webhook_deliveries_total", "Tries to deliver to outgoing webhooks.", "webhook", "outcome")
	f.spans = r.counter("legwork_trace_spans_total", "Spans of traces, by whether they could be handed on.", "outcome")
}

// addProcess adds metrics about legwork itself.
func (f *families) addProcess(r registry) {
	f.commitTime = r.histogram("legwork_store_commit_duration_seconds", "Duration of transactions of the store until they were durable.", commitBounds())
	f.batch = r.histogram("legwork_store_commit_changes", "How many callers shared one transaction.", batchBounds())
	f.commitErrors = r.counter("legwork_store_commit_errors_total", "Transactions that could not be committed.")
	f.events = r.counter("legwork_store_events_total", "Events that were stored, by type.", "type")
	f.requests = r.counter("legwork_http_requests_total", "HTTP requests that were answered.", "route", "method", "status")
	f.requestTime = r.histogram("legwork_http_request_duration_seconds", "Duration of HTTP requests, event streams left out.", requestBounds(), "route", "method")
	f.followers = r.gauge("legwork_event_followers", "Open event streams.")
	f.reloads = r.counter("legwork_config_reloads_total", "Reloads of the config.", "outcome")
	f.reloaded = r.gauge("legwork_config_reload_timestamp_seconds", "When the config in use was read, in Unix time.")
	f.reloadOK = r.gauge("legwork_config_reload_successful", "1 unless the newest config has mistakes, so that the one before is still in use.")
	f.build = r.gauge("legwork_build_info", "Always 1; the labels say what is running.", "version", "commit", "go_version")
}

func newGauges(r registry) gauges {
	return gauges{
		tasks:             r.gauge("legwork_tasks", "Tasks in the store, by state.", "state"),
		oldestTask:        r.gauge("legwork_queue_oldest_seconds", "For how long the first of the tasks that wait for room or for a slot has been waiting."),
		approvalsWaiting:  r.gauge("legwork_approvals_waiting", "Tasks that wait for a person."),
		oldestApproval:    r.gauge("legwork_approvals_oldest_seconds", "For how long the first of the tasks that wait for a person has been waiting."),
		budgetLimit:       r.gauge("legwork_budget_limit_usd", "The money that may be spent today, extensions included.", "budget"),
		budgetSpent:       r.gauge("legwork_budget_spent_usd", "The money that was spent today.", "budget"),
		tokenLimit:        r.gauge("legwork_budget_limit_tokens", "The tokens that may be used today, extensions included.", "budget"),
		tokensSpent:       r.gauge("legwork_budget_spent_tokens", "The tokens that were used today.", "budget"),
		modelUp:           r.gauge("legwork_model_up", "1 unless the model's endpoint failed so often that it is left alone.", "model"),
		serverUp:          r.gauge("legwork_tool_server_up", "1 while the tool server can be called.", "server"),
		deliveriesWaiting: r.gauge("legwork_deliveries_waiting", "Deliveries to outgoing webhooks whose time has come."),
		oldestDelivery:    r.gauge("legwork_deliveries_oldest_seconds", "For how long the first of them has been queued."),
		storeSize:         r.gauge("legwork_store_size_bytes", "Size of the data file."),
		partUp:            r.gauge("legwork_part_up", "1 while the part of the process works without trouble.", "part"),
		ready:             r.gauge("legwork_ready", "1 while legwork can hear and keep what people want, as /readyz tells."),
		paused:            r.gauge("legwork_paused", "1 while everything is paused."),
	}
}
