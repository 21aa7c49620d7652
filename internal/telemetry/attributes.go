package telemetry

// Names of attributes of spans, as in OpenTelemetry's semantic conventions for
// generative AI, HTTP and errors (https://opentelemetry.io/docs/specs/semconv/);
// names with "legwork." are ours.
const (
	Operation    = "gen_ai.operation.name"
	Provider     = "gen_ai.provider.name"
	Model        = "gen_ai.request.model"
	ModelUsed    = "gen_ai.response.model"
	MaxTokens    = "gen_ai.request.max_tokens"
	InputTokens  = "gen_ai.usage.input_tokens"
	CachedTokens = "gen_ai.usage.cache_read.input_tokens"
	OutputTokens = "gen_ai.usage.output_tokens"
	ToolName     = "gen_ai.tool.name"
	ErrorType    = "error.type"

	ServerAddress = "server.address"
	ServerPort    = "server.port"

	Method     = "http.request.method"
	Route      = "http.route"
	StatusCode = "http.response.status_code"

	TaskID      = "legwork.task.id"
	ActionID    = "legwork.action.id"
	RoleKey     = "legwork.role"
	GroupKey    = "legwork.group"
	SubtaskID   = "legwork.subtask.id"
	PlatformKey = "legwork.platform"
	ChatPrivate = "legwork.chat.private"
	OutcomeKey  = "legwork.outcome"
	Rounds      = "legwork.rounds"
	Attempts    = "legwork.attempts"
	EventsKey   = "legwork.events"
	Subtasks    = "legwork.subtasks"
)

// The operations of gen_ai.operation.name.
const (
	Chat        = "chat"
	ExecuteTool = "execute_tool"
	InvokeAgent = "invoke_agent"
)
