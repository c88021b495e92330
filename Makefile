# outerloop: `make help` says what each target does.
SHELL := /bin/bash
.DEFAULT_GOAL := help

BUILD    := build
BIN      := $(BUILD)/outerloop
VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS  := -s -w -X main.version=$(VERSION)
GOFILES  := $(shell git ls-files '*.go' 2>/dev/null)
AS_OF    := 2026-11-30
LINT     := $(BUILD)/bin/golangci-lint
LINT_VERSION := v2.15.0
# The packages with goroutines; the race detector slows SQLite elevenfold, so
# simulations, kills and benchmarks run without it.
RACE     := . ./pkg/gate/... ./pkg/rule/... ./pkg/schema/... ./pkg/store ./pkg/store/storetest/... ./pkg/store/dynamostore/... \
            ./pkg/worker/... ./pkg/local/... ./functions/...

help: ## Show this list
	@awk -F':.*## ' '/^[a-z][a-z-]*:.*## /{printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN): $(GOFILES) go.mod
	@mkdir -p $(BUILD)
	go build -trimpath -ldflags '$(LDFLAGS)' -o $@ ./cmd/outerloop

build: $(BIN) ## Build build/outerloop

run: $(BIN) ## Run the CRM follow-up sample on the embedded engine (waiting for a person is success)
	@$(BIN) run crm-followup --input exports/crm.csv --as-of $(AS_OF); code=$$?; [ $$code -eq 0 ] || [ $$code -eq 3 ] || exit $$code

dev: $(BIN) ## Keep the embedded engine running: schedules, queues, waits
	$(BIN) dev

test: ## Run all tests; the race detector too where a C compiler is found
	go test -timeout 20m ./...
	@if command -v gcc >/dev/null || command -v cc >/dev/null; then \
	  echo "race tests"; CGO_ENABLED=1 go test -race -short -timeout 20m $(RACE); \
	elif [ -n "$$CI" ]; then echo "make test: no C compiler, and race tests are required here" >&2; exit 1; \
	else echo "race tests skipped: no C compiler found"; fi

$(LINT):
	@mkdir -p $(BUILD)/bin
	GOBIN=$(CURDIR)/$(BUILD)/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)

lint: $(LINT) ## Formatting, vet, import direction, size of functions and files
	$(LINT) run ./...

# The CDK's command line and cfn-lint, each in a folder of its own: npm removes
# what it did not install itself.
CDK      := $(CURDIR)/$(BUILD)/cdk/node_modules/.bin/cdk
CFN_LINT := $(CURDIR)/$(BUILD)/cfn-lint/bin/cfn-lint

$(CDK): .ci/cdk.version
	npm install --silent --no-audit --no-fund --no-save --no-package-lock --prefix $(BUILD)/cdk "aws-cdk@$$(cat $<)"
	@touch $@

$(CFN_LINT): .ci/cfn-lint.version
	python3 -m venv $(BUILD)/cfn-lint
	$(BUILD)/cfn-lint/bin/pip install --quiet --disable-pip-version-check "cfn-lint==$$(cat $<)"
	@touch $@

synth: $(CDK) ## Build the functions and write the AWS templates to infra/cdk.out (SYNTH='-c loops=…')
	cd infra && JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=1 $(CDK) synth --quiet --no-notices $(SYNTH)

infra-test: $(LINT) ## Test the AWS stack and its builder
	cd infra && go vet ./... && JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=1 go test -timeout 20m ./... && $(CURDIR)/$(LINT) run ./...

# W3005: the CDK writes dependencies that a GetAtt implies.
cfn-lint: $(CFN_LINT) ## Check the templates in infra/cdk.out (make synth writes them)
	$(CFN_LINT) --ignore-checks W3005 --template infra/cdk.out/*.template.json

stack-local: $(CDK) ## Deploy the stack to MiniStack on this machine and run S1 there: minutes, no token
	OUTERLOOP_STACK_TEST=1 OUTERLOOP_CDK=$(CDK) go test ./localstack -run TestStack -count=1 -v -timeout 60m

# LocalStack in a container; other images than the pinned one need LOCALSTACK_AUTH_TOKEN.
LOCALSTACK_URL := http://127.0.0.1:$(or $(LOCALSTACK_PORT),4566)
LOCALSTACK_ENV := AWS_ENDPOINT_URL=$(LOCALSTACK_URL) AWS_ENDPOINT_URL_S3=$(LOCALSTACK_URL) AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test \
                  AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1 JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=1

localstack-up: ## Start LocalStack (Docker)
	docker compose -f localstack/compose.yaml up --detach --wait

localstack-deploy: $(CDK) ## Deploy the stack to LocalStack (SYNTH='-c architecture=amd64 -c loops=crm-followup')
	$(MAKE) synth SYNTH="-c deletable=yes $(SYNTH)"
	cd infra && $(LOCALSTACK_ENV) $(CDK) bootstrap --app cdk.out aws://000000000000/us-east-1
	cd infra && $(LOCALSTACK_ENV) $(CDK) deploy --app cdk.out --require-approval never --no-notices

localstack-smoke: $(BIN) ## Run S1 on LocalStack's stack by the command line
	go build -trimpath -o $(BUILD)/outerloop-aws ./cmd/outerloop-aws
	$(LOCALSTACK_ENV) localstack/smoke.sh

localstack-down: ## Stop LocalStack and forget what it held
	docker compose -f localstack/compose.yaml down --volumes

.PHONY: stack-local localstack-up localstack-deploy localstack-smoke localstack-down

bench: ## Measure the engine and the store; writes build/bench.json
	@mkdir -p $(BUILD)
	go run ./internal/bench -all -each 10000 -backlog 100000 -o $(BUILD)/bench.json

bench-store: ## Measure both store adapters, lone and 64 in flight
	go test -run '^$$' -bench . -benchmem ./pkg/store/...

crash: $(BIN) ## Kill S1 and a fan-out with retries and approvals 1,000 times each; compare with undisturbed runs
	go test ./internal/crashtest -run TestKill -count=1 -timeout 60m -parallel 8 -v -kills 1000

sim: ## Simulate 10,000 seeds of faults, on every store, and show that the simulation sees
	go test ./internal/sim -count=1 -timeout 30m -seeds 10000 -sees -v | grep -v '^=== '

sim-ci: ## The simulation's part of CI: 2,000 seeds
	go test ./internal/sim -count=1 -timeout 15m -seeds 2000

generate: $(BIN) ## Write what is derived: compiled machines, help texts, tables in the docs
	$(BIN) compile
	go generate ./...

verify: $(BIN) lint ## Everything that must hold before a change lands: lint, tests, no drift
	$(BIN) validate ./...
	$(BIN) compile --check
	$(MAKE) test
	@git diff --exit-code -- docs README.md statemachines >/dev/null || { echo "derived files have changed: run make generate and commit" >&2; exit 1; }

clean: ## Remove what was built (not the runs in .outerloop)
	rm -rf $(BUILD)

.PHONY: help build run dev test lint synth infra-test cfn-lint bench bench-store crash generate verify clean sim sim-ci
