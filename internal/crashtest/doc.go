// Package crashtest kills the program itself at random moments and compares
// what is left in the end with an undisturbed run. Its tests know the program
// by its commands, its state file and its outbox only.
package crashtest
