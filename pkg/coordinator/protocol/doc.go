// Package protocol holds the decisions of the gate protocol as pure functions:
// what stands in the store goes in, the row of the table that applies comes
// out, and transitions give the record as it will stand. Nothing here reads a
// store, a clock or a definition; the tables in the comments are the protocol.
package protocol
