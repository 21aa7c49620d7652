package conf_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"legwork/conf"
)

// TestTelemetry: what is written down counts, then the variables that all
// programs know; headers stay beside the address that they are for.
func TestTelemetry(t *testing.T) {
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318", "OTEL_EXPORTER_OTLP_HEADERS": "x-key=very%20secret, b=2"}
	for _, c := range []struct {
		name, text string
		env        map[string]string
		want       conf.Telemetry
	}{
		{"nothing", "", nil, conf.Telemetry{Sample: 1}},
		{"the environment", "telemetry: {sample: 0.5}\n", env, conf.Telemetry{
			OTLPEndpoint: "http://collector:4318", OTLPHeaders: map[string]string{"x-key": "very secret", "b": "2"}, Sample: 0.5,
		}},
		{"the file", "telemetry: {otlp_endpoint: 'https://t.example.com', otlp_headers: {k: long-enough-value}}\n", env, conf.Telemetry{
			OTLPEndpoint: "https://t.example.com", OTLPHeaders: map[string]string{"k": "long-enough-value"}, Sample: 1,
		}},
	} {
		config, err := conf.Load(write(t, minimal+c.text), variables(c.env))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, config.Telemetry); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		for _, header := range c.want.OTLPHeaders {
			if !slices.Contains(config.Secrets(), header) {
				t.Errorf("%s: the header %q is not among the secrets", c.name, header)
			}
		}
	}
}
