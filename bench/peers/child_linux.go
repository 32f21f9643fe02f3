package main

import "syscall"

// childAttr puts a child into a process group of its own, so that Ctrl-C reaches us alone, and has the kernel kill it when
// we die.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
