// Package bundle builds Lambda functions out of Go packages: one reproducible
// zip each, with the executable `bootstrap` at its root. The same source and
// the same Go version give the same bytes, so that an unchanged function is not
// deployed again.
package bundle
