// Package stack is outerloop's home on AWS: from a checked project it makes a
// table, a function, role, gate and queue for each worker, a state machine for
// each loop, the coordinator's functions, schedules, events and alarms.
//
// New is a construct for a CDK app of your own; App is the whole app. Every
// role has exactly what its function calls; a right that ends in a wildcard
// carries its reason into the template. Workers and loops are nested stacks of
// their own, so that a template stays far below CloudFormation's 500 resources
// and a worker or loop is added or removed as one thing.
//
// Nothing here reads the clock or the network: the same project, options and
// zips give the same templates.
package stack
