//go:build race

package bottest

// race reports whether the tests were built with the race detector.
const race = true
