// Package crash names the points at which the tests kill the process, to see that
// a restart continues from the journal. Only a build with the tag crashtest can be
// killed; the product never ends at such a point.
package crash
