package slackfake

import "strings"

// method says what a method of the Web API takes, after its reference page.
type method struct {
	app      bool // it wants the app token, not the bot token
	json     bool // it takes JSON besides forms
	args     map[string]kind
	required []string
	run      func(*Server, call) (answer, *refusal)
}

// answer are the fields besides ok.
type answer map[string]any

// arguments reads "name name:kind ...", required ones with a star.
func arguments(list string) (map[string]kind, []string) {
	kinds := map[string]kind{"ts": aTS, "bool": aBool, "int": anInt, "array": anArray, "object": anObject, "blocks": aBlocks, "list": aList}
	args, required := map[string]kind{}, []string(nil)
	for field := range strings.FieldsSeq(list) {
		field, star := strings.CutSuffix(field, "*")
		name, of, typed := strings.Cut(field, ":")
		args[name] = aString
		if typed {
			args[name] = kinds[of]
		}
		if star {
			required = append(required, name)
		}
	}
	return args, required
}

// Arguments that many methods share. Slack lists unfurl_links and unfurl_media
// for chat.postMessage alone and passes over them elsewhere; libraries send
// them with everything, so that they are let through.
const (
	content  = " text blocks:blocks attachments:array markdown_text metadata:object link_names:bool parse unfurl_links:bool unfurl_media:bool mrkdwn:bool as_user:bool"
	guise    = " username icon_url icon_emoji"
	streamed = " markdown_text chunks:array unfurl_links:bool unfurl_media:bool"
	paged    = " cursor limit:int latest:ts oldest:ts inclusive:bool include_all_metadata:bool"
)

func methods() map[string]method {
	table := map[string]method{}
	form := func(name, list string, run func(*Server, call) (answer, *refusal)) {
		args, required := arguments(list)
		table[name] = method{args: args, required: required, run: run}
	}
	both := func(name, list string, run func(*Server, call) (answer, *refusal)) {
		form(name, list, run)
		m := table[name]
		m.json = true
		table[name] = m
	}
	both("auth.test", "", (*Server).authTest)
	both("apps.connections.open", "", (*Server).openConnection)
	both("chat.postMessage", "channel* thread_ts:ts reply_broadcast:bool"+content+guise, (*Server).postMessage)
	both("chat.postEphemeral", "channel* user* thread_ts:ts"+content+guise, (*Server).postEphemeral)
	both("chat.update", "channel* ts:ts* reply_broadcast:bool file_ids:array"+content, (*Server).update)
	both("chat.delete", "channel* ts:ts* as_user:bool", (*Server).remove)
	both("chat.startStream", "channel* thread_ts:ts recipient_user_id recipient_team_id task_display_mode"+streamed+guise, (*Server).startStream)
	both("chat.appendStream", "channel* ts:ts*"+streamed, (*Server).appendStream)
	both("chat.stopStream", "channel* ts:ts* blocks:blocks metadata:object session_status"+streamed, (*Server).stopStream)
	both("assistant.threads.setStatus", "channel_id* thread_ts:ts* status loading_messages:list"+guise, (*Server).setThreadStatus)
	both("agents.sessions.setStatus", "status* channel_id thread_ts:ts title initiator_user_id"+guise, (*Server).setSessionStatus)
	both("agents.sessions.rename", "title* channel_id thread_ts:ts", (*Server).renameSession)
	both("conversations.open", "channel users:list return_im:bool prevent_creation:bool", (*Server).openDirect)
	form("conversations.info", "channel* include_locale:bool include_num_members:bool", (*Server).channelInfo)
	form("conversations.history", "channel*"+paged, (*Server).history)
	form("conversations.replies", "channel* ts:ts*"+paged, (*Server).replies)
	form("users.info", "user* include_locale:bool", (*Server).userInfo)
	form("team.info", "team domain", (*Server).teamInfo)
	both("reactions.add", "channel* name* timestamp:ts*", (*Server).react)
	both("reactions.remove", "channel* name* timestamp:ts*", (*Server).unreact)
	both("files.getUploadURLExternal", "filename* length:int* alt_txt snippet_type", scoped((*Server).askUpload))
	both("files.completeUploadExternal", "files:array* channel_id channels thread_ts:ts initial_comment blocks:blocks", scoped((*Server).completeUpload))
	open := table["apps.connections.open"]
	open.app = true
	table["apps.connections.open"] = open
	return table
}
