//go:build !race

package bottest

// race tells whether the tests were built with the race detector.
const race = false
