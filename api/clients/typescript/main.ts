// Drives an instance with openapi-fetch and the types that openapi-typescript generates from /openapi.json.
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./storeroom.js";

const client = createClient<paths>({
  baseUrl: process.env.STOREROOM_URL!,
  headers: { Authorization: `Bearer ${process.env.STOREROOM_KEY}` },
});

// ok returns the body of a successful response.
function ok<T>(result: { data?: T; error?: unknown; response: Response }): T {
  assert.ok(result.data !== undefined, `${result.response.status}: ${JSON.stringify(result.error)}`);
  return result.data;
}

// A change names only the fields that it changes. It does not compile if a type demands others.
const rename: components["schemas"]["ProductChanges"] = { name: "Blue mug" };
const product: components["schemas"]["NewProduct"] = {
  sku: "MUG", name: "Mug", price: "24.90", quantity: 5, condition: "used",
};

const { data: created } = ok(await client.POST("/api/products", { body: product }));
const path = { id: created.id };
const { data: patched } = ok(await client.PATCH("/api/products/{id}", { params: { path }, body: rename }));
assert.deepEqual(
  [patched.name, patched.quantity, patched.condition, patched.price], ["Blue mug", 5, "used", "24.90"],
);

// A PNG of 1 × 1 pixels.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const form = new FormData();
form.append("file", new Blob([Buffer.from(pixel, "base64")]), "mug.png");
const { data: image } = ok(await client.POST("/api/products/{id}/images/file", {
  params: { path }, body: form as unknown as components["schemas"]["ImageFile"],
}));
assert.equal(image.position, 1);
assert.ok(image.thumbnails);

const { data: order } = ok(await client.POST("/api/orders", {
  body: {
    number: "SO-1", channel: "pos", placed_at: new Date().toISOString(), customer: { id: 10042 },
    items: [{ sku: "MUG", quantity: 2, unit_price: 24.9 }],
  },
}));
assert.equal(order.revenue, "49.80");
assert.equal(order.customer?.id, "10042");
const { data: refund } = ok(await client.POST("/api/orders/{number}/refunds", {
  params: { path: { number: "SO-1" } }, body: { amount: "4.90" },
}));
assert.equal(refund.amount, "4.90");

const day = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10);
const { data: sales } = ok(await client.GET("/api/reports/sales-summary", {
  params: { query: { from: day(-2), to: day(2) } },
}));
assert.deepEqual([sales.summary.total_orders, sales.summary.total_revenue], [1, "49.80"]);

const file = ok(await client.GET("/api/products/export", { parseAs: "text" }));
assert.match(file, /Blue mug/);

const { data: plan } = ok(await client.POST("/api/products/changes", {
  body: { filter: {}, adjust_price_percent: -10 },
}));
const { data: applied } = ok(await client.POST("/api/plans/{id}/apply", { params: { path: { id: plan.id } } }));
assert.equal(applied.counts.updated, 1);
const { data: cheaper } = ok(await client.GET("/api/products/{id}", { params: { path } }));
assert.equal(cheaper.price, "22.41");

// A deletion is an entry of the feed without data.
const deleted = await client.DELETE("/api/products/{id}", { params: { path } });
assert.equal(deleted.response.status, 204);
for (let after = "", found = false; !found; ) {
  const page = ok(await client.GET("/api/changes", { params: { query: { after, wait: 5 } } }));
  found = page.data.some(({ type, action, data }) => type === "product" && action === "deleted" && data === null);
  after = page.meta.next_cursor;
}

const { error } = await client.POST("/api/products", { body: { ...product, name: "\t" } });
assert.equal(error?.error.code, "VALIDATION_ERROR");
assert.ok(error.error.details?.name);
