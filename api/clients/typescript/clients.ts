// Drives an instance with the clients that @hey-api/openapi-ts and orval generate from /openapi.json.
import assert from "node:assert/strict";
import { createProduct, listProducts } from "./hey/index.js";
import { client } from "./hey/client.gen.js";
import * as orval from "./orval.js";

const url = process.env.STOREROOM_URL!;
const authorization = `Bearer ${process.env.STOREROOM_KEY}`;

client.setConfig({ baseUrl: url as "/", headers: { Authorization: authorization } });
const cup = { sku: "CUP", name: "Cup", price: "9.90", tags: ["cups"] };
const created = await createProduct({ body: cup });
assert.equal(created.data?.data.price, "9.90");
const refused = await createProduct({ body: cup });
assert.equal(refused.error?.error.code, "VALIDATION_ERROR");
const listed = await listProducts({ query: { tag: "cups", cursor: "" } });
assert.deepEqual(listed.data?.data.map(({ sku }) => sku), ["CUP"]);

// The functions of orval call fetch with a path.
const send = globalThis.fetch;
globalThis.fetch = (path, options) =>
  send(url + path, { ...options, headers: { ...options?.headers, Authorization: authorization } });
const bowl = await orval.createProduct({ ...cup, sku: "BOWL" });
assert.equal(bowl.status === 201 && bowl.data.data.sku, "BOWL");
const both = await orval.listProducts({ tag: "cups" });
assert.equal(both.status === 200 && both.data.meta.total, 2);
const form = { file: [new Blob(["sku,name,price\nJUG,Jug,5.00\n"])], settings: { timezone: "UTC" } };
const imported = await orval.createImport(form as orval.CreateImportBody);
assert.equal(imported.status, 202);
