package tasks

import (
	"legwork/bot"
)

// PlatformAPI is the platform of the chats of tasks that programs start: each
// has one of its own, in the room of the program. PlatformAgent is that of the
// persons that outside agents are.
const (
	PlatformAPI   = "api"
	PlatformAgent = "agent"
)

// OfProgram reports that somebody is a program, or an agent from outside.
func OfProgram(p bot.Person) bool { return p.Platform == PlatformAPI || p.Platform == PlatformAgent }
