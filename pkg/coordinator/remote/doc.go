// Package remote is what people's use cases look like on a wire: their names,
// the JSON of what is asked and answered, and errors that survive the way, so
// that errors.Is and errors.As answer at the caller as they do at the
// coordinator, and a text read there is the text that was written here.
//
// It knows no transport. The console's API, the functions that do the writes on
// AWS and the visitors of an embedded engine all speak it.
package remote
