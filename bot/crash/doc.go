// Package crash marks the points at which tests kill the process to check that a restart
// continues from the journal: a few by name, and before every effect that outlives the
// process by number (commits, files, requests to the homeserver, to podman and into a
// container). Only a build with the tag crashtest does so; in the product, the points do
// nothing.
package crash
