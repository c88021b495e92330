package boot_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/functions/internal/boot"
)

// Everything that is missing or wrong is told at once, by the variable's name.
func TestRead(t *testing.T) {
	t.Parallel()
	env := map[string]string{
		"OUTERLOOP_PROJECT": "acme", "OUTERLOOP_SECRETS": "acme/secrets", "OUTERLOOP_CONTRACT": "3", "OUTERLOOP_LOG_LEVEL": "warn", "OUTERLOOP_MODEL_TIME": "1m36s",
		"OUTERLOOP_WEBHOOKS": `{"payments":{"verify":"stripe","secrets":["a","b"]}}`,
	}
	get := func(name string) string { return env[name] }
	s, err := boot.Read(get, boot.Project)
	if err != nil || s.WorkerFunction("mailer") != "acme-worker-mailer" || s.DeadLetters("mailer") != "acme-mailer-dlq" || s.Secret("pay-key") != "acme/secrets/pay-key" {
		t.Errorf("%+v, %v", s, err)
	}
	if s.Contract != 3 || s.ModelTime != 96*time.Second || s.LogLevel.String() != "WARN" || len(s.Webhooks["payments"].Secrets) != 2 {
		t.Errorf("%+v", s)
	}
	env["OUTERLOOP_CONTRACT"], env["OUTERLOOP_WEBHOOKS"], env["OUTERLOOP_LOG_LEVEL"], env["OUTERLOOP_MODEL_TIME"] = "three", "[", "loud", "soon"
	_, err = boot.Read(get, boot.Table, boot.Bucket, boot.Project)
	for _, name := range []string{"OUTERLOOP_TABLE is not set", "OUTERLOOP_BUCKET is not set", "OUTERLOOP_CONTRACT", "OUTERLOOP_WEBHOOKS", "OUTERLOOP_LOG_LEVEL", "OUTERLOOP_MODEL_TIME"} {
		if !errors.Is(err, boot.ErrSettings) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not in %v", name, err)
		}
	}
	if strings.Contains(err.Error(), "OUTERLOOP_PROJECT") {
		t.Error(err)
	}
	if s, err := boot.Read(func(string) string { return "" }); err != nil || s.Contract != 1 || s.Secret("x") != "x" {
		t.Errorf("%+v, %v", s, err)
	}
}
