package accesscodes_test

import (
	"regexp"
	"testing"

	accesscodes "github.com/outerloop-dev/outerloop/functions/workers/access-codes"
	"github.com/outerloop-dev/outerloop/functions/workers/environments"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

// A code is the same for every try of its action, and opens the booking's room.
func TestCodeAndRoom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) map[string]worker.Connection {
		return map[string]worker.Connection{name: {Name: name, Kind: "files", Settings: map[string]string{"dir": dir}}}
	}
	in := accesscodes.Input{Booking: "BK-1042", ValidUntil: "2026-12-06T10:30:00+01:00"}
	s := workertest.Setup{Action: "create-access", Gate: &workertest.Gate{}, Connections: at("access")}
	first := workertest.Output[accesscodes.Output](t, workertest.Run(t, accesscodes.Worker, in, s))
	entry := s.Gate.Log["run:create-access"]
	entry.State, entry.Result = "unknown", nil // the answer was lost
	again := workertest.Output[accesscodes.Output](t, workertest.Run(t, accesscodes.Worker, in, s))
	if first != again || first.Booking != in.Booking || !regexp.MustCompile(`^[A-Z2-7]{4}-[A-Z2-7]{4}$`).MatchString(first.Code) {
		t.Errorf("%+v, then %+v", first, again)
	}
	room := workertest.Output[environments.Output](t, workertest.Run(t, environments.Worker,
		environments.Input{Booking: first.Booking, Code: first.Code}, workertest.Setup{Action: "prepare-environment", Connections: at("rooms")}))
	if room.URL != "https://rooms.acme.example/bk-1042" || room.State != "open" {
		t.Errorf("%+v", room)
	}
	closed := workertest.Output[environments.Output](t, workertest.Run(t, environments.Worker,
		environments.Input{Booking: first.Booking}, workertest.Setup{Action: environments.Close, Connections: at("rooms")}))
	if closed.URL != room.URL || closed.State != "closed" {
		t.Errorf("%+v", closed)
	}
	for _, action := range []string{environments.Prepare, "paint"} { // without a code; unknown
		o := workertest.Run(t, environments.Worker, environments.Input{Booking: "BK-1"}, workertest.Setup{Action: action, Connections: at("rooms")})
		if o.Failure == nil {
			t.Errorf("%s was done", action)
		}
	}
}
