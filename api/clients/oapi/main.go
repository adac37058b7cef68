// Command oapi drives an instance with the client that oapi-codegen generates from /openapi.json. The tests of package
// api generate the package storeroom and run this command; see `make test-contract`.
package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"mime/multipart"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/oapi-codegen/runtime/types"

	"github.com/storeroom/storeroom/api/clients/oapi/storeroom"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type client struct{ *storeroom.ClientWithResponses }

func run(ctx context.Context) error {
	authorize := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+os.Getenv("STOREROOM_KEY"))
		return nil
	}
	api, err := storeroom.NewClientWithResponses(os.Getenv("STOREROOM_URL"), storeroom.WithRequestEditorFn(authorize))
	if err != nil {
		return err
	}
	c := client{api}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"products", c.products}, {"image", c.image}, {"orders", c.orders}, {"report", c.report}, {"export", c.export},
		{"plan", c.plan}, {"changes", c.changes}, {"error", c.refused},
	} {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// response is the part of each response that the checks need.
type response interface {
	Status() string
	GetBody() []byte
}

// body returns a function that returns the decoded body of a response, or an error if it has another status.
func body[R response, T any](get func(R) *T) func(R, error) (T, error) {
	return func(r R, err error) (T, error) {
		var none T
		if err != nil {
			return none, err
		}
		if got := get(r); got != nil {
			return *got, nil
		}
		return none, fmt.Errorf("got %s: %s", r.Status(), r.GetBody())
	}
}

// The responses that the steps expect.
var (
	productCreated = body((*storeroom.CreateProductResponse).GetJSON201)
	productRefused = body((*storeroom.CreateProductResponse).GetJSON422)
	productPatched = body((*storeroom.PatchProductResponse).GetJSON200)
	productFound   = body((*storeroom.ShowProductBySKUResponse).GetJSON200)
	imageAdded     = body((*storeroom.AddImageResponse).GetJSON201)
	orderCreated   = body((*storeroom.CreateOrderResponse).GetJSON201)
	refundCreated  = body((*storeroom.RefundOrderResponse).GetJSON201)
	salesSummary   = body((*storeroom.SalesSummaryResponse).GetJSON200)
	planCreated    = body((*storeroom.PlanProductChangesResponse).GetJSON201)
	planApplied    = body((*storeroom.ApplyPlanResponse).GetJSON200)
	changesListed  = body((*storeroom.ListChangesResponse).GetJSON200)
)

func money(amount string) (m storeroom.MoneySent) {
	_ = m.FromMoneySent1(amount) // a text can be encoded
	return m
}

// products creates one and changes its name, which must not change its other fields.
func (c client) products(ctx context.Context) error {
	quantity, used := 5, storeroom.NewProductConditionUsed
	created, err := productCreated(c.CreateProductWithResponse(ctx, nil, storeroom.NewProduct{
		Sku: "MUG", Name: "Mug", Price: money("24.90"), Quantity: &quantity, Condition: &used,
	}))
	if err != nil {
		return err
	}
	name := "Blue mug"
	changes := storeroom.ProductChanges{Name: &name}
	patched, err := productPatched(c.PatchProductWithResponse(ctx, created.Data.Id, nil, changes))
	if err != nil {
		return err
	}
	if got := patched.Data; got.Name != name || got.Quantity != 5 || got.Condition != "used" || got.Price != "24.90" {
		return fmt.Errorf("the product is %+v", got)
	}
	return nil
}

func (c client) mug(ctx context.Context) (storeroom.Product, error) {
	found, err := productFound(c.ShowProductBySKUWithResponse(ctx, "MUG", nil))
	return found.Data, err
}

func (c client) image(ctx context.Context) error {
	mug, err := c.mug(ctx)
	if err != nil {
		return err
	}
	var content bytes.Buffer
	form := multipart.NewWriter(&content)
	file, err := form.CreateFormFile("file", "mug.png")
	if err != nil {
		return err
	}
	if err := png.Encode(file, image.NewGray(image.Rect(0, 0, 200, 100))); err != nil {
		return err
	}
	if err := form.Close(); err != nil {
		return err
	}
	added, err := imageAdded(c.AddImageWithBodyWithResponse(ctx, mug.Id, nil, form.FormDataContentType(), &content))
	if err == nil && (added.Data.Position != 1 || added.Data.Thumbnails == nil) {
		err = fmt.Errorf("the image is %+v", added.Data)
	}
	return err
}

// orders creates an order, with an id of the customer that is a number, and refunds a part of it.
func (c client) orders(ctx context.Context) error {
	customer := storeroom.NewCustomer{}
	if err := customer.Id.FromNewCustomerId1(10042); err != nil {
		return err
	}
	created, err := orderCreated(c.CreateOrderWithResponse(ctx, nil, storeroom.NewOrder{
		Number: "SO-1", Channel: "pos", PlacedAt: time.Now(), Customer: &customer,
		Items: []storeroom.NewItem{{Sku: "MUG", Quantity: 2, UnitPrice: money("24.90")}},
	}))
	if err != nil {
		return err
	}
	refund := storeroom.NewRefund{Amount: money("4.90")}
	refunded, err := refundCreated(c.RefundOrderWithResponse(ctx, "SO-1", nil, refund))
	if err != nil {
		return err
	}
	if created.Data.Revenue != "49.80" || created.Data.Customer.Id != "10042" || refunded.Data.Amount != "4.90" {
		return fmt.Errorf("the order is %+v, the refund %+v", created.Data, refunded.Data)
	}
	return nil
}

func (c client) report(ctx context.Context) error {
	from := types.Date{Time: time.Now().AddDate(0, 0, -2)}
	to := types.Date{Time: time.Now().AddDate(0, 0, 2)}
	report, err := salesSummary(c.SalesSummaryWithResponse(ctx, &storeroom.SalesSummaryParams{From: &from, To: &to}))
	if err == nil && (report.Data.Summary.TotalOrders != 1 || report.Data.Summary.TotalRevenue != "49.80") {
		err = fmt.Errorf("the summary is %+v", report.Data.Summary)
	}
	return err
}

func (c client) export(ctx context.Context) error {
	r, err := c.ExportProductsWithResponse(ctx, nil)
	if err == nil && (r.StatusCode() != http.StatusOK || !strings.Contains(string(r.Body), "Blue mug")) {
		err = fmt.Errorf("got %s: %s", r.Status(), r.Body)
	}
	return err
}

// plan lowers all prices by 10 percent.
func (c client) plan(ctx context.Context) error {
	var percent storeroom.ProductPlan_AdjustPricePercent
	if err := percent.FromProductPlanAdjustPricePercent0(-10); err != nil {
		return err
	}
	all := storeroom.ProductPlan{AdjustPricePercent: &percent}
	planned, err := planCreated(c.PlanProductChangesWithResponse(ctx, nil, all))
	if err != nil {
		return err
	}
	applied, err := planApplied(c.ApplyPlanWithResponse(ctx, planned.Data.Id, nil, storeroom.PlanApplication{}))
	if err != nil {
		return err
	}
	mug, err := c.mug(ctx)
	if err == nil && (applied.Data.Counts.Updated != 1 || mug.Price != "22.41") {
		err = fmt.Errorf("the plan is %+v, the price %s", applied.Data, mug.Price)
	}
	return err
}

// changes deletes the product and follows the feed until it has the deletion, which has no data.
func (c client) changes(ctx context.Context) error {
	mug, err := c.mug(ctx)
	if err != nil {
		return err
	}
	switch r, err := c.DeleteProductWithResponse(ctx, mug.Id, nil); {
	case err != nil:
		return err
	case r.StatusCode() != http.StatusNoContent:
		return fmt.Errorf("got %s: %s", r.Status(), r.Body)
	}
	after, wait := "", 5
	for {
		page, err := changesListed(c.ListChangesWithResponse(ctx, &storeroom.ListChangesParams{After: &after, Wait: &wait}))
		if err != nil {
			return err
		}
		for _, change := range page.Data {
			if change.Type == "product" && change.Action == "deleted" && change.Data == nil {
				return nil
			}
		}
		after = page.Meta.NextCursor
	}
}

func (c client) refused(ctx context.Context) error {
	unnamed := storeroom.NewProduct{Sku: "CUP", Price: money("1.00")}
	refused, err := productRefused(c.CreateProductWithResponse(ctx, nil, unnamed))
	if err != nil {
		return err
	}
	details := refused.Error.Details
	if refused.Error.Code != storeroom.VALIDATIONERROR || details == nil || len((*details)["name"]) == 0 {
		return fmt.Errorf("the error is %+v", refused.Error)
	}
	return nil
}
