package localstack_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// rows is how many of the export's rows the second run gets.
const rows = 60

// webhooks sends a signed delivery, wrong ones, and the same again, and answers
// the one run that came of it.
func (s *deployedStack) webhooks() string {
	s.Helper()
	s.secret("crm-hook-new", "not yet in use")
	s.secret("crm-hook", "known to the CRM alone")
	body := `{"exported":"` + exported + `","file":"` + s.puts() + `"}`
	for _, delivery := range []struct {
		what, secret, id string
		want             int
	}{
		{"signed with another secret", "guessed", "evt-1", http.StatusUnauthorized},
		{"signed, with the older of two secrets", "known to the CRM alone", "evt-1", http.StatusAccepted},
		{"the same again", "known to the CRM alone", "evt-1", http.StatusAccepted},
	} {
		got := s.posts(delivery.secret, delivery.id, body)
		if got != delivery.want {
			s.Errorf("a webhook %s: %d, want %d", delivery.what, got, delivery.want)
		}
		note("webhook %s: %d", delivery.what, got)
	}
	return s.awaitRun(exported[:10])
}

// puts puts a part of the export where webhooks' files are, as the CRM would, and
// answers the name that the webhook gives.
func (s *deployedStack) puts() string {
	s.Helper()
	const name = "exports/last-week.csv"
	content, err := os.ReadFile(filepath.Join(s.dir, "exports", "crm.csv"))
	must(s, err)
	lines := strings.SplitAfterN(string(content), "\n", rows+2)
	_, err = s.objects().PutObject(s.Context(), &s3.PutObjectInput{
		Bucket: &s.bucket, Key: aws.String("inputs/" + name), Body: strings.NewReader(strings.Join(lines[:rows+1], "")),
	})
	must(s, err)
	return name
}

// large is a file over what one call carries, in bytes.
const large = 5 << 20

// uploads hands over a file that is too large for one call: it goes to the bucket
// by a signed address. It belongs to the week that has its run, so that none starts.
func (s *deployedStack) uploads() {
	s.Helper()
	content, err := os.ReadFile(filepath.Join(s.dir, "exports", "crm.csv"))
	must(s, err)
	titles, rest, _ := bytes.Cut(content, []byte("\n"))
	content = append(append(titles, '\n'), bytes.Repeat(rest, large/len(rest)+1)...)
	must(s, os.WriteFile(filepath.Join(s.dir, "exports", "large.csv"), content, 0o600))
	answer := s.outerloop(2, "run", loopName, "--input", "exports/large.csv", "--as-of", nominal)
	key := fmt.Sprintf("%x", sha256.Sum256(content))
	kept, err := s.objects().HeadObject(s.Context(), &s3.HeadObjectInput{Bucket: &s.bucket, Key: aws.String("blobs/sha256/" + key[:2] + "/" + key)})
	must(s, err)
	if aws.ToInt64(kept.ContentLength) != int64(len(content)) {
		s.Errorf("the bucket has %d of %d bytes", aws.ToInt64(kept.ContentLength), len(content))
	}
	note("a file of %d bytes is in the bucket, by a signed upload\n%s", len(content), head(answer, 3))
}

func (s *deployedStack) objects() *s3.Client {
	return s3.NewFromConfig(s.aws, func(o *s3.Options) { o.UsePathStyle = true })
}

// breaks gives a worker code that ends at its start. AWS would deliver its
// messages again after six times its time limit, up to a hundred times; the
// test has its queue do so sooner and fewer times. The emulator takes a process
// that has ended for one that hangs, until the time limit.
func (s *deployedStack) breaks(worker string) {
	s.Helper()
	function, queue := project+"-worker-"+worker, project+"-"+worker
	client := lambda.NewFromConfig(s.aws)
	_, err := client.UpdateFunctionConfiguration(s.Context(), &lambda.UpdateFunctionConfigurationInput{FunctionName: &function, Timeout: aws.Int32(3)})
	must(s, err)
	_, err = client.UpdateFunctionCode(s.Context(), &lambda.UpdateFunctionCodeInput{FunctionName: &function, ZipFile: dies()})
	must(s, err)
	url, err := s.queues().GetQueueUrl(s.Context(), &sqs.GetQueueUrlInput{QueueName: &queue})
	must(s, err)
	_, err = s.queues().SetQueueAttributes(s.Context(), &sqs.SetQueueAttributesInput{QueueUrl: url.QueueUrl, Attributes: map[string]string{
		"VisibilityTimeout": "2",
		"RedrivePolicy":     `{"deadLetterTargetArn":"arn:aws:sqs:` + region + ":" + account + ":" + queue + `-dlq","maxReceiveCount":"3"}`,
	}})
	must(s, err)
	note("%s now ends with code 1 before it does anything; its messages are received 3 times, then are dead letters", function)
}

// ruleHolds sees the failed drafts made by the declared backup, and the run
// complete.
func (s *deployedStack) ruleHolds(run string) {
	s.Helper()
	ctx, stop := context.WithCancel(s.Context())
	var watching sync.WaitGroup
	watching.Go(func() { s.watches(ctx) })
	s.decide(run)
	stop()
	watching.Wait()
	v := s.show(run)
	backed := 0
	for _, step := range v.Steps {
		if !strings.HasSuffix(step.Path, "/draft") || step.Status+step.Outcome == "" || step.Outcome == "not_needed" {
			continue
		}
		if step.Worker != "followup-template" {
			s.Errorf("%s was done by %s: %s %s", step.Path, step.Worker, step.Status, step.Outcome)
		}
		backed++
	}
	if backed == 0 || v.Status != "completed" {
		s.Errorf("%d drafts of the backup; the run is %s: %s", backed, v.Status, v.Reason)
	}
	var runs []shown
	s.decode(s.outerloop(0, "runs", loopName, "-o", "json"), &runs)
	if len(runs) != 2 {
		s.Errorf("%d runs, want one of the schedule and one of the webhook: %+v", len(runs), runs)
	}
	note("%d drafts are the backup's (followup-template), the run is %s; %d runs in all, though the schedule fired every minute", backed, v.Status, len(runs))
	note("$ outerloop show %s --target aws\n%s", run, head(s.outerloop(-1, "show", run), 20))
}

// watches calls the watch in the minutes in which it reads dead letters: the
// emulator's schedules drift by its ticks of ten seconds, and may miss them.
func (s *deployedStack) watches(ctx context.Context) {
	every, looked := time.NewTicker(5*time.Second), -1
	defer every.Stop()
	for {
		if now := time.Now(); now.Minute()%5 == 0 && now.Minute() != looked {
			looked = now.Minute()
			out, err := lambda.NewFromConfig(s.aws).Invoke(ctx, &lambda.InvokeInput{FunctionName: aws.String(project + "-watch"), Payload: []byte(`{"source":"aws.scheduler"}`)})
			if ctx.Err() == nil && (err != nil || out.FunctionError != nil) {
				s.Errorf("the watch: %v %v", err, out)
			}
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
}
