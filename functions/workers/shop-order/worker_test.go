package shoporder_test

import (
	"testing"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/shop"
	shoporder "github.com/outerloop-dev/outerloop/functions/workers/shop-order"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

func look(t *testing.T, dir, order string) workertest.Outcome {
	t.Helper()
	return workertest.Run(t, shoporder.Worker, shoporder.Input{Order: order}, workertest.Setup{Connections: map[string]worker.Connection{
		"shop": {Name: "shop", Kind: "files", Settings: map[string]string{"dir": dir}},
	}})
}

func TestLooksUpUsableOrders(t *testing.T) {
	t.Parallel()
	const shipped = "../../../samples/support-agent/shop"
	for number, paid := range map[string]float64{"A-1012": 225, " a-1007": 79.9, "A-1044": 94} {
		if out := workertest.Output[shop.Order](t, look(t, shipped, number)); out.Paid != paid || out.Customer == "" {
			t.Errorf("%s: %+v", number, out)
		}
	}
	for _, number := range []string{"A-9999", "A-1041", "A-1042", "A-1043", ""} {
		if o := look(t, shipped, number); o.Failure == nil || o.Failure.Class != "missing_input" {
			t.Errorf("%s: %+v", number, o.Failure)
		}
	}
	if o := look(t, t.TempDir(), "A-1012"); o.Failure == nil || o.Failure.Class != "transient" {
		t.Errorf("without a shop: %+v", o.Failure)
	}
}
