package conf

import "legwork/llm"

// The environment variables that FromEnv reads.
const (
	envKey   = "OPENAI_API_KEY"
	envURL   = "OPENAI_BASE_URL"
	envModel = "OPENAI_MODEL"
)

// defaultModel is asked for when the environment names none.
const defaultModel = "gpt-5-mini"

// FromEnv makes a config from environment variables alone: OPENAI_API_KEY,
// OPENAI_BASE_URL and OPENAI_MODEL give the one model, which plays every role;
// the tool groups are the built-in ones. env looks up a variable, as
// os.LookupEnv does. The error is an Errors that names variables.
func FromEnv(env func(string) (string, bool)) (*Config, error) {
	get := func(name string) string {
		value, _ := env(name)
		return value
	}
	key, url, model := get(envKey), get(envURL), get(envModel)
	if key == "" && url == "" {
		return nil, Errors{{File: "environment", Problem: "no model is configured; set " + envKey +
			", or " + envURL + " for any OpenAI-compatible endpoint (and " + envModel +
			"), or name a config file with --config; \"legwork demo\" needs none of them"}}
	}
	if model == "" {
		model = defaultModel
	}
	config := Default()
	config.LLM.Models = map[string]llm.ModelConfig{"main": {BaseURL: url, APIKey: key, Model: model}}
	config.Tools = builtinTools()

	variables := map[string]string{
		"models.main.api_key":  envKey,
		"models.main.base_url": envURL,
		"models.main.model":    envModel,
	}
	var errs Errors
	for _, i := range config.LLM.Validate() {
		key := i.Path
		if variable, ok := variables[key]; ok {
			key = variable
		}
		errs = append(errs, Error{File: "environment", Key: key, Problem: i.Problem})
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return config, nil
}
