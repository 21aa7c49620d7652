package form

import (
	"encoding/json"
	"regexp"
	"strings"
)

// Secret is the name of the first field that asks for a password, a key or a code;
// empty: there is none. The answer to such a form would stay in the chat.
func (q Question) Secret() string {
	for _, f := range q.Fields {
		if f.secret() {
			return f.Name
		}
	}
	return ""
}

func (f Field) secret() bool {
	var schema struct {
		Type      string `json:"type"`
		Format    string `json:"format"`
		WriteOnly bool   `json:"writeOnly"`
	}
	_ = json.Unmarshal(f.Schema, &schema)
	switch {
	case len(f.Choices) > 0 || schema.Type == "boolean":
		return false // it takes nothing that the server does not know
	case schema.Format == "password" || schema.WriteOnly:
		return true
	}
	return namesSecret(f.Name) || namesSecret(f.Title)
}

var (
	camelCase = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)

	// Endings and whole words of names, and parts of names in other languages.
	secretWord = regexp.MustCompile(`(?:^|[^a-z])(?:\w*(?:password|passwd|passphrase|passcode|pincode|secret|token|apikey|credentials?)[0-9]*|pwd|pin|otp|totp|cvv|cvc|(?:api|access|private|secret|signing|encryption|ssh|auth) key)(?:$|[^a-z])` +
		`|парол|токен|секрет|пин-?код|密码|密碼|口令|验证码|驗證碼|令牌|密钥|密鑰`)
	code      = regexp.MustCompile(`(?:^|[^a-z])code(?:$|[^a-z])|(?:^|[^а-я])код(?:$|[^а-я])`)
	otherCode = regexp.MustCompile(`(?:zip|postal|post|country|area|region|currency|language|lang|airport|product|status|error|source) code`)
)

// namesSecret reports that a field of this name or title asks for a secret: "apiKey",
// "access_token", "PIN code". Codes of countries and the like are none.
func namesSecret(name string) bool {
	name = strings.ToLower(camelCase.ReplaceAllString(name, "$1$3 $2$4"))
	name = strings.Join(strings.FieldsFunc(name, func(c rune) bool { return strings.ContainsRune("_-. \t\n", c) }), " ")
	return secretWord.MatchString(name) || code.MatchString(name) && !otherCode.MatchString(name)
}
