package storeroom

import (
	"context"
	"fmt"
	"time"
)

// AddImageFile uploads a picture of a product.
func (c *Client) AddImageFile(ctx context.Context, id int64, picture Upload, options ...RequestOption) (*Image, error) {
	return sendForData[*Image](ctx, c, request{
		method: "POST", path: makePath("/api/products/%s/images/file", id), form: &form{files: []Upload{picture}}, keyed: true,
	}, options)
}

// CreateImport uploads files, and computes in the background what they would change. Settings can be nil.
func (c *Client) CreateImport(
	ctx context.Context, files []Upload, settings *ImportSettings, options ...RequestOption,
) (*Import, error) {
	f := &form{files: files}
	if settings != nil {
		f.fields = map[string]any{"settings": settings}
	}
	return sendForData[*Import](ctx, c, request{method: "POST", path: "/api/imports", form: f, keyed: true}, options)
}

// WaitForPlan requests a plan until it is no longer planning, applying or undoing. A program that was started again can
// continue to wait, because the plan is computed in the background.
func (c *Client) WaitForPlan(ctx context.Context, id int64) (*PlanResult, error) {
	return wait(ctx, c, func() (*PlanResult, PlanState, error) {
		plan, err := c.ShowPlan(ctx, id, ShowPlanParams{})
		if err != nil {
			return nil, "", err
		}
		return plan, plan.Data.State, nil
	})
}

// WaitForImport does the same for an import.
func (c *Client) WaitForImport(ctx context.Context, id int64) (*Import, error) {
	return wait(ctx, c, func() (*Import, PlanState, error) {
		i, err := c.ShowImport(ctx, id)
		if err != nil {
			return nil, "", err
		}
		return i, PlanState(i.State), nil
	})
}

func wait[T any](ctx context.Context, c *Client, show func() (T, PlanState, error)) (T, error) {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		shown, state, err := show()
		if err != nil || state != PlanStatePlanning && state != PlanStateApplying && state != PlanStateUndoing {
			return shown, err
		}
		if err := c.sleep(ctx, pause); err != nil {
			return shown, fmt.Errorf("wait: %w", err)
		}
	}
}
