package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// childAttr puts a child into a process group of its own, so that Ctrl-C reaches us alone, and has the kernel kill it when
// we die.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// childrenOf lists the processes whose parent is pid.
func childrenOf(pid int) (kids []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the only error is a bad pattern
	for _, file := range stats {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		var kid, parent int
		var state string
		_, rest, _ := bytes.Cut(raw, []byte(") ")) // after the name, which may hold anything
		if _, err := fmt.Sscan(string(rest), &state, &parent); err != nil || parent != pid {
			continue
		}
		if kid, err = strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			kids = append(kids, kid)
		}
	}
	return kids
}
