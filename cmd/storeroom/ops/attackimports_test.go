package ops

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"time"
)

// largeImports uploads products of 200 MB for every second tenant, and orders for the others, applies the plans and
// repeats that with other rows. At the end it cancels all imports, which the next instance would continue.
func largeImports(c *clients) {
	c.repeat(len(c.Tenants), func(n, round int) {
		write := func(w io.Writer) { writeProducts(w, 190_000_000) }
		if n%2 == 0 {
			write = func(w io.Writer) { writeOrders(w, 20_000, round) }
		}
		id := c.upload(n, write)
		if id == 0 {
			time.Sleep(time.Second) // as many imports as a tenant may have
			return
		}
		if c.await(n, id, "planning") == "planned" {
			c.post(n, fmt.Sprintf("/api/imports/%d/apply", id), "")
			c.await(n, id, "applying")
		}
	})
	last, stop := context.WithTimeout(context.WithoutCancel(c.ctx), 10*time.Second)
	defer stop()
	c.ctx = last
	for n := range c.Tenants {
		for _, i := range c.imports(n, "?per_page=100") {
			c.post(n, fmt.Sprintf("/api/imports/%d/cancel", i.ID), "")
		}
	}
}

type importState struct {
	ID    int64
	State string
}

// upload creates an import of a file and returns its id, or 0.
func (c *clients) upload(n int, write func(io.Writer)) int64 {
	body, in := io.Pipe()
	defer body.Close()
	form := multipart.NewWriter(in)
	go func() {
		part, err := form.CreateFormFile("file", "file.csv")
		if err == nil {
			out := bufio.NewWriterSize(part, 64<<10)
			write(out)
			err = out.Flush()
		}
		_ = form.Close()
		in.CloseWithError(err)
	}()
	r := c.request(n, "POST", "/api/imports", "")
	r.Body, r.ContentLength = body, -1
	r.Header.Set("Content-Type", form.FormDataContentType())
	var created struct{ Data importState }
	c.read(r, &created)
	return created.Data.ID
}

// read sends a request, counts the status and reads the response.
func (c *clients) read(r *http.Request, into any) {
	response, err := c.http.Do(r)
	if err != nil {
		c.count("no response")
		return
	}
	defer response.Body.Close()
	c.count(fmt.Sprint(response.StatusCode))
	_ = json.NewDecoder(response.Body).Decode(into) // a refusal has no data
}

func (c *clients) imports(n int, query string) []importState {
	var list struct{ Data []importState }
	c.read(c.request(n, "GET", "/api/imports"+query, ""), &list)
	return list.Data
}

// await returns the state of an import after this one.
func (c *clients) await(n int, id int64, state string) string {
	for c.ctx.Err() == nil {
		var now struct{ Data importState }
		c.read(c.request(n, "GET", fmt.Sprint("/api/imports/", id), ""), &now)
		if now.Data.State != state {
			c.count(now.Data.State)
			return now.Data.State
		}
		time.Sleep(200 * time.Millisecond)
	}
	return ""
}

// writeProducts writes products with the longest descriptions.
func writeProducts(w io.Writer, bytes int) {
	fmt.Fprintln(w, "sku,name,price,description")
	text := strings.Repeat("Long text. ", 5000)
	for n := range bytes / len(text) {
		fmt.Fprintf(w, "L-%d,Lamp,%d,%d %s\n", n, time.Now().UnixNano()%1000, time.Now().UnixNano(), text)
	}
}

// writeOrders writes orders as Shopify exports them. Their numbers differ in each round.
func writeOrders(w io.Writer, count, round int) {
	fmt.Fprintln(w, "Name,Email,Financial Status,Paid at,Created at,Currency,Subtotal,Shipping,Taxes,Total,Discount Amount,"+
		"Lineitem quantity,Lineitem name,Lineitem price,Lineitem sku,Id")
	const at = "2026-02-01 10:00:00 +0000"
	for n := range count {
		fmt.Fprintf(w, "#%d-%d,c%d@shop.example,paid,%s,%s,USD,10.00,0.00,0.00,10.00,0.00,1,Lamp %d,10.00,S-%d,%d\n",
			round, n, n%5000, at, at, n%5000, n%5000, n)
	}
}
