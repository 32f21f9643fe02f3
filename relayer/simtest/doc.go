// Package simtest plays the relayer against a world that goes wrong, and compares what it did with what is true.
//
// What runs is the engine itself (steps, throttle, sweeper, observer, drain) and the group commit itself, several processes
// of them, over the model store. Simulated are the clocks, each process's own, the people who decide about reviews, NSQ, and
// the recipients: a chain with pool, drops, bumps and
// reorganisations, HTTP providers with and without keys, and a chain whose slots are named by who signs and expire.
//
// A seed replays to the letter: every call that leaves a process stops at a gate, and when nothing runs any more the seed
// opens exactly one. After each commit and at each call the invariants are looked at by somebody who sees everything.
package simtest
