package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/remote"
	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/storetest/memstore"
)

// over sends an error over the wire and back.
func over(t *testing.T, err error) error {
	t.Helper()
	raw, encodeErr := remote.Encode(remote.Reply{Error: remote.Wrap(err)})
	if encodeErr != nil {
		t.Fatal(encodeErr)
	}
	var reply remote.Reply
	if err := json.Unmarshal(raw, &reply); err != nil {
		t.Fatal(err)
	}
	return reply.Error
}

// R67: an error that went over the wire has the text, the sentinel and the
// fields that it had where it happened.
func TestErrorsSurviveTheWire(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	for _, err := range []error{
		coordinator.ErrNoLoop, coordinator.ErrNoRun, coordinator.ErrNoApproval, coordinator.ErrNoException,
		coordinator.ErrNotAllowed, coordinator.ErrRunClosed, coordinator.ErrNotPossible, coordinator.ErrConflict,
		coordinator.ErrNoDefinition, store.ErrThrottled, store.ErrReadOnly, store.ErrNoBlob,
		remote.ErrRequest, remote.ErrTooLarge, remote.ErrUnknown, remote.ErrBusy,
	} {
		said := fmt.Errorf("deciding 12ab <x>: %w", err)
		got := over(t, said)
		if got.Error() != said.Error() {
			t.Errorf("%q, want %q", got, said)
		}
		if !errors.Is(got, err) && !errors.Is(err, store.ErrThrottled) { // whose sentinel on the wire is ErrBusy
			t.Errorf("%v is not %v any more", got, err)
		}
	}
	for _, err := range []error{
		&coordinator.InputError{What: "content", Faults: []string{"a", "ü"}},
		&coordinator.OtherInputError{Run: "r", Subject: "s", HaveHash: "h", WantHash: "w"},
		&coordinator.OverlapError{Loop: "l", Open: "r"},
		&coordinator.BudgetError{Loop: "l", Budget: "b", Currency: "USD", Left: 1, Need: 2, Anew: at},
		&coordinator.DecidedError{ID: "12ab", Decision: "approved", By: "me@example.com", At: at},
	} {
		got := over(t, fmt.Errorf("deciding: %w", err))
		typed := reflect.New(reflect.TypeOf(err))
		if !errors.As(got, typed.Interface()) || !reflect.DeepEqual(typed.Elem().Interface(), err) {
			t.Errorf("%#v arrives as %#v", err, typed.Elem().Interface())
		}
		if !errors.Is(got, errors.Unwrap(err)) {
			t.Errorf("%v has lost its sentinel", got)
		}
		again := over(t, got)
		if again.Error() != got.Error() || !errors.As(again, typed.Interface()) {
			t.Errorf("a second wire makes %#v of it", again)
		}
	}
	if got := over(t, errors.New("disk on fire")); got.Error() != "disk on fire" || remote.Wrap(got).Status() != http.StatusInternalServerError {
		t.Errorf("an unnamed error arrives as %v", got)
	}
	if remote.Wrap(nil) != nil {
		t.Error("no error is one")
	}
	for code, status := range remote.Codes() {
		if (&remote.Error{Code: code}).Status() != status {
			t.Errorf("%s has two statuses", code)
		}
	}
}

// Content that goes over a wire is the same bytes: what was approved is what is sent.
func TestContentKeepsItsBytes(t *testing.T) {
	t.Parallel()
	content := `{"body":"<b>Ü & \u2028</b>"}`
	raw, err := remote.Encode(remote.Decide{Approval: "a", Edit: json.RawMessage(content)})
	var back remote.Decide
	if err := errors.Join(err, json.Unmarshal(raw, &back)); err != nil || string(back.Edit) != content {
		t.Errorf("%s, %v", back.Edit, err)
	}
	reply, err := remote.Uses{"a": func(context.Context, json.RawMessage) (any, error) { return json.RawMessage(content), nil }}.Serve(t.Context(), []byte(`{"use":"a"}`))
	if err != nil || !strings.Contains(string(reply), content) {
		t.Errorf("%s, %v", reply, err)
	}
}

// A function does only its own uses, and strictly what they ask for.
func TestServe(t *testing.T) {
	t.Parallel()
	uses := remote.Of(nil).With(remote.Blobs{Blobs: memstore.New()}).Only(remote.UseBlob)
	for call, want := range map[string]string{
		`{"use":"blob","request":{"content":"YWJj"}}`:       `"ref":"sha256:ba7816bf`,
		`{"use":"blob","request":{"content":"YWJj","x":1}}`: `unknown field`,
		`{"use":"decide","request":{}}`:                     `there is no use`,
		`{"use":"upload","request":{"sha256":"","size":1}}`: `there is no use`,
		`{"use":"blob"}`: `"code":"request"`,
		`{"use":"blob","request":{"content":"YWJj"}} {"use":"x"}`: `something follows`,
		`[]`: `"code":"request"`,
		``:   `"code":"request"`,
		`{"use":"blob","request":{"content":"` + strings.Repeat("AAAA", remote.MaxInline/3+1) + `"}}`: `"code":"too_large"`,
	} {
		got, err := uses.Serve(context.Background(), json.RawMessage(call))
		if err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%.80s: %s, %v; want %s", call, got, err, want)
		}
	}
}

// FuzzError reads whatever comes for an error.
func FuzzError(f *testing.F) {
	f.Add([]byte(`{"code":"decided","message":"m","details":{"ID":"x"}}`))
	f.Add([]byte(`{"code":"input","message":"m","details":[]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var e remote.Error
		if json.Unmarshal(raw, &e) != nil {
			return
		}
		_ = e.Error()
		if status := e.Status(); status < 400 || status > 599 {
			t.Errorf("status %d of %s", status, raw)
		}
		again := over(t, &e)
		if again.Error() != e.Error() {
			t.Errorf("%q, then %q", e.Error(), again)
		}
	})
}
