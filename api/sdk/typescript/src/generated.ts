// Generated from openapi.yaml by api/sdk/generate. Do not edit.

import { Transport, path, type CallOptions, type FileDownload } from "./transport.js";

/** `active` products are for sale, `draft` products are not. */
export type Status = "active" | "draft" | (string & {});

export type Condition = "new" | "like_new" | "used" | "refurbished" | "for_parts" | (string & {});

/**
 * What happens to an order for more than is in stock: `refuse` it, or `accept` it with what there is and mark it
 * as `short`. The default is `refuse`.
 */
export type WhenShort = "refuse" | "accept" | (string & {});

/** The state of a plan. */
export type PlanState = "planning" | "planned" | "applying" | "applied" | "undoing" | "undone" | "cancelled" | "failed" | (string & {});

/** What a row becomes. */
export type ImportKind = "category" | "seller" | "warehouse" | "product" | "stock" | "channel" | "customer" | "order" | "refund" | "cancellation" | (string & {});

/** What happens to a row. */
export type ImportAction = "created" | "updated" | "unchanged" | "refused" | "ignored" | (string & {});

export type Compare = "previous_period" | "previous_year" | "previous_year_weekday" | (string & {});

export type Metric = "revenue" | "orders" | "avg_order_value" | "gross_profit" | "margin_percent" | "units_sold" | "discounts" | "tax" | "refunds" | "gross_sales" | "net_revenue" | "shipping" | "total" | "items" | "net_gross_profit" | "net_margin_percent" | "units_returned" | "refunded_revenue" | "returned_cost" | (string & {});

export type GroupBy = "day" | "week" | "month" | "channel" | "category" | "seller" | (string & {});

/** A period that ends today or earlier, in the tenant's time zone. */
export type PeriodPreset = "today" | "yesterday" | "last_7_days" | "last_30_days" | "last_90_days" | "this_month" | "last_month" | "this_quarter" | "this_year" | "last_year" | (string & {});

export type Unit = "money" | "percent" | "count" | (string & {});

/** An error code. Each code always has the same status. */
export type ErrorCode = "INVALID_JSON" | "INVALID_PARAMETER" | "INVALID_HEADER" | "MISSING_API_KEY" | "INVALID_API_KEY" | "INSUFFICIENT_PERMISSIONS" | "TENANT_SUSPENDED" | "QUOTA_EXCEEDED" | "NOT_FOUND" | "ROUTE_NOT_FOUND" | "METHOD_NOT_ALLOWED" | "RESOURCE_IN_USE" | "INVALID_STATE" | "IDEMPOTENCY_IN_PROGRESS" | "CURSOR_EXPIRED" | "PRECONDITION_FAILED" | "PAYLOAD_TOO_LARGE" | "UNSUPPORTED_MEDIA_TYPE" | "VALIDATION_ERROR" | "INSUFFICIENT_STOCK" | "IDEMPOTENCY_KEY_REUSED" | "RATE_LIMIT_EXCEEDED" | "INTERNAL_ERROR" | "SERVICE_UNAVAILABLE" | (string & {});

export type ListProductsSort = "name" | "sku" | "price" | "created_at" | (string & {});

export type Direction = "asc" | "desc" | (string & {});

export interface ProductList {
  data: Array<Product>;
  /** The position of a page, or the position of `cursor`. */
  meta: ListMeta;
}

/** A product. All fields are always present. Missing values are null, and missing lists are `[]`. */
export interface Product {
  id: number;
  /** Unique in the tenant, compared exactly. */
  sku: string;
  name: string;
  /** HTML, returned exactly as it was sent. */
  description: string | null;
  price: string;
  msrp: string | null;
  cost: string | null;
  status: Status;
  condition: Condition;
  /** Units in all warehouses. */
  quantity: number;
  /** Units. Your threshold for reordering. */
  reorder_point: number | null;
  category: Named | null;
  seller: Named | null;
  warehouse: Named;
  bin_location: string | null;
  /** The digits of the barcode, including leading zeros. */
  upc: string | null;
  tags: Array<string>;
  images: Array<Image>;
  created_at: string;
  updated_at: string;
}

/** An object that a product refers to. */
export interface Named {
  id: number;
  name: string;
}

export interface Image {
  id: number;
  /** An absolute URL. */
  url: string;
  position: number;
  /**
   * Absolute URLs of smaller pictures for lists, by width in pixels. The height is at most twice the width. A size
   * that the picture already fits has the URL of the picture itself. Null if the image is on another server.
   */
  thumbnails: ImageThumbnails | null;
}

/**
 * Absolute URLs of smaller pictures for lists, by width in pixels. The height is at most twice the width. A size
 * that the picture already fits has the URL of the picture itself. Null if the image is on another server.
 */
export interface ImageThumbnails {
  "160": string;
  "480": string;
  "1200": string;
}

/** The position of the page in the list. */
export interface Meta {
  page: number;
  per_page: number;
  /** The exact number of matching objects. */
  total: number;
  total_pages: number;
  has_next: boolean;
  has_prev: boolean;
}

/** The position in the list, for requests with `cursor`. */
export interface WalkMeta {
  per_page: number;
  /** The exact number of matching objects. */
  total: number;
  /** The `cursor` for the next request, or null at the end of the list. */
  next_cursor: string | null;
}

export interface ListMeta {
  page?: number;
  per_page: number;
  /** The exact number of matching objects. */
  total: number;
  total_pages?: number;
  has_next?: boolean;
  has_prev?: boolean;
  /** The `cursor` for the next request, or null at the end of the list. */
  next_cursor?: string | null;
}

/** A product for POST and PUT. */
export interface NewProduct {
  /** Trimmed. Unique in the tenant. Must not contain control characters and must not be `.` or `..`. */
  sku: string;
  /** Trimmed. Must not contain control characters. */
  name: string;
  /** HTML, stored exactly as sent. */
  description?: string | null | undefined;
  price: string;
  msrp?: string | null | undefined;
  cost?: string | null | undefined;
  /** A new product without it is `active`. */
  status?: Status | undefined;
  /** A new product without it is `new`. */
  condition?: Condition | undefined;
  /** Units in all warehouses. A new product without it has 0. */
  quantity?: number | undefined;
  reorder_point?: number | null | undefined;
  category_id?: number | null | undefined;
  seller_id?: number | null | undefined;
  /** The product's own warehouse. The default is the tenant's default warehouse. */
  warehouse_id?: number | undefined;
  /** Must not contain control characters. */
  bin_location?: string | null | undefined;
  upc?: string | null | undefined;
  /** Trimmed. Exact duplicates are removed, and the order is kept. At most 50 different tags. */
  tags?: Array<string> | undefined;
}

/** The rows of a bulk request. An invalid row is reported in its row of the response. */
export interface ProductItems {
  items: Array<ProductItemsItem>;
}

export interface ProductItemsItem {
  /** Trimmed. Unique in the tenant. Must not contain control characters and must not be `.` or `..`. */
  sku: string;
  /** Trimmed. Must not contain control characters. */
  name?: string | undefined;
  /** HTML, stored exactly as sent. */
  description?: string | null | undefined;
  price?: string | undefined;
  msrp?: string | null | undefined;
  cost?: string | null | undefined;
  /** A new product without it is `active`. */
  status?: Status | undefined;
  /** A new product without it is `new`. */
  condition?: Condition | undefined;
  /** Units in all warehouses. A new product without it has 0. */
  quantity?: number | undefined;
  reorder_point?: number | null | undefined;
  category_id?: number | null | undefined;
  seller_id?: number | null | undefined;
  /** The product's own warehouse. The default is the tenant's default warehouse. */
  warehouse_id?: number | undefined;
  /** Must not contain control characters. */
  bin_location?: string | null | undefined;
  upc?: string | null | undefined;
  /** Trimmed. Exact duplicates are removed, and the order is kept. At most 50 different tags. */
  tags?: Array<string> | undefined;
  /**
   * URLs of images, which replace the product's images. An image whose URL the product already has keeps its id.
   * An empty array and the objects of a response are ignored.
   */
  images?: Array<string> | null | undefined;
}

export interface BulkResult {
  data: Array<BulkRow>;
  meta: BulkMeta;
}

/** The result of a row. */
export interface BulkRow {
  /** The position in `items`, starting at 0. */
  index: number;
  /** The SKU of the row, or null if it has none. */
  sku: string | null;
  status: BulkRowStatus;
  /** The id of the product, or null if the product does not exist. */
  id: number | null;
  /** Present if the row failed. */
  error?: Fault;
}

export type BulkRowStatus = "created" | "updated" | "unchanged" | "failed" | (string & {});

/** An error. */
export interface Fault {
  code: ErrorCode;
  /** A message for people. It may change. */
  message: string;
  /** The errors by the name of the parameter, header or field. */
  details?: Record<string, Array<string>>;
  /** The rows of a plan that something else has changed, up to 100. */
  changed?: Array<PlanRowChanged>;
}

/** A row that something else has changed. */
export interface PlanRowChanged {
  sku: string;
  id: number | null;
  /** The changed fields. Empty if the product was created or deleted. */
  fields: Array<string>;
  reason: string;
}

/** The number of rows by result. */
export interface BulkMeta {
  total: number;
  created: number;
  updated: number;
  unchanged: number;
  failed: number;
}

export interface PlanResult {
  data: Plan;
  meta: PlanMeta;
}

/** A plan of changes of products. */
export interface Plan {
  id: number;
  /** What the plan changes. */
  title: string;
  state: PlanState;
  created_at: string;
  /** `API key` and the name of the key, for example `API key Till`. */
  created_by: string;
  planned_at: string | null;
  applied_at: string | null;
  /** Until when the plan is kept, and can be undone if it was applied. */
  expires_at: string;
  /** Why the plan failed, was not applied or waits. */
  failure: string | null;
  /** The page of the plan. */
  url: string | null;
  /**
   * The numbers of rows by what happens to them. Skipped rows were changed by something else, so they were not
   * applied or not undone.
   */
  counts: PlanCounts;
  /** How many rows are done in the current state. `of` is null while the plan is computed. */
  progress: PlanProgress;
  rows: Array<PlanRow>;
}

/**
 * The numbers of rows by what happens to them. Skipped rows were changed by something else, so they were not
 * applied or not undone.
 */
export interface PlanCounts {
  created: number;
  updated: number;
  unchanged: number;
  refused: number;
  skipped: number;
}

/** How many rows are done in the current state. `of` is null while the plan is computed. */
export interface PlanProgress {
  rows: number;
  of: number | null;
}

/** A product of a plan. */
export interface PlanRow {
  /** The index in a bulk request. */
  index: number | null;
  /** Null if a row of a bulk request has none. */
  sku: string | null;
  /** Null if the product did not exist. */
  id: number | null;
  action: PlanRowAction;
  /** The stored values of the fields that change. */
  old: Record<string, unknown> | null;
  /** The new values of the fields that change. */
  new: Record<string, unknown> | null;
  /** Why the row is refused, by field. The key is empty for the whole row. */
  errors: Record<string, Array<string>>;
  /** Set if something else has changed the row, so that it was not applied or not undone. */
  changed: PlanRowChanged | null;
}

export type PlanRowAction = "created" | "updated" | "unchanged" | "refused" | (string & {});

/** The id of the plan, and where its next rows are. */
export interface PlanMeta {
  plan_id: number;
  /** The page of the plan. */
  url: string | null;
  per_page: number;
  /** The number of rows. */
  total: number;
  /** Null after the last row. */
  next_cursor: string | null;
}

/** A change of all products that match a filter. At least one field besides `filter` is required. */
export interface ProductPlan {
  /** The filter parameters of `GET /api/products`, with the same meaning. `{}` selects all products. */
  filter: ProductPlanFilter;
  /** New values of fields, except `sku`. Null clears a field. */
  set?: ProductFields | undefined;
  /**
   * The percentage to add to prices, from -1000 to 1000 with at most two fraction digits. Cannot be combined with
   * `set.price`. It must not be 0.
   */
  adjust_price_percent?: string | undefined;
  /** Tags to add. Cannot be combined with `set.tags`. */
  add_tags?: Array<string> | undefined;
  /** Tags to remove. Cannot be combined with `set.tags`. */
  remove_tags?: Array<string> | undefined;
}

/** The filter parameters of `GET /api/products`, with the same meaning. `{}` selects all products. */
export interface ProductPlanFilter {
  search?: string | undefined;
  status?: Status | undefined;
  category_id?: number | undefined;
  category?: number | undefined;
  seller_id?: number | undefined;
  warehouse_id?: number | undefined;
  tag?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
  period?: PeriodPreset | undefined;
  updated_since?: string | undefined;
}

/** The fields of a product in a request. */
export interface ProductFields {
  /** Trimmed. Unique in the tenant. Must not contain control characters and must not be `.` or `..`. */
  sku?: string | undefined;
  /** Trimmed. Must not contain control characters. */
  name?: string | undefined;
  /** HTML, stored exactly as sent. */
  description?: string | null | undefined;
  price?: string | undefined;
  msrp?: string | null | undefined;
  cost?: string | null | undefined;
  /** A new product without it is `active`. */
  status?: Status | undefined;
  /** A new product without it is `new`. */
  condition?: Condition | undefined;
  /** Units in all warehouses. A new product without it has 0. */
  quantity?: number | undefined;
  reorder_point?: number | null | undefined;
  category_id?: number | null | undefined;
  seller_id?: number | null | undefined;
  /** The product's own warehouse. The default is the tenant's default warehouse. */
  warehouse_id?: number | undefined;
  /** Must not contain control characters. */
  bin_location?: string | null | undefined;
  upc?: string | null | undefined;
  /** Trimmed. Exact duplicates are removed, and the order is kept. At most 50 different tags. */
  tags?: Array<string> | undefined;
}

export type ExportProductsFormat = "csv" | "xlsx" | "ndjson" | (string & {});

/** The fields of a product to change with PATCH. */
export interface ProductChanges {
  /** Trimmed. Unique in the tenant. Must not contain control characters and must not be `.` or `..`. */
  sku?: string | undefined;
  /** Trimmed. Must not contain control characters. */
  name?: string | undefined;
  /** HTML, stored exactly as sent. */
  description?: string | null | undefined;
  price?: string | undefined;
  msrp?: string | null | undefined;
  cost?: string | null | undefined;
  /** A new product without it is `active`. */
  status?: Status | undefined;
  /** A new product without it is `new`. */
  condition?: Condition | undefined;
  /** Units in all warehouses. A new product without it has 0. */
  quantity?: number | undefined;
  reorder_point?: number | null | undefined;
  category_id?: number | null | undefined;
  seller_id?: number | null | undefined;
  /** The product's own warehouse. The default is the tenant's default warehouse. */
  warehouse_id?: number | undefined;
  /** Must not contain control characters. */
  bin_location?: string | null | undefined;
  upc?: string | null | undefined;
  /** Trimmed. Exact duplicates are removed, and the order is kept. At most 50 different tags. */
  tags?: Array<string> | undefined;
}

export interface NewImage {
  /** An absolute URL, `http` or `https`, without a user name. */
  url: string;
}

export interface ImageChanges {
  position: number;
}

/** The stock of a product. */
export interface Inventory {
  product_id: number;
  /** Units in all warehouses. */
  quantity: number;
  warehouses: Array<InventoryWarehouse>;
}

export interface InventoryWarehouse {
  warehouse: Named;
  /** Units in this warehouse. */
  quantity: number;
}

/** A stock adjustment. */
export interface NewAdjustment {
  type: NewAdjustmentType;
  /** The number of units to add or remove (at least 1), or the new number (at least 0). */
  quantity: number;
  /** The warehouse whose stock changes. The default is the product's own warehouse. */
  warehouse_id?: number | null | undefined;
  notes?: string | null | undefined;
  /** The expected total of the product. If the total is different, the response is 412 `PRECONDITION_FAILED`. */
  expected_quantity?: number | null | undefined;
}

export type NewAdjustmentType = "add" | "remove" | "set" | (string & {});

export interface ProductAdjustedData {
  id: number;
  /** Unique in the tenant, compared exactly. */
  sku: string;
  name: string;
  /** HTML, returned exactly as it was sent. */
  description: string | null;
  price: string;
  msrp: string | null;
  cost: string | null;
  status: Status;
  condition: Condition;
  /** Units in all warehouses. */
  quantity: number;
  /** Units. Your threshold for reordering. */
  reorder_point: number | null;
  category: Named | null;
  seller: Named | null;
  warehouse: Named;
  bin_location: string | null;
  /** The digits of the barcode, including leading zeros. */
  upc: string | null;
  tags: Array<string>;
  images: Array<Image>;
  created_at: string;
  updated_at: string;
  adjustment: Adjustment;
}

/** A recorded stock adjustment. It never changes. */
export interface Adjustment {
  id: number;
  type: NewAdjustmentType;
  /** The number of units in the request. */
  quantity: number;
  warehouse_id: number;
  /** The product's total before the adjustment. */
  quantity_before: number;
  /** The product's total after the adjustment. */
  quantity_after: number;
  notes: string | null;
  /** The order that changed the stock. */
  order_number: string | null;
  /** Why the order changed the stock. */
  reason: AdjustmentReason | null;
  /**
   * The API key of the request. Null if it was not made with an API key, and for an import or a plan that was
   * applied or undone in the background (202).
   */
  api_key: Named | null;
  created_at: string;
}

/** Why the order changed the stock. */
export type AdjustmentReason = "sale" | "cancellation" | "refund" | (string & {});

export interface AdjustmentList {
  data: Array<Adjustment>;
  meta: Meta;
}

export type ListCategoriesSort = "name" | "created_at" | (string & {});

export interface ReferenceList {
  data: Array<Reference>;
  meta: Meta;
}

/** A category or a seller. */
export interface Reference {
  id: number;
  name: string;
  created_at: string;
  updated_at: string;
}

/** A category, seller or warehouse for POST. */
export interface NewReference {
  /** Trimmed. Unique in the tenant. Must not contain control characters. */
  name: string;
}

/** The fields of a category, seller or warehouse to change with PATCH. */
export interface ReferenceChanges {
  /** Trimmed. Unique in the tenant. Must not contain control characters. */
  name?: string | undefined;
}

export interface WarehouseList {
  data: Array<Warehouse>;
  meta: Meta;
}

/** A warehouse. */
export interface Warehouse {
  id: number;
  name: string;
  /** Whether products without a warehouse belong to this warehouse. */
  is_default: boolean;
  created_at: string;
  updated_at: string;
}

export interface ChannelList {
  data: Array<Channel>;
  meta: Meta;
}

/** A sales channel. */
export interface Channel {
  identifier: string;
  label: string;
  /** Whether orders take their items from stock. */
  takes_stock: boolean;
  when_short: WhenShort;
  /** The warehouse that orders take from. Null is the warehouse of each product. */
  warehouse: Named | null;
  created_at: string;
  updated_at: string;
}

/** A channel for POST. */
export interface NewChannel {
  /** Unique in the tenant. In PATCH it must be the current identifier. */
  identifier: string;
  /** The name to display. Trimmed. Must not contain control characters. */
  label: string;
  /** Whether orders take their items from stock. The default is false. */
  takes_stock?: boolean | undefined;
  when_short?: WhenShort | undefined;
  /** The warehouse that orders take from. Null is the warehouse of each product. */
  warehouse_id?: number | null | undefined;
  /** The same as `warehouse_id`, in the form of a response. */
  warehouse?: NewChannelWarehouse | null | undefined;
}

/** The same as `warehouse_id`, in the form of a response. */
export interface NewChannelWarehouse {
  id: number;
}

/** The fields of a channel to change with PATCH. */
export interface ChannelChanges {
  /** Unique in the tenant. In PATCH it must be the current identifier. */
  identifier?: string | undefined;
  /** The name to display. Trimmed. Must not contain control characters. */
  label?: string | undefined;
  /** Whether orders take their items from stock. The default is false. */
  takes_stock?: boolean | undefined;
  when_short?: WhenShort | undefined;
  /** The warehouse that orders take from. Null is the warehouse of each product. */
  warehouse_id?: number | null | undefined;
  /** The same as `warehouse_id`, in the form of a response. */
  warehouse?: ChannelChangesWarehouse | null | undefined;
}

/** The same as `warehouse_id`, in the form of a response. */
export interface ChannelChangesWarehouse {
  id: number;
}

export type ListOrdersStatus = "placed" | "cancelled" | (string & {});

export type ListOrdersSort = "placed_at" | "number" | (string & {});

export interface OrderList {
  data: Array<ListedOrder>;
  /** The position of a page, or the position of `cursor`. */
  meta: ListMeta;
}

/** An order in a list. */
export interface ListedOrder {
  id: number;
  number: string;
  /** `cancelled` orders are excluded from reports. */
  status: ListOrdersStatus;
  placed_at: string;
  cancelled_at: string | null;
  channel: string;
  /** Null for a guest order. */
  customer: Customer | null;
  /** Quantity × price of all items − all discounts, without tax. Refunds are not subtracted. */
  revenue: string;
  discount_total: string;
  tax_total: string;
  shipping_total: string;
  /** Quantity × cost of the items with a cost. */
  cost_total: string;
  refunded_total: string;
  /** Units. */
  units: number;
  /** Units without a cost. */
  units_without_cost: number;
  /** Whether the order took less from stock than it has items. */
  short: boolean;
  created_at: string;
  /** When the order, its last refund or its cancellation was stored. */
  updated_at: string;
  /** The number of items of the order. */
  item_count: number;
}

/**
 * A customer. The name and the e-mail address are null if they are unknown or were erased, or if the key does
 * not have `customers:read`.
 */
export interface Customer {
  /** The id that was sent in orders. */
  id: string;
  name: string | null;
  email: string | null;
}

/** An order in a request. A field that is null counts as missing. */
export interface NewOrder {
  /**
   * Your number of the order. Trimmed. Unique in the tenant. Must not contain control characters and must not be
   * `.` or `..`.
   */
  number: string;
  placed_at: string;
  channel: string;
  /** The customer. If missing, the order is a guest order. */
  customer?: NewCustomer | null | undefined;
  /**
   * All discounts, including the discounts of the items: at least their sum, at most the value of the items. The
   * default is the sum of the discounts of the items.
   */
  discount_total?: string | null | undefined;
  /** Tax in addition to the prices. The default is 0. */
  tax_total?: string | null | undefined;
  /** Shipping in addition to the prices. The default is 0. */
  shipping_total?: string | null | undefined;
  /** False takes nothing from stock. The default is true, for channels that take stock. */
  take_stock?: boolean | undefined;
  items: Array<NewItem>;
}

/**
 * A customer in a request. A name or an e-mail address replaces the stored one; if missing, the stored one is
 * kept.
 */
export interface NewCustomer {
  /** Your id of the customer. An integer is converted to its digits. */
  id: string | number;
  /** Trimmed. Must not contain control characters. */
  name?: string | null | undefined;
  /** Trimmed. Must contain an `@`. */
  email?: string | null | undefined;
}

/** An item of an order. Quantity × price and quantity × cost are at most 9999999999.99. */
export interface NewItem {
  /** Trimmed. An unknown SKU is stored as sent. */
  sku: string;
  quantity: number;
  unit_price: string;
  /** The cost of one unit. The default is the current cost of the product. */
  unit_cost?: string | null | undefined;
  /** The discount on the whole item, at most quantity × price. The default is 0. */
  discount?: string | null | undefined;
}

/** An order with its items and refunds. */
export interface Order {
  id: number;
  number: string;
  /** `cancelled` orders are excluded from reports. */
  status: ListOrdersStatus;
  placed_at: string;
  cancelled_at: string | null;
  channel: string;
  /** Null for a guest order. */
  customer: Customer | null;
  /** Quantity × price of all items − all discounts, without tax. Refunds are not subtracted. */
  revenue: string;
  discount_total: string;
  tax_total: string;
  shipping_total: string;
  /** Quantity × cost of the items with a cost. */
  cost_total: string;
  refunded_total: string;
  /** Units. */
  units: number;
  /** Units without a cost. */
  units_without_cost: number;
  /** Whether the order took less from stock than it has items. */
  short: boolean;
  created_at: string;
  /** When the order, its last refund or its cancellation was stored. */
  updated_at: string;
  items: Array<Item>;
  refunds: Array<OrderRefund>;
}

/** An item as it was sold, with the name, category, seller and cost at the time the order was created. */
export interface Item {
  line: number;
  sku: string;
  /** The SKU if the catalog did not contain the product. */
  name: string;
  /** Null if the catalog did not contain the SKU. The product can have been deleted since. */
  product_id: number | null;
  category: Named | null;
  seller: Named | null;
  quantity: number;
  unit_price: string;
  unit_cost: string | null;
  /** The discount of the item, including its share of the order's discount. */
  discount: string;
  /** The share of the order's tax. */
  tax: string;
  /** The share of the order's shipping. */
  shipping: string;
  /** Quantity × price − discount. */
  revenue: string;
  /** The share of the order's refunds. */
  refunded: string;
  /** Units that were taken from stock. */
  stock_taken: number;
  /** Units that a cancellation or refunds returned to stock. */
  stock_returned: number;
  /** Units that refunds returned, whether or not they came from stock. */
  units_returned: number;
}

/** A refund of an order. */
export interface OrderRefund {
  id: number;
  amount: string;
  refunded_at: string;
  reference: string | null;
  created_at: string;
  /** The part of the amount that is tax. */
  tax: string;
  /** The part of the amount that is shipping. The rest is revenue. */
  shipping: string;
  /** Whether the returned units were for sale again. */
  restock: boolean;
  /** The units that the refund returned. */
  units_returned: number;
  /** The items that the refund names or returns units of. */
  items: Array<RefundItem>;
}

/** An item that a refund names or returns units of. */
export interface RefundItem {
  line: number;
  /** The units that were returned, or null. */
  quantity: number | null;
  /** The amount for the item, or null if the refund is for all items. */
  amount: string | null;
}

/** The orders of a bulk request. An invalid order is reported in its row of the response. */
export interface NewOrders {
  orders: Array<NewOrder>;
}

export interface OrdersResult {
  data: Array<OrderRow>;
  meta: OrderMeta;
}

/** The result of one order of a bulk request. */
export interface OrderRow {
  /** The position in `orders`, starting at 0. */
  index: number;
  /** The number of the order, or null if it has none. */
  number: string | null;
  status: OrderRowStatus;
  /** The id of the order, or null if the order does not exist. */
  id: number | null;
  /** Present if the new order took less from stock than it has items. */
  short?: boolean;
  /** Present if the row failed. */
  error?: Fault;
}

export type OrderRowStatus = "created" | "unchanged" | "failed" | (string & {});

/** The number of orders by result. */
export interface OrderMeta {
  total: number;
  created: number;
  unchanged: number;
  failed: number;
}

export interface NewCancellation {
  /** The default is now. */
  cancelled_at?: string | null | undefined;
}

/** A refund in a request. */
export interface NewRefund {
  /** At least 0.01. */
  amount: string;
  /** The time of the refund, which decides the day in reports. The default is now. */
  refunded_at?: string | null | undefined;
  /** Your reference. Trimmed. Unique in the order. */
  reference?: string | null | undefined;
  /** The part of the amount that is tax. Needs `shipping`. The default is the share of the order's tax. */
  tax?: string | null | undefined;
  /** The part of the amount that is shipping. Needs `tax`. The default is as for `tax`. */
  shipping?: string | null | undefined;
  /**
   * The items that the refund is for. Either all have an `amount`, and these add up to the amount of the refund,
   * or none has. The default is all items of the order.
   */
  items?: Array<NewRefundItem> | null | undefined;
  /**
   * Whether returned units are for sale again. They return to stock as far as the order has taken them. Without
   * `items` and `restock_items`, all units return that were not returned yet. The default is false.
   */
  restock?: boolean | undefined;
  /**
   * Return only these quantities, at most what no earlier refund returned. An item returns at most what it has
   * taken. Needs `restock`, and excludes `items`.
   */
  restock_items?: Array<NewRefundRestockItem> | null | undefined;
}

export interface NewRefundItem {
  /** The line of the item. Must occur once. */
  line: number;
  /** The units that are returned. At most those that no earlier refund returned. */
  quantity?: number | null | undefined;
  amount?: string | null | undefined;
}

export interface NewRefundRestockItem {
  /** The line of the item. Must occur once. */
  line: number;
  /** At most that of the item. */
  quantity: number;
}

/** A refund with its order. */
export interface Refund {
  id: number;
  order_number: string;
  amount: string;
  refunded_at: string;
  reference: string | null;
  /** Whether the refunds of the order exceed its revenue, tax and shipping. */
  exceeds_paid: boolean;
  created_at: string;
  /** The part of the amount that is tax. */
  tax: string;
  /** The part of the amount that is shipping. The rest is revenue. */
  shipping: string;
  /** Whether the returned units were for sale again. */
  restock: boolean;
  /** The units that the refund returned. */
  units_returned: number;
  /** The items that the refund names or returns units of. */
  items: Array<RefundItem>;
}

export interface CustomerList {
  data: Array<ListedCustomer>;
  /** The position of a page, or the position of `cursor`. */
  meta: ListMeta;
}

/** A customer in a list. */
export interface ListedCustomer {
  /** The id of the customer that the sender of the orders uses. */
  id: string;
  name: string | null;
  email: string | null;
  created_at: string;
  /** When the name and the e-mail address were erased. */
  erased_at: string | null;
}

/** A customer with the sums of its orders. Cancelled orders do not count. */
export interface WholeCustomer {
  /** The id of the customer that the sender of the orders uses. */
  id: string;
  name: string | null;
  email: string | null;
  created_at: string;
  /** When the name and the e-mail address were erased. */
  erased_at: string | null;
  /** Orders. */
  orders: number;
  revenue: string;
  refunds: string;
  first_order_at: string | null;
  last_order_at: string | null;
}

/** All data about a customer. */
export interface CustomerData {
  customer: WholeCustomer;
  orders: Array<Order>;
  stored_responses: Array<CustomerDataStoredResponse>;
}

export interface CustomerDataStoredResponse {
  idempotency_key: string;
  created_at: string;
  /** The response. */
  body: Record<string, unknown>;
}

export interface ChangeList {
  data: Array<Change>;
  meta: ChangesMeta;
}

/** A change of one object. */
export interface Change {
  /** The position of the entry, as a cursor for `after`. */
  seq: string;
  type: ChangeType;
  /**
   * The id of the object as text. `stock` has the id of the product, `order` the number, `channel` the identifier,
   * and `customer` the id that the sender gave it.
   */
  id: string;
  action: ChangeAction;
  at: string;
  /**
   * The API key of the request. `null` for a change by a person, a command, an import, or a plan that was applied
   * or undone in the background (202).
   */
  api_key: Named | null;
  /** The fields that an update changed. */
  changed: Array<string>;
  /**
   * The object as its GET returns it when this page is read, or `null` if it no longer exists. `stock` is as in
   * `GET /api/products/{id}/inventory`, and `refund` as in its order, with `order_number`. The name and e-mail
   * address of a customer are `null` in orders if the key does not have `customers:read`.
   */
  data: Record<string, unknown> | null;
}

export type ChangeType = "product" | "stock" | "category" | "seller" | "warehouse" | "channel" | "order" | "refund" | "customer" | (string & {});

export type ChangeAction = "created" | "updated" | "deleted" | (string & {});

/** Where the feed continues. */
export interface ChangesMeta {
  /** The value of `after` for the next request. */
  next_cursor: string;
  /** Whether there may be more entries already. */
  has_more: boolean;
}

export interface WebhookList {
  data: Array<Webhook>;
  meta: Meta;
}

/** An endpoint that gets the changes. */
export interface Webhook {
  id: number;
  /**
   * Begins with `https://` and leads to a public address: messages to addresses of private or local networks are
   * refused. It has no user name and no fragment.
   */
  url: string;
  description: string;
  types: Array<ChangeType>;
  /** The largest number of entries in a message. A message with large objects has fewer. */
  batch_size: number;
  state: WebhookState;
  /**
   * `user`: a key or a member has paused it. `failing`: no attempt has succeeded for three days. `gone`: the
   * receiver has answered 410. `expired`: the changes after `cursor` are no longer kept; replay continues.
   * `maker_gone`: the key in `created_by` was revoked or has expired, or the member was removed. Who resumes the
   * webhook is then its `created_by`.
   */
  pause_reason: WebhookPauseReason | null;
  paused_at: string | null;
  /**
   * The time of the first failed attempt since the last success, or since the webhook was resumed, replayed or got
   * another `url`.
   */
  failing_since: string | null;
  /** How many attempts have failed since the last success, or since the webhook was changed or replayed. */
  failed_attempts: number;
  /** When a message that has failed is sent again. */
  next_attempt_at: string | null;
  /** The position after the last message that was accepted. */
  cursor: string;
  /** Until when messages also have a signature of the secret before the last rotation. */
  previous_secret_expires_at: string | null;
  created_at: string;
  /**
   * The key or the member that made the webhook. When the key is replaced by a new one, it is the new key. Null
   * for webhooks of earlier releases, which go on, and for those that an operator has taken over.
   */
  created_by: WebhookMaker | null;
  updated_at: string;
  /** Only in responses that create or rotate it. */
  secret?: string;
}

export type WebhookState = "active" | "paused" | (string & {});

/**
 * `user`: a key or a member has paused it. `failing`: no attempt has succeeded for three days. `gone`: the
 * receiver has answered 410. `expired`: the changes after `cursor` are no longer kept; replay continues.
 * `maker_gone`: the key in `created_by` was revoked or has expired, or the member was removed. Who resumes the
 * webhook is then its `created_by`.
 */
export type WebhookPauseReason = "user" | "failing" | "gone" | "expired" | "maker_gone" | (string & {});

/** The key or the member that made a webhook. */
export interface WebhookMaker {
  type: WebhookMakerType;
  id: number;
  /** The name of the key, or the e-mail address of the member. */
  name: string;
}

export type WebhookMakerType = "key" | "member" | (string & {});

/** A webhook to create. */
export interface NewWebhook {
  /**
   * Begins with `https://` and leads to a public address: messages to addresses of private or local networks are
   * refused. It has no user name and no fragment.
   */
  url: string;
  description?: string | undefined;
  types?: Array<ChangeType> | undefined;
  /** The largest number of entries in a message. A message with large objects has fewer. The default is 100. */
  batch_size?: number | undefined;
  /** The default is `active`. */
  state?: WebhookState | undefined;
}

/** The fields to change. */
export interface WebhookChanges {
  /**
   * Begins with `https://` and leads to a public address: messages to addresses of private or local networks are
   * refused. It has no user name and no fragment.
   */
  url?: string | undefined;
  description?: string | undefined;
  types?: Array<ChangeType> | undefined;
  /** The largest number of entries in a message. A message with large objects has fewer. */
  batch_size?: number | undefined;
  state?: WebhookState | undefined;
}

/** Where a webhook continues. */
export interface WebhookReplay {
  /** A cursor, `""` or `now`. */
  after: string;
}

/** An attempt to deliver a message. */
export interface WebhookDelivery {
  id: number;
  at: string;
  /** The `webhook-id`. */
  message_id: string;
  type: WebhookDeliveryType;
  entries: number;
  /** The `seq` of the first entry. */
  first_seq: string | null;
  /** The `seq` of the last entry. */
  last_seq: string | null;
  /** 1 for the first attempt to deliver the message. */
  attempt: number;
  succeeded: boolean;
  /** The HTTP status; `null` without a response. */
  status: number | null;
  /** Why there is no response, or why the message was not sent because its objects could not be read. */
  error: string | null;
  latency_ms: number;
  /** The first 1,024 bytes of the response; empty if changes were accepted. */
  response: string;
}

export type WebhookDeliveryType = "changes" | "test" | (string & {});

export interface WebhookDeliveryList {
  data: Array<WebhookDelivery>;
  meta: WebhookDeliveryListMeta;
}

export interface WebhookDeliveryListMeta {
  /** The value of `before` for older deliveries; `null` at the end. */
  next_before: string | null;
}

export interface PlanList {
  data: Array<PlanListed>;
  meta: Meta;
}

/** A plan in a list. */
export interface PlanListed {
  id: number;
  /** What the plan changes. */
  title: string;
  state: PlanState;
  created_at: string;
  /** `API key` and the name of the key, for example `API key Till`. */
  created_by: string;
  planned_at: string | null;
  applied_at: string | null;
  /** Until when the plan is kept, and can be undone if it was applied. */
  expires_at: string;
  /** Why the plan failed, was not applied or waits. */
  failure: string | null;
  /** The page of the plan. */
  url: string | null;
}

export type ShowPlanAction = "created" | "updated" | "unchanged" | "refused" | "changed" | (string & {});

/** How a plan is applied. */
export interface PlanApplication {
  /** Leave out the rows that have changed since the plan. The default is false. */
  force?: boolean | null | undefined;
}

export interface ImportList {
  data: Array<ImportListed>;
  meta: Meta;
}

/** An import in a list. */
export interface ImportListed {
  id: number;
  /** The names of the files. */
  title: string;
  state: ImportListedState;
  created_at: string;
  /** An e-mail address, or `API key` and the name of the key. */
  created_by: string;
  planned_at: string | null;
  applied_at: string | null;
  /** Until when the plan is kept, and can be undone if it was applied. */
  expires_at: string;
  /** Why the import failed, was not applied or waits. */
  failure: string | null;
}

export type ImportListedState = "planning" | "needs_mapping" | "planned" | "applying" | "applied" | "undoing" | "undone" | "cancelled" | "failed" | (string & {});

/** How to read the files. A missing setting has its default. */
export interface ImportSettings {
  /**
   * The field of each column, by file: `{"sales.csv": {"Item no.": "sku"}}`. An empty field ignores the column. A
   * file with a mapping is read as a plain spreadsheet.
   */
  mapping?: Record<string, Record<string, string>> | undefined;
  /** Whether `01/02/2026` is 1 February (`dmy`). */
  date_order?: ImportSettingsDateOrder | undefined;
  /** The decimal mark. */
  decimal?: ImportSettingsDecimal | undefined;
  /** The IANA name of the time zone of times without one. The default is the tenant's. */
  timezone?: string | undefined;
  /** The identifier of the channel of all orders. */
  channel?: string | undefined;
  /** What to do with products without a SKU. `derive` uses their names. */
  missing_sku?: ImportSettingsMissingSKU | undefined;
  /** What to do with refunds without an order. `attach` finds an earlier order of the same item. */
  refunds?: ImportSettingsRefunds | undefined;
  /** Whether prices of a plain spreadsheet include tax. */
  tax_included?: ImportSettingsTaxIncluded | undefined;
  /** How the characters of texts that are not in UTF-8 are encoded, such as `windows-1250`. */
  charset?: ImportSettingsCharset | undefined;
  /**
   * What to do with rows that differ and have the same SKU. `derive` adds the options or the name; `last` takes
   * the values of the last row.
   */
  repeated_sku?: ImportSettingsRepeatedSKU | undefined;
  /** What to do with amounts of more than two decimals. */
  rounding?: ImportSettingsRounding | undefined;
  /** What a column of costs of goods in a spreadsheet of orders is of. */
  cost?: ImportSettingsCost | undefined;
  /** What discounts between 0 and 1 in a spreadsheet of orders are. */
  discount?: ImportSettingsDiscount | undefined;
  /** What a tax that is equal in all rows of an order of a spreadsheet is of. */
  tax?: ImportSettingsTax | undefined;
  /** What a total without a price in a spreadsheet of orders is. */
  total?: ImportSettingsTotal | undefined;
  /** What statuses of orders mean, by the status in lower case: `{"on hold": "unpaid"}`. */
  statuses?: Record<string, ImportSettingsStatusesValue> | undefined;
  /** Whether to restore leading zeros of barcodes that Excel removed. */
  restore_zeros?: boolean | undefined;
}

/** Whether `01/02/2026` is 1 February (`dmy`). */
export type ImportSettingsDateOrder = "dmy" | "mdy" | (string & {});

/** The decimal mark. */
export type ImportSettingsDecimal = "," | "." | (string & {});

/** What to do with products without a SKU. `derive` uses their names. */
export type ImportSettingsMissingSKU = "derive" | "refuse" | (string & {});

/** What to do with refunds without an order. `attach` finds an earlier order of the same item. */
export type ImportSettingsRefunds = "attach" | "leave_out" | (string & {});

/** Whether prices of a plain spreadsheet include tax. */
export type ImportSettingsTaxIncluded = "yes" | "no" | (string & {});

/** How the characters of texts that are not in UTF-8 are encoded, such as `windows-1250`. */
export type ImportSettingsCharset = "windows-1252" | "windows-1250" | "windows-1251" | "windows-1253" | "windows-1254" | "windows-1257" | "shift_jis" | "euc-jp" | "gbk" | "big5" | "euc-kr" | "koi8-r" | "iso-8859-2" | "iso-8859-5" | "iso-8859-7" | "macintosh" | (string & {});

/**
 * What to do with rows that differ and have the same SKU. `derive` adds the options or the name; `last` takes
 * the values of the last row.
 */
export type ImportSettingsRepeatedSKU = "derive" | "last" | "refuse" | (string & {});

/** What to do with amounts of more than two decimals. */
export type ImportSettingsRounding = "round" | "refuse" | (string & {});

/** What a column of costs of goods in a spreadsheet of orders is of. */
export type ImportSettingsCost = "unit" | "line" | (string & {});

/** What discounts between 0 and 1 in a spreadsheet of orders are. */
export type ImportSettingsDiscount = "amount" | "percent" | (string & {});

/** What a tax that is equal in all rows of an order of a spreadsheet is of. */
export type ImportSettingsTax = "order" | "row" | (string & {});

/** What a total without a price in a spreadsheet of orders is. */
export type ImportSettingsTotal = "before_discount" | "after_discount" | (string & {});

export type ImportSettingsStatusesValue = "sale" | "unpaid" | "refunded" | "ignored" | "cancelled" | (string & {});

/** An import. */
export interface Import {
  id: number;
  /** The names of the files. */
  title: string;
  state: ImportListedState;
  created_at: string;
  /** An e-mail address, or `API key` and the name of the key. */
  created_by: string;
  planned_at: string | null;
  applied_at: string | null;
  /** Until when the plan is kept, and can be undone if it was applied. */
  expires_at: string;
  /** Why the import failed, was not applied or waits. */
  failure: string | null;
  files: Array<ImportFile>;
  settings: ImportSettings;
  /**
   * The names of the settings that come from the last applied import of files with the same columns, such as
   * `mapping` and `decimal`, without those that were changed since.
   */
  remembered: Array<string>;
  /** The questions that settings must answer before the plan can be computed. */
  questions: Array<ImportQuestion>;
  /**
   * The numbers of rows by kind and by what happens to them, of the kinds that the key may read. Skipped rows were
   * changed by something else, so they were not applied or not undone.
   */
  counts: Record<string, ImportCountsValue>;
  /** The sums of the orders by month and channel, to compare with the other system. */
  totals: Array<ImportTotal>;
  notes: Array<ImportNote>;
  /** The rows that are done in the current state. `of` is null while their number is not known. */
  progress: ImportProgress;
}

/** A file of an import, also one in a ZIP archive. */
export interface ImportFile {
  name: string;
  /** In bytes. */
  size: number;
  /** The format, such as `shopify_orders`. Empty if it needs a mapping. */
  format: string;
  /** The sheet of a workbook. Other sheets with rows have their own entries. */
  sheet?: string;
  header?: Array<string>;
  rows: number;
  /** Columns without a meaning here. */
  unused?: Array<string>;
  /** The proposed or given field of each column. */
  mapping?: Record<string, string>;
  /** Values by column. */
  examples?: Record<string, Array<string>>;
  /** Why the file or the sheet is not read. */
  problem?: string;
  /** The settings that answer a question about the file, and are remembered for files with the same columns. */
  answered?: Array<string>;
  /** The amounts with more than two decimals, which are refused unless the setting `rounding` is `round`. */
  rounding?: ImportFileRounding;
}

/** The amounts with more than two decimals, which are refused unless the setting `rounding` is `round`. */
export interface ImportFileRounding {
  count: number;
  examples: Array<string>;
  /** What rounding adds to their sum. */
  change: string;
}

export interface ImportQuestion {
  /** The name of the setting. */
  id: string;
  file: string;
  column?: string;
  examples?: Array<string>;
  /** The values of the setting. */
  choices?: Array<string>;
  /** What values or rows of the file are with each choice: `{"yes": ["1001: revenue 10.00, tax 1.90"]}`. */
  readings?: Record<string, Array<string>>;
  /** What a mapping lacks, or must not have. */
  reason?: string;
}

export interface ImportCountsValue {
  created: number;
  updated: number;
  unchanged: number;
  refused: number;
  ignored: number;
  skipped: number;
}

/** The sums of a month and a channel. Refunds have a separate total, with the channel null. */
export interface ImportTotal {
  month: string;
  channel: string | null;
  orders: number;
  revenue: string;
  discounts: string;
  tax: string;
  shipping: string;
  refunds: string;
  total: string;
  /** The sums of amounts in the files, by column. */
  theirs?: Record<string, string>;
}

export interface ImportNote {
  text: string;
  count: number;
  amount: string;
}

/** The rows that are done in the current state. `of` is null while their number is not known. */
export interface ImportProgress {
  rows: number;
  of: number | null;
}

/** The settings to change. Null restores the default. */
export interface ImportSettingsChanges {
  /**
   * The field of each column, by file: `{"sales.csv": {"Item no.": "sku"}}`. An empty field ignores the column. A
   * file with a mapping is read as a plain spreadsheet.
   */
  mapping?: Record<string, Record<string, string>> | null | undefined;
  /** Whether `01/02/2026` is 1 February (`dmy`). */
  date_order?: ImportSettingsDateOrder | null | undefined;
  /** The decimal mark. */
  decimal?: ImportSettingsDecimal | null | undefined;
  /** The IANA name of the time zone of times without one. The default is the tenant's. */
  timezone?: string | null | undefined;
  /** The identifier of the channel of all orders. */
  channel?: string | null | undefined;
  /** What to do with products without a SKU. `derive` uses their names. */
  missing_sku?: ImportSettingsMissingSKU | null | undefined;
  /** What to do with refunds without an order. `attach` finds an earlier order of the same item. */
  refunds?: ImportSettingsRefunds | null | undefined;
  /** Whether prices of a plain spreadsheet include tax. */
  tax_included?: ImportSettingsTaxIncluded | null | undefined;
  /** How the characters of texts that are not in UTF-8 are encoded, such as `windows-1250`. */
  charset?: ImportSettingsCharset | null | undefined;
  /**
   * What to do with rows that differ and have the same SKU. `derive` adds the options or the name; `last` takes
   * the values of the last row.
   */
  repeated_sku?: ImportSettingsRepeatedSKU | null | undefined;
  /** What to do with amounts of more than two decimals. */
  rounding?: ImportSettingsRounding | null | undefined;
  /** What a column of costs of goods in a spreadsheet of orders is of. */
  cost?: ImportSettingsCost | null | undefined;
  /** What discounts between 0 and 1 in a spreadsheet of orders are. */
  discount?: ImportSettingsDiscount | null | undefined;
  /** What a tax that is equal in all rows of an order of a spreadsheet is of. */
  tax?: ImportSettingsTax | null | undefined;
  /** What a total without a price in a spreadsheet of orders is. */
  total?: ImportSettingsTotal | null | undefined;
  /** What statuses of orders mean, by the status in lower case: `{"on hold": "unpaid"}`. */
  statuses?: Record<string, ImportSettingsStatusesValue> | null | undefined;
  /** Whether to restore leading zeros of barcodes that Excel removed. */
  restore_zeros?: boolean | null | undefined;
}

export type ListImportRowsAction = "created" | "updated" | "unchanged" | "refused" | "ignored" | "changed" | (string & {});

export interface ImportRowList {
  data: Array<ImportRow>;
  meta: Meta;
}

/** A row of a plan, or an order with its rows. `file` and `line` are those of the first row. */
export interface ImportRow {
  file: string;
  line: number;
  kind: ImportKind;
  /** The SKU, name, number or id. */
  key: string;
  action: ImportAction;
  /** The stored values of the fields that change. */
  old: Record<string, unknown> | null;
  /** The new values of the fields that change. */
  new: Record<string, unknown> | null;
  notes: Array<string>;
  /** Why the row is refused, by column. */
  problems: Record<string, Array<string>>;
  /** Set if something else has changed the object, so that the row was not applied or not undone. */
  changed?: ImportRowChanged | null;
}

/** Set if something else has changed the object, so that the row was not applied or not undone. */
export interface ImportRowChanged {
  /** Always empty for imports. */
  fields: Array<string>;
  reason: string;
}

/** How to apply an import. */
export interface ImportApplication {
  /** Whether to leave out rows whose objects have changed since. */
  skip_changed?: boolean | null | undefined;
}

export type SalesSummaryCompare = "true" | "false" | "previous_period" | "previous_year" | "previous_year_weekday" | (string & {});

export interface SalesSummaryReport {
  data: SalesSummary;
  meta: ChangedMeta;
  explain?: Explanation;
}

/** The sales in a range of days. */
export interface SalesSummary {
  period: Period;
  /** An ISO 4217 code. */
  currency: string;
  /** The time zone of the days. */
  timezone: string;
  summary: SalesFigures;
  by_channel: Array<ChannelFigures>;
  comparison?: SalesComparison;
  daily_breakdown: Array<DayFigures>;
}

/** A range of days. Both days are inclusive. */
export interface Period {
  from: string;
  to: string;
}

/** The sales in the whole range. */
export interface SalesFigures {
  total_revenue: string;
  total_orders: number;
  average_order_value: string;
  /** Units. */
  total_items_sold: number;
  total_discounts: string;
  total_tax: string;
  gross_profit: string;
  gross_margin_percent: string;
  units_without_cost: number;
  gross_sales: string;
  refunds: string;
  net_revenue: string;
  shipping: string;
  total: string;
  items: number;
  revenue_without_cost: string;
  costed_percent: string;
  /** Null if no sold or returned item has a cost. */
  net_gross_profit: string | null;
  /** Null if no sold or returned item has a cost, or without net revenue. */
  net_margin_percent: string | null;
  units_returned: number;
  refunded_revenue: string;
  returned_cost: string;
}

/** A channel with an order or a refund in the range, sorted by revenue, highest first. */
export interface ChannelFigures {
  gross_sales: string;
  discounts: string;
  revenue: string;
  refunds: string;
  net_revenue: string;
  tax: string;
  shipping: string;
  total: string;
  orders: number;
  avg_order_value: string;
  items: number;
  units_sold: number;
  /** Null if no sold item has a cost. */
  gross_profit: string | null;
  /** Null if no sold item has a cost. */
  margin_percent: string | null;
  units_without_cost: number;
  revenue_without_cost: string;
  costed_percent: string;
  /** Null if no sold or returned item has a cost. */
  net_gross_profit: string | null;
  /** Null if no sold or returned item has a cost, or without net revenue. */
  net_margin_percent: string | null;
  units_returned: number;
  refunded_revenue: string;
  returned_cost: string;
  channel: string;
}

/** The earlier range. Present if `compare` requests it. */
export interface SalesComparison {
  period: Period;
  total_revenue: string;
  revenue_change_percent: string | null;
  orders_change_percent: string | null;
  compare: Compare;
  data_from: string | null;
  comparable: boolean;
  until: string | null;
  summary: Figures;
  changes: Changes;
  by_channel: Array<ComparedChannel>;
  daily_breakdown: Array<ComparedDay>;
}

/** All figures of a group of sales. */
export interface Figures {
  gross_sales: string;
  discounts: string;
  revenue: string;
  refunds: string;
  net_revenue: string;
  tax: string;
  shipping: string;
  total: string;
  orders: number;
  avg_order_value: string;
  items: number;
  units_sold: number;
  /** Null if no sold item has a cost. */
  gross_profit: string | null;
  /** Null if no sold item has a cost. */
  margin_percent: string | null;
  units_without_cost: number;
  revenue_without_cost: string;
  costed_percent: string;
  /** Null if no sold or returned item has a cost. */
  net_gross_profit: string | null;
  /** Null if no sold or returned item has a cost, or without net revenue. */
  net_margin_percent: string | null;
  units_returned: number;
  refunded_revenue: string;
  returned_cost: string;
}

/** The difference of each figure from the comparison, in percent. All are null unless they are comparable. */
export interface Changes {
  gross_sales: string | null;
  discounts: string | null;
  revenue: string | null;
  refunds: string | null;
  net_revenue: string | null;
  tax: string | null;
  shipping: string | null;
  total: string | null;
  orders: string | null;
  avg_order_value: string | null;
  items: string | null;
  units_sold: string | null;
  gross_profit: string | null;
  margin_percent: string | null;
  units_without_cost: string | null;
  revenue_without_cost: string | null;
  costed_percent: string | null;
  net_gross_profit: string | null;
  net_margin_percent: string | null;
  units_returned: string | null;
  refunded_revenue: string | null;
  returned_cost: string | null;
}

/** A channel of the report or, after these, of the earlier range alone. */
export interface ComparedChannel {
  gross_sales: string;
  discounts: string;
  revenue: string;
  refunds: string;
  net_revenue: string;
  tax: string;
  shipping: string;
  total: string;
  orders: number;
  avg_order_value: string;
  items: number;
  units_sold: number;
  /** Null if no sold item has a cost. */
  gross_profit: string | null;
  /** Null if no sold item has a cost. */
  margin_percent: string | null;
  units_without_cost: number;
  revenue_without_cost: string;
  costed_percent: string;
  /** Null if no sold or returned item has a cost. */
  net_gross_profit: string | null;
  /** Null if no sold or returned item has a cost, or without net revenue. */
  net_margin_percent: string | null;
  units_returned: number;
  refunded_revenue: string;
  returned_cost: string;
  changes: Changes;
  channel: string;
}

/** The day that a day of the report is compared with. */
export interface ComparedDay {
  gross_sales: string;
  discounts: string;
  revenue: string;
  refunds: string;
  net_revenue: string;
  tax: string;
  shipping: string;
  total: string;
  orders: number;
  avg_order_value: string;
  items: number;
  units_sold: number;
  /** Null if no sold item has a cost. */
  gross_profit: string | null;
  /** Null if no sold item has a cost. */
  margin_percent: string | null;
  units_without_cost: number;
  revenue_without_cost: string;
  costed_percent: string;
  /** Null if no sold or returned item has a cost. */
  net_gross_profit: string | null;
  /** Null if no sold or returned item has a cost, or without net revenue. */
  net_margin_percent: string | null;
  units_returned: number;
  refunded_revenue: string;
  returned_cost: string;
  changes: Changes;
  /** The day in the earlier range. It can be before 1970. */
  date: string;
  /** The day in the report. */
  compared_with: string;
}

/** A day in the range, in chronological order, including days without sales. */
export interface DayFigures {
  gross_sales: string;
  discounts: string;
  revenue: string;
  refunds: string;
  net_revenue: string;
  tax: string;
  shipping: string;
  total: string;
  orders: number;
  avg_order_value: string;
  items: number;
  units_sold: number;
  /** Null if no sold item has a cost. */
  gross_profit: string | null;
  /** Null if no sold item has a cost. */
  margin_percent: string | null;
  units_without_cost: number;
  revenue_without_cost: string;
  costed_percent: string;
  /** Null if no sold or returned item has a cost. */
  net_gross_profit: string | null;
  /** Null if no sold or returned item has a cost, or without net revenue. */
  net_margin_percent: string | null;
  units_returned: number;
  refunded_revenue: string;
  returned_cost: string;
  date: string;
}

/** When the range changed last. */
export interface ChangedMeta {
  changed_at: string | null;
}

/** The calculation of the figures of a report. Present if it was requested. */
export interface Explanation {
  /** Formulas by the name of the group and the figure, for example `summary.total_revenue` or `rows[].revenue`. */
  formulas: Record<string, Formula>;
  groups: Array<ExplainedGroup>;
  left_out: Array<LeftOut>;
}

/** The calculation of a figure. */
export interface Formula {
  /** An expression with `+ - * / ( ) abs( )`, numbers and names. */
  formula: string;
  unit: Unit;
  /** Rounding to two digits, or by largest remainder if the rows add up to 100.00. Null if nothing is rounded. */
  rounding: FormulaRounding | null;
  /** The value if the formula divides by zero: `0.00`, or `null` for null. Null if nothing is divided. */
  over_zero: FormulaOverZero | null;
  /**
   * The condition under which the figure is null: comparisons with `=`, `!=`, `>` and `<=`, joined by `and` and
   * then `or`. Null if there is none. `comparison.comparable` is the field of the comparison.
   */
  null_if: string | null;
}

/** Rounding to two digits, or by largest remainder if the rows add up to 100.00. Null if nothing is rounded. */
export type FormulaRounding = "half_away_from_zero" | "largest_remainder" | (string & {});

/** The value if the formula divides by zero: `0.00`, or `null` for null. Null if nothing is divided. */
export type FormulaOverZero = "0.00" | "null" | (string & {});

/** The sums of one part of the response. */
export interface ExplainedGroup {
  /** The name of the group in formulas. */
  name: string;
  /** The position of the figures in the response. */
  path: string | null;
  sums: Sums;
}

/** The sums that the figures of a group are calculated from. */
export interface Sums {
  /** The number of orders. 0 in the totals of products, because an order can contain several products. */
  orders: number;
  /** The number of items of orders. */
  items: number;
  /** Units. */
  units: number;
  units_without_cost: number;
  /** Quantity × unit price. */
  gross: string;
  discounts: string;
  tax: string;
  cost: string;
  /** The number of refunds. 0 in the totals of products, like orders. */
  refund_count: number;
  refunds: string;
  shipping: string;
  revenue_without_cost: string;
  /** Missing in the report by customer, like the next three. */
  refunded_revenue?: string;
  refunded_revenue_without_cost?: string;
  units_returned?: number;
  returned_cost?: string;
}

/** Orders or refunds in the range that were not counted. */
export interface LeftOut {
  /** `guest`: orders without a customer. `no_order`: refunds to customers without an order in the range. */
  reason: LeftOutReason;
  orders: number;
  items: number;
  units: number;
  revenue: string;
  refund_count: number;
  refunds: string;
}

/** `guest`: orders without a customer. `no_order`: refunds to customers without an order in the range. */
export type LeftOutReason = "cancelled" | "other_channel" | "other_category" | "guest" | "no_order" | (string & {});

export type ProductReportSort = "revenue" | "net_revenue" | "units" | "margin" | (string & {});

export interface ProductReport {
  data: Array<ProductReportRow>;
  meta: ProductReportMeta;
  explain?: Explanation;
}

/** A product with an item sold or refunded in the range. */
export interface ProductReportRow {
  units_sold: number;
  revenue: string;
  cost_total: string;
  gross_profit: string;
  margin_percent: string;
  units_without_cost: number;
  revenue_without_cost: string;
  costed_percent: string;
  gross_sales: string;
  discounts: string;
  refunds: string;
  net_revenue: string;
  /** Null if no sold or returned item has a cost. */
  net_gross_profit: string | null;
  /** Null if no sold or returned item has a cost, or without net revenue. */
  net_margin_percent: string | null;
  units_returned: number;
  refunded_revenue: string;
  returned_cost: string;
  /** Null if the SKU was never in the catalog. */
  product_id: number | null;
  /** The SKU of the latest sale. */
  sku: string;
  /** The name of the latest sale, or the SKU if it was never in the catalog. */
  name: string;
}

/** The position of the page, and the range and the totals of all pages. */
export interface ProductReportMeta {
  page: number;
  per_page: number;
  /** The exact number of matching objects. */
  total: number;
  total_pages: number;
  has_next: boolean;
  has_prev: boolean;
  period: Period;
  /** An ISO 4217 code. */
  currency: string;
  /** The time zone of the days. */
  timezone: string;
  changed_at: string | null;
  totals: ProductFigures;
}

/** The figures of a product or of all products. */
export interface ProductFigures {
  units_sold: number;
  revenue: string;
  cost_total: string;
  gross_profit: string;
  margin_percent: string;
  units_without_cost: number;
  revenue_without_cost: string;
  costed_percent: string;
  gross_sales: string;
  discounts: string;
  refunds: string;
  net_revenue: string;
  /** Null if no sold or returned item has a cost. */
  net_gross_profit: string | null;
  /** Null if no sold or returned item has a cost, or without net revenue. */
  net_margin_percent: string | null;
  units_returned: number;
  refunded_revenue: string;
  returned_cost: string;
}

export interface ChannelReport {
  data: Array<ChannelReportRow>;
  meta: ChannelReportMeta;
  explain?: Explanation;
}

/** A channel with an order or a refund in the range. */
export interface ChannelReportRow {
  revenue: string;
  orders: number;
  average_order_value: string;
  gross_sales: string;
  discounts: string;
  refunds: string;
  net_revenue: string;
  tax: string;
  shipping: string;
  total: string;
  items: number;
  units_sold: number;
  /** Null if no sold item has a cost. */
  gross_profit: string | null;
  /** Null if no sold item has a cost. */
  margin_percent: string | null;
  units_without_cost: number;
  revenue_without_cost: string;
  costed_percent: string;
  /** Null if no sold or returned item has a cost. */
  net_gross_profit: string | null;
  /** Null if no sold or returned item has a cost, or without net revenue. */
  net_margin_percent: string | null;
  units_returned: number;
  refunded_revenue: string;
  returned_cost: string;
  channel: string;
  label: string;
  /** The channel in the earlier range. Present if `compare` requests it. */
  comparison?: ComparedFigures;
  /** The share of the revenue of all channels. The shares add up to 100.00, or all are 0.00 if there is no revenue. */
  percent_of_total: string;
}

/** All figures of the earlier range, and their changes. */
export interface ComparedFigures {
  gross_sales: string;
  discounts: string;
  revenue: string;
  refunds: string;
  net_revenue: string;
  tax: string;
  shipping: string;
  total: string;
  orders: number;
  avg_order_value: string;
  items: number;
  units_sold: number;
  /** Null if no sold item has a cost. */
  gross_profit: string | null;
  /** Null if no sold item has a cost. */
  margin_percent: string | null;
  units_without_cost: number;
  revenue_without_cost: string;
  costed_percent: string;
  /** Null if no sold or returned item has a cost. */
  net_gross_profit: string | null;
  /** Null if no sold or returned item has a cost, or without net revenue. */
  net_margin_percent: string | null;
  units_returned: number;
  refunded_revenue: string;
  returned_cost: string;
  changes: Changes;
}

/** The range and the totals of all channels. */
export interface ChannelReportMeta {
  period: Period;
  /** An ISO 4217 code. */
  currency: string;
  /** The time zone of the days. */
  timezone: string;
  changed_at: string | null;
  totals: ChannelReportFigures;
  /** The earlier range. Present if `compare` requests it. */
  comparison?: ChannelReportMetaComparison;
}

/** All figures of a channel or of all channels. */
export interface ChannelReportFigures {
  revenue: string;
  orders: number;
  average_order_value: string;
  gross_sales: string;
  discounts: string;
  refunds: string;
  net_revenue: string;
  tax: string;
  shipping: string;
  total: string;
  items: number;
  units_sold: number;
  /** Null if no sold item has a cost. */
  gross_profit: string | null;
  /** Null if no sold item has a cost. */
  margin_percent: string | null;
  units_without_cost: number;
  revenue_without_cost: string;
  costed_percent: string;
  /** Null if no sold or returned item has a cost. */
  net_gross_profit: string | null;
  /** Null if no sold or returned item has a cost, or without net revenue. */
  net_margin_percent: string | null;
  units_returned: number;
  refunded_revenue: string;
  returned_cost: string;
}

/** The earlier range. Present if `compare` requests it. */
export interface ChannelReportMetaComparison {
  gross_sales: string;
  discounts: string;
  revenue: string;
  refunds: string;
  net_revenue: string;
  tax: string;
  shipping: string;
  total: string;
  orders: number;
  avg_order_value: string;
  items: number;
  units_sold: number;
  /** Null if no sold item has a cost. */
  gross_profit: string | null;
  /** Null if no sold item has a cost. */
  margin_percent: string | null;
  units_without_cost: number;
  revenue_without_cost: string;
  costed_percent: string;
  /** Null if no sold or returned item has a cost. */
  net_gross_profit: string | null;
  /** Null if no sold or returned item has a cost, or without net revenue. */
  net_margin_percent: string | null;
  units_returned: number;
  refunded_revenue: string;
  returned_cost: string;
  changes: Changes;
  period: Period;
  compare: Compare;
  data_from: string | null;
  comparable: boolean;
  until: string | null;
}

export type CustomerReportSort = "revenue" | "orders" | "last_order" | (string & {});

export interface CustomerReportResult {
  data: CustomerReport;
  meta: CustomerReportMeta;
  explain?: Explanation;
}

/** The customers with an order in the range. */
export interface CustomerReport {
  period: Period;
  summary: CustomerFigures;
  customers: Array<CustomerReportRow>;
}

/** Figures of all customers in the report. */
export interface CustomerFigures {
  total_customers: number;
  /** Customers whose first order ever is in the range. */
  new_customers: number;
  returning_customers: number;
  /** Orders without a customer. */
  guest_orders: number;
  /** Returning customers as a percentage of all customers. */
  repeat_rate_percent: string;
  average_revenue_per_customer: string;
}

/** A customer with an order in the range. */
export interface CustomerReportRow {
  /** Your id of the customer. */
  customer_id: string;
  name: string | null;
  email: string | null;
  orders: number;
  revenue: string;
  average_order_value: string;
  refunds: string;
  /** The time of the first order ever, in any channel. */
  first_order_at: string;
  /** The time of the last order in the range. */
  last_order_at: string;
}

/** The position of the page, and when the range changed last. */
export interface CustomerReportMeta {
  page: number;
  per_page: number;
  /** The exact number of matching objects. */
  total: number;
  total_pages: number;
  has_next: boolean;
  has_prev: boolean;
  changed_at: string | null;
}

/** A custom report in a request. Optional fields can be null. */
export interface CustomReportQuery {
  from?: string | null | undefined;
  to?: string | null | undefined;
  /** The days instead of `from` and `to`, which are required without it. */
  period?: PeriodPreset | null | undefined;
  metrics: Array<Metric>;
  /** The groups of the report. If missing, the report contains only totals. */
  group_by?: GroupBy | null | undefined;
  filters?: CustomReportQueryFilters | null | undefined;
  /** The default is false. */
  explain?: boolean | null | undefined;
}

export interface CustomReportQueryFilters {
  channel?: Array<string> | null | undefined;
  category_id?: Array<number> | null | undefined;
}

export interface CustomReportResult {
  data: CustomReport;
  meta: ChangedMeta;
  explain?: Explanation;
}

/** The requested metrics. */
export interface CustomReport {
  period: Period;
  group_by: GroupBy | null;
  metrics: Array<Metric>;
  rows: Array<CustomReportRow>;
  totals: CustomFigures;
}

/** A group of the report. */
export interface CustomReportRow {
  revenue?: string;
  orders?: number;
  avg_order_value?: string;
  gross_profit?: string;
  margin_percent?: string;
  units_sold?: number;
  discounts?: string;
  tax?: string;
  refunds?: string;
  gross_sales?: string;
  net_revenue?: string;
  shipping?: string;
  total?: string;
  items?: number;
  units_without_cost?: number;
  revenue_without_cost?: string;
  costed_percent?: string;
  /** Null if no sold or returned item has a cost. */
  net_gross_profit?: string | null;
  /** Null if no sold or returned item has a cost, or without net revenue. */
  net_margin_percent?: string | null;
  units_returned?: number;
  refunded_revenue?: string;
  returned_cost?: string;
  /**
   * The day (`YYYY-MM-DD`), the Monday of the week, the month (`YYYY-MM`), the identifier of the channel, or the
   * id of the category or seller. Null for items without one.
   */
  group: string | number | null;
  /** The current name of the group, or the name of the latest sale if it was deleted. `None` for items without one. */
  label: string;
}

/**
 * The requested metrics. `units_without_cost`, `revenue_without_cost` and `costed_percent` are included with
 * profit and margin.
 */
export interface CustomFigures {
  revenue?: string;
  orders?: number;
  avg_order_value?: string;
  gross_profit?: string;
  margin_percent?: string;
  units_sold?: number;
  discounts?: string;
  tax?: string;
  refunds?: string;
  gross_sales?: string;
  net_revenue?: string;
  shipping?: string;
  total?: string;
  items?: number;
  units_without_cost?: number;
  revenue_without_cost?: string;
  costed_percent?: string;
  /** Null if no sold or returned item has a cost. */
  net_gross_profit?: string | null;
  /** Null if no sold or returned item has a cost, or without net revenue. */
  net_margin_percent?: string | null;
  units_returned?: number;
  refunded_revenue?: string;
  returned_cost?: string;
}

export interface ReconciliationResult {
  data: Reconciliation;
  meta: ChangedMeta;
}

/** A range, calculated in several ways. */
export interface Reconciliation {
  period: Period;
  /** The time zone of the days. */
  timezone: string;
  /** An ISO 4217 code. */
  currency: string;
  /** Whether every figure is equal in all ways. */
  balanced: boolean;
  figures: Array<Tie>;
}

/** A figure, with its value from each source. */
export interface Tie {
  figure: TieFigure;
  unit: Unit;
  /** Calculated from orders, items and refunds. */
  facts: string | number;
  summary: string | number;
  channels: string | number | null;
  days: string | number | null;
  products: string | number | null;
  categories: string | number | null;
  sellers: string | number | null;
  /** The sums that select the pages of products. Null for figures that they do not have. */
  product_pages: string | number | null;
  /** The sums by day, channel and category. */
  categories_by_channel: string | number | null;
  /** The sums by day, channel and seller. */
  sellers_by_channel: string | number | null;
  /**
   * For orders and refund_count, which count one in each of its groups: the counts of all groups together, from
   * the facts and as they are stored. Null for other figures.
   */
  group_counts: TieGroupCounts | null;
  /** Whether all values that are not null are equal. */
  balanced: boolean;
}

export type TieFigure = "revenue" | "discounts" | "tax" | "cost" | "gross_profit" | "refunds" | "orders" | "items" | "units_sold" | "units_without_cost" | "refund_count" | "gross_sales" | "net_revenue" | "shipping" | "total" | "revenue_without_cost" | "net_gross_profit" | "units_returned" | "refunded_revenue" | "refunded_revenue_without_cost" | "returned_cost" | (string & {});

/**
 * For orders and refund_count, which count one in each of its groups: the counts of all groups together, from
 * the facts and as they are stored. Null for other figures.
 */
export interface TieGroupCounts {
  products: GroupCount;
  categories: GroupCount;
  sellers: GroupCount;
}

export interface GroupCount {
  facts: number;
  stored: number;
  stored_by_channel: number;
}

export interface ReportChangeList {
  data: Array<ReportChange>;
  meta: ChangesMeta;
}

/** A change of an order or a refund. */
export interface ReportChange {
  /** The position of the entry, as a cursor for `after`. */
  seq: string;
  type: ReportChangeType;
  /** The number of the order or the id of the refund. */
  id: string;
  /** Null for a refund that no longer exists. */
  order_number: string | null;
  /** `updated` is the cancellation of an order, or its undo. `deleted` is the undo of an import. */
  action: ChangeAction;
  at: string;
  /** The API key of the request, as in `GET /api/changes`. */
  api_key: Named | null;
  /** The fields of the order that an update changed. */
  changed: Array<string>;
  /**
   * The days that changed: that of the order or the refund, and for an update also those of all refunds of the
   * order. Empty if it no longer exists. Then the day is unknown, and every range lists it.
   */
  days: Array<string>;
}

export type ReportChangeType = "order" | "refund" | (string & {});

export type ExportReportType = "sales-summary" | "products" | "channels" | "customers" | (string & {});

export type ExportReportFormat = "csv" | "xlsx" | (string & {});

export type ExportReportSort = "revenue" | "net_revenue" | "units" | "margin" | "orders" | "last_order" | (string & {});

export interface Me {
  tenant: MeTenant;
  key: MeKey;
  /** The values of the rate-limit headers of this response. */
  rate_limit: MeRateLimit;
  /** What the tenant stores and may store. See *Quotas* above. */
  quotas: MeQuotas;
}

export interface MeTenant {
  id: number;
  name: string;
  plan: MeTenantPlan;
  /** The IANA name of the time zone that decides the days. */
  timezone: string;
  /** An ISO 4217 code. */
  currency: string;
}

export type MeTenantPlan = "standard" | "professional" | "enterprise" | (string & {});

export interface MeKey {
  id: number;
  name: string;
  permissions: Array<MeKeyPermission>;
  /** Null if the key never expires. */
  expires_at: string | null;
}

export type MeKeyPermission = "products:read" | "products:write" | "inventory:write" | "reports:read" | "orders:read" | "orders:write" | "customers:read" | "customers:write" | "usage:read" | "imports:read" | "imports:write" | "webhooks:read" | "webhooks:write" | "plans:propose" | (string & {});

/** The values of the rate-limit headers of this response. */
export interface MeRateLimit {
  limit: number;
  remaining: number;
  /** Unix time in seconds, rounded up. */
  reset: number;
}

/** What the tenant stores and may store. See *Quotas* above. */
export interface MeQuotas {
  /** In bytes. */
  storage: Quota;
  /** Products, orders, items, refunds and ledger rows. */
  records: Quota;
}

/** What is used of a quota. */
export interface Quota {
  /** What is used. It can exceed the limit. */
  used: number;
  /** Null if there is no limit. */
  limit: number | null;
}

export type ShowUsageGroupBy = "day" | "hour" | (string & {});

/** The usage of the tenant's API keys in a range. */
export interface Usage {
  period: Period;
  /** The time zone of the days. */
  timezone: string;
  group_by: ShowUsageGroupBy;
  /** The current limit of the tenant, in requests per 60 seconds. */
  limit: number;
  /** The requests of all listed keys, including the refused ones. */
  requests: number;
  /** The requests above the rate limit (429). */
  refused: number;
  /** Of all listed keys together. */
  busiest_minute: BusiestMinute | null;
  /** Most requests first. */
  keys: Array<KeyUsage>;
  /**
   * The last 20 errors of each key in the range, 100 in all, newest first. Refused requests (429) are only
   * counted.
   */
  last_errors: Array<UsageError>;
}

/** The minute with most requests, or null if there were no requests. */
export interface BusiestMinute {
  start: string;
  requests: number;
}

export interface KeyUsage {
  key_id: number;
  name: string;
  /** The beginning of the key. */
  prefix: string;
  /** The last four characters of the key. */
  last4: string;
  requests: number;
  statuses: StatusCounts;
  refused: number;
  p50_ms: string | null;
  p95_ms: string | null;
  busiest_minute: BusiestMinute | null;
  /** Most requests first. */
  routes: Array<KeyUsageRoute>;
  /** Every day or hour of the range, even without requests. */
  periods: Array<KeyUsagePeriod>;
}

/** Requests by class of their status. They add up to `requests`; refused requests are part of `4xx`. */
export interface StatusCounts {
  "2xx": number;
  "3xx": number;
  "4xx": number;
  "5xx": number;
}

export interface KeyUsageRoute {
  /**
   * The first part of the path after `/api`, for example `products`. Null for requests over the rate limit, of a
   * suspended tenant, and to an unknown path.
   */
  route: string | null;
  requests: number;
  statuses: StatusCounts;
  refused: number;
  p50_ms: string | null;
  p95_ms: string | null;
}

export interface KeyUsagePeriod {
  /** A day in the tenant's time zone, or the time at which an hour begins. */
  start: string;
  requests: number;
  statuses: StatusCounts;
  refused: number;
  p50_ms: string | null;
  p95_ms: string | null;
}

/** A failed request. Paths, queries and bodies are never recorded. */
export interface UsageError {
  /** The beginning of the request. */
  at: string;
  key_id: number;
  method: string;
  /** The path of the operation in this document, or null if there is none. */
  route: string | null;
  status: number;
  code: ErrorCode;
  /** The `X-Request-Id` of the response. */
  request_id: string;
}

/** The body of a message. */
export interface WebhookMessage {
  type: WebhookDeliveryType;
  /** The time of the last entry, or of the test. */
  timestamp: string;
  data: Array<Change>;
}

/** The body of all error responses. */
export interface ErrorBody {
  success: boolean;
  error: Fault;
}

export interface ListProductsParams {
  /** The page number, starting at 1. A page after the last one is an empty list. */
  page?: number | undefined;
  /** The number of objects per page. A value above 100 returns 400. */
  per_page?: number | undefined;
  /**
   * Reads the list step by step. Start with an empty value, then send the `meta.next_cursor` of the previous
   * response with the same filters and sort order; `per_page` can change. Cannot be combined with `page`. A cursor
   * of another list or another tenant returns 400.
   */
  cursor?: string | undefined;
  /**
   * Words that must all occur in the name, SKU or barcode. Case and accents do not count: `cafe` finds `Café`,
   * `ΧΥΜΟΣ` finds `Χυμος` and `strasse` finds `Straße`, but `ø`, `ł` and `ı` are letters of their
   * own. Words of one or two characters match only at the start of a word: at a letter or digit whose predecessor
   * is neither, and at every ideograph, kana and Hangul syllable. `%` and `_` are ordinary characters.
   */
  search?: string | undefined;
  /** Only products with this status. */
  status?: Status | undefined;
  /** Only products in this category. */
  category_id?: number | undefined;
  /** Alias of `category_id`. If both are present, they must be equal. */
  category?: number | undefined;
  /** Only products of this seller. */
  seller_id?: number | undefined;
  /** Only products of this warehouse. */
  warehouse_id?: number | undefined;
  /** Only products with exactly this tag. */
  tag?: string | undefined;
  /** The field to sort by, ascending unless `direction` is set. By default `created_at`, newest first. */
  sort?: ListProductsSort | undefined;
  /** The sort direction. Without `sort` it applies to `created_at`. */
  direction?: Direction | undefined;
  /** Only products created on or after this day, in the tenant's time zone. */
  from?: string | undefined;
  /** Only products created on or before this day, in the tenant's time zone. */
  to?: string | undefined;
  /**
   * The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
   * *Periods*.
   */
  period?: PeriodPreset | undefined;
  /**
   * Only products that changed at or after this time (RFC 3339; write `+` as `%2B`), including changes of stock.
   * Changes in transactions that are still running can be missing, so let consecutive requests overlap by one
   * minute. Deleted products are not listed: use `GET /api/changes` to follow all changes.
   */
  updated_since?: string | undefined;
}

export interface ExportProductsParams {
  /**
   * The format of the file. XLSX holds at most 1,048,575 rows; more return 400. A cell of XLSX holds the first
   * 32,767 characters of a text; CSV and NDJSON have all of it.
   */
  format?: ExportProductsFormat | undefined;
  /**
   * Words that must all occur in the name, SKU or barcode. Case and accents do not count: `cafe` finds `Café`,
   * `ΧΥΜΟΣ` finds `Χυμος` and `strasse` finds `Straße`, but `ø`, `ł` and `ı` are letters of their
   * own. Words of one or two characters match only at the start of a word: at a letter or digit whose predecessor
   * is neither, and at every ideograph, kana and Hangul syllable. `%` and `_` are ordinary characters.
   */
  search?: string | undefined;
  /** Only products with this status. */
  status?: Status | undefined;
  /** Only products in this category. */
  category_id?: number | undefined;
  /** Alias of `category_id`. If both are present, they must be equal. */
  category?: number | undefined;
  /** Only products of this seller. */
  seller_id?: number | undefined;
  /** Only products of this warehouse. */
  warehouse_id?: number | undefined;
  /** Only products with exactly this tag. */
  tag?: string | undefined;
  /** The field to sort by, ascending unless `direction` is set. By default `created_at`, newest first. */
  sort?: ListProductsSort | undefined;
  /** The sort direction. Without `sort` it applies to `created_at`. */
  direction?: Direction | undefined;
  /** Only products created on or after this day, in the tenant's time zone. */
  from?: string | undefined;
  /** Only products created on or before this day, in the tenant's time zone. */
  to?: string | undefined;
  /**
   * The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
   * *Periods*.
   */
  period?: PeriodPreset | undefined;
  /**
   * Only products that changed at or after this time (RFC 3339; write `+` as `%2B`), including changes of stock.
   * Changes in transactions that are still running can be missing, so let consecutive requests overlap by one
   * minute. Deleted products are not listed: use `GET /api/changes` to follow all changes.
   */
  updated_since?: string | undefined;
}

export interface ExportStockParams {
  /**
   * The format of the file. XLSX holds at most 1,048,575 rows; more return 400. A cell of XLSX holds the first
   * 32,767 characters of a text; CSV and NDJSON have all of it.
   */
  format?: ExportProductsFormat | undefined;
  /**
   * Words that must all occur in the name, SKU or barcode. Case and accents do not count: `cafe` finds `Café`,
   * `ΧΥΜΟΣ` finds `Χυμος` and `strasse` finds `Straße`, but `ø`, `ł` and `ı` are letters of their
   * own. Words of one or two characters match only at the start of a word: at a letter or digit whose predecessor
   * is neither, and at every ideograph, kana and Hangul syllable. `%` and `_` are ordinary characters.
   */
  search?: string | undefined;
  /** Only products with this status. */
  status?: Status | undefined;
  /** Only products in this category. */
  category_id?: number | undefined;
  /** Alias of `category_id`. If both are present, they must be equal. */
  category?: number | undefined;
  /** Only products of this seller. */
  seller_id?: number | undefined;
  /** Only products of this warehouse. */
  warehouse_id?: number | undefined;
  /** Only products with exactly this tag. */
  tag?: string | undefined;
  /** The field to sort by, ascending unless `direction` is set. By default `created_at`, newest first. */
  sort?: ListProductsSort | undefined;
  /** The sort direction. Without `sort` it applies to `created_at`. */
  direction?: Direction | undefined;
  /** Only products created on or after this day, in the tenant's time zone. */
  from?: string | undefined;
  /** Only products created on or before this day, in the tenant's time zone. */
  to?: string | undefined;
  /**
   * The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
   * *Periods*.
   */
  period?: PeriodPreset | undefined;
  /**
   * Only products that changed at or after this time (RFC 3339; write `+` as `%2B`), including changes of stock.
   * Changes in transactions that are still running can be missing, so let consecutive requests overlap by one
   * minute. Deleted products are not listed: use `GET /api/changes` to follow all changes.
   */
  updated_since?: string | undefined;
}

export interface ListAdjustmentsParams {
  /** The page number, starting at 1. A page after the last one is an empty list. */
  page?: number | undefined;
  /** The number of objects per page. A value above 100 returns 400. */
  per_page?: number | undefined;
  /** Only adjustments of this type. */
  type?: NewAdjustmentType | undefined;
  /** Only adjustments in this warehouse. */
  warehouse_id?: number | undefined;
  /** Only adjustments on or after this day, in the tenant's time zone. */
  from?: string | undefined;
  /** Only adjustments on or before this day, in the tenant's time zone. */
  to?: string | undefined;
  /**
   * The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
   * *Periods*.
   */
  period?: PeriodPreset | undefined;
}

export interface ListCategoriesParams {
  /** The page number, starting at 1. A page after the last one is an empty list. */
  page?: number | undefined;
  /** The number of objects per page. A value above 100 returns 400. */
  per_page?: number | undefined;
  /** A part of the name, case-insensitive. `%` and `_` are ordinary characters. */
  search?: string | undefined;
  /** The field to sort by, ascending unless `direction` is set. By default `created_at`, newest first. */
  sort?: ListCategoriesSort | undefined;
  /** The sort direction. Without `sort` it applies to `created_at`. */
  direction?: Direction | undefined;
}

export interface ListSellersParams {
  /** The page number, starting at 1. A page after the last one is an empty list. */
  page?: number | undefined;
  /** The number of objects per page. A value above 100 returns 400. */
  per_page?: number | undefined;
  /** A part of the name, case-insensitive. `%` and `_` are ordinary characters. */
  search?: string | undefined;
  /** The field to sort by, ascending unless `direction` is set. By default `created_at`, newest first. */
  sort?: ListCategoriesSort | undefined;
  /** The sort direction. Without `sort` it applies to `created_at`. */
  direction?: Direction | undefined;
}

export interface ListWarehousesParams {
  /** The page number, starting at 1. A page after the last one is an empty list. */
  page?: number | undefined;
  /** The number of objects per page. A value above 100 returns 400. */
  per_page?: number | undefined;
  /** A part of the name, case-insensitive. `%` and `_` are ordinary characters. */
  search?: string | undefined;
  /** The field to sort by, ascending unless `direction` is set. By default `created_at`, newest first. */
  sort?: ListCategoriesSort | undefined;
  /** The sort direction. Without `sort` it applies to `created_at`. */
  direction?: Direction | undefined;
}

export interface ListChannelsParams {
  /** The page number, starting at 1. A page after the last one is an empty list. */
  page?: number | undefined;
  /** The number of objects per page. A value above 100 returns 400. */
  per_page?: number | undefined;
}

export interface ListOrdersParams {
  /** The page number, starting at 1. A page after the last one is an empty list. */
  page?: number | undefined;
  /** The number of objects per page. A value above 100 returns 400. */
  per_page?: number | undefined;
  /**
   * Reads the list step by step. Start with an empty value, then send the `meta.next_cursor` of the previous
   * response with the same filters and sort order; `per_page` can change. Cannot be combined with `page`. A cursor
   * of another list or another tenant returns 400.
   */
  cursor?: string | undefined;
  /**
   * Only orders whose number contains this text, exactly as written, with its case. If the key has
   * `customers:read`, also orders of customers in whose id, name or e-mail address all words occur, as in a search
   * of customers.
   */
  search?: string | undefined;
  /** Only orders placed on or after this day, in the tenant's time zone. */
  from?: string | undefined;
  /** Only orders placed on or before this day, in the tenant's time zone. */
  to?: string | undefined;
  /**
   * The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
   * *Periods*.
   */
  period?: PeriodPreset | undefined;
  /** Only orders of this channel. An unknown channel returns an empty list, a malformed one 400. */
  channel?: string | undefined;
  /** Only orders of the customer with this id, as sent in orders. */
  customer_id?: string | undefined;
  /** Only orders with this status. */
  status?: ListOrdersStatus | undefined;
  /**
   * Only orders that were stored, refunded or cancelled at or after this time, which is their `updated_at` (RFC
   * 3339; write `+` as `%2B`). Changes in transactions that are still running can be missing, so let consecutive
   * requests overlap by one minute. When an import is undone, its refunds and cancellations are deleted, and the
   * orders have their earlier `updated_at` again: use `GET /api/changes` to follow all changes.
   */
  updated_since?: string | undefined;
  /** The field to sort by, ascending unless `direction` is set. By default `placed_at`, newest first. */
  sort?: ListOrdersSort | undefined;
  /** The sort direction. Without `sort` it applies to `placed_at`. */
  direction?: Direction | undefined;
}

export interface ExportOrdersParams {
  /**
   * The format of the file. XLSX holds at most 1,048,575 rows; more return 400. A cell of XLSX holds the first
   * 32,767 characters of a text; CSV and NDJSON have all of it.
   */
  format?: ExportProductsFormat | undefined;
  /**
   * Only orders whose number contains this text, exactly as written, with its case. If the key has
   * `customers:read`, also orders of customers in whose id, name or e-mail address all words occur, as in a search
   * of customers.
   */
  search?: string | undefined;
  /** Only orders placed on or after this day, in the tenant's time zone. */
  from?: string | undefined;
  /** Only orders placed on or before this day, in the tenant's time zone. */
  to?: string | undefined;
  /**
   * The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
   * *Periods*.
   */
  period?: PeriodPreset | undefined;
  /** Only orders of this channel. An unknown channel returns an empty list, a malformed one 400. */
  channel?: string | undefined;
  /** Only orders of the customer with this id, as sent in orders. */
  customer_id?: string | undefined;
  /** Only orders with this status. */
  status?: ListOrdersStatus | undefined;
  /**
   * Only orders that were stored, refunded or cancelled at or after this time, which is their `updated_at` (RFC
   * 3339; write `+` as `%2B`). Changes in transactions that are still running can be missing, so let consecutive
   * requests overlap by one minute. When an import is undone, its refunds and cancellations are deleted, and the
   * orders have their earlier `updated_at` again: use `GET /api/changes` to follow all changes.
   */
  updated_since?: string | undefined;
  /** The field to sort by, ascending unless `direction` is set. By default `placed_at`, newest first. */
  sort?: ListOrdersSort | undefined;
  /** The sort direction. Without `sort` it applies to `placed_at`. */
  direction?: Direction | undefined;
}

export interface ExportOrderItemsParams {
  /**
   * The format of the file. XLSX holds at most 1,048,575 rows; more return 400. A cell of XLSX holds the first
   * 32,767 characters of a text; CSV and NDJSON have all of it.
   */
  format?: ExportProductsFormat | undefined;
  /**
   * Only orders whose number contains this text, exactly as written, with its case. If the key has
   * `customers:read`, also orders of customers in whose id, name or e-mail address all words occur, as in a search
   * of customers.
   */
  search?: string | undefined;
  /** Only orders placed on or after this day, in the tenant's time zone. */
  from?: string | undefined;
  /** Only orders placed on or before this day, in the tenant's time zone. */
  to?: string | undefined;
  /**
   * The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
   * *Periods*.
   */
  period?: PeriodPreset | undefined;
  /** Only orders of this channel. An unknown channel returns an empty list, a malformed one 400. */
  channel?: string | undefined;
  /** Only orders of the customer with this id, as sent in orders. */
  customer_id?: string | undefined;
  /** Only orders with this status. */
  status?: ListOrdersStatus | undefined;
  /**
   * Only orders that were stored, refunded or cancelled at or after this time, which is their `updated_at` (RFC
   * 3339; write `+` as `%2B`). Changes in transactions that are still running can be missing, so let consecutive
   * requests overlap by one minute. When an import is undone, its refunds and cancellations are deleted, and the
   * orders have their earlier `updated_at` again: use `GET /api/changes` to follow all changes.
   */
  updated_since?: string | undefined;
  /** The field to sort by, ascending unless `direction` is set. By default `placed_at`, newest first. */
  sort?: ListOrdersSort | undefined;
  /** The sort direction. Without `sort` it applies to `placed_at`. */
  direction?: Direction | undefined;
}

export interface ExportRefundsParams {
  /**
   * The format of the file. XLSX holds at most 1,048,575 rows; more return 400. A cell of XLSX holds the first
   * 32,767 characters of a text; CSV and NDJSON have all of it.
   */
  format?: ExportProductsFormat | undefined;
  /**
   * Only orders whose number contains this text, exactly as written, with its case. If the key has
   * `customers:read`, also orders of customers in whose id, name or e-mail address all words occur, as in a search
   * of customers.
   */
  search?: string | undefined;
  /** Only orders placed on or after this day, in the tenant's time zone. */
  from?: string | undefined;
  /** Only orders placed on or before this day, in the tenant's time zone. */
  to?: string | undefined;
  /**
   * The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
   * *Periods*.
   */
  period?: PeriodPreset | undefined;
  /** Only orders of this channel. An unknown channel returns an empty list, a malformed one 400. */
  channel?: string | undefined;
  /** Only orders of the customer with this id, as sent in orders. */
  customer_id?: string | undefined;
  /** Only orders with this status. */
  status?: ListOrdersStatus | undefined;
  /**
   * Only orders that were stored, refunded or cancelled at or after this time, which is their `updated_at` (RFC
   * 3339; write `+` as `%2B`). Changes in transactions that are still running can be missing, so let consecutive
   * requests overlap by one minute. When an import is undone, its refunds and cancellations are deleted, and the
   * orders have their earlier `updated_at` again: use `GET /api/changes` to follow all changes.
   */
  updated_since?: string | undefined;
  /** The field to sort by, ascending unless `direction` is set. By default `placed_at`, newest first. */
  sort?: ListOrdersSort | undefined;
  /** The sort direction. Without `sort` it applies to `placed_at`. */
  direction?: Direction | undefined;
}

export interface ListCustomersParams {
  /** The page number, starting at 1. A page after the last one is an empty list. */
  page?: number | undefined;
  /** The number of objects per page. A value above 100 returns 400. */
  per_page?: number | undefined;
  /**
   * Reads the list step by step. Start with an empty value, then send the `meta.next_cursor` of the previous
   * response with the same filters and sort order; `per_page` can change. Cannot be combined with `page`. A cursor
   * of another list or another tenant returns 400.
   */
  cursor?: string | undefined;
  /**
   * Words that must all occur in the id, name or e-mail address of a customer. Case and accents do not count:
   * `cafe` finds `Café`, `ΧΥΜΟΣ` finds `Χυμος` and `strasse` finds `Straße`, but `ø`, `ł` and `ı`
   * are letters of their own. Words of one or two characters match only at the start of a word: at a letter or
   * digit whose predecessor is neither, and at every ideograph, kana and Hangul syllable. `%` and `_` are ordinary
   * characters.
   */
  search?: string | undefined;
}

export interface ExportCustomersParams {
  /**
   * The format of the file. XLSX holds at most 1,048,575 rows; more return 400. A cell of XLSX holds the first
   * 32,767 characters of a text; CSV and NDJSON have all of it.
   */
  format?: ExportProductsFormat | undefined;
  /**
   * Words that must all occur in the id, name or e-mail address of a customer. Case and accents do not count:
   * `cafe` finds `Café`, `ΧΥΜΟΣ` finds `Χυμος` and `strasse` finds `Straße`, but `ø`, `ł` and `ı`
   * are letters of their own. Words of one or two characters match only at the start of a word: at a letter or
   * digit whose predecessor is neither, and at every ideograph, kana and Hangul syllable. `%` and `_` are ordinary
   * characters.
   */
  search?: string | undefined;
}

export interface ListChangesParams {
  /**
   * `next_cursor` of the last response, or `seq` of an entry. Empty or missing: the oldest entry. `now`: only
   * later entries.
   */
  after?: string | undefined;
  /**
   * Types separated by commas: `product`, `stock`, `category`, `seller`, `warehouse`, `channel`, `order`,
   * `refund`, `customer`.
   */
  types?: string | undefined;
  /** The largest number of entries. A page with large objects has fewer. */
  limit?: number | undefined;
  /**
   * The maximum number of seconds to wait for an entry. A tenant can have 16 requests for changes at a time on
   * each instance. If the key is revoked while the request waits, the response is 401.
   */
  wait?: number | undefined;
}

export interface ListWebhooksParams {
  /** The page number, starting at 1. A page after the last one is an empty list. */
  page?: number | undefined;
  /** The number of objects per page. A value above 100 returns 400. */
  per_page?: number | undefined;
}

export interface ListWebhookDeliveriesParams {
  /** `next_before` of the last response, for older deliveries. */
  before?: number | undefined;
  /** The largest number of deliveries. */
  limit?: number | undefined;
}

export interface ListPlansParams {
  /** The page number, starting at 1. A page after the last one is an empty list. */
  page?: number | undefined;
  /** The number of objects per page. A value above 100 returns 400. */
  per_page?: number | undefined;
}

export interface ShowPlanParams {
  /** Only rows with this action, or those that something else has changed since. */
  action?: ShowPlanAction | undefined;
  /** The `meta.next_cursor` of the previous response, with the same `action` and `per_page`. */
  cursor?: string | undefined;
  /** The number of rows in the response. */
  per_page?: number | undefined;
}

export interface ListImportsParams {
  /** The page number, starting at 1. A page after the last one is an empty list. */
  page?: number | undefined;
  /** The number of objects per page. A value above 100 returns 400. */
  per_page?: number | undefined;
}

export interface ListImportRowsParams {
  /** Only rows with this action, or those that something else has changed since. */
  action?: ListImportRowsAction | undefined;
  /** Only rows of this kind. */
  kind?: ImportKind | undefined;
  /** The page number, starting at 1. A page after the last one is an empty list. */
  page?: number | undefined;
  /** The number of objects per page. A value above 100 returns 400. */
  per_page?: number | undefined;
}

export interface SalesSummaryParams {
  /** The first day of the range, in the tenant's time zone. Required unless `period` is present. */
  from?: string | undefined;
  /** The last day of the range. The range covers 1 to 7,320 days. Required unless `period` is present. */
  to?: string | undefined;
  /**
   * The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
   * *Periods*.
   */
  period?: PeriodPreset | undefined;
  /** Only sales of this channel. An unknown channel has no sales, a malformed one returns 400. */
  channel?: string | undefined;
  /** The earlier range to include. `true` means `previous_period`. */
  compare?: SalesSummaryCompare | undefined;
  /**
   * `now` ends the last compared day at the same local time as now, rounded down to a quarter of an hour. It
   * requires `compare` and a range that ends today.
   */
  compare_until?: string | undefined;
  /** Whether to include the calculation of the figures. */
  explain?: boolean | undefined;
}

export interface ProductReportParams {
  /** The first day of the range, in the tenant's time zone. Requires `to`. */
  from?: string | undefined;
  /** The last day of the range. The range covers 1 to 7,320 days. Requires `from`. */
  to?: string | undefined;
  /**
   * The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
   * *Periods*.
   */
  period?: PeriodPreset | undefined;
  /** Only items sold in this category. */
  category_id?: number | undefined;
  /** The field to sort by. `margin` sorts by `margin_percent`. */
  sort?: ProductReportSort | undefined;
  /** The sort direction. `desc` returns the highest value first. */
  direction?: Direction | undefined;
  /** The page number, starting at 1. A page after the last one is an empty list. */
  page?: number | undefined;
  /** The number of objects per page. A value above 100 returns 400. */
  per_page?: number | undefined;
  /** Whether to include the calculation of the figures. */
  explain?: boolean | undefined;
}

export interface ChannelReportParams {
  /** The first day of the range, in the tenant's time zone. Requires `to`. */
  from?: string | undefined;
  /** The last day of the range. The range covers 1 to 7,320 days. Requires `from`. */
  to?: string | undefined;
  /**
   * The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
   * *Periods*.
   */
  period?: PeriodPreset | undefined;
  /** The earlier range to include. `true` means `previous_period`. */
  compare?: SalesSummaryCompare | undefined;
  /**
   * `now` ends the last compared day at the same local time as now, rounded down to a quarter of an hour. It
   * requires `compare` and a range that ends today.
   */
  compare_until?: string | undefined;
  /** Whether to include the calculation of the figures. */
  explain?: boolean | undefined;
}

export interface CustomerReportParams {
  /** The first day of the range, in the tenant's time zone. Requires `to`. */
  from?: string | undefined;
  /** The last day of the range. The range covers 1 to 7,320 days. Requires `from`. */
  to?: string | undefined;
  /**
   * The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
   * *Periods*.
   */
  period?: PeriodPreset | undefined;
  /** Only sales of this channel. An unknown channel has no sales, a malformed one returns 400. */
  channel?: string | undefined;
  /** The field to sort by. */
  sort?: CustomerReportSort | undefined;
  /** The sort direction. `desc` returns the highest value first. */
  direction?: Direction | undefined;
  /** The page number, starting at 1. A page after the last one is an empty list. */
  page?: number | undefined;
  /** The number of objects per page. A value above 100 returns 400. */
  per_page?: number | undefined;
  /** Whether to include the calculation of the figures. */
  explain?: boolean | undefined;
}

export interface ReconcileParams {
  /** The first day of the range, in the tenant's time zone. Required unless `period` is present. */
  from?: string | undefined;
  /** The last day of the range. The range covers 1 to 7,320 days. Required unless `period` is present. */
  to?: string | undefined;
  /**
   * The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
   * *Periods*.
   */
  period?: PeriodPreset | undefined;
}

export interface ReportChangesParams {
  /** The first day of the range, in the tenant's time zone. Required unless `period` is present. */
  from?: string | undefined;
  /** The last day of the range. The range covers 1 to 7,320 days. Required unless `period` is present. */
  to?: string | undefined;
  /**
   * The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
   * *Periods*.
   */
  period?: PeriodPreset | undefined;
  /** Only changes after this time, which must not be in the future. Required without `after`. */
  since?: string | undefined;
  /**
   * `next_cursor` of the last response, or `seq` of an entry. `now`: only later entries. It replaces `since` as
   * the start of the list.
   */
  after?: string | undefined;
  /** The largest number of entries. */
  limit?: number | undefined;
}

export interface ExportReportParams {
  /** The format of the file. */
  format?: ExportReportFormat | undefined;
  /**
   * The first day of the range, in the tenant's time zone. Required for `sales-summary` unless `period` is
   * present. For other reports it requires `to`; without both, the range is the last 30 days including today.
   */
  from?: string | undefined;
  /** The last day of the range. The range covers 1 to 7,320 days. Required if `from` is required or present. */
  to?: string | undefined;
  /**
   * The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
   * *Periods*.
   */
  period?: PeriodPreset | undefined;
  /** Only sales of this channel. An unknown channel has no sales, a malformed one returns 400. */
  channel?: string | undefined;
  /** The earlier range to include. `true` means `previous_period`. */
  compare?: SalesSummaryCompare | undefined;
  /**
   * `now` ends the last compared day at the same local time as now, rounded down to a quarter of an hour. It
   * requires `compare` and a range that ends today.
   */
  compare_until?: string | undefined;
  /** Only items sold in this category. */
  category_id?: number | undefined;
  /**
   * The field to sort by. Products accept `revenue`, `units` and `margin`; customers accept `revenue`, `orders`
   * and `last_order`.
   */
  sort?: ExportReportSort | undefined;
  /** The sort direction. `desc` returns the highest value first. */
  direction?: Direction | undefined;
}

export interface ShowUsageParams {
  /** The first day of the range, in the tenant's time zone. Requires `to`. */
  from?: string | undefined;
  /** The last day of the range. The range covers at most 90 days, or 31 days by hour. Requires `from`. */
  to?: string | undefined;
  /**
   * The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
   * *Periods*.
   */
  period?: PeriodPreset | undefined;
  /** Only this key. An unknown key has no usage. */
  key_id?: number | undefined;
  /** The length of the `periods` of each key. Hours begin as in the tenant's time zone. */
  group_by?: ShowUsageGroupBy | undefined;
}

/** A method for each operation. */
export class Operations extends Transport {

  /**
   * List products.
   *
   * Returns a page of products. Products must match all filters. `meta.total` is the exact number of matching
   * products. With `cursor`, `meta` is `{per_page, total, next_cursor}`, and no product is skipped or repeated
   * while others are created or deleted, as long as its own position does not change.
   */
  listProducts(params: ListProductsParams = {}, options?: CallOptions): Promise<ProductList> {
    return this.sendForBody("GET", "/api/products", { query: { ...params }, repeatable: true }, options);
  }

  /** All elements of {@link Operations.listProducts}. The next page is requested when it is needed. */
  allProducts(params: ListProductsParams = {}, options?: CallOptions): AsyncGenerator<Product, void, undefined> {
    return this.pages("cursor", params.cursor, (cursor) => this.listProducts({ ...params, cursor }, options));
  }

  /**
   * Create a product.
   *
   * Requires `sku`, `name` and `price`. All other fields have defaults. An initial `quantity` is recorded as a
   * stock adjustment. Returns the product, with its path in `Location`. A duplicate SKU or an unknown
   * `category_id`, `seller_id` or `warehouse_id` returns `VALIDATION_ERROR`.
   */
  createProduct(body: NewProduct, options?: CallOptions): Promise<Product> {
    return this.sendForData("POST", "/api/products", { body, keyed: true }, options);
  }

  /**
   * Create or update many products.
   *
   * Creates or updates up to 1,000 products by `sku`. A new SKU requires `name` and `price`. For an existing
   * product, only the fields in the request change, as with PATCH. Changes of stock are recorded as stock
   * adjustments. `images` can be an array of URLs, which are stored and never fetched.
   */
  upsertProducts(body: ProductItems, options?: CallOptions): Promise<BulkResult> {
    return this.sendForBody("POST", "/api/products/bulk", { body, keyed: true }, options);
  }

  /**
   * Create or update many products.
   *
   * Creates or updates up to 1,000 products by `sku`. A new SKU requires `name` and `price`. For an existing
   * product, only the fields in the request change, as with PATCH. Changes of stock are recorded as stock
   * adjustments. `images` can be an array of URLs, which are stored and never fetched.
   */
  planProducts(body: ProductItems, options?: CallOptions): Promise<PlanResult> {
    return this.sendForBody("POST", "/api/products/bulk", { body, query: { plan: "true" }, keyed: true }, options);
  }

  /**
   * Plan a change of the products of a filter.
   *
   * Computes a plan that changes all products that match a filter in the same way; see *Plans*. Nothing is changed
   * until the plan is applied. `filter` has the filter parameters of `GET /api/products`; `{}` selects all
   * products. `set` replaces fields, and null clears one, as with PATCH. `adjust_price_percent` changes prices,
   * rounded to the cent, half a cent away from zero. A value of `set` that no product can have is a
   * `VALIDATION_ERROR`. A product for which the change is not valid is refused, with the errors in its row.
   */
  planProductChanges(body: ProductPlan, options?: CallOptions): Promise<PlanResult> {
    return this.sendForBody("POST", "/api/products/changes", { body, keyed: true }, options);
  }

  /**
   * Export products as a file.
   *
   * Streams all products that match the filters, in the order of the list.
   */
  exportProducts(params: ExportProductsParams = {}, options?: CallOptions): Promise<FileDownload> {
    return this.sendForFile("GET", "/api/products/export", { query: { ...params }, repeatable: true }, options);
  }

  /**
   * Export stock as a file.
   *
   * Streams the stock of all products that match the filters, by warehouse: in the product's own warehouse, even
   * if it is 0, and in all others that have stock of it. See *Export products as a file* for the formats.
   */
  exportStock(params: ExportStockParams = {}, options?: CallOptions): Promise<FileDownload> {
    return this.sendForFile("GET", "/api/stock/export", { query: { ...params }, repeatable: true }, options);
  }

  /**
   * Get a product by id.
   *
   * Returns a product. `quantity` is the total stock in all warehouses.
   */
  showProduct(id: number, options?: CallOptions): Promise<Product> {
    return this.sendForData("GET", path`/api/products/${id}`, { repeatable: true }, options);
  }

  /**
   * Replace a product.
   *
   * Replaces all writable fields. A missing field gets its default value, also `quantity` and `warehouse_id`.
   * Images are kept. You can send the response of GET back without changing anything. A change of `quantity` or
   * `warehouse_id` is recorded as a stock adjustment.
   */
  replaceProduct(id: number, body: NewProduct, options?: CallOptions): Promise<Product> {
    return this.sendForData("PUT", path`/api/products/${id}`, { body, repeatable: true }, options);
  }

  /**
   * Update a product.
   *
   * Changes only the fields in the request. `null` clears an optional field and returns `VALIDATION_ERROR` for
   * other fields. `quantity` sets the total stock by changing the stock in the product's own warehouse. A new
   * `warehouse_id` moves the stock of the old warehouse to the new one; a `quantity` in the same request applies
   * afterwards. Changes of stock are recorded as stock adjustments.
   */
  patchProduct(id: number, body: ProductChanges, options?: CallOptions): Promise<Product> {
    return this.sendForData("PATCH", path`/api/products/${id}`, { body, repeatable: true }, options);
  }

  /**
   * Delete a product.
   *
   * Deletes the product and its stock permanently. The SKU can then be used again. To hide a product without
   * deleting it, set `status` to `draft`.
   */
  deleteProduct(id: number, options?: CallOptions): Promise<void> {
    return this.send("DELETE", path`/api/products/${id}`, { repeatable: true }, options);
  }

  /**
   * Get a product by SKU.
   *
   * Returns the product with exactly this SKU. `quantity` is the total stock in all warehouses.
   */
  showProductBySKU(sku: string, options?: CallOptions): Promise<Product> {
    return this.sendForData("GET", path`/api/products/sku/${sku}`, { repeatable: true }, options);
  }

  /**
   * Add an image to a product, as a file or a URL.
   *
   * Adds an image after the other images of the product: the URL of a file on another server, which is stored and
   * never fetched, or a file, as in `addImageFile`. A product can have 20 images.
   *
   * @deprecated generated clients cannot express both content types in one operation. It stays as it is. Upload a
   * file with `POST /api/products/{id}/images/file`, and set URLs with `images` of `POST /api/products/bulk`.
   */
  addImage(id: number, body: NewImage, options?: CallOptions): Promise<Image> {
    return this.sendForData("POST", path`/api/products/${id}/images`, { body, keyed: true }, options);
  }

  /**
   * Move an image of a product.
   *
   * Moves an image to a position. The other images make room for it, so that the positions are always 1, 2, 3 and
   * so on. A position after the last one is the last one.
   */
  moveImage(id: number, imageId: number, body: ImageChanges, options?: CallOptions): Promise<Image> {
    return this.sendForData("PATCH", path`/api/products/${id}/images/${imageId}`, { body, repeatable: true }, options);
  }

  /**
   * Delete an image of a product.
   *
   * Deletes an image. The images after it move up.
   */
  removeImage(id: number, imageId: number, options?: CallOptions): Promise<void> {
    return this.send("DELETE", path`/api/products/${id}/images/${imageId}`, { repeatable: true }, options);
  }

  /**
   * Get the stock of a product by warehouse.
   *
   * Returns the stock in the product's own warehouse, also if it is zero, and in all other warehouses that have
   * stock. `quantity` is the total.
   */
  showInventory(id: number, options?: CallOptions): Promise<Inventory> {
    return this.sendForData("GET", path`/api/products/${id}/inventory`, { repeatable: true }, options);
  }

  /**
   * Adjust the stock of a product.
   *
   * Adds to, removes from or sets the stock, in units, and records a stock adjustment in the same transaction.
   * Concurrent adjustments are all applied. With `expected_quantity`, the adjustment is applied only if the
   * product's total has that value; otherwise it returns 412.
   */
  adjustInventory(id: number, body: NewAdjustment, options?: CallOptions): Promise<ProductAdjustedData> {
    return this.sendForData("POST", path`/api/products/${id}/inventory/adjust`, { body, keyed: true }, options);
  }

  /**
   * List the stock adjustments of a product.
   *
   * Returns a page of the product's stock adjustments, newest first. All changes of stock are recorded, starting
   * with the initial stock. Changes by POST, PUT, PATCH, bulk requests and imports have the type `set`. Changes by
   * orders have the type `remove` or `add`, and name the order. Adjustments must match all filters.
   */
  listAdjustments(id: number, params: ListAdjustmentsParams = {}, options?: CallOptions): Promise<AdjustmentList> {
    return this.sendForBody("GET", path`/api/products/${id}/inventory/adjustments`, { query: { ...params }, repeatable: true }, options);
  }

  /** All elements of {@link Operations.listAdjustments}. The next page is requested when it is needed. */
  allAdjustments(id: number, params: ListAdjustmentsParams = {}, options?: CallOptions): AsyncGenerator<Adjustment, void, undefined> {
    return this.pages("page", params.page, (page) => this.listAdjustments(id, { ...params, page }, options));
  }

  /**
   * List categories.
   *
   * Returns a page of categories. `meta.total` is the exact number of matching categories.
   */
  listCategories(params: ListCategoriesParams = {}, options?: CallOptions): Promise<ReferenceList> {
    return this.sendForBody("GET", "/api/categories", { query: { ...params }, repeatable: true }, options);
  }

  /** All elements of {@link Operations.listCategories}. The next page is requested when it is needed. */
  allCategories(params: ListCategoriesParams = {}, options?: CallOptions): AsyncGenerator<Reference, void, undefined> {
    return this.pages("page", params.page, (page) => this.listCategories({ ...params, page }, options));
  }

  /**
   * Create a category.
   *
   * Requires a `name` that is unique in the tenant. A duplicate name returns `VALIDATION_ERROR`.
   */
  createCategory(body: NewReference, options?: CallOptions): Promise<Reference> {
    return this.sendForData("POST", "/api/categories", { body, keyed: true }, options);
  }

  /**
   * Get a category.
   *
   * Returns the category with this id.
   */
  showCategory(id: number, options?: CallOptions): Promise<Reference> {
    return this.sendForData("GET", path`/api/categories/${id}`, { repeatable: true }, options);
  }

  /**
   * Rename a category.
   *
   * Changes the `name` if it is in the request. Products show the new name immediately.
   */
  renameCategory(id: number, body: ReferenceChanges, options?: CallOptions): Promise<Reference> {
    return this.sendForData("PATCH", path`/api/categories/${id}`, { body, repeatable: true }, options);
  }

  /**
   * Delete a category.
   *
   * Deletes the category permanently. Returns `RESOURCE_IN_USE` if products belong to it.
   */
  deleteCategory(id: number, options?: CallOptions): Promise<void> {
    return this.send("DELETE", path`/api/categories/${id}`, { repeatable: true }, options);
  }

  /**
   * List sellers.
   *
   * Returns a page of sellers. `meta.total` is the exact number of matching sellers.
   */
  listSellers(params: ListSellersParams = {}, options?: CallOptions): Promise<ReferenceList> {
    return this.sendForBody("GET", "/api/sellers", { query: { ...params }, repeatable: true }, options);
  }

  /** All elements of {@link Operations.listSellers}. The next page is requested when it is needed. */
  allSellers(params: ListSellersParams = {}, options?: CallOptions): AsyncGenerator<Reference, void, undefined> {
    return this.pages("page", params.page, (page) => this.listSellers({ ...params, page }, options));
  }

  /**
   * Create a seller.
   *
   * Requires a `name` that is unique in the tenant. A duplicate name returns `VALIDATION_ERROR`.
   */
  createSeller(body: NewReference, options?: CallOptions): Promise<Reference> {
    return this.sendForData("POST", "/api/sellers", { body, keyed: true }, options);
  }

  /**
   * Get a seller.
   *
   * Returns the seller with this id.
   */
  showSeller(id: number, options?: CallOptions): Promise<Reference> {
    return this.sendForData("GET", path`/api/sellers/${id}`, { repeatable: true }, options);
  }

  /**
   * Rename a seller.
   *
   * Changes the `name` if it is in the request. Products show the new name immediately.
   */
  renameSeller(id: number, body: ReferenceChanges, options?: CallOptions): Promise<Reference> {
    return this.sendForData("PATCH", path`/api/sellers/${id}`, { body, repeatable: true }, options);
  }

  /**
   * Delete a seller.
   *
   * Deletes the seller permanently. Returns `RESOURCE_IN_USE` if products belong to it.
   */
  deleteSeller(id: number, options?: CallOptions): Promise<void> {
    return this.send("DELETE", path`/api/sellers/${id}`, { repeatable: true }, options);
  }

  /**
   * List warehouses.
   *
   * Returns a page of warehouses. `meta.total` is the exact number of matching warehouses.
   */
  listWarehouses(params: ListWarehousesParams = {}, options?: CallOptions): Promise<WarehouseList> {
    return this.sendForBody("GET", "/api/warehouses", { query: { ...params }, repeatable: true }, options);
  }

  /** All elements of {@link Operations.listWarehouses}. The next page is requested when it is needed. */
  allWarehouses(params: ListWarehousesParams = {}, options?: CallOptions): AsyncGenerator<Warehouse, void, undefined> {
    return this.pages("page", params.page, (page) => this.listWarehouses({ ...params, page }, options));
  }

  /**
   * Create a warehouse.
   *
   * Requires a `name` that is unique in the tenant. A duplicate name returns `VALIDATION_ERROR`.
   */
  createWarehouse(body: NewReference, options?: CallOptions): Promise<Warehouse> {
    return this.sendForData("POST", "/api/warehouses", { body, keyed: true }, options);
  }

  /**
   * Get a warehouse.
   *
   * Returns the warehouse with this id.
   */
  showWarehouse(id: number, options?: CallOptions): Promise<Warehouse> {
    return this.sendForData("GET", path`/api/warehouses/${id}`, { repeatable: true }, options);
  }

  /**
   * Rename a warehouse.
   *
   * Changes the `name` if it is in the request. Products show the new name immediately.
   */
  renameWarehouse(id: number, body: ReferenceChanges, options?: CallOptions): Promise<Warehouse> {
    return this.sendForData("PATCH", path`/api/warehouses/${id}`, { body, repeatable: true }, options);
  }

  /**
   * Delete a warehouse.
   *
   * Deletes the warehouse permanently. Returns `RESOURCE_IN_USE` if products belong to it, if it has stock, or if
   * it is the default warehouse.
   */
  deleteWarehouse(id: number, options?: CallOptions): Promise<void> {
    return this.send("DELETE", path`/api/warehouses/${id}`, { repeatable: true }, options);
  }

  /**
   * List channels.
   *
   * Returns a page of channels, sorted by identifier. `meta.total` is the exact number of channels.
   */
  listChannels(params: ListChannelsParams = {}, options?: CallOptions): Promise<ChannelList> {
    return this.sendForBody("GET", "/api/channels", { query: { ...params }, repeatable: true }, options);
  }

  /** All elements of {@link Operations.listChannels}. The next page is requested when it is needed. */
  allChannels(params: ListChannelsParams = {}, options?: CallOptions): AsyncGenerator<Channel, void, undefined> {
    return this.pages("page", params.page, (page) => this.listChannels({ ...params, page }, options));
  }

  /**
   * Create a channel.
   *
   * Requires an `identifier` that is unique in the tenant, and a `label` to display. A channel that an order
   * mentions for the first time is created automatically, with its identifier as the label.
   */
  createChannel(body: NewChannel, options?: CallOptions): Promise<Channel> {
    return this.sendForData("POST", "/api/channels", { body, keyed: true }, options);
  }

  /**
   * Get a channel.
   *
   * Returns the channel with this identifier.
   */
  showChannel(identifier: string, options?: CallOptions): Promise<Channel> {
    return this.sendForData("GET", path`/api/channels/${identifier}`, { repeatable: true }, options);
  }

  /**
   * Update a channel.
   *
   * Changes the fields in the request. Reports show a new label immediately. A new `takes_stock` applies to orders
   * that are created afterwards. The identifier cannot be changed.
   */
  relabelChannel(identifier: string, body: ChannelChanges, options?: CallOptions): Promise<Channel> {
    return this.sendForData("PATCH", path`/api/channels/${identifier}`, { body, repeatable: true }, options);
  }

  /**
   * Delete a channel.
   *
   * Deletes the channel permanently. Returns `RESOURCE_IN_USE` for `pos` and for channels with orders.
   */
  deleteChannel(identifier: string, options?: CallOptions): Promise<void> {
    return this.send("DELETE", path`/api/channels/${identifier}`, { repeatable: true }, options);
  }

  /**
   * List orders.
   *
   * Returns a page of orders without items and refunds, newest first. Orders must match all filters. `meta.total`
   * is the exact number of matching orders. With `cursor`, `meta` is `{per_page, total, next_cursor}`, and no
   * order is skipped or repeated while others are created. The customer's name and e-mail address are returned
   * only if the key has `customers:read`; the id is always returned.
   */
  listOrders(params: ListOrdersParams = {}, options?: CallOptions): Promise<OrderList> {
    return this.sendForBody("GET", "/api/orders", { query: { ...params }, repeatable: true }, options);
  }

  /** All elements of {@link Operations.listOrders}. The next page is requested when it is needed. */
  allOrders(params: ListOrdersParams = {}, options?: CallOptions): AsyncGenerator<ListedOrder, void, undefined> {
    return this.pages("cursor", params.cursor, (cursor) => this.listOrders({ ...params, cursor }, options));
  }

  /**
   * Create an order.
   *
   * Stores an order once. Returns 201 for a new order, 200 if an order with this `number` and the same content
   * exists (cancelled or not), and 422 for `number` if its content is different. See *Orders* for the calculated
   * fields, and for the stock that the order takes if its channel has `takes_stock`.
   */
  createOrder(body: NewOrder, options?: CallOptions): Promise<Order> {
    return this.sendForData("POST", "/api/orders", { body, keyed: true }, options);
  }

  /**
   * Create many orders.
   *
   * Creates up to 1,000 orders with up to 50,000 items in total.
   */
  createOrders(body: NewOrders, options?: CallOptions): Promise<OrdersResult> {
    return this.sendForBody("POST", "/api/orders/bulk", { body, keyed: true }, options);
  }

  /**
   * Export orders as a file.
   *
   * Streams all orders that match the filters, in the order of the list. The files of the three exports of orders,
   * items and refunds with the same parameters can be imported together. The import reads the columns up to
   * `cancelled_at`; the others are for reading. See *Export products as a file* for the formats. The customer's
   * name and e-mail address are present only if the key has `customers:read`.
   */
  exportOrders(params: ExportOrdersParams = {}, options?: CallOptions): Promise<FileDownload> {
    return this.sendForFile("GET", "/api/orders/export", { query: { ...params }, repeatable: true }, options);
  }

  /**
   * Export the items of orders as a file.
   *
   * Streams the items of all orders that match the filters, in the order of the list of orders. The import reads
   * the columns up to `seller_name`; an empty `unit_cost` is not known. `discount`, `tax` and `shipping` include
   * the item's shares of the order's amounts.
   */
  exportOrderItems(params: ExportOrderItemsParams = {}, options?: CallOptions): Promise<FileDownload> {
    return this.sendForFile("GET", "/api/order-items/export", { query: { ...params }, repeatable: true }, options);
  }

  /**
   * Export the refunds of orders as a file.
   *
   * Streams the refunds of all orders that match the filters, in the order of the list of orders. `from` and `to`
   * are days of the order, not of the refund.
   */
  exportRefunds(params: ExportRefundsParams = {}, options?: CallOptions): Promise<FileDownload> {
    return this.sendForFile("GET", "/api/refunds/export", { query: { ...params }, repeatable: true }, options);
  }

  /**
   * Get an order.
   *
   * Returns an order with its items as sold and its refunds. The customer's name and e-mail address are null if
   * the key does not have `customers:read`.
   */
  showOrder(number: string, options?: CallOptions): Promise<Order> {
    return this.sendForData("GET", path`/api/orders/${number}`, { repeatable: true }, options);
  }

  /**
   * Cancel an order.
   *
   * Excludes the order and its refunds from all reports, on all days. You cannot undo this. Cancelling a cancelled
   * order returns it without changes. Stock that the order has taken is returned. The body is optional.
   */
  cancelOrder(number: string, body?: NewCancellation, options?: CallOptions): Promise<Order> {
    return this.sendForData("POST", path`/api/orders/${number}/cancel`, { body, keyed: true }, options);
  }

  /**
   * Create a refund.
   *
   * Stores a refund of the order. With a `reference` you can send the request again safely: it returns 201 for a
   * new refund, 200 if the order has a refund with this reference and the same content, and 422 for `reference` if
   * its content is different. Without a `reference`, every request creates another refund. The amount can exceed
   * what was paid; `exceeds_paid` is then true. Refunds of a cancelled order are stored but do not count in
   * reports. With `restock`, stock that the order has taken is returned.
   */
  refundOrder(number: string, body: NewRefund, options?: CallOptions): Promise<Refund> {
    return this.sendForData("POST", path`/api/orders/${number}/refunds`, { body, keyed: true }, options);
  }

  /**
   * List customers.
   *
   * Returns a page of customers, the newest first. Orders and imports create customers. With `cursor`, `meta` is
   * `{per_page, total, next_cursor}`, and no customer is skipped or repeated.
   */
  listCustomers(params: ListCustomersParams = {}, options?: CallOptions): Promise<CustomerList> {
    return this.sendForBody("GET", "/api/customers", { query: { ...params }, repeatable: true }, options);
  }

  /** All elements of {@link Operations.listCustomers}. The next page is requested when it is needed. */
  allCustomers(params: ListCustomersParams = {}, options?: CallOptions): AsyncGenerator<ListedCustomer, void, undefined> {
    return this.pages("cursor", params.cursor, (cursor) => this.listCustomers({ ...params, cursor }, options));
  }

  /**
   * Export customers as a file.
   *
   * Streams all customers that match the filters, the newest first. The CSV file can be imported again. See
   * *Export products as a file* for the formats. A customer with the id `export` is returned by `GET
   * /api/customers/%65xport`.
   */
  exportCustomers(params: ExportCustomersParams = {}, options?: CallOptions): Promise<FileDownload> {
    return this.sendForFile("GET", "/api/customers/export", { query: { ...params }, repeatable: true }, options);
  }

  /**
   * Get a customer.
   *
   * Returns a customer with the sums of its orders. Cancelled orders do not count.
   */
  showCustomer(customerId: string, options?: CallOptions): Promise<WholeCustomer> {
    return this.sendForData("GET", path`/api/customers/${customerId}`, { repeatable: true }, options);
  }

  /**
   * Erase a customer.
   *
   * Erases the name and the e-mail address of the customer permanently and at once, and then in stored responses
   * to idempotent requests, whose keys stay used, in plans of imports with the rows of their files, and in what
   * receivers of webhooks have answered. If the latter takes longer than five seconds, or an import of the account
   * is being carried out, it continues in the background after the response. Orders keep the id, and reports do
   * not change. A later order, import or undo does not restore the name. The audit log keeps the names of imported
   * files.
   */
  eraseCustomer(customerId: string, options?: CallOptions): Promise<void> {
    return this.send("DELETE", path`/api/customers/${customerId}`, { repeatable: true }, options);
  }

  /**
   * Get all data about a customer.
   *
   * Streams one JSON file with all data about a person: the customer, all orders with items and refunds, and the
   * stored responses to idempotent requests for orders that contain the customer.
   */
  showCustomerData(customerId: string, options?: CallOptions): Promise<CustomerData> {
    return this.sendForBody("GET", path`/api/customers/${customerId}/data`, { repeatable: true }, options);
  }

  /**
   * List what has changed.
   *
   * Returns every committed change of the tenant in one order, including deletions and the changes of imports. No
   * change is missing, even if its transaction ends after a later one: an entry is returned only when no older
   * transaction is running, normally within a second.
   */
  listChanges(params: ListChangesParams = {}, options?: CallOptions): Promise<ChangeList> {
    return this.sendForBody("GET", "/api/changes", { query: { ...params }, repeatable: true }, options);
  }

  /**
   * List webhooks.
   *
   * Returns the webhooks of the tenant, the oldest first. It has at most 20.
   */
  listWebhooks(params: ListWebhooksParams = {}, options?: CallOptions): Promise<WebhookList> {
    return this.sendForBody("GET", "/api/webhooks", { query: { ...params }, repeatable: true }, options);
  }

  /** All elements of {@link Operations.listWebhooks}. The next page is requested when it is needed. */
  allWebhooks(params: ListWebhooksParams = {}, options?: CallOptions): AsyncGenerator<Webhook, void, undefined> {
    return this.pages("page", params.page, (page) => this.listWebhooks({ ...params, page }, options));
  }

  /**
   * Create a webhook.
   *
   * Creates an endpoint that gets the changes from now on, see *Webhooks*. The response has the `secret` with
   * which messages are signed: store it, because it is shown again only if the request is repeated with its
   * `Idempotency-Key` within 24 hours.
   */
  createWebhook(body: NewWebhook, options?: CallOptions): Promise<Webhook> {
    return this.sendForData("POST", "/api/webhooks", { body, keyed: true }, options);
  }

  /**
   * Get a webhook.
   *
   * Returns the webhook, with the reason if it is paused.
   */
  showWebhook(id: number, options?: CallOptions): Promise<Webhook> {
    return this.sendForData("GET", path`/api/webhooks/${id}`, { repeatable: true }, options);
  }

  /**
   * Update a webhook.
   *
   * Changes the fields in the request. `state` `paused` stops the delivery, and `active` resumes it where it
   * stopped. A message that has failed is sent again at once. The key must have the permissions for all types of
   * the webhook, before and after the change, see `GET /api/changes`. A body with nothing but `state` `paused`
   * needs only `webhooks:write`.
   */
  changeWebhook(id: number, body: WebhookChanges, options?: CallOptions): Promise<Webhook> {
    return this.sendForData("PATCH", path`/api/webhooks/${id}`, { body, repeatable: true }, options);
  }

  /**
   * Delete a webhook.
   *
   * Deletes the webhook and its deliveries. A message that is being sent may still arrive.
   */
  deleteWebhook(id: number, options?: CallOptions): Promise<void> {
    return this.send("DELETE", path`/api/webhooks/${id}`, { repeatable: true }, options);
  }

  /**
   * Rotate the secret of a webhook.
   *
   * Returns a new `secret`, which is shown again only if the request is repeated with its `Idempotency-Key` within
   * 24 hours. For 24 hours messages have two signatures, one of each secret, so that a receiver accepts them
   * before and after it gets the new one. If there are two secrets already, messages are no longer signed with the
   * older one. The body is optional.
   */
  rotateWebhook(id: number, options?: CallOptions): Promise<Webhook> {
    return this.sendForData("POST", path`/api/webhooks/${id}/rotate`, { keyed: true }, options);
  }

  /**
   * Continue a webhook at another position.
   *
   * The webhook continues after the cursor: `seq` of an entry or of a delivery, `""` for the oldest entry that is
   * kept, or `now`. Messages get new ids, so that a receiver that ignores known ids accepts them. A webhook that
   * is paused because its cursor has expired is resumed.
   */
  replayWebhook(id: number, body: WebhookReplay, options?: CallOptions): Promise<Webhook> {
    return this.sendForData("POST", path`/api/webhooks/${id}/replay`, { body, keyed: true }, options);
  }

  /**
   * Send a test message.
   *
   * Sends a message of the type `test`, without entries, and returns its delivery. It also works for a paused
   * webhook. Waits for the receiver for at most 15 seconds. The body is optional.
   */
  testWebhook(id: number, options?: CallOptions): Promise<WebhookDelivery> {
    return this.sendForData("POST", path`/api/webhooks/${id}/test`, {  }, options);
  }

  /**
   * List the deliveries of a webhook.
   *
   * Returns the attempts to deliver messages in the last 30 days, the newest first.
   */
  listWebhookDeliveries(id: number, params: ListWebhookDeliveriesParams = {}, options?: CallOptions): Promise<WebhookDeliveryList> {
    return this.sendForBody("GET", path`/api/webhooks/${id}/deliveries`, { query: { ...params }, repeatable: true }, options);
  }

  /** All elements of {@link Operations.listWebhookDeliveries}. The next page is requested when it is needed. */
  allWebhookDeliveries(id: number, params: ListWebhookDeliveriesParams = {}, options?: CallOptions): AsyncGenerator<WebhookDelivery, void, undefined> {
    return this.pages("before", params.before, (before) => this.listWebhookDeliveries(id, { ...params, before }, options));
  }

  /**
   * Export everything as a ZIP file.
   *
   * Streams an archive of everything in the account at one moment: products, stock, images with their pictures,
   * customers, orders and refunds as CSV files, and `manifest.json` with the number of rows and the SHA-256 of
   * each file. `api/IMPORTS.md` in the source describes the columns. Keys, members, the audit log and usage are
   * not part of it.
   */
  exportArchive(options?: CallOptions): Promise<FileDownload> {
    return this.sendForFile("GET", "/api/archive", { repeatable: true }, options);
  }

  /**
   * List plans.
   *
   * Returns a page of the plans that are kept, newest first. Imports are not among them.
   */
  listPlans(params: ListPlansParams = {}, options?: CallOptions): Promise<PlanList> {
    return this.sendForBody("GET", "/api/plans", { query: { ...params }, repeatable: true }, options);
  }

  /** All elements of {@link Operations.listPlans}. The next page is requested when it is needed. */
  allPlans(params: ListPlansParams = {}, options?: CallOptions): AsyncGenerator<PlanListed, void, undefined> {
    return this.pages("page", params.page, (page) => this.listPlans({ ...params, page }, options));
  }

  /**
   * Get a plan.
   *
   * Returns a plan with its counts and some of its rows. Send `meta.next_cursor` as `cursor` for the next rows.
   * After the plan was applied, `action` is what happened to a row. Request the plan again while `state` is
   * `planning`, `applying` or `undoing`.
   */
  showPlan(id: number, params: ShowPlanParams = {}, options?: CallOptions): Promise<PlanResult> {
    return this.sendForBody("GET", path`/api/plans/${id}`, { query: { ...params }, repeatable: true }, options);
  }

  /**
   * Apply a plan.
   *
   * Makes exactly the planned changes. If a product no longer has the old value of a field that the plan changes,
   * nothing is changed: the response is 412 and names up to 100 of these rows, and `state` returns to `planned`.
   * Send `force` to leave them out and apply the others. The state must be `planned`, or `failed`; a failed plan
   * continues where it stopped. The body is optional.
   */
  applyPlan(id: number, body?: PlanApplication, options?: CallOptions): Promise<PlanResult> {
    return this.sendForBody("POST", path`/api/plans/${id}/apply`, { body, keyed: true }, options);
  }

  /**
   * Cancel a plan.
   *
   * Stops a plan after the rows that are being written. What was written stays, and can be undone. The state must
   * be `planning`, `planned` or `applying`.
   */
  cancelPlan(id: number, options?: CallOptions): Promise<PlanResult> {
    return this.sendForBody("POST", path`/api/plans/${id}/cancel`, { keyed: true }, options);
  }

  /**
   * Undo a plan.
   *
   * Restores the products that a plan has changed, and deletes those that it has created. A product is kept as it
   * is if a changed field no longer has the new value; its row has `changed`. The state must be `applied`, or
   * `failed` or `cancelled` with applied rows, until `expires_at`.
   */
  undoPlan(id: number, options?: CallOptions): Promise<PlanResult> {
    return this.sendForBody("POST", path`/api/plans/${id}/undo`, { keyed: true }, options);
  }

  /**
   * List imports.
   *
   * Returns a page of the stored imports, the newest first.
   */
  listImports(params: ListImportsParams = {}, options?: CallOptions): Promise<ImportList> {
    return this.sendForBody("GET", "/api/imports", { query: { ...params }, repeatable: true }, options);
  }

  /** All elements of {@link Operations.listImports}. The next page is requested when it is needed. */
  allImports(params: ListImportsParams = {}, options?: CallOptions): AsyncGenerator<ImportListed, void, undefined> {
    return this.pages("page", params.page, (page) => this.listImports({ ...params, page }, options));
  }

  /**
   * Get an import.
   *
   * Returns an import with its counts, totals and progress. Request it again while `state` is `planning`,
   * `applying` or `undoing`.
   */
  showImport(id: number, options?: CallOptions): Promise<Import> {
    return this.sendForData("GET", path`/api/imports/${id}`, { repeatable: true }, options);
  }

  /**
   * Change the settings of an import.
   *
   * Changes the settings that are in the request and computes the plan again. Null restores a default. Answer
   * `questions` this way. The state must be `needs_mapping` or `planned`.
   */
  configureImport(id: number, body: ImportSettingsChanges, options?: CallOptions): Promise<Import> {
    return this.sendForData("PATCH", path`/api/imports/${id}`, { body, repeatable: true }, options);
  }

  /**
   * List the rows of an import.
   *
   * Returns a page of the rows of the plan, in the order in which they are applied. After the import was applied,
   * `action` is what happened. Rows of products, stock and references need `products:read`, those of channels,
   * orders, refunds and cancellations `orders:read`, and those of customers `customers:read`. Without it, only
   * rows are returned that are ignored, or refused because of the file itself, whatever is stored, with their
   * place in the file and the fields that are not valid.
   */
  listImportRows(id: number, params: ListImportRowsParams = {}, options?: CallOptions): Promise<ImportRowList> {
    return this.sendForBody("GET", path`/api/imports/${id}/rows`, { query: { ...params }, repeatable: true }, options);
  }

  /** All elements of {@link Operations.listImportRows}. The next page is requested when it is needed. */
  allImportRows(id: number, params: ListImportRowsParams = {}, options?: CallOptions): AsyncGenerator<ImportRow, void, undefined> {
    return this.pages("page", params.page, (page) => this.listImportRows(id, { ...params, page }, options));
  }

  /**
   * Download the refused rows.
   *
   * Returns the refused rows as they are in the file, each once, with a last column `reason`. Correct the rows and
   * import the file: that column is ignored. In a file whose last column is `reason`, an import removes the
   * apostrophe before text that a spreadsheet would read as a formula. If the import has several files, the
   * response is a ZIP archive of one file for each.
   */
  exportRefusedRows(id: number, options?: CallOptions): Promise<FileDownload> {
    return this.sendForFile("GET", path`/api/imports/${id}/refused.csv`, { repeatable: true }, options);
  }

  /**
   * Apply an import.
   *
   * Makes the planned changes in the background. If objects have changed since the plan, nothing is written: the
   * state returns to `planned`, and `failure` has the number of rows, which the list of rows with `action=changed`
   * names. Send `skip_changed` to apply the other rows. The state must be `planned` or `failed`; a failed import
   * continues where it stopped. The body is optional.
   */
  applyImport(id: number, body?: ImportApplication, options?: CallOptions): Promise<Import> {
    return this.sendForData("POST", path`/api/imports/${id}/apply`, { body, keyed: true }, options);
  }

  /**
   * Cancel an import.
   *
   * Stops an import after the rows that are being written. What was written stays, and can be undone. The state
   * must be `planning`, `needs_mapping`, `planned` or `applying`.
   */
  cancelImport(id: number, options?: CallOptions): Promise<Import> {
    return this.sendForData("POST", path`/api/imports/${id}/cancel`, { keyed: true }, options);
  }

  /**
   * Undo an import.
   *
   * Undoes an import in the background, until seven days after it was applied. Products and names of customers get
   * their earlier values back, and what the import created is deleted. What has changed since is kept. The state
   * must be `applied`, or `failed` or `cancelled` after a part of it was applied.
   */
  undoImport(id: number, options?: CallOptions): Promise<Import> {
    return this.sendForData("POST", path`/api/imports/${id}/undo`, { keyed: true }, options);
  }

  /**
   * Get a sales summary.
   *
   * Returns the sales in a range of days: in total, by channel and by day. `compare` adds an earlier range.
   * `channel` filters all figures, also those of `comparison`.
   */
  salesSummary(params: SalesSummaryParams = {}, options?: CallOptions): Promise<SalesSummaryReport> {
    return this.sendForBody("GET", "/api/reports/sales-summary", { query: { ...params }, repeatable: true }, options);
  }

  /**
   * Get the best-selling products.
   *
   * Returns a page of the products with an item sold in the range, one row per product, best first. Rows with
   * equal values are sorted by revenue, then by id. A SKU that was never in the catalog has a row without
   * `product_id`. Deleted products are included, as they were sold. Without `from` and `to`, the range is the last
   * 30 days including today. The totals of all pages are in `meta`. Refunds of products without a sale in the
   * range are not included.
   */
  productReport(params: ProductReportParams = {}, options?: CallOptions): Promise<ProductReport> {
    return this.sendForBody("GET", "/api/reports/products", { query: { ...params }, repeatable: true }, options);
  }

  /** All elements of {@link Operations.productReport}. The next page is requested when it is needed. */
  allProductReport(params: ProductReportParams = {}, options?: CallOptions): AsyncGenerator<ProductReportRow, void, undefined> {
    return this.pages("page", params.page, (page) => this.productReport({ ...params, page }, options));
  }

  /**
   * Get sales by channel.
   *
   * Returns the channels with an order or a refund in the range, sorted by revenue, highest first.
   * `percent_of_total` adds up to exactly 100.00. Without `from` and `to`, the range is the last 30 days including
   * today. With `compare`, channels with sales only in the earlier range follow the others.
   */
  channelReport(params: ChannelReportParams = {}, options?: CallOptions): Promise<ChannelReport> {
    return this.sendForBody("GET", "/api/reports/channels", { query: { ...params }, repeatable: true }, options);
  }

  /**
   * Get sales by customer.
   *
   * Returns figures about all customers with an order in the range, and a page of these customers, best first.
   * Rows with equal values are sorted by id. A customer is new if the first order ever, in any channel, is in the
   * range. Orders, revenue and refunds are those of the range and the channel. Names and e-mail addresses are null
   * if the key does not have `customers:read`. Without `from` and `to`, the range is the last 30 days including
   * today.
   */
  customerReport(params: CustomerReportParams = {}, options?: CallOptions): Promise<CustomerReportResult> {
    return this.sendForBody("GET", "/api/reports/customers", { query: { ...params }, repeatable: true }, options);
  }

  /**
   * Create a custom report.
   *
   * Returns the requested metrics by group and in total. Sales must match all filters; a filter matches if one of
   * its values matches. Days, weeks and months are in chronological order. Other groups are sorted by the first
   * metric, highest first, then by label. A week is named by its Monday and contains only the days in the range.
   */
  customReport(body: CustomReportQuery, options?: CallOptions): Promise<CustomReportResult> {
    return this.sendForBody("POST", "/api/reports/custom", { body, repeatable: true }, options);
  }

  /**
   * Reconcile a range.
   *
   * Returns every figure of a range, calculated from the stored orders (`facts`) and from the sums of each report.
   * `balanced` reports whether all values are equal. A value is null if it cannot be calculated that way: for
   * example, one order can contain several products.
   */
  reconcile(params: ReconcileParams = {}, options?: CallOptions): Promise<ReconciliationResult> {
    return this.sendForBody("GET", "/api/reports/reconcile", { query: { ...params }, repeatable: true }, options);
  }

  /**
   * List what changed in a range.
   *
   * Returns the orders, refunds, cancellations and undone imports that changed days of a range since a time, in
   * the order of `GET /api/changes`. Cancellations and imports can change days long ago, so use it to find out why
   * a figure of a closed month is another one: remember `meta.changed_at` of a report, and list what changed since
   * when it is later.
   */
  reportChanges(params: ReportChangesParams = {}, options?: CallOptions): Promise<ReportChangeList> {
    return this.sendForBody("GET", "/api/reports/changes", { query: { ...params }, repeatable: true }, options);
  }

  /** All elements of {@link Operations.reportChanges}. The next page is requested when it is needed. */
  allReportChanges(params: ReportChangesParams = {}, options?: CallOptions): AsyncGenerator<ReportChange, void, undefined> {
    return this.pages("after", params.after, (after) => this.reportChanges({ ...params, after }, options));
  }

  /**
   * Export a report as a file.
   *
   * Returns all rows of a report in its order. Each type accepts only the filters of its JSON report:
   * `sales-summary` accepts `from` and `to` (required), `channel`, `compare` and `compare_until`; `products`
   * accepts `from`, `to`, `category_id`, `sort` and `direction`; `channels` accepts `from`, `to`, `compare` and
   * `compare_until`; `customers` accepts `from`, `to`, `channel`, `sort` and `direction`. An unknown type returns
   * `NOT_FOUND`.
   */
  exportReport(type: ExportReportType, params: ExportReportParams = {}, options?: CallOptions): Promise<FileDownload> {
    return this.sendForFile("GET", path`/api/reports/export/${type}`, { query: { ...params }, repeatable: true }, options);
  }

  /**
   * Get the tenant and the key.
   *
   * Returns the tenant, the key with its permissions, the rate limit as in the headers of this response, and what
   * is used of the quotas. Every valid key can use this operation.
   */
  showMe(options?: CallOptions): Promise<Me> {
    return this.sendForData("GET", "/api/me", { repeatable: true }, options);
  }

  /**
   * Get the usage of the API keys.
   *
   * Returns the requests of each key of the tenant in a range of days, by default the last seven: by route and
   * status class, refusals by the rate limit, durations, the busiest minute, and the last errors. Keys without
   * requests in the range are not listed; revoked, expired and rolled keys are. Requests without a valid key are
   * not recorded. Usage is kept for 90 days. The last ten seconds may be missing.
   */
  showUsage(params: ShowUsageParams = {}, options?: CallOptions): Promise<Usage> {
    return this.sendForData("GET", "/api/usage", { query: { ...params }, repeatable: true }, options);
  }
}
