package console_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/console"
	"github.com/outerloop-dev/outerloop/pkg/console/client"
	"github.com/outerloop-dev/outerloop/pkg/console/payload"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/remote"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// huge answers with more than fits into one answer of a function. Everything
// that the tests do not ask for is left out.
type huge struct {
	console.Readers
	steps     []coordinator.StepView
	outputs   []coordinator.OutputView
	approvals []coordinator.ApprovalView
	asked     []int
}

func (h *huge) Show(context.Context, string) (coordinator.ShowView, error) {
	return coordinator.ShowView{RunView: coordinator.RunView{ID: "r", Spent: 0.5}, Steps: h.steps, Models: []coordinator.ModelView{{Worker: "w"}}}, nil
}

func (h *huge) Outputs(context.Context, string, string) ([]coordinator.OutputView, error) {
	return h.outputs, nil
}

func (h *huge) ApprovalsPage(_ context.Context, q coordinator.ApprovalsQuery) (coordinator.Page[coordinator.ApprovalView], error) {
	from := 0
	if q.After != "" {
		from = int(q.After[0] - 'a')
	}
	end := len(h.approvals)
	if q.Limit > 0 {
		end = min(end, from+q.Limit)
	}
	h.asked = append(h.asked, end-from)
	page := coordinator.Page[coordinator.ApprovalView]{Items: h.approvals[from:end]}
	if end < len(h.approvals) {
		page.Next = string(rune('a' + end))
	}
	return page, nil
}

// noise hardly becomes smaller when it is packed.
func noise(n int) string {
	b := make([]byte, n*3/4)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b) // it never fails
	return base64.StdEncoding.EncodeToString(b)
}

// invoked is a client of the API as a function, and the largest answer seen.
func invoked(t *testing.T, readers console.Readers) (*client.Client, *int) {
	t.Helper()
	largest := new(int)
	serve := payload.Serve(console.New(console.Config{Readers: readers}), []byte(`{"error":{"code":"too_large","message":"too large for one answer"}}`))
	return client.New("http://console", payload.Transport{Invoke: func(ctx context.Context, event []byte, _ bool) ([]byte, error) {
		raw, err := serve(ctx, event)
		*largest = max(*largest, len(raw))
		return raw, err
	}}), largest
}

// A run of 30,000 steps, outputs of 9 MB and requests of 1 MB each come whole,
// in answers that fit.
func TestWhatDoesNotFitComesInPages(t *testing.T) {
	t.Parallel()
	h := &huge{}
	for i := range 30_000 {
		h.steps = append(h.steps, coordinator.StepView{Path: fmt.Sprintf("all[k/%d]/send", i), Reason: "ü“" + strings.Repeat("x", i%200)})
	}
	for i := range 9 {
		raw := json.RawMessage(`"` + noise(1<<20) + `"`)
		h.outputs = append(h.outputs, coordinator.OutputView{Path: fmt.Sprintf("draft[%d]", i), Output: raw})
		h.approvals = append(h.approvals, coordinator.ApprovalView{ID: fmt.Sprint(i), Content: raw})
	}
	c, largest := invoked(t, h)
	show, err := c.Show(t.Context(), "r")
	if err != nil || len(show.Steps) != len(h.steps) || show.Steps[29_999].Path != h.steps[29_999].Path || len(show.Models) != 1 || show.Spent != 0.5 {
		t.Errorf("%d steps, %v", len(show.Steps), err)
	}
	outputs, err := c.Outputs(t.Context(), "r", "draft")
	if err != nil || len(outputs) != 9 || string(outputs[8].Output) != string(h.outputs[8].Output) {
		t.Errorf("%d outputs, %v", len(outputs), err)
	}
	approvals, err := c.Approvals(t.Context(), coordinator.ApprovalsQuery{})
	if err != nil || len(approvals) != 9 || approvals[8].ID != "8" {
		t.Errorf("%d approvals, %v", len(approvals), err)
	}
	if *largest > payload.MaxAnswer {
		t.Errorf("an answer of %d bytes", *largest)
	}
	if len(h.asked) > 2*3 {
		t.Errorf("asked for pages of %v", h.asked)
	}
}

// A single item that is larger than any answer is said to be so; one that fits
// packed comes.
func TestOneItemTooLarge(t *testing.T) {
	t.Parallel()
	h := &huge{outputs: []coordinator.OutputView{{Path: "x", Output: json.RawMessage(`"` + noise(8<<20) + `"`)}}}
	c, largest := invoked(t, h)
	if _, err := c.Outputs(t.Context(), "r", "x"); !errors.Is(err, remote.ErrTooLarge) {
		t.Errorf("8 MB of noise: %v", err)
	}
	h.outputs[0].Output = json.RawMessage(`"` + strings.Repeat("again ", 2<<20) + `"`)
	if list, err := c.Outputs(t.Context(), "r", "x"); err != nil || len(list[0].Output) < 12<<20 {
		t.Errorf("12 MB of repetition: %v", err)
	}
	if *largest > payload.MaxAnswer {
		t.Errorf("an answer of %d bytes", *largest)
	}
	_, err := c.Start(t.Context(), coordinator.StartRequest{Loop: "l", Input: json.RawMessage(`"` + noise(7<<20) + `"`)})
	if !errors.Is(err, payload.ErrTooLarge) {
		t.Errorf("an input of 7 MB: %v", err)
	}
	if _, err = c.Start(t.Context(), coordinator.StartRequest{Loop: "l"}); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("an API that only reads starts a run: %v", err)
	}
}

// A page to go on from that the list does not have is refused, not the first one.
func TestASectionNeedsItsPlace(t *testing.T) {
	t.Parallel()
	c, _ := invoked(t, &huge{steps: []coordinator.StepView{{Path: "a"}}})
	h := console.New(console.Config{Readers: &huge{steps: []coordinator.StepView{{Path: "a"}}}})
	if _, err := c.Show(t.Context(), "r"); err != nil {
		t.Error(err)
	}
	for after, want := range map[string]int{"": 200, "a": 200, "b": 400} {
		if got := status(t, h, "/v1/runs/r/steps?after="+after); got != want {
			t.Errorf("after %q: %d, want %d", after, got, want)
		}
	}
}

// circling answers every page with the same next one.
type circling struct{ console.Readers }

func (circling) ApprovalsPage(context.Context, coordinator.ApprovalsQuery) (coordinator.Page[coordinator.ApprovalView], error) {
	return coordinator.Page[coordinator.ApprovalView]{Items: []coordinator.ApprovalView{{ID: "a"}}, Next: "b"}, nil
}

// Approval answers with the id that it was asked for.
func (circling) Approval(_ context.Context, id string) (coordinator.ApprovalView, error) {
	return coordinator.ApprovalView{ID: id}, nil
}

// An id arrives as it was given, whatever it means to paths.
func TestIDsArrive(t *testing.T) {
	t.Parallel()
	for name, c := range ways(t, console.New(console.Config{Readers: circling{}})) {
		for _, id := range []string{"a", ".", "..", "a/b", "../x", "%2F", "ü 漢", "a?b#c", "{run}", "a+b&c=d", "\x1b"} {
			if got, err := c.Approval(t.Context(), id); err != nil || got.ID != id {
				t.Errorf("%s: %q arrives as %q, %v", name, id, got.ID, err)
			}
		}
	}
}

// A list that never ends is an error, not a client that never does.
func TestAListThatNeverEnds(t *testing.T) {
	t.Parallel()
	c, _ := invoked(t, circling{})
	if list, err := c.Approvals(t.Context(), coordinator.ApprovalsQuery{}); err == nil {
		t.Errorf("%d approvals", len(list))
	}
}
