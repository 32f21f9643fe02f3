// Package relayer is the engine: it takes deliveries of payment intents, claims them in a store, has a sender carry
// them out, and writes what became of them. See docs/architecture.md for the path of one message.
//
// A route is one [Worker] (the steps of a delivery), one [Throttle] shared by its workers, one [Sweeper] (publishes
// what is due) and one [Observer] (finds out what became of what was sent). They meet in the store alone.
package relayer
