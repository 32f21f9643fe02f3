//go:build unix && !linux

package main

import "syscall"

// childAttr puts a child into a process group of its own. There is no parent death signal here: kill -9 of this program
// leaves it.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
