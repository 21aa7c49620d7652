// Command walk hits the failpoints that its arguments name and prints each one
// that it survived.
package main

import (
	"fmt"
	"os"

	"legwork/internal/failpoint"
)

func main() {
	for _, name := range os.Args[1:] {
		failpoint.Hit(name)
		fmt.Println(name)
	}
}
