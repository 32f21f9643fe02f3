//go:build !race

package simtest

// seedsByDefault is how many seeds a test run plays.
const seedsByDefault = 2000

// seedsOfVariants is how many seeds may pass before a variant is caught: those that every run plays.
const seedsOfVariants = seedsByDefault
