//go:build unix

package bridge

import (
	"os/exec"
	"syscall"
)

// group lets a program be killed with all that it started.
func group(program *exec.Cmd) {
	program.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	program.Cancel = func() error { return syscall.Kill(-program.Process.Pid, syscall.SIGKILL) }
}
