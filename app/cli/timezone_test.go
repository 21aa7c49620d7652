package cli_test

import (
	"testing"

	"legwork/app/cli"
)

// TestTimezoneWithoutAFile: people who set no time zone have that of the environment.
func TestTimezoneWithoutAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	env := map[string]string{"OPENAI_API_KEY": "key", "TZ": ":Asia/Kathmandu"}
	config, _, err := cli.Console{Env: func(name string) (string, bool) { value, ok := env[name]; return value, ok }}.LoadConfig("")
	if err != nil || config.Timezone != "Asia/Kathmandu" {
		t.Errorf("got %+v and error %v, want the time zone Asia/Kathmandu", config, err)
	}
}
