package probe

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"legwork/conf"
	"legwork/tools/client"
)

// MissingPrograms lists the servers whose command, working directory or sandbox does not
// exist on this machine. It starts nothing.
func MissingPrograms(config *conf.Config) conf.Errors {
	var missing conf.Errors
	for _, name := range slices.Sorted(maps.Keys(config.Tools.Servers)) {
		server := config.Tools.Servers[name]
		if server.Command == "" {
			continue
		}
		at := "servers." + name
		if box := server.Sandbox; box != nil {
			if problem := client.SandboxProblem(); problem != "" {
				missing = append(missing, config.At(at+".sandbox", problem))
			}
			for _, path := range slices.Concat(box.Read, box.Write) {
				if _, err := os.Stat(path); err != nil {
					missing = append(missing, config.At(at+".sandbox", fmt.Sprintf("there is no %q; make it, or name another folder or file", path)))
				}
			}
		}
		if info, err := os.Stat(server.Cwd); server.Cwd != "" && (err != nil || !info.IsDir()) {
			missing = append(missing, config.At(at+".cwd", fmt.Sprintf("there is no folder %q; make it, or name another one", server.Cwd)))
			continue
		}
		program := server.Command
		inPath := !strings.ContainsRune(program, filepath.Separator)
		if !inPath && !filepath.IsAbs(program) {
			program = filepath.Join(server.Cwd, program)
			if !filepath.IsAbs(program) {
				program = "." + string(filepath.Separator) + program
			}
		}
		if _, err := exec.LookPath(program); err == nil {
			continue
		}
		problem := fmt.Sprintf("there is no program %q in PATH; install it, or give the path of the program", server.Command)
		if !inPath {
			problem = fmt.Sprintf("%q is no program that can be run; check the path and its rights", server.Command)
		}
		missing = append(missing, config.At(at+".command", problem))
	}
	return missing
}
