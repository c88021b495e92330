package localstack_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
)

// figures prints what the run took of the deployed stack.
func (s *deployedStack) figures(run string) {
	s.Helper()
	say("figures")
	note("deploy: synth %s, bootstrap %s, cdk deploy %s", short(s.p.took["synth"]), short(s.p.took["bootstrap"]), short(s.p.took["deploy"]))
	s.zips()
	tasks, executions := s.history(run)
	note("S1: %d tasks scheduled in %d execution (history); %d states entered by the same run on the embedded engine (transitions)", tasks, executions, s.p.states)
	calls := s.invocations()
	for _, kind := range []string{"gate", "worker", "approval"} {
		n := 0
		for name, count := range calls {
			if strings.HasPrefix(name, project+"-"+kind) {
				n += count
			}
		}
		note("S1: %d invocations of %s functions (REPORT lines of their logs)", n, kind)
	}
	s.coldStart("mailer", 5)
}

func short(d time.Duration) string { return d.Round(100 * time.Millisecond).String() }

// zips lists them; none may pass 12 MB as it is deployed, for arm64. Code for
// amd64 is an eighth larger.
func (s *deployedStack) zips() {
	s.Helper()
	files, err := filepath.Glob(filepath.Join(s.dir, "build/infra/functions", "*", "*.zip"))
	must(s, err)
	sizes, most := map[string]float64{}, 12e6
	if runtime.GOARCH == "amd64" {
		most = 13.5e6
	}
	for _, file := range files {
		info, err := os.Stat(file)
		must(s, err)
		if sizes[filepath.Base(file)] = float64(info.Size()) / 1e6; float64(info.Size()) > most {
			s.Errorf("%s has %.1f MB", file, float64(info.Size())/1e6)
		}
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		all = append(all, fmt.Sprintf("%s %.1f", strings.TrimSuffix(name, ".zip"), sizes[name]))
	}
	note("zips in MB: %s", strings.Join(all, ", "))
}

// history counts the tasks that the run's executions scheduled. The emulator
// records no states inside a Map, so that transitions are the embedded run's.
func (s *deployedStack) history(run string) (tasks, executions int) {
	s.Helper()
	machine := "arn:aws:states:" + region + ":" + account + ":stateMachine:" + project + "-" + loopName
	list, err := s.machines().ListExecutions(s.Context(), &sfn.ListExecutionsInput{StateMachineArn: &machine})
	must(s, err)
	for _, e := range list.Executions {
		if !strings.HasPrefix(*e.Name, run) {
			continue
		}
		executions++
		pages := sfn.NewGetExecutionHistoryPaginator(s.machines(), &sfn.GetExecutionHistoryInput{ExecutionArn: e.ExecutionArn, MaxResults: 1000})
		for pages.HasMorePages() {
			page, err := pages.NextPage(s.Context())
			must(s, err)
			for _, event := range page.Events {
				if event.Type == types.HistoryEventTypeTaskScheduled || event.Type == types.HistoryEventTypeLambdaFunctionScheduled {
					tasks++
				}
			}
		}
		if e.Status != types.ExecutionStatusSucceeded {
			s.Errorf("execution %s is %s", *e.Name, e.Status)
		}
	}
	return tasks, executions
}

// invocations counts the REPORT lines of each function's log.
func (s *deployedStack) invocations() map[string]int {
	s.Helper()
	call := func(operation string, body any, into any) {
		s.decode(string(s.rest(http.MethodPost, "logs", "/", map[string]string{
			"X-Amz-Target": "Logs_20140328." + operation, "Content-Type": "application/x-amz-json-1.1",
		}, body)), into)
	}
	var groups struct {
		LogGroups []struct {
			LogGroupName string `json:"logGroupName"`
		} `json:"logGroups"`
	}
	call("DescribeLogGroups", map[string]any{"logGroupNamePrefix": "/aws/lambda/" + project + "-"}, &groups)
	calls := map[string]int{}
	for _, g := range groups.LogGroups {
		for token := ""; ; {
			request := map[string]any{"logGroupName": g.LogGroupName, "filterPattern": "REPORT", "limit": 10000}
			if token != "" {
				request["nextToken"] = token
			}
			var page struct {
				Events []struct {
					Message string `json:"message"`
				} `json:"events"`
				NextToken string `json:"nextToken"`
			}
			call("FilterLogEvents", request, &page)
			for _, event := range page.Events {
				calls[strings.TrimPrefix(g.LogGroupName, "/aws/lambda/")] += strings.Count(event.Message, "REPORT RequestId")
			}
			if token = page.NextToken; token == "" || len(page.Events) == 0 {
				break
			}
		}
	}
	return calls
}

// coldStart measures how long a worker's own binary takes from the start of its
// process to asking for its first event, at a runtime API of the test's own.
func (s *deployedStack) coldStart(worker string, times int) {
	s.Helper()
	var took []time.Duration
	for range times {
		took = append(took, s.start(filepath.Join(s.dir, "build/infra/functions", runtime.GOARCH, "workers-"+worker+"-lambda", "bootstrap"), worker))
	}
	slices.Sort(took)
	note("cold start of %s: %s from exec to its first request for an event (median of %d; the binary at a runtime API on loopback, on this machine, without Lambda's own set-up)",
		worker, took[len(took)/2].Round(100*time.Microsecond), times)
}

func (s *deployedStack) start(binary, worker string) time.Duration {
	s.Helper()
	asked := make(chan time.Time, 1)
	var once sync.Once
	api := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/runtime/invocation/next") {
			once.Do(func() { asked <- time.Now() })
		}
		<-r.Context().Done()
	}))
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	command := exec.CommandContext(ctx, binary)
	command.Env = append(os.Environ(), "AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(api.URL, "http://"), "AWS_LAMBDA_FUNCTION_NAME="+worker,
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=256", "OUTERLOOP_PROJECT="+project, "OUTERLOOP_WORKER="+worker, "OUTERLOOP_GATE="+project+"-gate-"+worker, "OUTERLOOP_BUCKET="+s.bucket)
	var said strings.Builder
	command.Stderr, command.Stdout = &said, &said
	began := time.Now()
	must(s, command.Start())
	var took time.Duration
	select {
	case at := <-asked:
		took = at.Sub(began)
	case <-ctx.Done():
		s.Errorf("%s asked for no event: %s", binary, said.String())
	}
	cancel()
	_ = command.Wait()
	api.CloseClientConnections()
	api.Close()
	return took
}
