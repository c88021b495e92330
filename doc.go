// Package outerloop is the vocabulary of the coordinator for recurring agent
// work: statuses and their transitions, outcomes, failure classes, confidence
// and the addresses of steps. It imports only the standard library, so that
// every other package, workers included, can share these words at no cost.
package outerloop
