//go:build unix && !linux

package postgres

// No child processes here: what they show is Linux's parent death signal.
const childMode = "POSTGRES_CHILD"

func child(string) {}
