package ops

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"mime/multipart"
	"net/url"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/storeroom/storeroom/keys"
)

// All are the attacks. The first seven once made the service fail for other tenants.
var All = []Attack{
	{"100 idempotent bulk bodies of 32 MiB without their last byte", fresh("professional", 1), withheldBodies},
	{"12 reports right after two new tenants created 100,000 items each", newcomers, reportsOfNewTenants},
	{"2 report exports of each of 5 tenants, never read", sellers(5), unread(10, export("products", "csv"))},
	{"580 bodies of one byte of 2 tenants, never completed", fresh("professional", 2), endlessBodies},
	{"80 sign-in forms, never completed", noTenants, endlessForms(80)},
	{"100 requests with the same Idempotency-Key", fresh("enterprise", 1), sameIdempotencyKey},
	{"4 reports, 2 exports and 4 bulk requests of one tenant, repeated", sellers(1), everythingAtOnce},

	{"2 product exports of each of 40 tenants, never read", authors(40), unread(80, "/api/products/export")},
	{"60 bodies of 1 MB of each of 5 tenants, without their last byte", fresh("professional", 5), withheldProducts},
	{"60 reports at a time of each of 5 tenants", sellers(5), manyReports},
	{
		"Product exports of 5 tenants, read slowly", sellers(5),
		readSlowly("/api/products/export", "/api/products/export?format=ndjson"),
	},
	{
		"Report exports as CSV of 5 tenants, read slowly", sellers(5),
		readSlowly(export("products", "csv"), export("customers", "csv")),
	},
	{
		"Report exports as XLSX of 5 tenants, read slowly", sellers(5),
		readSlowly(export("products", "xlsx"), export("customers", "xlsx")),
	},
	{"Report exports as XLSX of 5 tenants, repeated", sellers(5), workbooks},
	{"2 archives of each of 5 tenants, never read", sellers(5), unread(10, "/api/archive")},
	{"Archives of 5 tenants, read slowly", sellers(5), readSlowly("/api/archive")},
	{"200 lists of 6 MB, never read", authors(2), unread(200, "/api/products?per_page=100")},
	{"3,000 lists of 250 KB, never read", authors(2), unread(3000, "/api/products?per_page=4")},
	{"60 lists of 900 KB at a time of each of 5 tenants", authors(5), manyLists},
	{"60 summaries and reconciliations of 7,320 days at a time of each of 5 tenants", sellers(5), manyExplanations},
	{"500 downloads of the API document, never read", noTenants, unread(500, "/openapi.json")},
	{"10,000 idle connections", noTenants, idleConnections},
	{"5,000 sign-in forms from one address, never completed", noTenants, endlessForms(5000)},
	{"500 headers, one byte each 200 ms", noTenants, slowHeaders},
	{"64 connections with headers of 30 KB", fresh("professional", 1), largeHeaders},
	{"10,000 pipelined requests on 50 connections", sellers(1), pipelining},
	{"300 bodies announced with Expect: 100-continue, never sent", fresh("professional", 1), expectContinue},
	{"200 bodies, one byte each second", fresh("professional", 1), trickledBodies},
	{"32 bodies of 150 KB in chunks of one byte", fresh("enterprise", 1), tinyChunks},
	{"Deeply nested bodies of 32 MiB", fresh("enterprise", 2), deepBodies},
	{"Bulk bodies with 200,000 errors", fresh("enterprise", 4), faultyBodies},
	{"Bulk requests with 50,000 items of 2 tenants, repeated", fresh("enterprise", 2), largestBulks},
	{"Bulk requests with 1,000 products of 3 MB of each of 5 tenants, repeated", fresh("enterprise", 5), productBulks},
	{"20 pictures of 50 megapixels at a time of 5 tenants", fresh("enterprise", 5), pictures},
	{"Imports of 200 MB and of 20,000 orders of 5 tenants, applied and repeated", fresh("enterprise", 5), largeImports},
	{"100 adjustments of one product at a time", authors(1), lockedRow},
	{"Requests that disconnect after 5 ms", sellers(1), disconnects},
	{"Searches that match everything or nothing", sellers(1), searches},
	{"The last pages of lists", sellers(1), deepPages},
	{"Explanations and reconciliations of 7,320 days", sellers(2), longReports},
	{"60 custom reports by day at a time of each of 5 tenants", sellers(5), customReports},
	{"30 clients guess passwords from one address", noTenants, guessPasswords(1)},
	{"600 clients guess passwords from 20 addresses", noTenants, guessPasswords(20)},
	{"30 clients guess keys from 200 addresses", noTenants, guessKeys},
	{"One tenant sends as fast as it can", fresh("enterprise", 1), asFastAsPossible},
	{"One tenant over its limit sends as fast as it can", fresh("standard", 1), asFastAsPossible},
	{"60 pages with reports and lists of 20 years of one tenant, opened at a time from 8 addresses", members, pages},
	{"storeroom verify and storeroom rebuild, repeated", sellers(2), commands},
	{"12 reports at a time of each of 20 tenants", sellers(20), reportsOfManyTenants},

	{"Nothing but all CPUs, at the priority of the attackers", noTenants, useCPUs},
}

func withheldBodies(c *clients) {
	head := `{"orders": [`
	body := head + strings.Repeat(" ", 32<<20-len(head))
	c.times(100, func(n int) {
		c.hold(fmt.Sprintf("POST /api/orders/bulk HTTP/1.1\r\nIdempotency-Key: k%d\r\n", n)+
			c.header(0, len(body)), body[:len(body)-1])
	})
}

func withheldProducts(c *clients) {
	most, rest := strings.Repeat(" ", 1<<20-20), strings.Repeat(" ", 19)
	c.repeat(60*5, func(n, _ int) {
		c.trickle("POST /api/products HTTP/1.1\r\n"+c.header(n, 1<<20)+most, rest, time.Second)
	})
}

func manyReports(c *clients) {
	c.repeat(60*5, func(n, _ int) { c.get(n, report("products", 7320)) })
}

func reportsOfManyTenants(c *clients) {
	c.repeat(12*20, func(n, _ int) { c.get(n, report("products", 7320)) })
}

func manyLists(c *clients) {
	c.repeat(60*5, func(n, _ int) { c.get(n, "/api/products?per_page=15") })
}

func manyExplanations(c *clients) {
	paths := []string{report("sales-summary", 7320) + "&explain=true&compare=true", report("reconcile", 7320)}
	c.repeat(60*5, func(n, round int) { c.get(n, paths[round%2]) })
}

// reportsOfNewTenants sends as many requests as two tenants may run at a time: four reports and two exports each.
func reportsOfNewTenants(c *clients) {
	paths := []string{
		report("products", 365), report("products", 7320) + "&sort=margin", report("products", 28),
		report("customers", 365), export("products", "csv"), export("customers", "csv"),
	}
	c.times(12, func(n int) { c.get(n, paths[n/2]) })
}

// unread requests a path this number of times and does not read the responses.
func unread(count int, path string) func(*clients) {
	return func(c *clients) {
		c.times(count, func(n int) { c.hold("GET "+path+" HTTP/1.1\r\n"+c.header(n, 0), "") })
	}
}

func endlessBodies(c *clients) {
	c.times(580, func(n int) { c.hold("POST /api/products HTTP/1.1\r\n"+c.header(n, 100), "{") })
}

func endlessForms(count int) func(*clients) {
	const header = "POST /settings/sign-in HTTP/1.1\r\nHost: shop\r\nSec-Fetch-Site: same-origin\r\n" +
		"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\n"
	return func(c *clients) {
		c.repeat(count, func(int, int) { c.trickle(header, "email="+strings.Repeat("e", 93), time.Second) })
	}
}

func sameIdempotencyKey(c *clients) {
	body := productsBody(0, 1000, 2500)
	for round := 0; c.ctx.Err() == nil; round++ {
		c.times(100, func(int) {
			r := c.request(0, "POST", "/api/products/bulk", body)
			r.Header.Set("Idempotency-Key", fmt.Sprint("round-", round))
			c.do(c.http, r)
		})
	}
}

func everythingAtOnce(c *clients) {
	c.repeat(10, func(n, round int) {
		switch {
		case n < 4:
			c.get(0, report("products", 7320))
		case n < 6:
			c.get(0, "/api/products/export")
		default:
			c.post(0, "/api/orders/bulk", newOrders(10, n, round))
		}
	})
}

// readSlowly reads a kilobyte of each file every 100 ms.
func readSlowly(paths ...string) func(*clients) {
	return func(c *clients) {
		c.times(len(paths)*len(c.Tenants), func(n int) {
			c.readSlowly("GET " + paths[n/len(c.Tenants)] + " HTTP/1.1\r\n" + c.header(n, 0))
		})
	}
}

func workbooks(c *clients) {
	c.repeat(2*len(c.Tenants), func(n, round int) { c.get(n, export([]string{"products", "customers"}[round%2], "xlsx")) })
}

// idleConnections opens 2,000 connections a second, and keeps them after a request.
func idleConnections(c *clients) {
	c.times(c.openFiles(10_000), func(n int) {
		time.Sleep(time.Duration(n) * time.Second / 2000)
		c.hold("GET /healthz HTTP/1.1\r\nHost: shop\r\n\r\n", "")
	})
}

func slowHeaders(c *clients) {
	c.repeat(500, func(int, int) {
		c.trickle("GET /api/me HTTP/1.1\r\nHost: shop\r\n", "X-Long: "+strings.Repeat("x", 100), 200*time.Millisecond)
	})
}

func largeHeaders(c *clients) {
	value := strings.Repeat("x", 100)
	c.repeat(64, func(int, int) {
		r := c.request(0, "GET", "/api/me", "")
		for n := range 280 {
			r.Header.Set(fmt.Sprint("X-Header-", n), value)
		}
		c.do(c.http, r)
	})
}

func pipelining(c *clients) {
	requests := strings.Repeat("GET /api/products?per_page=100 HTTP/1.1\r\n"+c.header(0, 0), 199) +
		"GET /api/me HTTP/1.1\r\nConnection: close\r\n" + c.header(0, 0)
	c.repeat(50, func(int, int) { c.readAll(requests) })
}

func expectContinue(c *clients) {
	c.times(300, func(int) {
		c.hold("POST /api/orders/bulk HTTP/1.1\r\nExpect: 100-continue\r\n"+c.header(0, 32<<20), "")
	})
}

func trickledBodies(c *clients) {
	c.times(200, func(int) {
		c.trickle("POST /api/products HTTP/1.1\r\n"+c.header(0, 1000), strings.Repeat(" ", 999), time.Second)
	})
}

func tinyChunks(c *clients) {
	request := "POST /api/products HTTP/1.1\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n" + c.header(0, -1) +
		strings.Repeat("1\r\n \r\n", 150_000) + "0\r\n\r\n"
	c.repeat(32, func(int, int) { c.readAll(request) })
}

func deepBodies(c *clients) {
	const depth = 8000
	row := strings.Repeat("[", depth) + strings.Repeat("]", depth)
	body := `{"items": [` + strings.Repeat(row+",", 2000) + `0]}`
	c.repeat(8, func(n, _ int) { c.post(n, "/api/products/bulk", body) })
}

func faultyBodies(c *clients) {
	var row strings.Builder
	for n := range 199 {
		fmt.Fprintf(&row, `"%s%d": 0, `, strings.Repeat("x", 140), n)
	}
	body := `{"items": [` + strings.Repeat("{"+row.String()+`"sku": 0}, `, 999) + `{}]}`
	c.repeat(16, func(n, _ int) { c.post(n, "/api/products/bulk", body) })
}

func largestBulks(c *clients) {
	c.repeat(8, func(n, round int) { c.post(n, "/api/orders/bulk", newOrders(1000, n, round)) })
}

func productBulks(c *clients) {
	c.repeat(10, func(n, round int) { c.post(n, "/api/products/bulk", productsBody(1000*round, 1000, 2500)) })
}

func pictures(c *clients) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "black.png")
	if err == nil {
		_, err = part.Write(blackPNG(8660, 5770))
	}
	if err = errors.Join(err, form.Close()); err != nil {
		panic(err) // impossible in memory
	}
	c.times(len(c.Tenants), func(n int) { c.post(n, "/api/products", `{"sku":"photo","name":"Photo","price":1}`) })
	c.repeat(20, func(n, _ int) {
		response, err := c.http.Do(c.request(n, "GET", "/api/products/sku/photo", ""))
		if err != nil {
			return
		}
		defer response.Body.Close()
		var product struct{ Data struct{ ID int64 } }
		if json.NewDecoder(response.Body).Decode(&product) != nil {
			return
		}
		r := c.request(n, "POST", fmt.Sprintf("/api/products/%d/images", product.Data.ID), body.String())
		r.Header.Set("Content-Type", form.FormDataContentType())
		c.do(c.http, r)
	})
}

// blackPNG returns a file of 200 KB whose pixels need 200 MB.
func blackPNG(w, h uint32) []byte {
	file := []byte("\x89PNG\r\n\x1a\n")
	chunk := func(name string, content []byte) {
		c := append(append(binary.BigEndian.AppendUint32(nil, uint32(len(content))), name...), content...)
		file = append(file, binary.BigEndian.AppendUint32(c, crc32.ChecksumIEEE(c[4:]))...)
	}
	size := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, w), h)
	chunk("IHDR", append(size, 8, 6, 0, 0, 0)) // 8 bits of red, green, blue and alpha
	var pixels bytes.Buffer
	z := zlib.NewWriter(&pixels)
	for range h {
		_, _ = z.Write(make([]byte, 1+4*w)) // cannot fail in memory
	}
	_ = z.Close()
	chunk("IDAT", pixels.Bytes())
	chunk("IEND", nil)
	return file
}

func lockedRow(c *clients) {
	ids, err := products(c.http, c.request(0, "GET", productsPath, ""))
	if err != nil {
		c.count(err.Error())
		return
	}
	path := fmt.Sprintf("/api/products/%d/inventory/adjust", ids[0])
	c.repeat(100, func(int, int) { c.post(0, path, `{"type": "add", "quantity": 1}`) })
}

func disconnects(c *clients) {
	paths := []string{report("products", 7320), "/api/products?search=la", "/api/products/export", "/api/orders?page=20"}
	c.repeat(64, func(n, _ int) {
		short, cancel := context.WithTimeout(c.ctx, 5*time.Millisecond)
		defer cancel()
		c.do(c.http, c.request(0, "GET", paths[n%len(paths)], "").WithContext(short))
	})
}

func searches(c *clients) {
	words := []string{
		"a", "l", "la", "l 1", "amp", "lamp 1", strings.Repeat("lamp ", 50), strings.Repeat("x", 255), "%_", `%\_%`,
		"(a+)+$", "1 2 3 4 5 6 7 8 9 0", "zzz", "...........", strings.Repeat("é", 100), "p-",
	}
	c.repeat(32, func(n, round int) {
		c.get(0, "/api/products?sort=price&search="+url.QueryEscape(words[(n+round)%len(words)]))
	})
}

func deepPages(c *clients) {
	paths := []string{
		"/api/products?sort=price&page=200", "/api/products?status=active&sort=name&page=200", "/api/orders?page=20",
		"/api/products?page=1000000", "/api/orders?channel=web&sort=number&page=20",
	}
	c.repeat(32, func(n, _ int) { c.get(0, paths[n%len(paths)]+"&per_page=100") })
}

func longReports(c *clients) {
	paths := []string{
		report("reconcile", 7320), report("products", 7320) + "&explain=true", report("customers", 7320) + "&explain=true",
		report("sales-summary", 7320) + "&explain=true&compare=true",
	}
	c.repeat(8, func(n, round int) { c.get(n, paths[(n+round)%len(paths)]) })
}

func customReports(c *clients) {
	from, to := lastDays(7320)
	body := fmt.Sprintf(`{"from": %q, "to": %q, "group_by": "day", "explain": true, "metrics": ["revenue", "orders",
		"avg_order_value", "gross_profit", "margin_percent", "units_sold", "discounts", "tax", "refunds"]}`, from, to)
	c.repeat(60*5, func(n, _ int) { c.post(n, "/api/reports/custom", body) })
}

func guessPasswords(addresses int) func(*clients) {
	return func(c *clients) {
		from := c.fromAddresses(addresses)
		c.repeat(30*addresses, func(n, round int) {
			form := url.Values{"email": {fmt.Sprintf("ann%d.%d@shop.example", n, round)}, "password": {"a long password"}}
			r := c.request(0, "POST", "/settings/sign-in", form.Encode())
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			c.do(from[n%addresses], r)
		})
	}
}

func guessKeys(c *clients) {
	const addresses = 200
	from := c.fromAddresses(addresses)
	c.repeat(30, func(n, round int) {
		r := c.request(0, "GET", "/api/me", "")
		r.Header.Set("Authorization", "Bearer "+keys.Generate().Reveal())
		c.do(from[(n+30*round)%addresses], r)
	})
}

func asFastAsPossible(c *clients) {
	c.times(32, func(int) {
		for c.ctx.Err() == nil {
			c.get(0, "/api/products")
		}
	})
}

func pages(c *clients) {
	const addresses = 8
	from := c.fromAddresses(addresses)
	first, last := lastDays(7320)
	days := "?period=custom&from=" + first + "&to=" + last
	paths := []string{
		"/overview" + days, "/overview" + days, "/overview.xlsx" + days, "/overview" + days, "/products?sort=price&search=l",
		"/orders?channel=web&page=40", "/usage?days=90",
	}
	c.repeat(60, func(n, round int) {
		r := c.request(0, "GET", "/settings/t/"+c.Tenants[0].Slug+paths[(n+round)%len(paths)], "")
		r.Header.Del("Authorization")
		r.Header.Set("Cookie", c.Tenants[0].Cookie)
		c.do(from[n%addresses], r)
	})
}

func commands(c *clients) {
	c.repeat(2, func(n, _ int) {
		cmd := exec.CommandContext(c.ctx, c.Program, []string{"verify", "rebuild"}[n], "--tenant", c.Tenants[n].Slug)
		cmd.Dir, cmd.Env = c.Dir, c.Environ
		out, err := cmd.CombinedOutput()
		if c.ctx.Err() != nil {
			return
		}
		if err != nil {
			c.count(fmt.Sprintf("%v: %s", err, out))
			return
		}
		c.count("success of " + cmd.Args[1])
	})
}

// useCPUs sends nothing. It shows what the attackers' use of the CPUs causes on a machine that they share with the
// service.
func useCPUs(c *clients) {
	c.times(runtime.NumCPU(), func(int) {
		for c.ctx.Err() == nil {
		}
	})
}

// report returns the path of a report of the last days.
func report(name string, days int) string {
	from, to := lastDays(days)
	return fmt.Sprintf("/api/reports/%s?from=%s&to=%s", name, from, to)
}

// export returns the path of a report as a file.
func export(name, format string) string { return report("export/"+name, 7320) + "&format=" + format }

func lastDays(days int) (from, to string) {
	now := time.Now().UTC()
	return now.AddDate(0, 0, 1-days).Format(time.DateOnly), now.Format(time.DateOnly)
}

// newOrders returns a bulk body of orders with 50 items each. Their numbers differ for each client and round.
func newOrders(orders, client, round int) string {
	body := ordersBody(shape{orders: orders, items: 50, skus: 20_000, days: 28}, 0)
	return strings.ReplaceAll(body, `"O-`, fmt.Sprintf(`"N-%d-%d-%d-`, time.Now().UnixNano(), client, round))
}
