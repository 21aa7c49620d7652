package tasks

import "strings"

// The keys of a person's settings in the store; settings of legwork itself
// belong to ownerLegwork.
const (
	SettingLanguage         = "language"
	SettingPlatformLanguage = "spoken" // of admins: the language that their platform tells, for what reaches them unasked
	SettingTimezone         = "timezone"
	SettingModel            = "model"
	SettingAccess           = "access" // what admins decided about the person: grant as JSON

	OwnerLegwork          = "legwork"
	SettingAdmins         = "admins"          // JSON list of the admins that the config does not name
	SettingAccessRequests = "access_requests" // people without access who wrote lately: JSON list
)

// SettingFormerID is the platform's id that a group had before, by which the config
// may name it. It belongs to the group's key.
const SettingFormerID = "was"

// SettingPrompt begins the name of a chat's setting that holds the pending prompt
// of the person whose key follows.
const SettingPrompt = "prompt "

// ConversationSetting reports that a setting of a conversation is about what is being
// said in it, and goes when that is forgotten.
func ConversationSetting(name string) bool { return strings.HasPrefix(name, SettingPrompt) }
