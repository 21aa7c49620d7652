// Package failpoint names the moments at which a crash would do most harm, and
// lets a test kill the process there. Without the build tag failpoints, as in
// every release, Hit does nothing and costs nothing.
//
// With the tag two environment variables are read once, at the first use:
//
//	LEGWORK_FAILPOINT      "name:n", or several separated by commas: the process
//	                       kills itself with SIGKILL when name is hit the nth
//	                       time, counted from 1
//	LEGWORK_FAILPOINT_LOG  a file to which every hit name is appended as a line,
//	                       each with one write and before the kill
//
// A value that cannot be read ends the process with exit code 2 and a sentence
// on stderr, so that no harness mistakes a typing error for a pass.
package failpoint
