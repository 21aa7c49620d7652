// Package failpoint names the moments at which a crash would hurt most, and
// lets a test kill the process there or plant a fault. Without the build tag
// failpoints, as in every release, its functions do nothing and cost nothing.
//
// With the tag five environment variables are read once, at the first use:
//
//	LEGWORK_FAILPOINT      "name:n", or several separated by commas: the process
//	                       kills itself with SIGKILL when name is hit the nth
//	                       time, counted from 1
//	LEGWORK_FAILPOINT_LOG  a file to which every hit name is appended as a line,
//	                       each with one write and before the kill
//	LEGWORK_FAULT          names of planted faults, separated by commas
//	LEGWORK_HASTE          how many times shorter the spans are that Span is
//	                       asked for, from 1
//	LEGWORK_AHEAD          how far the clock that Wall reads is ahead, such as 37s
//
// A value that cannot be read ends the process with exit code 2 and a sentence
// on stderr, so that no harness mistakes a typing error for a pass.
package failpoint
