package localstack_test

import (
	"archive/zip"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/outerloop-dev/outerloop/pkg/console/stack"
)

const (
	region  = "us-east-1"
	account = "000000000000"
	project = "acme"
)

// deployedStack is the stack, and the command line that reaches it.
type deployedStack struct {
	commands
	p        *projectCopy
	endpoint string
	aws      aws.Config
	bucket   string
	began    time.Time
}

// deployed starts the emulator, deploys the project as `cdk deploy` does it on
// AWS, and connects the command line with the stack.
func (p *projectCopy) deployed() *deployedStack {
	p.Helper()
	endpoint := p.emulator()
	p.env = append(p.env, "AWS_ENDPOINT_URL="+endpoint, "AWS_ENDPOINT_URL_S3="+endpoint,
		"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_REGION="+region, "AWS_DEFAULT_REGION="+region,
		"CDK_DISABLE_CLI_TELEMETRY=1", "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=1", "NODE_NO_WARNINGS=1")
	if os.Getenv("OUTERLOOP_STACK_ENDPOINT") == "" || !p.connects(endpoint) {
		p.deploy()
		if !p.connects(endpoint) {
			p.Fatal("the command line does not find the stack")
		}
	}
	s := &deployedStack{commands: p.commands, p: p, endpoint: endpoint, began: time.Now()}
	s.far, s.env = true, append(s.env, "OUTERLOOP_TARGET=aws")
	for _, pair := range p.env {
		name, value, _ := strings.Cut(pair, "=")
		p.TB.(interface{ Setenv(string, string) }).Setenv(name, value)
	}
	var err error
	s.aws, err = config.LoadDefaultConfig(p.Context())
	must(p, err)
	known, err := stack.Read(filepath.Join(p.dir, stack.Default))
	must(p, err)
	_, found, err := known.Find("")
	must(p, err)
	s.bucket = found.Bucket
	return s
}

// deploy does what an operator does, with nothing but the CDK.
func (p *projectCopy) deploy() {
	p.Helper()
	cdk, infra := os.Getenv("OUTERLOOP_CDK"), filepath.Join(p.dir, "infra")
	if cdk == "" {
		p.Fatal("OUTERLOOP_CDK must name the CDK's command line; make stack-local sets it")
	}
	say("cdk synth, bootstrap and deploy")
	if _, err := os.Stat(p.manifest()); err != nil {
		p.timed("synth", infra, cdk, "synth", "--quiet", "--no-notices", "-c", "loops="+loopName, "-c", "architecture="+runtime.GOARCH, "-c", "deletable=yes", "-c", "largestZip=14")
	}
	p.timed("bootstrap", infra, cdk, "bootstrap", "--app", "cdk.out", "--no-notices", "aws://"+account+"/"+region)
	out := p.timed("deploy", infra, cdk, "deploy", "--app", "cdk.out", "--require-approval", "never", "--no-notices")
	note("%s", head(out[max(0, strings.Index(out, "Outputs:")):], 10))
}

// connects has the command line read the stack's outputs; false: there is none.
func (p *projectCopy) connects(endpoint string) bool {
	p.Helper()
	connect := exec.CommandContext(p.Context(), filepath.Join(p.dir, "build/bin/outerloop-aws"), "connect", "Outerloop-"+project, "--endpoint", endpoint)
	connect.Dir, connect.Env = p.dir, append(os.Environ(), p.env...)
	out, err := connect.CombinedOutput()
	note("$ outerloop-aws connect Outerloop-%s\n%s", project, head(string(out), 2))
	return err == nil
}

// emulator is the running one that OUTERLOOP_STACK_ENDPOINT names, else one of
// the test's own.
func (p *projectCopy) emulator() string {
	p.Helper()
	if running := os.Getenv("OUTERLOOP_STACK_ENDPOINT"); running != "" {
		return running
	}
	port, script := free(p), filepath.Join(p.root, "localstack", "ministack.sh")
	begin := exec.CommandContext(p.Context(), script, "start")
	begin.Env = append(os.Environ(), "MINISTACK_PORT="+port)
	out, err := begin.CombinedOutput()
	if err != nil {
		p.Fatalf("starting MiniStack: %v\n%s", err, out)
	}
	p.Cleanup(func() {
		end := exec.Command(script, "stop")
		end.Env = begin.Env
		if out, err := end.CombinedOutput(); err != nil {
			p.Errorf("stopping MiniStack: %v\n%s", err, out)
		}
	})
	say("MiniStack runs on 127.0.0.1:%s", port)
	return "http://127.0.0.1:" + port
}

// rest calls an API for which no SDK is loaded.
func (s *deployedStack) rest(method, service, path string, header map[string]string, body any) []byte {
	s.Helper()
	content, err := json.Marshal(body)
	must(s, err)
	req, err := http.NewRequestWithContext(s.Context(), method, s.endpoint+path, bytes.NewReader(content))
	must(s, err)
	for name, value := range header {
		req.Header.Set(name, value)
	}
	credentials, err := s.aws.Credentials.Retrieve(s.Context())
	must(s, err)
	sum := sha256.Sum256(content)
	must(s, v4.NewSigner().SignHTTP(s.Context(), credentials, req, hex.EncodeToString(sum[:]), service, region, time.Now()))
	answer, err := http.DefaultClient.Do(req)
	must(s, err)
	defer answer.Body.Close()
	out, err := io.ReadAll(answer.Body)
	must(s, err)
	if answer.StatusCode >= 300 {
		s.Fatalf("%s %s: %s %s", method, path, answer.Status, out)
	}
	return out
}

// fires has the loop's schedule fire for its nominal time, soon and again: the
// emulator leaves the time's placeholder as it is, so the test fills it in.
func (s *deployedStack) fires() {
	s.Helper()
	path := "/schedules/" + project + "-" + loopName + "-0"
	var schedule map[string]any
	s.decode(string(s.rest(http.MethodGet, "scheduler", path+"?groupName="+project, nil, struct{}{})), &schedule)
	target := schedule["Target"].(map[string]any)
	note("schedule %s %s sends %s", schedule["Name"], schedule["ScheduleExpression"], target["Input"])
	input := strings.Replace(target["Input"].(string), "<aws.scheduler.scheduled-time>", nominal, 1)
	if !strings.Contains(input, nominal) {
		s.Fatal("the schedule does not send its time")
	}
	target["Input"] = input
	schedule["ScheduleExpression"] = "rate(1 minute)"
	s.rest(http.MethodPut, "scheduler", path, map[string]string{"Content-Type": "application/json"}, schedule)
	note("it now fires every minute, always for %s: one run is to come of it", nominal)
}

// awaitRun waits until a subject has a run.
func (s *deployedStack) awaitRun(subject string) (run string) {
	s.Helper()
	s.until(4*time.Minute, "there is a run for "+subject, func() bool {
		var runs []shown
		s.decode(s.outerloop(0, "runs", loopName, "-o", "json"), &runs)
		for _, r := range runs {
			if r.Subject == subject {
				run = r.ID
			}
		}
		return run != ""
	})
	return run
}

// outcome adds what the outbox in the bucket holds.
func (s *deployedStack) outcome(run string) outcome {
	s.Helper()
	out, client := s.commands.outcome(run), s.objects()
	prefix := "connections/mail/"
	list, err := client.ListObjectsV2(s.Context(), &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &prefix})
	must(s, err)
	for _, object := range list.Contents {
		one, err := client.GetObject(s.Context(), &s3.GetObjectInput{Bucket: &s.bucket, Key: object.Key})
		must(s, err)
		content, err := io.ReadAll(one.Body)
		must(s, err)
		out.Mails[strings.TrimPrefix(*object.Key, prefix)] = string(content)
	}
	return out
}

// invoke calls a function.
func (s *deployedStack) invoke(function string, event any) ([]byte, string) {
	s.Helper()
	payload, err := json.Marshal(event)
	must(s, err)
	out, err := lambda.NewFromConfig(s.aws).Invoke(s.Context(), &lambda.InvokeInput{FunctionName: &function, Payload: payload})
	must(s, err)
	return out.Payload, aws.ToString(out.FunctionError)
}

// posts hands a signed delivery to the webhooks' function in the form that its
// URL would: the emulator serves no function URLs. It answers the status.
func (s *deployedStack) posts(secret, id, body string) int {
	s.Helper()
	stamp := fmt.Sprint(time.Now().Unix())
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%s.%s.%s", id, stamp, body)
	answer, failed := s.invoke(project+"-hook", map[string]any{
		"version": "2.0", "rawPath": "/crm", "body": base64.StdEncoding.EncodeToString([]byte(body)), "isBase64Encoded": true,
		"headers": map[string]string{
			"content-type": "application/json", "webhook-id": id, "webhook-timestamp": stamp,
			"webhook-signature": "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)),
		},
		"requestContext": map[string]any{"http": map[string]any{"method": http.MethodPost, "path": "/crm"}},
	})
	var out struct {
		StatusCode int    `json:"statusCode"`
		Body       string `json:"body"`
	}
	s.decode(string(answer), &out)
	if failed != "" || out.Body != "" {
		s.Fatalf("the webhooks' function: %s %s", failed, answer)
	}
	return out.StatusCode
}

// secret puts a webhook's secret where the stack looks for it.
func (s *deployedStack) secret(name, value string) {
	s.Helper()
	_, err := secretsmanager.NewFromConfig(s.aws).CreateSecret(s.Context(), &secretsmanager.CreateSecretInput{Name: aws.String(project + "/" + name), SecretString: &value})
	var there *types.ResourceExistsException // of an earlier run on the same emulator
	if !errors.As(err, &there) {
		must(s, err)
	}
}

func (s *deployedStack) queues() *sqs.Client   { return sqs.NewFromConfig(s.aws) }
func (s *deployedStack) machines() *sfn.Client { return sfn.NewFromConfig(s.aws) }

// dies is the code of a function that ends at its start.
func dies() []byte {
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	header := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate}
	header.SetMode(0o755)
	file, err := archive.CreateHeader(header)
	if err == nil {
		_, err = io.WriteString(file, "#!/bin/sh\nexit 1\n")
	}
	if err == nil {
		err = archive.Close()
	}
	if err != nil {
		panic(err) // of memory alone
	}
	return b.Bytes()
}
