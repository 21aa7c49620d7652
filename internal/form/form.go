// Package form holds the questions of programs to people: a form of simple fields
// that a person fills in one after the other, or an address to visit.
package form

import "encoding/json"

// Question is a question of a server to a person in the course of a call
// (elicitation in MCP). URL is set for an address to visit, otherwise Fields.
// https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
type Question struct {
	Message string  `json:"message"`
	Fields  []Field `json:"fields,omitempty"`
	URL     string  `json:"url,omitempty"` // to be shown in full, and never fetched
}

// Field is one entry of a form.
type Field struct {
	Name        string          `json:"name"` // unique in its Question
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Choices     []Choice        `json:"choices,omitempty"` // the only values; none: anything that fits Schema
	Many        bool            `json:"many,omitempty"`    // several of Choices, in a list
	Required    bool            `json:"required,omitempty"`
	Default     json.RawMessage `json:"default,omitempty"` // when the person leaves it out
	Schema      json.RawMessage `json:"schema,omitempty"`  // JSON Schema of the value
}

// Choice is one value of a field, and its label for people.
type Choice struct {
	Value json.RawMessage `json:"value"`
	Label string          `json:"label"`
}

// The ways a person can answer a Question, in the words of MCP.
const (
	Accept  = "accept"
	Decline = "decline"
	Cancel  = "cancel" // no person decided: it lapsed, or the task ended
)

// Answer is a person's answer.
type Answer struct {
	Action string                     `json:"action"`
	Values map[string]json.RawMessage `json:"values,omitempty"` // by Field.Name, with Accept only
}
