package intents

import "time"

// Standing is how much waits in the store, by route. Counts end at MostCounted, so that asking costs the same whatever has
// piled up.
type Standing struct {
	Route   string
	Waiting int           // authorized or settling, of those due next, and not scheduled for later
	Oldest  time.Duration // how long the oldest of these has waited since it was created, or since its not_before
	Reviews int           // in review
	Review  time.Duration // how long the oldest of these has been there
}

// MostCounted is where the counts of a Standing end.
const MostCounted = 5000
