package secret_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/outerloop-dev/outerloop/functions/internal/secret"
)

type manager struct {
	asked  []string
	values map[string]string
}

func (m *manager) GetSecretValue(_ context.Context, in *secretsmanager.GetSecretValueInput, _ ...func(*secretsmanager.Options)) (*secretsmanager.GetSecretValueOutput, error) {
	m.asked = append(m.asked, *in.SecretId)
	value, ok := m.values[*in.SecretId]
	if !ok {
		return nil, errors.New("ResourceNotFoundException")
	}
	return &secretsmanager.GetSecretValueOutput{SecretString: &value}, nil
}

// A secret is read once in five minutes, so that a rotated one is seen; an
// error is not remembered.
func TestValue(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	m := &manager{values: map[string]string{"acme/key": "one", "acme/empty": ""}}
	s := &secret.Store{Client: m, Name: func(name string) string { return "acme/" + name }, Now: func() time.Time { return now }}
	read := func(want string) {
		t.Helper()
		if got, err := s.Value(t.Context(), "key"); err != nil || got != want {
			t.Errorf("%q, %v", got, err)
		}
	}
	read("one")
	m.values["acme/key"] = "two"
	read("one")
	now = now.Add(5 * time.Minute)
	read("two")
	if len(m.asked) != 2 {
		t.Errorf("asked %v", m.asked)
	}
	for _, name := range []string{"lost", "empty"} {
		if _, err := s.Value(t.Context(), name); err == nil {
			t.Errorf("%s has a value", name)
		}
	}
	m.values["acme/lost"] = "found"
	if got, err := s.Value(t.Context(), "lost"); err != nil || got != "found" {
		t.Errorf("%q, %v", got, err)
	}
}
