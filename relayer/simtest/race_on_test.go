//go:build race

package simtest

// seedsByDefault is how many seeds a test run plays: under the race detector each takes some eight times as long.
const seedsByDefault = 200

// seedsOfVariants: the variants are played without the race detector.
const seedsOfVariants = 0
