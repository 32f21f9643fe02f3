package main

import (
	"context"
	"slices"
)

// side is one of those that are compared.
type side struct {
	name  string
	title string
	share int // it does one of so many intents, where all would take long
	work  func(ctx context.Context, t task) (figure, error)
}

// ours is run as the program that it is; see relayer.go.
var ours = side{name: "relayer", title: "relayer bench --concurrency 1024", share: 1}

// promised is how many of the peers the last line tells of.
const promised = 4

// peers are the others; the first four in the order of the last line. Each works in a process of its own.
var peers = []side{
	{"row", "go-nsq and sqlx, row by row", 10, workRow},
	{"river-noop", "River, jobs that do nothing", 1, workRiverNoop},
	{"river-updates", "River, two row updates in each job", 10, workRiverUpdates},
	{"postgres", "the same statements sent to Postgres again, byte by byte", 1, workPostgres},
	{"store", "the relayer's store, without NSQ and engine", 1, workStore},
}

func find(name string) (side, bool) {
	i := slices.IndexFunc(peers, func(s side) bool { return s.name == name })
	if i < 0 {
		return side{}, false
	}
	return peers[i], true
}

// task is what a side is given.
type task struct {
	dsn     string // of a database that is empty
	nsqd    string // its TCP address
	intents int
}

// figure is what a side came to.
type figure struct {
	PerSecond float64 `json:"per_second"`
	CPU       float64 `json:"cpu_us"` // of the process that did the work, microseconds for each; servers not counted
}

// named says whether the last line tells of it.
func (s side) named() bool {
	return slices.ContainsFunc(peers[:promised], func(p side) bool { return p.name == s.name })
}
