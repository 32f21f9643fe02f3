// Package intents is the domain of the relayer: payment intents, their states, slots and attempts, and every decision
// about them as a pure function.
//
// A payment intent says "send this amount there", once. It moves along the edges of [CanMove]; whoever moves it
// compares its version and raises it by one. Three functions decide every move under way, each on the row as it stands
// under lock and on the database's clock:
//
//   - [Admit]: may this claim be had? (funds, pause, lane, expiry, slot, an earlier claim)
//   - [Conclude]: what does a sender's result mean? Facts are true whoever brings them, permissions are fenced.
//   - [Witness]: what does an observation prove?
//
// What a person decides about an intent in review is decided by [Resolve], on the version that the person saw.
//
// Both stores call them, so the model and Postgres cannot disagree about the rules, only about how rows are kept.
//
// The package imports the standard library alone, does no I/O and never reads a clock.
package intents
