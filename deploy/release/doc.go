// Package release keeps the program's releases side by side in one folder, and
// puts a newer one in the place of the one that runs:
//
//	BASE/releases/<commit>/   one release: matrix-tui, boxinit, deploy/, release.json, SHA256SUMS
//	BASE/current              link to the release that is run, replaced by rename
//	BASE/good                 link to the last one that was ready
//	BASE/state-before/<c>/    the state as it was before release <c> first touched it
//	BASE/state-failed/<c>/    what a release wrote that was rolled back
//	BASE/cache/               mirror of the source, and what the Go compiler keeps
//	BASE/update.json          how far the present update is, or how the last one ended
//
// Every step is written down in update.json before it is begun, so that a
// process that starts, whichever it is, knows what to make of what it finds:
// see [Base.AtStart]. A release is under its name only when it is complete.
//
// The package works on files and starts programs (git, go, ssh-keygen, the
// releases themselves). It knows neither Matrix nor podman, and opens a
// database only to copy it.
package release
