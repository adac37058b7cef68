// Command faults sends requests that fail as their header X-Fault says.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	storeroom "github.com/storeroom/storeroom/api/sdk/go"
)

// dot is a picture of one pixel.
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

var calls int

// fails lets the first attempt of a request fail.
func fails(fault string) storeroom.RequestOption {
	calls++
	return storeroom.WithHeader("X-Fault", fmt.Sprintf("%s.%d", fault, calls))
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func equal[T comparable](got, want T) {
	if got != want {
		panic(fmt.Sprintf("got %v, want %v", got, want))
	}
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c := storeroom.New(os.Getenv("STOREROOM_URL"), os.Getenv("STOREROOM_KEY"), storeroom.WithUserAgent("faults/1"))
	for _, fault := range []string{"limited", "busy", "refused", "lost", "cut", "twice"} {
		recovers(ctx, c, fault)
	}
	limits(ctx, c)
	feed(ctx, c)
	webhook()
}

// recovers checks that each request has its effect once.
func recovers(ctx context.Context, c *storeroom.Client, fault string) {
	name := "F-" + fault
	var response storeroom.Response
	product := must(c.CreateProduct(ctx, storeroom.NewProduct{
		SKU: name, Name: name, Price: "10.10", Quantity: storeroom.Set(int64(5)),
	}, fails(fault), storeroom.WithResponse(&response)))
	equal(product.Price, "10.10")
	equal(product.Quantity, 5)
	equal(response.Replayed, fault == "lost" || fault == "cut")
	adjusted := must(c.AdjustInventory(ctx, product.ID, storeroom.NewAdjustment{Type: "remove", Quantity: 2}, fails(fault)))
	equal(adjusted.Quantity, 3)
	patched := must(c.PatchProduct(ctx, product.ID, storeroom.ProductChanges{Description: storeroom.Null[string]()}, fails(fault)))
	equal(patched.Quantity, 3)
	picture := storeroom.Upload{Name: "dot.png", Content: must(base64.StdEncoding.DecodeString(dot))}
	equal(must(c.AddImageFile(ctx, product.ID, picture, fails(fault))).Position, 1)
	count := 0
	for found, err := range c.AllProducts(ctx, storeroom.ListProductsParams{Search: name, PerPage: 1}, fails(fault)) {
		check(err)
		equal(found.SKU, name)
		count++
	}
	equal(count, 1)
	order := must(c.CreateOrder(ctx, storeroom.NewOrder{
		Number: name, Channel: "pos", PlacedAt: storeroom.At(time.Now()),
		Items: []storeroom.NewItem{{SKU: name, Quantity: 2, UnitPrice: "10.10"}},
	}, fails(fault)))
	equal(order.Revenue, "20.20")
	equal(must(c.RefundOrder(ctx, name, storeroom.NewRefund{Amount: "0.10"}, fails(fault))).Amount, "0.10")
	category := must(c.CreateCategory(ctx, storeroom.NewReference{Name: name}, fails(fault)))
	check(c.DeleteCategory(ctx, category.ID, fails(fault)))
	report := must(c.CustomReport(ctx, storeroom.CustomReportQuery{
		Period: storeroom.Set(storeroom.PeriodPresetToday), Metrics: []storeroom.Metric{"orders"},
	}, fails(fault)))
	equal(*report.Data.Totals.Orders > 0, true)
}

// limits checks what is not sent again.
func limits(ctx context.Context, c *storeroom.Client) {
	_, err := c.ShowMe(ctx, fails("later"))
	var refused *storeroom.Error
	equal(errors.As(err, &refused) && errors.Is(err, storeroom.ErrRateLimitExceeded), true)
	equal(refused.RetryAfter, time.Hour)
	equal(refused.Attempts <= 2, true) // the second, if the first got a response of the loop above

	hook := must(c.CreateWebhook(ctx, storeroom.NewWebhook{URL: "https://example.com/hook"}))
	var response storeroom.Response
	_, err = c.TestWebhook(ctx, hook.ID, fails("refused"), storeroom.WithResponse(&response))
	equal(err != nil && response.Attempts == 0, true) // a POST without an Idempotency-Key

	product := must(c.ShowProductBySKU(ctx, "F-lost"))
	_, err = c.PatchProduct(ctx, product.ID, storeroom.ProductChanges{Name: storeroom.Set("Changed")},
		fails("lost"), storeroom.WithHeader("If-Match", "*"))
	equal(err != nil && !errors.As(err, &refused), true)

	_, err = c.ShowProduct(ctx, 1<<40)
	equal(errors.As(err, &refused) && errors.Is(err, storeroom.ErrNotFound) && refused.RequestID != "", true)

	err = nil
	for _, err = range storeroom.Lines[storeroom.Product](must(c.ExportProducts(ctx, storeroom.ExportProductsParams{Format: "ndjson"}, fails("cut")))) {
	}
	equal(err != nil, true)
}

// feed reads changes, and continues at a cursor.
func feed(ctx context.Context, c *storeroom.Client) {
	first := c.FollowChanges("", storeroom.ChangeTypeOrder)
	var seen []string
	for change, err := range first.All(ctx) {
		check(err)
		if seen = append(seen, change.ID); len(seen) == 2 {
			break
		}
	}
	for change, err := range c.FollowChanges(first.Cursor(), storeroom.ChangeTypeOrder).All(ctx) {
		check(err)
		var order storeroom.Order
		check(json.Unmarshal(change.Data, &order))
		if seen = append(seen, order.Number); order.Number == "F-twice" {
			break
		}
	}
	equal(slices.Contains(seen, "F-limited") && slices.Contains(seen, "F-cut"), true)
}

func webhook() {
	var message struct {
		Secret, Body string
		Headers      map[string]string
	}
	check(json.Unmarshal([]byte(os.Getenv("WEBHOOK")), &message))
	header := http.Header{}
	for name, value := range message.Headers {
		header.Set(name, value)
	}
	equal(must(storeroom.VerifyWebhook(message.Secret, header, []byte(message.Body))).Type, "changes")
	_, err := storeroom.VerifyWebhook(message.Secret, header, []byte(message.Body+" "))
	equal(errors.Is(err, storeroom.ErrInvalidSignature), true)
	header.Set("webhook-timestamp", "1614265330")
	_, err = storeroom.VerifyWebhook(message.Secret, header, []byte(message.Body))
	equal(errors.Is(err, storeroom.ErrInvalidSignature), true)
}
