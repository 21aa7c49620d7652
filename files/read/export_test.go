package read

// Confine is what the process that reads does first.
var Confine = confine
