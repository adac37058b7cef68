package tenancy

import (
	"context"

	"github.com/storeroom/storeroom/tenancy/admission"
)

// pollNetwork makes the Go runtime poll the network in another thread. The thread that polls runs the goroutine of the
// first event, and no other thread takes its place. If that goroutine computes for long, as in the background and in
// large requests, others would wait for up to 10 ms until the runtime sees their data.
func pollNetwork(ctx context.Context) {
	if ctx.Value(backgroundKey{}) != nil || admission.FromContext(ctx).IsLarge() {
		go func() {}() // the runtime starts a thread for it, which polls afterwards
	}
}
