// Command ogen drives an instance with the client that ogen generates from /openapi.json. `make test-contract` generates
// the package storeroom and runs this command.
package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"strings"
	"time"

	ht "github.com/ogen-go/ogen/http"

	"github.com/storeroom/storeroom/api/clients/ogen/storeroom"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type client struct{ *storeroom.Client }

// key is the API key of each request.
type key string

// Key returns the API key.
func (k key) Key(context.Context, storeroom.OperationName) (storeroom.Key, error) {
	return storeroom.Key{Token: string(k)}, nil
}

func run(ctx context.Context) error {
	api, err := storeroom.NewClient(os.Getenv("STOREROOM_URL"), key(os.Getenv("STOREROOM_KEY")))
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

// as returns the response if it is of the type *T, or an error.
func as[T any](response any, err error) (T, error) {
	var none T
	if err != nil {
		return none, err
	}
	if got, is := response.(*T); is {
		return *got, nil
	}
	return none, fmt.Errorf("got %T: %+v", response, response)
}

// products creates one and changes its name, which must not change its other fields.
func (c client) products(ctx context.Context) error {
	created, err := as[storeroom.ProductCreatedHeaders](c.CreateProduct(ctx, &storeroom.NewProduct{
		Sku: "MUG", Name: "Mug", Price: storeroom.NewStringMoneySent("24.90"), Quantity: storeroom.NewOptInt(5),
		Condition: storeroom.NewOptNewProductCondition(storeroom.NewProductConditionUsed),
	}, storeroom.CreateProductParams{}))
	if err != nil {
		return err
	}
	patched, err := as[storeroom.ProductResultHeaders](c.PatchProduct(
		ctx, &storeroom.ProductFields{Name: storeroom.NewOptString("Blue mug")},
		storeroom.PatchProductParams{ID: int64(created.Response.Data.ID)},
	))
	if err != nil {
		return err
	}
	got := patched.Response.Data
	if got.Name != "Blue mug" || got.Quantity != 5 || got.Condition != "used" || got.Price != "24.90" {
		return fmt.Errorf("the product is %+v", got)
	}
	return nil
}

func (c client) mug(ctx context.Context) (storeroom.Product, error) {
	found, err := as[storeroom.ProductResultHeaders](c.ShowProductBySKU(ctx, storeroom.ShowProductBySKUParams{Sku: "MUG"}))
	return found.Response.Data, err
}

func (c client) image(ctx context.Context) error {
	mug, err := c.mug(ctx)
	if err != nil {
		return err
	}
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 200, 100))); err != nil {
		return err
	}
	added, err := as[storeroom.ImageAddedHeaders](c.AddImage(
		ctx, &storeroom.ImageFileMultipart{File: ht.MultipartFile{Name: "mug.png", File: &picture}},
		storeroom.AddImageParams{ID: int64(mug.ID)},
	))
	if err == nil && (added.Response.Data.Position != 1 || added.Response.Data.Thumbnails.Null) {
		err = fmt.Errorf("the image is %+v", added.Response.Data)
	}
	return err
}

// orders creates an order and refunds a part of it.
func (c client) orders(ctx context.Context) error {
	created, err := as[storeroom.OrderCreatedHeaders](c.CreateOrder(ctx, &storeroom.NewOrder{
		Number: "SO-1", Channel: "pos", PlacedAt: storeroom.TimeSent(time.Now()),
		Customer: storeroom.NewOptNilNewCustomer(storeroom.NewCustomer{ID: storeroom.NewInt64NewCustomerID(10042)}),
		Items:    []storeroom.NewItem{{Sku: "MUG", Quantity: 2, UnitPrice: storeroom.NewStringMoneySent("24.90")}},
	}, storeroom.CreateOrderParams{}))
	if err != nil {
		return err
	}
	refunded, err := as[storeroom.RefundCreatedHeaders](c.RefundOrder(
		ctx, &storeroom.NewRefund{Amount: storeroom.NewStringNewRefundAmount("4.90")},
		storeroom.RefundOrderParams{Number: "SO-1"},
	))
	if err != nil {
		return err
	}
	if created.Response.Data.Revenue != "49.80" || refunded.Response.Data.Amount != "4.90" {
		return fmt.Errorf("the order is %+v, the refund %+v", created.Response.Data, refunded.Response.Data)
	}
	return nil
}

func (c client) report(ctx context.Context) error {
	report, err := as[storeroom.SalesSummaryResultHeaders](c.SalesSummary(ctx, storeroom.SalesSummaryParams{
		From: storeroom.NewOptDay(storeroom.Day(time.Now().AddDate(0, 0, -2))),
		To:   storeroom.NewOptDay(storeroom.Day(time.Now().AddDate(0, 0, 2))),
	}))
	if summary := report.Response.Data.Summary; err == nil && (summary.TotalOrders != 1 || summary.TotalRevenue != "49.80") {
		err = fmt.Errorf("the summary is %+v", summary)
	}
	return err
}

func (c client) export(ctx context.Context) error {
	file, err := as[storeroom.ProductFileTextCsvHeaders](c.ExportProducts(ctx, storeroom.ExportProductsParams{}))
	if err != nil {
		return err
	}
	rows, err := io.ReadAll(file.Response)
	if err == nil && !strings.Contains(string(rows), "Blue mug") {
		err = fmt.Errorf("the file is %s", rows)
	}
	return err
}

// plan lowers all prices by 10 percent.
func (c client) plan(ctx context.Context) error {
	percent := storeroom.NewFloat64ProductPlanAdjustPricePercent(-10)
	planned, err := as[storeroom.PlanCreatedHeaders](c.PlanProductChanges(
		ctx, &storeroom.ProductPlan{AdjustPricePercent: storeroom.NewOptProductPlanAdjustPricePercent(percent)},
		storeroom.PlanProductChangesParams{},
	))
	if err != nil {
		return err
	}
	applied, err := as[storeroom.PlanChangedHeaders](c.ApplyPlan(
		ctx, storeroom.NewOptPlanApplication(storeroom.PlanApplication{}),
		storeroom.ApplyPlanParams{ID: int64(planned.Response.Data.ID)},
	))
	if err != nil {
		return err
	}
	mug, err := c.mug(ctx)
	if err == nil && (applied.Response.Data.Counts.Updated != 1 || mug.Price != "22.41") {
		err = fmt.Errorf("the plan is %+v, the price %s", applied.Response.Data, mug.Price)
	}
	return err
}

// changes deletes the product and follows the feed until it has the deletion, which has no data.
func (c client) changes(ctx context.Context) error {
	mug, err := c.mug(ctx)
	if err != nil {
		return err
	}
	deleted := storeroom.DeleteProductParams{ID: int64(mug.ID)}
	if _, err := as[storeroom.Deleted](c.DeleteProduct(ctx, deleted)); err != nil {
		return err
	}
	next := storeroom.ListChangesParams{Wait: storeroom.NewOptInt(5)}
	for {
		page, err := as[storeroom.ChangeListHeaders](c.ListChanges(ctx, next))
		if err != nil {
			return err
		}
		for _, change := range page.Response.Data {
			if change.Type == "product" && change.Action == "deleted" && change.Data.Null {
				return nil
			}
		}
		next.After = storeroom.NewOptString(page.Response.Meta.NextCursor)
	}
}

func (c client) refused(ctx context.Context) error {
	unnamed := &storeroom.NewProduct{Sku: "CUP", Name: "\t", Price: storeroom.NewStringMoneySent("1.00")}
	refused, err := as[storeroom.UnprocessableKeyedHeaders](c.CreateProduct(ctx, unnamed, storeroom.CreateProductParams{}))
	if err != nil {
		return err
	}
	failure := refused.Response.Error
	if failure.Code != storeroom.ErrorCodeVALIDATIONERROR || len(failure.Details.Value["name"]) == 0 {
		return fmt.Errorf("the error is %+v", failure)
	}
	return nil
}
