// Package loop is the loop language: it reads loops, resolves their names,
// checks them against charters, schemas and the project file, and builds the
// graph of what waits for what. Loop is what a file says; Definition is a loop
// that was found right and can be compiled and run.
package loop
