// Package secret reads the project's secrets from AWS Secrets Manager by the
// names that the project file has. Values never appear in errors or logs.
package secret

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
)

// Manager is what is called of *secretsmanager.Client.
type Manager interface {
	GetSecretValue(context.Context, *secretsmanager.GetSecretValueInput, ...func(*secretsmanager.Options)) (*secretsmanager.GetSecretValueOutput, error)
}

// goodFor is how long a value is taken as it was read: a rotated secret is used
// at the latest so much later.
const goodFor = 5 * time.Minute

// Store reads secrets and keeps them for five minutes. Safe for concurrent use.
type Store struct {
	Client Manager
	// Name is the full name of a secret of the project file; nil: the name itself.
	Name func(string) string
	Now  func() time.Time

	mu   sync.Mutex
	kept map[string]kept
}

type kept struct {
	value string
	at    time.Time
}

// Value reads a secret by its name in the project file.
func (s *Store) Value(ctx context.Context, name string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if have, ok := s.kept[name]; ok && s.Now().Sub(have.at) < goodFor {
		return have.value, nil
	}
	full := name
	if s.Name != nil {
		full = s.Name(name)
	}
	out, err := s.Client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &full})
	if err != nil {
		return "", fmt.Errorf("reading the secret %s: %w", full, err)
	}
	value := aws.ToString(out.SecretString)
	if value == "" {
		return "", fmt.Errorf("reading the secret %s: it has no text", full)
	}
	if s.kept == nil {
		s.kept = map[string]kept{}
	}
	s.kept[name] = kept{value, s.Now()}
	return value, nil
}
