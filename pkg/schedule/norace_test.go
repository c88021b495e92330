//go:build !race

package schedule_test

// samples is the number of random expressions for each window.
const samples = 6
