//go:build !linux

package nsqtest

import "syscall"

const diskEnv = "RELAYER_TEST_NSQD_DISK"

func apart(*syscall.SysProcAttr) {}

func fullDisk(string) error { return nil }
