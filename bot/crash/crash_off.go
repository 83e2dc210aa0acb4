//go:build !crashtest

package crash

import "net/http"

// At does nothing without the build tag crashtest.
func At(string) {}

// Count does nothing without the build tag crashtest.
func Count(string) {}

// Requests returns next: without the build tag crashtest, nothing is counted.
func Requests(_ string, next http.RoundTripper) http.RoundTripper { return next }
