package telegram_test

import "flag"

var update = flag.Bool("update", false, "rewrite the files of testdata")
