// Sends requests that fail as their header X-Fault says.
import assert from "node:assert/strict";
import {
  InvalidSignatureError, Storeroom, StoreroomConnectionError, StoreroomError, lines, verifyWebhook, type Order,
  type Product, type ResponseInfo,
} from "@storeroom/client";

const client = new Storeroom({ url: process.env.STOREROOM_URL!, key: process.env.STOREROOM_KEY!, userAgent: "faults/1" });
// A picture of one pixel.
const dot = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64",
);
let calls = 0;

// Lets the first attempt of a request fail.
const fails = (fault: string) => ({ headers: { "X-Fault": `${fault}.${++calls}` } });

// Each request has its effect once.
for (const fault of ["limited", "busy", "refused", "lost", "cut", "twice"]) {
  const name = `F-${fault}`;
  let response: ResponseInfo | undefined;
  const product = await client.createProduct(
    { sku: name, name, price: "10.10", quantity: 5 }, { ...fails(fault), onResponse: (r) => (response = r) },
  );
  assert.deepEqual([product.price, product.quantity], ["10.10", 5]);
  assert.equal(response?.replayed, ["lost", "cut"].includes(fault));
  const adjusted = await client.adjustInventory(product.id, { type: "remove", quantity: 2 }, fails(fault));
  assert.equal(adjusted.quantity, 3);
  const patched = await client.patchProduct(product.id, { description: null }, fails(fault));
  assert.equal(patched.quantity, 3);
  const image = await client.addImageFile(product.id, { name: "dot.png", content: new Blob([dot]) }, fails(fault));
  assert.equal(image.position, 1);
  const found: string[] = [];
  for await (const { sku } of client.allProducts({ search: name, per_page: 1 }, fails(fault))) found.push(sku);
  assert.deepEqual(found, [name]);
  const order = await client.createOrder({
    number: name, channel: "pos", placed_at: new Date().toISOString(),
    items: [{ sku: name, quantity: 2, unit_price: "10.10" }],
  }, fails(fault));
  assert.equal(order.revenue, "20.20");
  assert.equal((await client.refundOrder(name, { amount: "0.10" }, fails(fault))).amount, "0.10");
  const category = await client.createCategory({ name }, fails(fault));
  await client.deleteCategory(category.id, fails(fault));
  const report = await client.customReport({ period: "today", metrics: ["orders"] }, fails(fault));
  assert.ok(report.data.totals.orders! > 0);
}

// What is not sent again.
await assert.rejects(client.showMe(fails("later")), (error) =>
  error instanceof StoreroomError && error.code === "RATE_LIMIT_EXCEEDED" && error.retryAfter === 3_600_000 && error.attempts <= 2);
const hook = await client.createWebhook({ url: "https://example.com/hook" });
await assert.rejects(client.testWebhook(hook.id, fails("refused")), (error) =>
  error instanceof StoreroomConnectionError && error.attempts === 1); // a POST without an Idempotency-Key
const { id } = await client.showProductBySKU("F-lost");
const lost = fails("lost");
await assert.rejects(
  client.patchProduct(id, { name: "Changed" }, { headers: { ...lost.headers, "If-Match": "*" } }), StoreroomConnectionError,
);
await assert.rejects(client.showProduct(2 ** 40), (error) =>
  error instanceof StoreroomError && error.code === "NOT_FOUND" && error.requestId !== null);
const file = await client.exportProducts({ format: "ndjson" }, fails("cut"));
await assert.rejects(async () => {
  for await (const _ of lines<Product>(file));
});
const stopped = client.listChanges({ after: "now", wait: 25 }, { signal: AbortSignal.timeout(200) });
await assert.rejects(stopped, { name: "TimeoutError" });

// The feed continues at a cursor.
const first = client.followChanges("", ["order"]);
const seen: string[] = [];
for await (const change of first) {
  seen.push(change.id);
  if (seen.length === 2) break;
}
for await (const change of client.followChanges(first.cursor, ["order"])) {
  const { number } = change.data as unknown as Order;
  seen.push(number);
  if (number === "F-twice") break;
}
assert.ok(seen.includes("F-limited") && seen.includes("F-cut"));

// Webhooks.
const { secret, headers, body } = JSON.parse(process.env.WEBHOOK!);
assert.equal((await verifyWebhook(secret, headers, body)).type, "changes");
assert.equal((await verifyWebhook(secret, new Headers(headers), new TextEncoder().encode(body))).type, "changes");
await assert.rejects(verifyWebhook(secret, headers, body + " "), InvalidSignatureError);
await assert.rejects(verifyWebhook(secret, { ...headers, "webhook-timestamp": "1614265330" }, body), InvalidSignatureError);
