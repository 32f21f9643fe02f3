//go:build !race

package simtest

// seedsByDefault is how many seeds a test run plays.
const seedsByDefault = 2000
