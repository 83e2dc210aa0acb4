// Package crash marks the points at which tests kill the process to check that a restart
// continues from the journal. Only a build with the tag crashtest does so; in the product,
// the points do nothing.
package crash
