package remote

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Errors of the wire itself, to branch on beside the coordinator's.
var (
	// ErrRequest says that what was asked cannot be read or is none of the uses.
	ErrRequest = errors.New("request is not valid")
	// ErrTooLarge says that what is asked or answered does not fit through the wire.
	ErrTooLarge = errors.New("too large for the wire")
	// ErrUnknown says that no answer came: whether it was done is not known.
	ErrUnknown = errors.New("no answer came, so whether it was done is not known")
	// ErrBusy says that it was not done, for too much was asked at once.
	ErrBusy = errors.New("too much is asked at once, and nothing was done")
)

// row ties an error to its name on the wire and its HTTP status.
type row struct {
	code   string
	status int
	is     error
}

// rows are in the order in which an error that is several of them is named.
var rows = []row{
	{"no_loop", http.StatusNotFound, coordinator.ErrNoLoop},
	{"no_run", http.StatusNotFound, coordinator.ErrNoRun},
	{"no_approval", http.StatusNotFound, coordinator.ErrNoApproval},
	{"no_exception", http.StatusNotFound, coordinator.ErrNoException},
	{"input", http.StatusUnprocessableEntity, coordinator.ErrInput},
	{"other_input", http.StatusConflict, coordinator.ErrOtherInput},
	{"overlap", http.StatusConflict, coordinator.ErrOverlap},
	{"budget", http.StatusConflict, coordinator.ErrBudget},
	{"decided", http.StatusConflict, coordinator.ErrDecided},
	{"not_allowed", http.StatusForbidden, coordinator.ErrNotAllowed},
	{"run_closed", http.StatusConflict, coordinator.ErrRunClosed},
	{"not_possible", http.StatusConflict, coordinator.ErrNotPossible},
	{"conflict", http.StatusConflict, coordinator.ErrConflict},
	{"no_definition", http.StatusInternalServerError, coordinator.ErrNoDefinition},
	{"request", http.StatusBadRequest, ErrRequest},
	{"request", http.StatusBadRequest, store.ErrInvalid},
	{"too_large", http.StatusRequestEntityTooLarge, ErrTooLarge},
	{"too_large", http.StatusRequestEntityTooLarge, store.ErrTooLarge},
	{"unknown", http.StatusGatewayTimeout, ErrUnknown},
	{"unknown", http.StatusGatewayTimeout, store.ErrOutcomeUnknown},
	{"busy", http.StatusServiceUnavailable, ErrBusy},
	{"busy", http.StatusServiceUnavailable, store.ErrThrottled},
	{"read_only", http.StatusForbidden, store.ErrReadOnly},
	{"no_blob", http.StatusNotFound, store.ErrNoBlob},
}

// CodeFailed names every other error.
const CodeFailed = "failed"

// Codes are the names of errors, with the HTTP status of each.
func Codes() map[string]int {
	out := map[string]int{CodeFailed: http.StatusInternalServerError}
	for _, r := range rows {
		if _, known := out[r.code]; !known {
			out[r.code] = r.status
		}
	}
	return out
}

// Error is an error on the wire. errors.Is works with the sentinel that it had,
// errors.As with the typed errors of package coordinator.
type Error struct {
	Code string `json:"code"`
	// Message is the error's whole text.
	Message string `json:"message"`
	// Details are the fields of a typed error.
	Details json.RawMessage `json:"details,omitempty"`

	cause error
}

// Error is the text as it was written where it happened.
func (e *Error) Error() string { return e.Message }

// Unwrap gives the typed error, else the sentinel; nil: it has none.
func (e *Error) Unwrap() error { return e.cause }

// Status is the error's HTTP status.
func (e *Error) Status() int {
	for _, r := range rows {
		if r.code == e.Code {
			return r.status
		}
	}
	return http.StatusInternalServerError
}

// UnmarshalJSON also finds out which error it was. A code of a later version,
// or details that cannot be read, leave the text.
func (e *Error) UnmarshalJSON(raw []byte) error {
	type plain Error
	if err := json.Unmarshal(raw, (*plain)(e)); err != nil {
		return err
	}
	for _, r := range rows {
		if r.code == e.Code {
			e.cause = r.is
			break
		}
	}
	if typed := typedOf(e.Code); typed != nil && len(e.Details) > 0 && json.Unmarshal(e.Details, typed) == nil {
		e.cause = typed
	}
	return nil
}

// typedOf is an empty typed error of a code; nil: it has none.
func typedOf(code string) error {
	switch code {
	case "input":
		return &coordinator.InputError{}
	case "other_input":
		return &coordinator.OtherInputError{}
	case "overlap":
		return &coordinator.OverlapError{}
	case "budget":
		return &coordinator.BudgetError{}
	case "decided":
		return &coordinator.DecidedError{}
	}
	return nil
}

// Wrap makes an error fit for the wire; nil stays nil. One that came over a
// wire goes on as it is.
func Wrap(err error) *Error {
	if err == nil {
		return nil
	}
	var have *Error
	if errors.As(err, &have) && have.Message == err.Error() {
		return have
	}
	out := &Error{Code: CodeFailed, Message: err.Error()}
	for _, r := range rows {
		if errors.Is(err, r.is) {
			out.Code, out.cause = r.code, r.is
			break
		}
	}
	if typed := detailsOf(err, out.Code); typed != nil {
		if raw, encodeErr := json.Marshal(typed); encodeErr == nil {
			out.Details, out.cause = raw, typed
		}
	}
	return out
}

// detailsOf is the typed error of a code inside an error; nil: there is none.
func detailsOf(err error, code string) error {
	var (
		input   *coordinator.InputError
		other   *coordinator.OtherInputError
		overlap *coordinator.OverlapError
		budget  *coordinator.BudgetError
		decided *coordinator.DecidedError
	)
	switch {
	case code == "input" && errors.As(err, &input):
		return input
	case code == "other_input" && errors.As(err, &other):
		return other
	case code == "overlap" && errors.As(err, &overlap):
		return overlap
	case code == "budget" && errors.As(err, &budget):
		return budget
	case code == "decided" && errors.As(err, &decided):
		return decided
	}
	return nil
}
