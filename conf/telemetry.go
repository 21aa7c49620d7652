package conf

import (
	"net/url"
	"strings"
)

// Telemetry says who is told of what legwork does, step by step. Metrics are at
// /metrics of http.listen, whatever stands here.
type Telemetry struct {
	// OTLPEndpoint is the base address of an OpenTelemetry receiver such as a collector, Jaeger or Tempo: traces go to /v1/traces below it, by HTTP. Default: OTEL_EXPORTER_OTLP_ENDPOINT; with neither there are no traces.
	OTLPEndpoint string `yaml:"otlp_endpoint,omitempty" jsonschema:"example=http://localhost:4318"`
	// OTLPHeaders go with every request to it, such as a key. Default: OTEL_EXPORTER_OTLP_HEADERS.
	OTLPHeaders map[string]string `yaml:"otlp_headers,omitempty"`
	// Sample is the part of the traces that is kept, from 0 to 1. What a program asks for that is traced itself is kept as the program wants it.
	Sample float64 `yaml:"sample" jsonschema:"minimum=0,maximum=1"`
}

// The variables that OpenTelemetry has for all programs.
const (
	envOTLP        = "OTEL_EXPORTER_OTLP_ENDPOINT"
	envOTLPHeaders = "OTEL_EXPORTER_OTLP_HEADERS"
)

// fromEnv fills in what is not written down. Headers are there for the address
// beside which they stand.
func (t *Telemetry) fromEnv(get func(string) string) {
	if t.OTLPEndpoint != "" {
		return
	}
	t.OTLPEndpoint = get(envOTLP)
	for pair := range strings.SplitSeq(get(envOTLPHeaders), ",") {
		name, value, found := strings.Cut(strings.TrimSpace(pair), "=")
		if decoded, err := url.PathUnescape(value); err == nil {
			value = decoded
		}
		if !found || t.OTLPHeaders[name] != "" {
			continue
		}
		if t.OTLPHeaders == nil {
			t.OTLPHeaders = map[string]string{}
		}
		t.OTLPHeaders[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
}

func (t *Telemetry) validate(l *issues) {
	if u, err := url.Parse(t.OTLPEndpoint); t.OTLPEndpoint != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		l.add("telemetry.otlp_endpoint", "must be an address such as http://localhost:4318")
	}
	if t.Sample < 0 || t.Sample > 1 {
		l.add("telemetry.sample", "must be from 0 to 1")
	}
}
