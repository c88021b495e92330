// Package compile turns a checked loop into one Amazon States Language machine
// (JSONPath): one step is one state, and beside a step stand only the states
// that its rules need. The same loop gives the same bytes.
//
// A machine's data is {"run","gen","item","o"}: ids, the address of the item
// and the last answer, never business data. Resources stand as tokens in the
// text ("${Coordinator}", "${QueueCrmScan}"); Substitutions lists them, for
// CloudFormation and for the embedded engine.
package compile
