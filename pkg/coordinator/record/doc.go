// Package record holds what the coordinator keeps in the shared state: runs,
// steps, actions, leases, rate slots, approvals, exceptions, loops, quotas,
// facts and events. Each record has one file with its key, its JSON body, the
// numbers that preconditions test, and its place in the list and due indexes.
//
// A record read from the store carries the version it was read at; its
// Replace operation demands that version, its Create operation absence. There
// is no other way to write one.
package record
