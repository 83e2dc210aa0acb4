package oauth

import "net/http"

// Trust makes the client use a transport until the returned function is called.
func Trust(transport http.RoundTripper) (restore func()) {
	before := client.Transport
	client.Transport = transport
	return func() { client.Transport = before }
}
