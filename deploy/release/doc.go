// Package release keeps the program's releases side by side in one directory,
// and replaces the running one with a newer one:
//
//	BASE/releases/<commit>/   one release: matrix-tui, boxinit, deploy/, release.json, SHA256SUMS
//	BASE/current              link to the release in use, replaced by rename
//	BASE/good                 link to the last release that became ready
//	BASE/state-before/<c>/    the state as it was before release <c> first touched it
//	BASE/state-failed/<c>/    what a release wrote before it was rolled back
//	BASE/cache/               mirror of the source, and the Go compiler's cache
//	BASE/update.json          how far the current update is, or how the last one ended
//
// Every step is recorded in update.json before it starts, so that whichever
// process starts next knows what to do with what it finds: see [Base.AtStart]. A
// release appears under its name only when it is complete.
//
// The package works on files and runs programs (git, go, ssh-keygen, the
// releases themselves). It knows nothing about Matrix or podman, and opens a
// database only to copy it.
package release
