//go:build !race

package chattest

// race tells whether the tests were built with the race detector.
const race = false
