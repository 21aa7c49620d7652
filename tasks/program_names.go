package tasks

import (
	"legwork/bot"
)

// PlatformAPI is the platform of the chats of tasks that programs start. Each such
// task has its own chat, in the room of the program. PlatformAgent is the platform
// of outside agents as persons.
const (
	PlatformAPI   = "api"
	PlatformAgent = "agent"
)

// OfProgram reports whether a person is a program or an outside agent.
func OfProgram(p bot.Person) bool { return p.Platform == PlatformAPI || p.Platform == PlatformAgent }
