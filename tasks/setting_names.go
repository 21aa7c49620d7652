package tasks

import "strings"

// The names of a person's settings in the store. Settings of legwork itself belong
// to OwnerLegwork.
const (
	SettingLanguage         = "language"
	SettingPlatformLanguage = "spoken" // of admins: the language that their platform reports, for notices to them
	SettingTimezone         = "timezone"
	SettingModel            = "model"
	SettingAccess           = "access" // the decision of admins about the person: JSON

	OwnerLegwork          = "legwork"
	SettingAdmins         = "admins"          // JSON list of the admins that are not in the config
	SettingAccessRequests = "access_requests" // JSON list of people without access who wrote lately
)

// SettingFormerID is the id that the platform used before for a group; the config
// may still use it. The setting belongs to the group's key.
const SettingFormerID = "was"

// SettingPrompt is the prefix of a chat's setting for a prompt that a person is
// filling in; the person's key follows.
const SettingPrompt = "prompt "

// SettingSecret is the prefix of a chat's setting for a secret that a person is asked for;
// the person's key follows. It does not hold the secret.
const SettingSecret = "secret "

// ConversationSetting reports whether a setting belongs to the current conversation,
// so that it is deleted when the conversation is forgotten.
func ConversationSetting(name string) bool {
	return strings.HasPrefix(name, SettingPrompt) || strings.HasPrefix(name, SettingSecret)
}
