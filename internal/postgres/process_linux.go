package postgres

import "syscall"

const maxSocketPath = 107 // sun_path without its ending zero

// procAttr puts the child into a process group of its own, so that Ctrl-C reaches us and not the server we still need
// to drain, and asks the kernel for an immediate shutdown when we die.
func procAttr(cred *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGQUIT, Credential: cred}
}
