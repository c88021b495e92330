package stack

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/compile"
	"github.com/outerloop-dev/outerloop/pkg/project"
	"github.com/outerloop-dev/outerloop/pkg/scaffold"
)

// own is a new project beside this repository, with its loop's only worker
// changed to another charter's kind.
func own(t *testing.T, kind string) Props {
	t.Helper()
	checkout, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "orders")
	if _, err := scaffold.Write(dir, scaffold.Project{Name: "orders", Go: "1.26", Version: "v0.0.0", Replace: checkout}); err != nil {
		t.Fatal(err)
	}
	change := func(file, from, to string) {
		t.Helper()
		content, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || strings.Count(string(content), from) != 1 {
			t.Fatal(file, err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(strings.Replace(string(content), from, to, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if kind != "" {
		change("functions/workers/order-scan/charter.yaml", "kind: go\n", kind)
		change("outerloop.yaml", "connections:\n", "connections:\n  shop: {kind: http, secret: shop-key, may: [read]}\n")
	}
	p, problems := project.Open(dir)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	def, _ := p.Loop("overdue-orders")
	machine, err := compile.Compile(def)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "statemachines/overdue-orders.asl.json"), machine, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return Props{Project: p, Root: dir, Work: filepath.Join(dir, "build")}
}

// R64, R70: a new project deploys as it stands, from its own module: its worker's
// function is its own, the coordinator's come with outerloop.
func TestOwnProject(t *testing.T) {
	p := own(t, "")
	packages, err := Packages(p)
	if err != nil || !slices.Contains(packages, "./functions/workers/order-scan/lambda") {
		t.Fatal(packages, err)
	}
	// The same packages are named as tools in its go.mod, so that `go mod tidy` keeps what they need.
	modfile, err := os.ReadFile(filepath.Join(p.Root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(packages, agentPackage, bridgePackage) {
		if !strings.HasPrefix(name, "./") && !strings.Contains(string(modfile), "\t"+name+"\n") {
			t.Errorf("its go.mod does not name %s", name)
		}
	}
	made, err := synthesise(t.TempDir(), func(into *Props) { *into = p })
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range made.Said {
		t.Error(line)
	}
	for _, name := range []string{"orders-gate-order-scan", "orders-worker-order-scan", "orders-trigger", "orders-watch", "orders-console"} {
		if _, there := made.functions()[name]; !there {
			t.Errorf("no function %s", name)
		}
	}
	if _, there := made.functions()["orders-hook"]; there {
		t.Error("a receiver of webhooks in a project that has none")
	}
}

// R71: workers whose work is done by an endpoint or an existing function have the
// bridge's function, with the right to that one function, or that one secret. A
// program of a machine cannot come along, and the refusal says what can.
func TestBridges(t *testing.T) {
	for kind, want := range map[string]string{
		"kind: http\nhttp: {url: \"https://shop.example/scan\", connection: shop}\n": "secretsmanager:GetSecretValue arn:<Partition>:secretsmanager:<Region>:<AccountId>:secret:orders/shop-key-??????",
		"kind: lambda\nlambda: {function: \"scan:live\", payload: task}\n":           "lambda:InvokeFunction arn:<Partition>:lambda:<Region>:<AccountId>:function:scan:live",
	} {
		p := own(t, kind)
		made, err := synthesise(t.TempDir(), func(into *Props) { *into = p })
		if err != nil {
			t.Fatal(err)
		}
		tpl := made.Templates["WorkerOrderScan"]
		var got []string
		for _, s := range rightsOf("", tpl) {
			for _, on := range s.On {
				got = append(got, s.Do[0]+" "+on)
			}
		}
		if !slices.Contains(got, want) {
			t.Errorf("%s has %q", kind, got)
		}
		_, function := tpl.one(t, "AWS::Lambda::Function", "Function")
		if at(function.Properties, "Environment", "Variables", "OUTERLOOP_CONTRACT") != "1" {
			t.Errorf("%s: the contract is %v", kind, at(function.Properties, "Environment", "Variables"))
		}
		if packages, err := Packages(p); err != nil || !slices.Contains(packages, bridgePackage) {
			t.Error(packages, err)
		}
	}
	_, err := Packages(own(t, "kind: command\ncommand: {run: [./scan]}\n"))
	if !errors.Is(err, ErrProps) || !strings.Contains(err.Error(), "write kind: lambda") {
		t.Error(err)
	}
}

// R49: a project may choose a model for what its workers of kind go do; deployed,
// they then are agents, with the right to that model, under the same machine.
func TestChosenModel(t *testing.T) {
	t.Parallel()
	p, err := props(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	chosen, problems := project.OpenWith(p.Root, map[string]string{project.ModelFile: `{"model": {"connection": "bedrock", "id": "us.acme.writer-v1:0",
	  "price": {"input": "3 USD", "output": "15 USD", "as_of": "2026-11-30"}}, "workers": ["followup-writer"]}`})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	p.Project, p.Loops = chosen, []string{"crm-followup"}
	planned, err := p.plan()
	if err != nil {
		t.Fatal(err) // the committed machine is the same
	}
	i := slices.IndexFunc(planned.Units, func(u unit) bool { return u.Name == "followup-writer" })
	if got := planned.Units[i].Package; got != agentPackage {
		t.Errorf("followup-writer runs %s", got)
	}
	if got := planned.Units[slices.IndexFunc(planned.Units, func(u unit) bool { return u.Name == "crm-scan" })].Package; got != "./functions/workers/crm-scan/lambda" {
		t.Errorf("crm-scan runs %s", got)
	}
}
