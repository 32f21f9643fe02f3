//go:build unix && !linux

package main

import "syscall"

// childAttr puts a child into a process group of its own. There is no parent death signal here: kill -9 of this program
// leaves its children.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// childrenOf knows none here: a server's processes see themselves that the first one is gone.
func childrenOf(int) []int { return nil }
