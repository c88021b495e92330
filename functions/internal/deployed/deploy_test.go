package deployed_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"github.com/outerloop-dev/outerloop/functions/internal/approval"
	"github.com/outerloop-dev/outerloop/functions/internal/boot"
	"github.com/outerloop-dev/outerloop/functions/internal/core"
	"github.com/outerloop-dev/outerloop/functions/internal/gatedoor"
	"github.com/outerloop-dev/outerloop/functions/internal/lambdawork"
	"github.com/outerloop-dev/outerloop/functions/internal/machines"
	"github.com/outerloop-dev/outerloop/functions/internal/publish"
	"github.com/outerloop-dev/outerloop/functions/internal/trigger"
	"github.com/outerloop-dev/outerloop/functions/internal/watch"
	"github.com/outerloop-dev/outerloop/pkg/compile"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/remote"
	"github.com/outerloop-dev/outerloop/pkg/local/durable"
	"github.com/outerloop-dev/outerloop/pkg/project"
	"github.com/outerloop-dev/outerloop/pkg/store/dynamostore"
	"github.com/outerloop-dev/outerloop/pkg/telemetry"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// root is the repository's.
const root = "../../.."

func settings() boot.Settings { return boot.Settings{Project: "acme", Table: "acme", Bucket: "acme"} }

// open makes a core of its own, as every function's process has one.
func (a *account) open() *core.Core {
	a.Helper()
	db, err := dynamostore.New(dynamostore.Config{
		Client: a.table, Table: "acme", Objects: a.bucket, Bucket: "acme", Prefix: core.BlobPrefix, Now: a.clock.Now,
	})
	a.must(err)
	c, err := core.New(core.Parts{Settings: settings(), Store: db, Machines: a.states, Lambda: a, Inputs: a.bucket, Bucket: "acme", Now: a.clock.Now})
	a.must(err)
	return c
}

// deploy brings a loop of the repository and its workers into the account, in
// the order of a deployment.
func (a *account) deploy(name string, workers ...worker.Worker) {
	a.Helper()
	p, problems := project.Open(root)
	if err := problems.Err(); err != nil {
		a.Fatal(err)
	}
	def, ok := p.Loop(name)
	if !ok {
		a.Fatalf("there is no loop %s", name)
	}
	bundle, err := p.Bundle(name)
	a.must(err)
	hash := project.Hash(bundle)
	c := a.open()
	a.functions["acme-publish"] = publish.New(publish.Config{
		Publisher:   machines.Publisher{Store: c.Store, Blobs: c.Store, IDs: core.NewID},
		Definitions: c.Definitions, Objects: a.bucket, Bucket: "acme", Versions: machines.Versions{Client: versions{}},
	}).Handle
	a.bucket.mu.Lock()
	a.bucket.content["assets/"+hash+".json"] = bundle
	a.bucket.mu.Unlock()
	a.publish(map[string]any{"Publish": "definition", "Loop": name, "Hash": hash, "Bundle": map[string]string{"Bucket": "assets", "Key": "assets/" + hash + ".json"}})
	a.machine(name, compile.Substitutions(def))
	a.publish(map[string]any{"Publish": "latest", "Loop": name, "Hash": hash, "Machine": durable.MachineARN("acme-" + name)})
	a.coordinate()
	for _, w := range workers {
		a.worker(w)
	}
}

func (a *account) publish(properties map[string]any) {
	a.Helper()
	event, err := json.Marshal(map[string]any{"RequestType": "Create", "ResourceProperties": properties})
	a.must(err)
	if out, failed := a.call("acme-publish", event); failed != nil {
		a.Fatalf("publishing %v: %v, %s", properties["Publish"], failed, out)
	}
}

// machine registers a loop's committed machine with the names of the account.
func (a *account) machine(name string, tokens []compile.Token) {
	a.Helper()
	text, err := os.ReadFile(filepath.Join(root, project.LoopDir, name+".asl.json"))
	a.must(err)
	hash, err := a.core.Publish(a.Context(), compile.Substitute(text, tokens, func(t compile.Token) string {
		switch t.Kind {
		case compile.TokenWorker:
			return "acme-worker-" + t.Name
		case compile.TokenQueue:
			return "https://sqs.example/1/acme-" + t.Name
		}
		return "acme-approval"
	}))
	a.must(err)
	a.must(a.core.Name(a.Context(), "acme-"+name, hash))
}

// coordinate makes the coordinator's functions.
func (a *account) coordinate() {
	decide, start, look := a.open(), a.open(), a.open()
	a.functions["acme-approval"] = approval.New(approval.Config{Step: decide.Step, Uses: remote.Of(decide.Coordinator).Serve}).Handle
	a.functions["acme-trigger"] = trigger.New(trigger.Config{
		Coordinator: start.Coordinator, Definitions: start.Definitions, Files: start.Files.Keep, Probe: start.Workers.Probe,
		Surroundings: core.Surroundings, Uses: remote.Of(start.Coordinator).Serve, Now: a.clock.Now,
	}).Handle
	a.functions["acme-watch"] = watch.New(watch.Config{
		Coordinator: look.Coordinator, Files: look.Files.Keep, Gauge: watch.Gauge{From: look.Coordinator}.Read,
		Metrics: telemetry.EMF{Out: &strings.Builder{}, Namespace: watch.Namespace, Now: a.clock.Now}, Project: "acme", Now: a.clock.Now,
	}).Handle
}

// worker makes a worker's function, with its gate's and its queue.
func (a *account) worker(w worker.Worker) {
	c := a.open()
	gate, own := "acme-gate-"+w.Name(), "acme-worker-"+w.Name()
	a.functions[gate] = gatedoor.New(gatedoor.Config{
		Worker: w.Name(), Gate: c.For(w.Name()), Definition: c.DefinitionOf, Keep: c.Store.PutBlob,
		Signer: core.Signer{Client: a.bucket, Bucket: "acme"},
	}).Handle
	s := settings()
	s.Worker, s.Gate = w.Name(), gate
	a.functions[own] = lambdawork.New(w, lambdawork.Parts{
		Settings: s, Lambda: a, Messages: a, Outside: lambdawork.Outside{Objects: a.bucket, Bucket: "acme"},
		Web: http.DefaultClient, Env: worker.Env{Clock: a.clock},
	}).Handle
	a.queues["acme-"+w.Name()] = own
}

// versions is the part of Step Functions that the embedded API does not have.
type versions struct{ machines.VersionClient }

func (versions) UpdateStateMachineAlias(context.Context, *sfn.UpdateStateMachineAliasInput, ...func(*sfn.Options)) (*sfn.UpdateStateMachineAliasOutput, error) {
	return &sfn.UpdateStateMachineAliasOutput{}, nil
}
