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
	tokens, media, cost   counter
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

// newFamilies registers the metrics. Bounds of histograms are in seconds, except
// those of batch.
func newFamilies(r registry) families {
	commit := []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}
	request := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
	call := []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300}
	work := []float64{.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 3600, 21600, 86400}
	changes := []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096}
	return families{
		opened:        r.counter("legwork_tasks_opened_total", "Tasks that were opened, by the platform they came from.", "platform"),
		finished:      r.counter("legwork_tasks_finished_total", "Tasks that are over, by how they ended.", "platform", "outcome"),
		taskTime:      r.histogram("legwork_task_duration_seconds", "From the opening of a task to its end, waiting for people included.", work, "outcome"),
		slotWait:      r.histogram("legwork_task_slot_wait_seconds", "How long tasks with work to do waited for one of the slots of limits.concurrent_tasks.", call),
		subtasks:      r.counter("legwork_subtasks_total", "Sub-tasks that ended, by tool group and outcome.", "group", "outcome"),
		subtaskTime:   r.histogram("legwork_subtask_duration_seconds", "From the first call of a sub-task to its end.", work, "group"),
		approvals:     r.counter("legwork_approvals_total", "Questions to people that were decided, by what was decided.", "decision"),
		modelCalls:    r.counter("legwork_model_calls_total", "Calls of language models, each with all its attempts, by the model that answered or failed last.", "model", "role", "outcome"),
		modelTime:     r.histogram("legwork_model_call_duration_seconds", "Duration of calls of language models, with all attempts.", call, "model", "role"),
		firstToken:    r.histogram("legwork_model_first_token_seconds", "From the request of an attempt to the first piece of its reply.", call, "model"),
		attempts:      r.counter("legwork_model_attempts_total", "Single requests to models' endpoints.", "model", "outcome"),
		tokens:        r.counter("legwork_model_tokens_total", "Tokens that were used, of failed calls too. Those of the kind cached_input are part of input.", "model", "kind"),
		media:         r.counter("legwork_model_media_total", "Pictures that were made, seconds of audio that were heard, and characters that were spoken.", "model", "kind"),
		cost:          r.counter("legwork_model_cost_usd_total", "Money that was spent on models whose price is in the config.", "model"),
		toolCalls:     r.counter("legwork_tool_calls_total", "Tool calls, by server, tool and outcome.", "server", "tool", "outcome"),
		toolTime:      r.histogram("legwork_tool_call_duration_seconds", "Duration of tool calls.", call, "server"),
		messages:      r.counter("legwork_platform_messages_total", "Messages that came from platforms, presses of buttons included.", "platform"),
		platformCalls: r.counter("legwork_platform_calls_total", "Requests to platforms.", "platform", "method", "outcome"),
		platformTime:  r.histogram("legwork_platform_call_duration_seconds", "Duration of requests to platforms.", call, "platform"),
		paceWait:      r.histogram("legwork_platform_pace_wait_seconds", "How long requests waited so that the platform's limits were kept.", call, "platform"),
		frames:        r.counter("legwork_platform_frames_skipped_total", "Frames of growing messages that were left out because their turn had not come.", "platform"),
		webhooks:      r.counter("legwork_webhook_deliveries_total", "Tries to deliver to outgoing webhooks.", "webhook", "outcome"),
		spans:         r.counter("legwork_trace_spans_total", "Spans of traces, by whether they could be handed on.", "outcome"),
		commitTime:    r.histogram("legwork_store_commit_duration_seconds", "Duration of transactions of the store until they were durable.", commit),
		batch:         r.histogram("legwork_store_commit_changes", "How many callers shared one transaction.", changes),
		commitErrors:  r.counter("legwork_store_commit_errors_total", "Transactions that could not be committed."),
		events:        r.counter("legwork_store_events_total", "Events that were stored, by type.", "type"),
		requests:      r.counter("legwork_http_requests_total", "HTTP requests that were answered.", "route", "method", "status"),
		requestTime:   r.histogram("legwork_http_request_duration_seconds", "Duration of HTTP requests, event streams left out.", request, "route", "method"),
		followers:     r.gauge("legwork_event_followers", "Open event streams."),
		reloads:       r.counter("legwork_config_reloads_total", "Reloads of the config.", "outcome"),
		reloaded:      r.gauge("legwork_config_reload_timestamp_seconds", "When the config in use was read, in Unix time."),
		reloadOK:      r.gauge("legwork_config_reload_successful", "1 unless the newest config has mistakes, so that the one before is still in use."),
		build:         r.gauge("legwork_build_info", "Always 1; the labels say what is running.", "version", "commit", "go_version"),
	}
}
