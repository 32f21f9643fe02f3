//go:build unix && !linux

package postgres

import "syscall"

const maxSocketPath = 103 // sun_path without its ending zero

// procAttr puts the child into a process group of its own, so that Ctrl-C reaches us and not the server we still need
// to drain. There is no parent death signal here: the next start on the directory stops a server that was left.
func procAttr(cred *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: cred}
}
