// Package alert brings what the coordinator has to say to people: it keeps each
// alert in the store before anything is sent, gathers what belongs to one
// incident, and sends it over the channels of the group that it is for (R36,
// R57).
//
// What is promised: an alert that Notify has taken is sent at least once, also
// when the process dies before or while it is sent; the same alert is kept once,
// whoever tells it how often; after a message, more of the same incident waits
// for the end of the quiet period and comes as one message; nothing is thrown
// away silently: a channel that goes on failing is given up with an error in
// the log that carries the text. Notify never waits for a channel.
//
// What is not: that a message is sent only once (a crash between sending and
// noting it repeats the message under the same id), and that a person reads it:
// Test and Confirm are for that.
package alert
