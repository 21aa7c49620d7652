package lenient

import (
	"regexp"
	"slices"
	"strings"
)

// The marks of models and servers, by the templates of their makers:
//
//	<tool_call>              Hermes, Qwen, Granite, GLM; <|tool_call|> Phi-4, Granite
//	[TOOL_CALLS] [ARGS]      Mistral
//	<|python_tag|>           Llama 3
//	<function=NAME>          Llama 3, Functionary, Qwen3-Coder; <invoke name="NAME"> MiniMax and others
//	<｜tool▁call▁begin｜>      DeepSeek
//	>>>NAME                  Functionary 3.2; <|recipient|>NAME<|content|> its version 2
//	to=functions.NAME        gpt-oss
//	<|tool_call_begin|>      Kimi K2; <|tool_call_start|> LFM2
//	Action: NAME             agents of the form ReAct; <|START_ACTION|> Command R7B
//	functools[…]             Phi-4-mini
//	```tool_code             Gemma 3; <start_function_call>call:NAME FunctionGemma;
//	                         <|tool_call>call:NAME Gemma 4
var (
	marks = regexp.MustCompile(`<[/|]{0,2}(?:tool_calls?|(?:start_|end_)?function_calls?|tool_code)[/|]?>|<｜[^｜<>\n]{1,40}｜>|<\|/?[A-Za-z_]{2,40}\|>` +
		`|\[/?TOOL_CALLS\]|\[ARGS\]|</?(?:function|invoke|parameter)(?:[= ][^<>\n]{0,80})?>|\bfunctools$`)
	// stray is a mark at the beginning of a line that models put only around calls.
	stray = regexp.MustCompile("^(?:<\\|?tool_calls?(?:_section_begin|_begin|_start)?\\|?>|<｜tool▁calls?▁begin｜>|\\[TOOL_CALLS\\]|<function(?:=| name=)|<invoke name=|<\\|python_tag\\|>|<\\|START_ACTION\\|>|<\\|channel\\|>\\w+ to=|<start_function_call|&lt;tool_call|```tool_c)")

	// signs are what some models write for quotes and before the names of elements:
	// FunctionGemma, Gemma 4, DeepSeek V3.2.
	signs = strings.NewReplacer("<escape>", `"`, `<|"|>`, `"`, "｜DSML｜", "")

	emptyBlock = regexp.MustCompile("```[a-z_]*\\s*```|^```[a-z_]*\\s*$")
)

// The marks that a growing text may show first: those that end thinking or begin calls.
// Those of the second list begin a line. MarkAt has the first letters of all.
var (
	growingMarks     = []string{"</think", "<tool_call", "<tool_use", "&lt;tool_call", "<|", "<｜", "<function", "<start_function", "<invoke", "[TOOL_CALLS]", "```tool_c"}
	growingLineMarks = []string{">>>", "functools[", "Action:", "Tool:"}
)

// MarkAt reports that a mark which ends thinking, or begins calls, stands at a place of
// a growing text or may still come there. A quoted mark is a word of an answer.
func MarkAt(text string, at int) bool {
	begins := func(marks []string) bool {
		return slices.ContainsFunc(marks, func(mark string) bool {
			rest := text[at:]
			return strings.HasPrefix(rest, mark) || strings.HasPrefix(mark, rest) && strings.Trim(rest, "`") != ""
		})
	}
	switch {
	case strings.IndexByte("<[`>fAT&", text[at]) < 0, at > 0 && strings.IndexByte("`\"'", text[at-1]) >= 0:
		return false
	case begins(growingMarks):
		return true
	}
	return (at == 0 || text[at-1] == '\n') && begins(growingLineMarks)
}

// marked reports that a mark stands directly before a place.
func (f *finder) marked(at int) bool {
	before := strings.TrimRight(f.text[max(0, at-maxHeader):at], " \t\r\n")
	before = strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(before, "```json"), "```"), " \t\r\n")
	if strings.HasSuffix(before, "```tool_call") || strings.HasSuffix(before, "```tool_code") {
		return true
	}
	if !strings.HasSuffix(before, ">") && !strings.HasSuffix(before, "]") && !strings.HasSuffix(before, "functools") {
		return false
	}
	all := marks.FindAllStringIndex(before, -1)
	return len(all) > 0 && all[len(all)-1][1] == len(before) && !f.quoted(at-1)
}

// strayMark reports that a line begins with the mark of a call.
func (f *finder) strayMark() bool {
	at := 0
	for line := range strings.Lines(f.text) {
		mark := strings.TrimLeft(line, " \t")
		if mark != "" && strings.IndexByte("<[`&", mark[0]) >= 0 && stray.MatchString(mark) && (mark[0] == '`' || !f.quoted(at)) {
			return true
		}
		at += len(line)
	}
	return false
}

// bare is a text without marks and empty code blocks.
func bare(text string) string {
	if containsAny(text, "<", "[TOOL", "[/TOOL", "[ARGS]", "functools") {
		text = marks.ReplaceAllString(text, "")
	}
	text = strings.TrimSpace(text)
	text = strings.Trim(text, ",;[] \t\r\n")
	if strings.Contains(text, "```") {
		text = emptyBlock.ReplaceAllString(text, "")
	}
	return strings.TrimSpace(strings.TrimSuffix(text, "functools"))
}
