// Package workers holds one folder for each worker of the samples. Each has a
// main of its own for AWS Lambda in its folder lambda, which is generated.
package workers

//go:generate go run ./internal/mains
