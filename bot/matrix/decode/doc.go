// Package decode turns the bytes that the homeserver sends into events. Bytes
// become a typed [event.Event] here, exactly once; nothing above reads Matrix
// JSON.
//
// encoding/json matches keys without regard to case, and the last of several
// equal keys wins. An event with both "sender" and "ſender" would therefore
// have two senders, one for the homeserver and one for us. [Event] matches
// keys exactly and rejects an event in which a key that we read appears twice
// or in another case. It also bounds size and depth and insists on UTF-8.
//
// The package decides nothing about who may do what, and it never guesses: a
// value of the wrong JSON type counts as absent.
package decode
