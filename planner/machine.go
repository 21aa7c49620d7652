// Package planner is the machine at the heart of legwork: a pure fold of a
// task's journal into a state, the list of everything that is wanted now, the
// plan and its parser, and the prompts made from the journal.
package planner
