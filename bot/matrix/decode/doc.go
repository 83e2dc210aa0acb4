// Package decode turns the bytes that the homeserver sends into typed events, exactly
// once. No code above it reads Matrix JSON.
//
// encoding/json ignores the case of keys, and the last of several equal keys wins.
// An event with both "sender" and "ſender" would therefore have one sender for the
// homeserver and another for us. [Event] matches keys exactly and rejects an event in
// which a key that we read appears twice or in another case. It also limits size and
// depth and requires UTF-8.
//
// The package never decides who may do what, and it never guesses: a value of the
// wrong JSON type counts as absent.
package decode
