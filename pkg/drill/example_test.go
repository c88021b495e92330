package drill_test

import (
	"context"
	"fmt"
	"log"

	"github.com/outerloop-dev/outerloop/pkg/drill"
	"github.com/outerloop-dev/outerloop/pkg/drill/drilltest"
)

// A drill of a loop, as `outerloop drill month-end` holds it. In a project's own
// tests, drilltest.Holds does the same and fails the test where something did
// not hold.
func ExampleRun() {
	cfg, err := drilltest.Config("../..", "month-end")
	if err != nil {
		log.Fatal(err)
	}
	report, err := drill.Run(context.Background(), cfg)
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range report.Rows[:3] {
		fmt.Printf("%s: %s\n  %s\n  held %v\n", row.Fault, row.Expected, row.Happened, row.Held)
	}
	fmt.Println(report.Held())
	// Output:
	// a worker misses what it needs: not tried again, then a person is asked, the rest goes on
	//   open after 1 attempt, 1 exception, the run is awaiting approval
	//   held true
	// a worker is told to do two things that exclude each other: not tried again, then a person is asked, the rest goes on
	//   open after 1 attempt, 1 exception, the run is awaiting approval
	//   held true
	// a worker's tool cannot be used: not tried again, then a person is asked, the rest goes on
	//   open after 1 attempt, 1 exception, the run is awaiting approval
	//   held true
	// true
}
