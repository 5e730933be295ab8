package process

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// diesWithUs has the kernel kill a process when the thread that started it ends.
func diesWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// ended tells whether a child has ended, and leaves it to be waited for. A signal 0 would reach it all the same until then.
func ended(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err != nil || info.Signo != 0
}
