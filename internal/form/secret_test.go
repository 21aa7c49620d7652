package form_test

import (
	"encoding/json"
	"testing"

	"legwork/internal/form"
)

func TestSecret(t *testing.T) {
	for name, want := range map[string]bool{
		"password": true, "code": true, "pin": true, "token": true, "secret": true, "apiKey": true, "API_KEY": true, "access_token": true, "accessToken": true, "passwd": true, "PIN code": true,
		"PINCode": true, "userPassword": true, "new-password2": true, "clientSecret": true, "one.time.code": true, "verification_code": true, "ssh key": true, "credentials": true, "OTP": true, "CVC": true,
		"Пароль": true, "Ваш код": true, "密码": true, "短信验证码": true,
		"name": false, "city": false, "max_tokens": false, "secretary": false, "country_code": false, "zipCode": false, "Postal code": false, "pinned": false, "shopping": false, "key": false,
		"monkey": false, "decode": false, "encoding": false, "passenger": false, "compass": false, "opinion": false, "Кодекс": false,
	} {
		for _, q := range []form.Question{{Fields: []form.Field{{Name: "n"}, {Name: name}}}, {Fields: []form.Field{{Name: "f", Title: name}}}} {
			if got := q.Secret() != ""; got != want {
				t.Errorf("%q: asks for a secret %v, want %v", name, got, want)
			}
		}
	}
	for schema, want := range map[string]bool{
		`{"type":"string","format":"password"}`: true, `{"type":"string","writeOnly":true}`: true, `{"type":"string"}`: false,
	} {
		q := form.Question{Fields: []form.Field{{Name: "value", Schema: json.RawMessage(schema)}}}
		if got := q.Secret() != ""; got != want {
			t.Errorf("%s: asks for a secret %v, want %v", schema, got, want)
		}
	}
	q := form.Question{Fields: []form.Field{{Name: "token", Schema: json.RawMessage(`{"type":"boolean"}`)}, {Name: "code", Choices: []form.Choice{{Label: "a"}}}}}
	if got := q.Secret(); got != "" {
		t.Errorf("%q takes only what the server knows", got)
	}
}
