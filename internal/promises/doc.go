// Package promises holds the test that docs/guarantees.md names only tests that
// exist, and none of its promises without one.
package promises
