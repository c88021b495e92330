// Package boot is how a function of the deployed system begins: it reads the
// environment (and is the only place that does), makes the logger, loads the
// AWS configuration once, and hands over to Lambda. It links no AWS service, so
// that a worker's function stays small.
package boot

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"
)

// Var is the name of an environment variable.
type Var string

// The variables of the functions. Which of them a function needs, it says itself.
const (
	// Project is the project's name, with which every name in the account begins.
	Project Var = "OUTERLOOP_PROJECT"
	// Table and Bucket are the shared state.
	Table  Var = "OUTERLOOP_TABLE"
	Bucket Var = "OUTERLOOP_BUCKET"
	// Worker is whose gate, or which worker, the function is.
	Worker Var = "OUTERLOOP_WORKER"
	// Contract is the contract number of an agent's charter; unset: 1.
	Contract Var = "OUTERLOOP_CONTRACT"
	// ModelTime bounds one call of an agent's model, as 96s; unset: the attempt alone does.
	ModelTime Var = "OUTERLOOP_MODEL_TIME"
	// Gate is the function of a worker's gate.
	Gate Var = "OUTERLOOP_GATE"
	// Approval and Trigger are the functions that the console forwards writes to.
	Approval Var = "OUTERLOOP_APPROVAL"
	Trigger  Var = "OUTERLOOP_TRIGGER"
	// TriggerQueue is the URL of the queue of accepted webhooks.
	TriggerQueue Var = "OUTERLOOP_TRIGGER_QUEUE"
	// Webhooks are the project file's, as JSON.
	Webhooks Var = "OUTERLOOP_WEBHOOKS"
	// Secrets is the prefix of the project's names in Secrets Manager.
	Secrets Var = "OUTERLOOP_SECRETS"
	// AlertTopic is the SNS topic of alerts; unset: alerts are logged only.
	AlertTopic Var = "OUTERLOOP_ALERT_TOPIC"
	// LogLevel is debug, info, warn or error; unset: info.
	LogLevel Var = "OUTERLOOP_LOG_LEVEL"
)

// Webhook is how one sender's signatures are verified.
type Webhook struct {
	// Verify is github, stripe, slack or hmac-sha256.
	Verify string `json:"verify"`
	// Secrets are names; any of them may have signed.
	Secrets []string `json:"secrets"`
}

// Settings are what a function's environment says.
type Settings struct {
	Project, Table, Bucket   string
	Worker, Gate             string
	Contract                 int
	ModelTime                time.Duration
	Approval, Trigger        string
	TriggerQueue, AlertTopic string
	Secrets                  string
	Webhooks                 map[string]Webhook
	LogLevel                 slog.Level
}

// ErrSettings says that the environment lacks something, or has it wrong.
var ErrSettings = errors.New("environment is not complete")

// Read reads the environment. Every variable that is needed and missing, or
// present and wrong, is in the joined error, which wraps ErrSettings.
func Read(getenv func(string) string, need ...Var) (Settings, error) {
	get := func(v Var) string { return getenv(string(v)) }
	var faults []error
	for _, v := range need {
		if get(v) == "" {
			faults = append(faults, fmt.Errorf("%w: %s is not set", ErrSettings, v))
		}
	}
	s := Settings{
		Project: get(Project), Table: get(Table), Bucket: get(Bucket), Worker: get(Worker), Gate: get(Gate), Contract: 1,
		Approval: get(Approval), Trigger: get(Trigger), TriggerQueue: get(TriggerQueue), AlertTopic: get(AlertTopic), Secrets: get(Secrets),
	}
	wrong := func(v Var, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("%w: reading %s: %w", ErrSettings, v, err))
		}
	}
	if text := get(Webhooks); text != "" {
		wrong(Webhooks, json.Unmarshal([]byte(text), &s.Webhooks))
	}
	if text := get(LogLevel); text != "" {
		wrong(LogLevel, s.LogLevel.UnmarshalText([]byte(text)))
	}
	if text := get(ModelTime); text != "" {
		var err error
		s.ModelTime, err = time.ParseDuration(text)
		wrong(ModelTime, err)
	}
	if text := get(Contract); text != "" {
		n, err := strconv.Atoi(text)
		wrong(Contract, err)
		s.Contract = n
	}
	return s, errors.Join(faults...)
}

// WorkerFunction is the name of a worker's function.
func (s Settings) WorkerFunction(worker string) string { return s.Project + "-worker-" + worker }

// DeadLetters is the name of the queue of what a worker never answered.
func (s Settings) DeadLetters(worker string) string { return s.Project + "-" + worker + "-dlq" }

// Secret is the name in Secrets Manager of a secret of the project file.
func (s Settings) Secret(name string) string {
	if s.Secrets == "" {
		return name
	}
	return s.Secrets + "/" + name
}
