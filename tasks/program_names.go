package tasks

import (
	"legwork/bot"
)

// PlatformAPI is the platform of the chats of tasks that programs start. Each such
// task has its own chat, in the room of the program. PlatformAgent is the platform
// of outside agents as persons. PlatformWeb is the platform of the web chat, and of
// people who signed in with a token or by OIDC.
const (
	PlatformAPI   = "api"
	PlatformAgent = "agent"
	PlatformWeb   = "web"
)

// ProgramRoom is the chat around the tasks that a caller of the API starts there. The
// room of a token has its name as the id. A person's id in it has a colon, which names
// of tokens do not have.
func ProgramRoom(from bot.Person) bot.Chat {
	if OfProgram(from) {
		return bot.Chat{Platform: PlatformAPI, ID: from.ID, Private: true}
	}
	return bot.Chat{Platform: PlatformAPI, ID: from.Key(), Private: true}
}

// OfProgram reports whether a person is a program or an outside agent.
func OfProgram(p bot.Person) bool { return p.Platform == PlatformAPI || p.Platform == PlatformAgent }
