package db

import (
	"context"

	"github.com/storeroom/storeroom/tenancy/admission"
)

// pollNetwork polls the network while work in the background or a large request computes.
func pollNetwork(ctx context.Context) {
	if ctx.Value(backgroundKey{}) != nil || admission.FromContext(ctx).IsLarge() {
		admission.PollNetwork()
	}
}
