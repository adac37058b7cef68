"""Types and methods. Generated from openapi.yaml by api/sdk/generate. Do not edit."""

from __future__ import annotations

from typing import Any, Iterator, Literal, NotRequired, TypedDict, Unpack

from .transport import APIError, CallOptions, Decimal, File, Object, Transport, error_class, path


@error_class("INVALID_JSON")
class InvalidJsonError(APIError):
    """The code INVALID_JSON."""


@error_class("INVALID_PARAMETER")
class InvalidParameterError(APIError):
    """The code INVALID_PARAMETER."""


@error_class("INVALID_HEADER")
class InvalidHeaderError(APIError):
    """The code INVALID_HEADER."""


@error_class("MISSING_API_KEY")
class MissingAPIKeyError(APIError):
    """The code MISSING_API_KEY."""


@error_class("INVALID_API_KEY")
class InvalidAPIKeyError(APIError):
    """The code INVALID_API_KEY."""


@error_class("INSUFFICIENT_PERMISSIONS")
class InsufficientPermissionsError(APIError):
    """The code INSUFFICIENT_PERMISSIONS."""


@error_class("TENANT_SUSPENDED")
class TenantSuspendedError(APIError):
    """The code TENANT_SUSPENDED."""


@error_class("QUOTA_EXCEEDED")
class QuotaExceededError(APIError):
    """The code QUOTA_EXCEEDED."""


@error_class("NOT_FOUND")
class NotFoundError(APIError):
    """The code NOT_FOUND."""


@error_class("ROUTE_NOT_FOUND")
class RouteNotFoundError(APIError):
    """The code ROUTE_NOT_FOUND."""


@error_class("METHOD_NOT_ALLOWED")
class MethodNotAllowedError(APIError):
    """The code METHOD_NOT_ALLOWED."""


@error_class("RESOURCE_IN_USE")
class ResourceInUseError(APIError):
    """The code RESOURCE_IN_USE."""


@error_class("INVALID_STATE")
class InvalidStateError(APIError):
    """The code INVALID_STATE."""


@error_class("IDEMPOTENCY_IN_PROGRESS")
class IdempotencyInProgressError(APIError):
    """The code IDEMPOTENCY_IN_PROGRESS."""


@error_class("CURSOR_EXPIRED")
class CursorExpiredError(APIError):
    """The code CURSOR_EXPIRED."""


@error_class("PRECONDITION_FAILED")
class PreconditionFailedError(APIError):
    """The code PRECONDITION_FAILED."""


@error_class("PAYLOAD_TOO_LARGE")
class PayloadTooLargeError(APIError):
    """The code PAYLOAD_TOO_LARGE."""


@error_class("UNSUPPORTED_MEDIA_TYPE")
class UnsupportedMediaTypeError(APIError):
    """The code UNSUPPORTED_MEDIA_TYPE."""


@error_class("VALIDATION_ERROR")
class ValidationError(APIError):
    """The code VALIDATION_ERROR."""


@error_class("INSUFFICIENT_STOCK")
class InsufficientStockError(APIError):
    """The code INSUFFICIENT_STOCK."""


@error_class("IDEMPOTENCY_KEY_REUSED")
class IdempotencyKeyReusedError(APIError):
    """The code IDEMPOTENCY_KEY_REUSED."""


@error_class("RATE_LIMIT_EXCEEDED")
class RateLimitExceededError(APIError):
    """The code RATE_LIMIT_EXCEEDED."""


@error_class("INTERNAL_ERROR")
class InternalError(APIError):
    """The code INTERNAL_ERROR."""


@error_class("SERVICE_UNAVAILABLE")
class ServiceUnavailableError(APIError):
    """The code SERVICE_UNAVAILABLE."""

# `active` products are for sale, `draft` products are not.
# A later release can add values.
Status = Literal["active", "draft"] | str

# A later release can add values.
Condition = Literal["new", "like_new", "used", "refurbished", "for_parts"] | str

# What happens to an order for more than is in stock: `refuse` it, or `accept` it with what there is
# and mark it as `short`. The default is `refuse`.
# A later release can add values.
WhenShort = Literal["refuse", "accept"] | str

# The state of a plan.
# A later release can add values.
PlanState = Literal["planning", "planned", "applying", "applied", "undoing", "undone", "cancelled", "failed"] | str

# What a row becomes.
# A later release can add values.
ImportKind = Literal["category", "seller", "warehouse", "product", "stock", "channel", "customer", "order", "refund", "cancellation"] | str

# What happens to a row.
# A later release can add values.
ImportAction = Literal["created", "updated", "unchanged", "refused", "ignored"] | str

# A later release can add values.
Compare = Literal["previous_period", "previous_year", "previous_year_weekday"] | str

# A later release can add values.
Metric = Literal["revenue", "orders", "avg_order_value", "gross_profit", "margin_percent", "units_sold", "discounts", "tax", "refunds", "gross_sales", "net_revenue", "shipping", "total", "items", "net_gross_profit", "net_margin_percent", "units_returned", "refunded_revenue", "returned_cost"] | str

# A later release can add values.
GroupBy = Literal["day", "week", "month", "channel", "category", "seller"] | str

# A period that ends today or earlier, in the tenant's time zone.
# A later release can add values.
PeriodPreset = Literal["today", "yesterday", "last_7_days", "last_30_days", "last_90_days", "this_month", "last_month", "this_quarter", "this_year", "last_year"] | str

# A later release can add values.
Unit = Literal["money", "percent", "count"] | str

# An error code. Each code always has the same status.
# A later release can add values.
ErrorCode = Literal["INVALID_JSON", "INVALID_PARAMETER", "INVALID_HEADER", "MISSING_API_KEY", "INVALID_API_KEY", "INSUFFICIENT_PERMISSIONS", "TENANT_SUSPENDED", "QUOTA_EXCEEDED", "NOT_FOUND", "ROUTE_NOT_FOUND", "METHOD_NOT_ALLOWED", "RESOURCE_IN_USE", "INVALID_STATE", "IDEMPOTENCY_IN_PROGRESS", "CURSOR_EXPIRED", "PRECONDITION_FAILED", "PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE", "VALIDATION_ERROR", "INSUFFICIENT_STOCK", "IDEMPOTENCY_KEY_REUSED", "RATE_LIMIT_EXCEEDED", "INTERNAL_ERROR", "SERVICE_UNAVAILABLE"] | str

# A later release can add values.
ListProductsSort = Literal["name", "sku", "price", "created_at"] | str

# A later release can add values.
Direction = Literal["asc", "desc"] | str


class ProductList(Object):
    """ProductList."""
    data: list[Product]
    meta: ListMeta
    """The position of a page, or the position of `cursor`."""
    _classes = {"data": "Product", "meta": "ListMeta"}


class Product(Object):
    """A product. All fields are always present. Missing values are null, and missing lists are `[]`."""
    id: int
    sku: str
    """Unique in the tenant, compared exactly."""
    name: str
    description: str | None
    """HTML, returned exactly as it was sent."""
    price: str
    msrp: str | None
    cost: str | None
    status: Status
    condition: Condition
    quantity: int
    """Units in all warehouses."""
    reorder_point: int | None
    """Units. Your threshold for reordering."""
    category: Named | None
    seller: Named | None
    warehouse: Named
    bin_location: str | None
    upc: str | None
    """The digits of the barcode, including leading zeros."""
    tags: list[str]
    images: list[Image]
    created_at: str
    updated_at: str
    _classes = {"category": "Named", "seller": "Named", "warehouse": "Named", "images": "Image"}


class Named(Object):
    """An object that a product refers to."""
    id: int
    name: str


class Image(Object):
    """Image."""
    id: int
    url: str
    """An absolute URL."""
    position: int
    thumbnails: ImageThumbnails | None
    """Absolute URLs of smaller pictures for lists, by width in pixels. The height is at most twice the
    width. A size that the picture already fits has the URL of the picture itself. Null if the image is
    on another server.
    """
    _classes = {"thumbnails": "ImageThumbnails"}


class ImageThumbnails(Object):
    """Absolute URLs of smaller pictures for lists, by width in pixels. The height is at most twice the
    width. A size that the picture already fits has the URL of the picture itself. Null if the image is
    on another server.
    """
    width_160: str
    width_480: str
    width_1200: str


class Meta(Object):
    """The position of the page in the list."""
    page: int
    per_page: int
    total: int
    """The exact number of matching objects."""
    total_pages: int
    has_next: bool
    has_prev: bool


class WalkMeta(Object):
    """The position in the list, for requests with `cursor`."""
    per_page: int
    total: int
    """The exact number of matching objects."""
    next_cursor: str | None
    """The `cursor` for the next request, or null at the end of the list."""


class ListMeta(Object):
    """ListMeta."""
    page: int | None = None
    per_page: int
    total: int
    """The exact number of matching objects."""
    total_pages: int | None = None
    has_next: bool | None = None
    has_prev: bool | None = None
    next_cursor: str | None = None
    """The `cursor` for the next request, or null at the end of the list."""


class NewProduct(TypedDict):
    """A product for POST and PUT."""
    sku: str
    """Trimmed. Unique in the tenant. Must not contain control characters and must not be `.` or `..`."""
    name: str
    """Trimmed. Must not contain control characters."""
    description: NotRequired[str | None]
    """HTML, stored exactly as sent."""
    price: str | Decimal | int
    msrp: NotRequired[str | Decimal | int | None]
    cost: NotRequired[str | Decimal | int | None]
    status: NotRequired[Status]
    """A new product without it is `active`."""
    condition: NotRequired[Condition]
    """A new product without it is `new`."""
    quantity: NotRequired[int]
    """Units in all warehouses. A new product without it has 0."""
    reorder_point: NotRequired[int | None]
    category_id: NotRequired[int | None]
    seller_id: NotRequired[int | None]
    warehouse_id: NotRequired[int]
    """The product's own warehouse. The default is the tenant's default warehouse."""
    bin_location: NotRequired[str | None]
    """Must not contain control characters."""
    upc: NotRequired[str | None]
    tags: NotRequired[list[str]]
    """Trimmed. Exact duplicates are removed, and the order is kept. At most 50 different tags."""


class ProductItems(TypedDict):
    """The rows of a bulk request. An invalid row is reported in its row of the response."""
    items: list[ProductItemsItem]


class ProductItemsItem(TypedDict):
    """ProductItemsItem."""
    sku: str
    """Trimmed. Unique in the tenant. Must not contain control characters and must not be `.` or `..`."""
    name: NotRequired[str]
    """Trimmed. Must not contain control characters."""
    description: NotRequired[str | None]
    """HTML, stored exactly as sent."""
    price: NotRequired[str | Decimal | int]
    msrp: NotRequired[str | Decimal | int | None]
    cost: NotRequired[str | Decimal | int | None]
    status: NotRequired[Status]
    """A new product without it is `active`."""
    condition: NotRequired[Condition]
    """A new product without it is `new`."""
    quantity: NotRequired[int]
    """Units in all warehouses. A new product without it has 0."""
    reorder_point: NotRequired[int | None]
    category_id: NotRequired[int | None]
    seller_id: NotRequired[int | None]
    warehouse_id: NotRequired[int]
    """The product's own warehouse. The default is the tenant's default warehouse."""
    bin_location: NotRequired[str | None]
    """Must not contain control characters."""
    upc: NotRequired[str | None]
    tags: NotRequired[list[str]]
    """Trimmed. Exact duplicates are removed, and the order is kept. At most 50 different tags."""
    images: NotRequired[list[str] | None]
    """URLs of images, which replace the product's images. An image whose URL the product already has keeps
    its id. An empty array and the objects of a response are ignored.
    """


class BulkResult(Object):
    """BulkResult."""
    data: list[BulkRow]
    meta: BulkMeta
    _classes = {"data": "BulkRow", "meta": "BulkMeta"}


class BulkRow(Object):
    """The result of a row."""
    index: int
    """The position in `items`, starting at 0."""
    sku: str | None
    """The SKU of the row, or null if it has none."""
    status: BulkRowStatus
    id: int | None
    """The id of the product, or null if the product does not exist."""
    error: Fault | None = None
    """Present if the row failed."""
    _classes = {"error": "Fault"}

# A later release can add values.
BulkRowStatus = Literal["created", "updated", "unchanged", "failed"] | str


class Fault(Object):
    """An error."""
    code: ErrorCode
    message: str
    """A message for people. It may change."""
    details: dict[str, list[str]] | None = None
    """The errors by the name of the parameter, header or field."""
    changed: list[PlanRowChanged] | None = None
    """The rows of a plan that something else has changed, up to 100."""
    _classes = {"changed": "PlanRowChanged"}


class PlanRowChanged(Object):
    """A row that something else has changed."""
    sku: str
    id: int | None
    fields: list[str]
    """The changed fields. Empty if the product was created or deleted."""
    reason: str


class BulkMeta(Object):
    """The number of rows by result."""
    total: int
    created: int
    updated: int
    unchanged: int
    failed: int


class PlanResult(Object):
    """PlanResult."""
    data: Plan
    meta: PlanMeta
    _classes = {"data": "Plan", "meta": "PlanMeta"}


class Plan(Object):
    """A plan of changes of products."""
    id: int
    title: str
    """What the plan changes."""
    state: PlanState
    created_at: str
    created_by: str
    """`API key` and the name of the key, for example `API key Till`."""
    planned_at: str | None
    applied_at: str | None
    expires_at: str
    """Until when the plan is kept, and can be undone if it was applied."""
    failure: str | None
    """Why the plan failed, was not applied or waits."""
    url: str | None
    """The page of the plan."""
    counts: PlanCounts
    """The numbers of rows by what happens to them. Skipped rows were changed by something else, so they
    were not applied or not undone.
    """
    progress: PlanProgress
    """How many rows are done in the current state. `of` is null while the plan is computed."""
    rows: list[PlanRow]
    _classes = {"counts": "PlanCounts", "progress": "PlanProgress", "rows": "PlanRow"}


class PlanCounts(Object):
    """The numbers of rows by what happens to them. Skipped rows were changed by something else, so they
    were not applied or not undone.
    """
    created: int
    updated: int
    unchanged: int
    refused: int
    skipped: int


class PlanProgress(Object):
    """How many rows are done in the current state. `of` is null while the plan is computed."""
    rows: int
    of: int | None


class PlanRow(Object):
    """A product of a plan."""
    index: int | None
    """The index in a bulk request."""
    sku: str | None
    """Null if a row of a bulk request has none."""
    id: int | None
    """Null if the product did not exist."""
    action: PlanRowAction
    old: dict[str, Any] | None
    """The stored values of the fields that change."""
    new: dict[str, Any] | None
    """The new values of the fields that change."""
    errors: dict[str, list[str]]
    """Why the row is refused, by field. The key is empty for the whole row."""
    changed: PlanRowChanged | None
    """Set if something else has changed the row, so that it was not applied or not undone."""
    _classes = {"changed": "PlanRowChanged"}

# A later release can add values.
PlanRowAction = Literal["created", "updated", "unchanged", "refused"] | str


class PlanMeta(Object):
    """The id of the plan, and where its next rows are."""
    plan_id: int
    url: str | None
    """The page of the plan."""
    per_page: int
    total: int
    """The number of rows."""
    next_cursor: str | None
    """Null after the last row."""


class ProductPlan(TypedDict):
    """A change of all products that match a filter. At least one field besides `filter` is required."""
    filter: ProductPlanFilter
    """The filter parameters of `GET /api/products`, with the same meaning. `{}` selects all products."""
    set: NotRequired[ProductFields]
    """New values of fields, except `sku`. Null clears a field."""
    adjust_price_percent: NotRequired[str | Decimal | int]
    """The percentage to add to prices, from -1000 to 1000 with at most two fraction digits. Cannot be
    combined with `set.price`. It must not be 0.
    """
    add_tags: NotRequired[list[str]]
    """Tags to add. Cannot be combined with `set.tags`."""
    remove_tags: NotRequired[list[str]]
    """Tags to remove. Cannot be combined with `set.tags`."""

ProductPlanFilter = TypedDict("ProductPlanFilter", {
    "search": "NotRequired[str]",
    "status": "NotRequired[Status]",
    "category_id": "NotRequired[int]",
    "category": "NotRequired[int]",
    "seller_id": "NotRequired[int]",
    "warehouse_id": "NotRequired[int]",
    "tag": "NotRequired[str]",
    "from": "NotRequired[str]",
    "to": "NotRequired[str]",
    "period": "NotRequired[PeriodPreset]",
    "updated_since": "NotRequired[str]",
})


class ProductFields(TypedDict):
    """The fields of a product in a request."""
    sku: NotRequired[str]
    """Trimmed. Unique in the tenant. Must not contain control characters and must not be `.` or `..`."""
    name: NotRequired[str]
    """Trimmed. Must not contain control characters."""
    description: NotRequired[str | None]
    """HTML, stored exactly as sent."""
    price: NotRequired[str | Decimal | int]
    msrp: NotRequired[str | Decimal | int | None]
    cost: NotRequired[str | Decimal | int | None]
    status: NotRequired[Status]
    """A new product without it is `active`."""
    condition: NotRequired[Condition]
    """A new product without it is `new`."""
    quantity: NotRequired[int]
    """Units in all warehouses. A new product without it has 0."""
    reorder_point: NotRequired[int | None]
    category_id: NotRequired[int | None]
    seller_id: NotRequired[int | None]
    warehouse_id: NotRequired[int]
    """The product's own warehouse. The default is the tenant's default warehouse."""
    bin_location: NotRequired[str | None]
    """Must not contain control characters."""
    upc: NotRequired[str | None]
    tags: NotRequired[list[str]]
    """Trimmed. Exact duplicates are removed, and the order is kept. At most 50 different tags."""

# A later release can add values.
ExportProductsFormat = Literal["csv", "xlsx", "ndjson"] | str


class ProductChanges(TypedDict):
    """The fields of a product to change with PATCH."""
    sku: NotRequired[str]
    """Trimmed. Unique in the tenant. Must not contain control characters and must not be `.` or `..`."""
    name: NotRequired[str]
    """Trimmed. Must not contain control characters."""
    description: NotRequired[str | None]
    """HTML, stored exactly as sent."""
    price: NotRequired[str | Decimal | int]
    msrp: NotRequired[str | Decimal | int | None]
    cost: NotRequired[str | Decimal | int | None]
    status: NotRequired[Status]
    """A new product without it is `active`."""
    condition: NotRequired[Condition]
    """A new product without it is `new`."""
    quantity: NotRequired[int]
    """Units in all warehouses. A new product without it has 0."""
    reorder_point: NotRequired[int | None]
    category_id: NotRequired[int | None]
    seller_id: NotRequired[int | None]
    warehouse_id: NotRequired[int]
    """The product's own warehouse. The default is the tenant's default warehouse."""
    bin_location: NotRequired[str | None]
    """Must not contain control characters."""
    upc: NotRequired[str | None]
    tags: NotRequired[list[str]]
    """Trimmed. Exact duplicates are removed, and the order is kept. At most 50 different tags."""


class NewImage(TypedDict):
    """NewImage."""
    url: str
    """An absolute URL, `http` or `https`, without a user name."""


class ImageChanges(TypedDict):
    """ImageChanges."""
    position: int


class Inventory(Object):
    """The stock of a product."""
    product_id: int
    quantity: int
    """Units in all warehouses."""
    warehouses: list[InventoryWarehouse]
    _classes = {"warehouses": "InventoryWarehouse"}


class InventoryWarehouse(Object):
    """InventoryWarehouse."""
    warehouse: Named
    quantity: int
    """Units in this warehouse."""
    _classes = {"warehouse": "Named"}


class NewAdjustment(TypedDict):
    """A stock adjustment."""
    type: NewAdjustmentType
    quantity: int
    """The number of units to add or remove (at least 1), or the new number (at least 0)."""
    warehouse_id: NotRequired[int | None]
    """The warehouse whose stock changes. The default is the product's own warehouse."""
    notes: NotRequired[str | None]
    expected_quantity: NotRequired[int | None]
    """The expected total of the product. If the total is different, the response is 412
    `PRECONDITION_FAILED`.
    """

# A later release can add values.
NewAdjustmentType = Literal["add", "remove", "set"] | str


class ProductAdjustedData(Object):
    """ProductAdjustedData."""
    id: int
    sku: str
    """Unique in the tenant, compared exactly."""
    name: str
    description: str | None
    """HTML, returned exactly as it was sent."""
    price: str
    msrp: str | None
    cost: str | None
    status: Status
    condition: Condition
    quantity: int
    """Units in all warehouses."""
    reorder_point: int | None
    """Units. Your threshold for reordering."""
    category: Named | None
    seller: Named | None
    warehouse: Named
    bin_location: str | None
    upc: str | None
    """The digits of the barcode, including leading zeros."""
    tags: list[str]
    images: list[Image]
    created_at: str
    updated_at: str
    adjustment: Adjustment
    _classes = {"category": "Named", "seller": "Named", "warehouse": "Named", "images": "Image", "adjustment": "Adjustment"}


class Adjustment(Object):
    """A recorded stock adjustment. It never changes."""
    id: int
    type: NewAdjustmentType
    quantity: int
    """The number of units in the request."""
    warehouse_id: int
    quantity_before: int
    """The product's total before the adjustment."""
    quantity_after: int
    """The product's total after the adjustment."""
    notes: str | None
    order_number: str | None
    """The order that changed the stock."""
    reason: AdjustmentReason | None
    """Why the order changed the stock."""
    api_key: Named | None
    """The API key of the request. Null if it was not made with an API key, and for an import or a plan
    that was applied or undone in the background (202).
    """
    created_at: str
    _classes = {"api_key": "Named"}

# Why the order changed the stock.
# A later release can add values.
AdjustmentReason = Literal["sale", "cancellation", "refund"] | str


class AdjustmentList(Object):
    """AdjustmentList."""
    data: list[Adjustment]
    meta: Meta
    _classes = {"data": "Adjustment", "meta": "Meta"}

# A later release can add values.
ListCategoriesSort = Literal["name", "created_at"] | str


class ReferenceList(Object):
    """ReferenceList."""
    data: list[Reference]
    meta: Meta
    _classes = {"data": "Reference", "meta": "Meta"}


class Reference(Object):
    """A category or a seller."""
    id: int
    name: str
    created_at: str
    updated_at: str


class NewReference(TypedDict):
    """A category, seller or warehouse for POST."""
    name: str
    """Trimmed. Unique in the tenant. Must not contain control characters."""


class ReferenceChanges(TypedDict):
    """The fields of a category, seller or warehouse to change with PATCH."""
    name: NotRequired[str]
    """Trimmed. Unique in the tenant. Must not contain control characters."""


class WarehouseList(Object):
    """WarehouseList."""
    data: list[Warehouse]
    meta: Meta
    _classes = {"data": "Warehouse", "meta": "Meta"}


class Warehouse(Object):
    """A warehouse."""
    id: int
    name: str
    is_default: bool
    """Whether products without a warehouse belong to this warehouse."""
    created_at: str
    updated_at: str


class ChannelList(Object):
    """ChannelList."""
    data: list[Channel]
    meta: Meta
    _classes = {"data": "Channel", "meta": "Meta"}


class Channel(Object):
    """A sales channel."""
    identifier: str
    label: str
    takes_stock: bool
    """Whether orders take their items from stock."""
    when_short: WhenShort
    warehouse: Named | None
    """The warehouse that orders take from. Null is the warehouse of each product."""
    created_at: str
    updated_at: str
    _classes = {"warehouse": "Named"}


class NewChannel(TypedDict):
    """A channel for POST."""
    identifier: str
    """Unique in the tenant. In PATCH it must be the current identifier."""
    label: str
    """The name to display. Trimmed. Must not contain control characters."""
    takes_stock: NotRequired[bool]
    """Whether orders take their items from stock. The default is false."""
    when_short: NotRequired[WhenShort]
    warehouse_id: NotRequired[int | None]
    """The warehouse that orders take from. Null is the warehouse of each product."""
    warehouse: NotRequired[NewChannelWarehouse | None]
    """The same as `warehouse_id`, in the form of a response."""


class NewChannelWarehouse(TypedDict):
    """The same as `warehouse_id`, in the form of a response."""
    id: int


class ChannelChanges(TypedDict):
    """The fields of a channel to change with PATCH."""
    identifier: NotRequired[str]
    """Unique in the tenant. In PATCH it must be the current identifier."""
    label: NotRequired[str]
    """The name to display. Trimmed. Must not contain control characters."""
    takes_stock: NotRequired[bool]
    """Whether orders take their items from stock. The default is false."""
    when_short: NotRequired[WhenShort]
    warehouse_id: NotRequired[int | None]
    """The warehouse that orders take from. Null is the warehouse of each product."""
    warehouse: NotRequired[ChannelChangesWarehouse | None]
    """The same as `warehouse_id`, in the form of a response."""


class ChannelChangesWarehouse(TypedDict):
    """The same as `warehouse_id`, in the form of a response."""
    id: int

# A later release can add values.
ListOrdersStatus = Literal["placed", "cancelled"] | str

# A later release can add values.
ListOrdersSort = Literal["placed_at", "number"] | str


class OrderList(Object):
    """OrderList."""
    data: list[ListedOrder]
    meta: ListMeta
    """The position of a page, or the position of `cursor`."""
    _classes = {"data": "ListedOrder", "meta": "ListMeta"}


class ListedOrder(Object):
    """An order in a list."""
    id: int
    number: str
    status: ListOrdersStatus
    """`cancelled` orders are excluded from reports."""
    placed_at: str
    cancelled_at: str | None
    channel: str
    customer: Customer | None
    """Null for a guest order."""
    revenue: str
    """Quantity × price of all items − all discounts, without tax. Refunds are not subtracted."""
    discount_total: str
    tax_total: str
    shipping_total: str
    cost_total: str
    """Quantity × cost of the items with a cost."""
    refunded_total: str
    units: int
    """Units."""
    units_without_cost: int
    """Units without a cost."""
    short: bool
    """Whether the order took less from stock than it has items."""
    created_at: str
    updated_at: str
    """When the order, its last refund or its cancellation was stored."""
    item_count: int
    """The number of items of the order."""
    _classes = {"customer": "Customer"}


class Customer(Object):
    """A customer. The name and the e-mail address are null if they are unknown or were erased, or if the
    key does not have `customers:read`.
    """
    id: str
    """The id that was sent in orders."""
    name: str | None
    email: str | None


class NewOrder(TypedDict):
    """An order in a request. A field that is null counts as missing."""
    number: str
    """Your number of the order. Trimmed. Unique in the tenant. Must not contain control characters and
    must not be `.` or `..`.
    """
    placed_at: str
    channel: str
    customer: NotRequired[NewCustomer | None]
    """The customer. If missing, the order is a guest order."""
    discount_total: NotRequired[str | Decimal | int | None]
    """All discounts, including the discounts of the items: at least their sum, at most the value of the
    items. The default is the sum of the discounts of the items.
    """
    tax_total: NotRequired[str | Decimal | int | None]
    """Tax in addition to the prices. The default is 0."""
    shipping_total: NotRequired[str | Decimal | int | None]
    """Shipping in addition to the prices. The default is 0."""
    take_stock: NotRequired[bool]
    """False takes nothing from stock. The default is true, for channels that take stock."""
    items: list[NewItem]


class NewCustomer(TypedDict):
    """A customer in a request. A name or an e-mail address replaces the stored one; if missing, the stored
    one is kept.
    """
    id: str | int
    """Your id of the customer. An integer is converted to its digits."""
    name: NotRequired[str | None]
    """Trimmed. Must not contain control characters."""
    email: NotRequired[str | None]
    """Trimmed. Must contain an `@`."""


class NewItem(TypedDict):
    """An item of an order. Quantity × price and quantity × cost are at most 9999999999.99."""
    sku: str
    """Trimmed. An unknown SKU is stored as sent."""
    quantity: int
    unit_price: str | Decimal | int
    unit_cost: NotRequired[str | Decimal | int | None]
    """The cost of one unit. The default is the current cost of the product."""
    discount: NotRequired[str | Decimal | int | None]
    """The discount on the whole item, at most quantity × price. The default is 0."""


class Order(Object):
    """An order with its items and refunds."""
    id: int
    number: str
    status: ListOrdersStatus
    """`cancelled` orders are excluded from reports."""
    placed_at: str
    cancelled_at: str | None
    channel: str
    customer: Customer | None
    """Null for a guest order."""
    revenue: str
    """Quantity × price of all items − all discounts, without tax. Refunds are not subtracted."""
    discount_total: str
    tax_total: str
    shipping_total: str
    cost_total: str
    """Quantity × cost of the items with a cost."""
    refunded_total: str
    units: int
    """Units."""
    units_without_cost: int
    """Units without a cost."""
    short: bool
    """Whether the order took less from stock than it has items."""
    created_at: str
    updated_at: str
    """When the order, its last refund or its cancellation was stored."""
    items: list[Item]
    refunds: list[OrderRefund]
    _classes = {"customer": "Customer", "items": "Item", "refunds": "OrderRefund"}


class Item(Object):
    """An item as it was sold, with the name, category, seller and cost at the time the order was created."""
    line: int
    sku: str
    name: str
    """The SKU if the catalog did not contain the product."""
    product_id: int | None
    """Null if the catalog did not contain the SKU. The product can have been deleted since."""
    category: Named | None
    seller: Named | None
    quantity: int
    unit_price: str
    unit_cost: str | None
    discount: str
    """The discount of the item, including its share of the order's discount."""
    tax: str
    """The share of the order's tax."""
    shipping: str
    """The share of the order's shipping."""
    revenue: str
    """Quantity × price − discount."""
    refunded: str
    """The share of the order's refunds."""
    stock_taken: int
    """Units that were taken from stock."""
    stock_returned: int
    """Units that a cancellation or refunds returned to stock."""
    units_returned: int
    """Units that refunds returned, whether or not they came from stock."""
    _classes = {"category": "Named", "seller": "Named"}


class OrderRefund(Object):
    """A refund of an order."""
    id: int
    amount: str
    refunded_at: str
    reference: str | None
    created_at: str
    tax: str
    """The part of the amount that is tax."""
    shipping: str
    """The part of the amount that is shipping. The rest is revenue."""
    restock: bool
    """Whether the returned units were for sale again."""
    units_returned: int
    """The units that the refund returned."""
    items: list[RefundItem]
    """The items that the refund names or returns units of."""
    _classes = {"items": "RefundItem"}


class RefundItem(Object):
    """An item that a refund names or returns units of."""
    line: int
    quantity: int | None
    """The units that were returned, or null."""
    amount: str | None
    """The amount for the item, or null if the refund is for all items."""


class NewOrders(TypedDict):
    """The orders of a bulk request. An invalid order is reported in its row of the response."""
    orders: list[NewOrder]


class OrdersResult(Object):
    """OrdersResult."""
    data: list[OrderRow]
    meta: OrderMeta
    _classes = {"data": "OrderRow", "meta": "OrderMeta"}


class OrderRow(Object):
    """The result of one order of a bulk request."""
    index: int
    """The position in `orders`, starting at 0."""
    number: str | None
    """The number of the order, or null if it has none."""
    status: OrderRowStatus
    id: int | None
    """The id of the order, or null if the order does not exist."""
    short: bool | None = None
    """Present if the new order took less from stock than it has items."""
    error: Fault | None = None
    """Present if the row failed."""
    _classes = {"error": "Fault"}

# A later release can add values.
OrderRowStatus = Literal["created", "unchanged", "failed"] | str


class OrderMeta(Object):
    """The number of orders by result."""
    total: int
    created: int
    unchanged: int
    failed: int


class NewCancellation(TypedDict):
    """NewCancellation."""
    cancelled_at: NotRequired[str | None]
    """The default is now."""


class NewRefund(TypedDict):
    """A refund in a request."""
    amount: str | Decimal | int
    """At least 0.01."""
    refunded_at: NotRequired[str | None]
    """The time of the refund, which decides the day in reports. The default is now."""
    reference: NotRequired[str | None]
    """Your reference. Trimmed. Unique in the order."""
    tax: NotRequired[str | Decimal | int | None]
    """The part of the amount that is tax. Needs `shipping`. The default is the share of the order's tax."""
    shipping: NotRequired[str | Decimal | int | None]
    """The part of the amount that is shipping. Needs `tax`. The default is as for `tax`."""
    items: NotRequired[list[NewRefundItem] | None]
    """The items that the refund is for. Either all have an `amount`, and these add up to the amount of the
    refund, or none has. The default is all items of the order.
    """
    restock: NotRequired[bool]
    """Whether returned units are for sale again. They return to stock as far as the order has taken them.
    Without `items` and `restock_items`, all units return that were not returned yet. The default is
    false.
    """
    restock_items: NotRequired[list[NewRefundRestockItem] | None]
    """Return only these quantities, at most what no earlier refund returned. An item returns at most what
    it has taken. Needs `restock`, and excludes `items`.
    """


class NewRefundItem(TypedDict):
    """NewRefundItem."""
    line: int
    """The line of the item. Must occur once."""
    quantity: NotRequired[int | None]
    """The units that are returned. At most those that no earlier refund returned."""
    amount: NotRequired[str | Decimal | int | None]


class NewRefundRestockItem(TypedDict):
    """NewRefundRestockItem."""
    line: int
    """The line of the item. Must occur once."""
    quantity: int
    """At most that of the item."""


class Refund(Object):
    """A refund with its order."""
    id: int
    order_number: str
    amount: str
    refunded_at: str
    reference: str | None
    exceeds_paid: bool
    """Whether the refunds of the order exceed its revenue, tax and shipping."""
    created_at: str
    tax: str
    """The part of the amount that is tax."""
    shipping: str
    """The part of the amount that is shipping. The rest is revenue."""
    restock: bool
    """Whether the returned units were for sale again."""
    units_returned: int
    """The units that the refund returned."""
    items: list[RefundItem]
    """The items that the refund names or returns units of."""
    _classes = {"items": "RefundItem"}


class CustomerList(Object):
    """CustomerList."""
    data: list[ListedCustomer]
    meta: ListMeta
    """The position of a page, or the position of `cursor`."""
    _classes = {"data": "ListedCustomer", "meta": "ListMeta"}


class ListedCustomer(Object):
    """A customer in a list."""
    id: str
    """The id of the customer that the sender of the orders uses."""
    name: str | None
    email: str | None
    created_at: str
    erased_at: str | None
    """When the name and the e-mail address were erased."""


class WholeCustomer(Object):
    """A customer with the sums of its orders. Cancelled orders do not count."""
    id: str
    """The id of the customer that the sender of the orders uses."""
    name: str | None
    email: str | None
    created_at: str
    erased_at: str | None
    """When the name and the e-mail address were erased."""
    orders: int
    """Orders."""
    revenue: str
    refunds: str
    first_order_at: str | None
    last_order_at: str | None


class CustomerData(Object):
    """All data about a customer."""
    customer: WholeCustomer
    orders: list[Order]
    stored_responses: list[CustomerDataStoredResponse]
    _classes = {"customer": "WholeCustomer", "orders": "Order", "stored_responses": "CustomerDataStoredResponse"}


class CustomerDataStoredResponse(Object):
    """CustomerDataStoredResponse."""
    idempotency_key: str
    created_at: str
    body: dict[str, Any]
    """The response."""


class ChangeList(Object):
    """ChangeList."""
    data: list[Change]
    meta: ChangesMeta
    _classes = {"data": "Change", "meta": "ChangesMeta"}


class Change(Object):
    """A change of one object."""
    seq: str
    """The position of the entry, as a cursor for `after`."""
    type: ChangeType
    id: str
    """The id of the object as text. `stock` has the id of the product, `order` the number, `channel` the
    identifier, and `customer` the id that the sender gave it.
    """
    action: ChangeAction
    at: str
    api_key: Named | None
    """The API key of the request. `null` for a change by a person, a command, an import, or a plan that
    was applied or undone in the background (202).
    """
    changed: list[str]
    """The fields that an update changed."""
    data: dict[str, Any] | None
    """The object as its GET returns it when this page is read, or `null` if it no longer exists. `stock`
    is as in `GET /api/products/{id}/inventory`, and `refund` as in its order, with `order_number`. The
    name and e-mail address of a customer are `null` in orders if the key does not have
    `customers:read`.
    """
    _classes = {"api_key": "Named"}

# A later release can add values.
ChangeType = Literal["product", "stock", "category", "seller", "warehouse", "channel", "order", "refund", "customer"] | str

# A later release can add values.
ChangeAction = Literal["created", "updated", "deleted"] | str


class ChangesMeta(Object):
    """Where the feed continues."""
    next_cursor: str
    """The value of `after` for the next request."""
    has_more: bool
    """Whether there may be more entries already."""


class WebhookList(Object):
    """WebhookList."""
    data: list[Webhook]
    meta: Meta
    _classes = {"data": "Webhook", "meta": "Meta"}


class Webhook(Object):
    """An endpoint that gets the changes."""
    id: int
    url: str
    """Begins with `https://` and leads to a public address: messages to addresses of private or local
    networks are refused. It has no user name and no fragment.
    """
    description: str
    types: list[ChangeType]
    batch_size: int
    """The largest number of entries in a message. A message with large objects has fewer."""
    state: WebhookState
    pause_reason: WebhookPauseReason | None
    """`user`: a key or a member has paused it. `failing`: no attempt has succeeded for three days. `gone`:
    the receiver has answered 410. `expired`: the changes after `cursor` are no longer kept; replay
    continues. `maker_gone`: the key in `created_by` was revoked or has expired, or the member was
    removed. Who resumes the webhook is then its `created_by`.
    """
    paused_at: str | None
    failing_since: str | None
    """The time of the first failed attempt since the last success, or since the webhook was resumed,
    replayed or got another `url`.
    """
    failed_attempts: int
    """How many attempts have failed since the last success, or since the webhook was changed or replayed."""
    next_attempt_at: str | None
    """When a message that has failed is sent again."""
    cursor: str
    """The position after the last message that was accepted."""
    previous_secret_expires_at: str | None
    """Until when messages also have a signature of the secret before the last rotation."""
    created_at: str
    created_by: WebhookMaker | None
    """The key or the member that made the webhook. When the key is replaced by a new one, it is the new
    key. Null for webhooks of earlier releases, which go on, and for those that an operator has taken
    over.
    """
    updated_at: str
    secret: str | None = None
    """Only in responses that create or rotate it."""
    _classes = {"created_by": "WebhookMaker"}

# A later release can add values.
WebhookState = Literal["active", "paused"] | str

# `user`: a key or a member has paused it. `failing`: no attempt has succeeded for three days. `gone`:
# the receiver has answered 410. `expired`: the changes after `cursor` are no longer kept; replay
# continues. `maker_gone`: the key in `created_by` was revoked or has expired, or the member was
# removed. Who resumes the webhook is then its `created_by`.
# A later release can add values.
WebhookPauseReason = Literal["user", "failing", "gone", "expired", "maker_gone"] | str


class WebhookMaker(Object):
    """The key or the member that made a webhook."""
    type: WebhookMakerType
    id: int
    name: str
    """The name of the key, or the e-mail address of the member."""

# A later release can add values.
WebhookMakerType = Literal["key", "member"] | str


class NewWebhook(TypedDict):
    """A webhook to create."""
    url: str
    """Begins with `https://` and leads to a public address: messages to addresses of private or local
    networks are refused. It has no user name and no fragment.
    """
    description: NotRequired[str]
    types: NotRequired[list[ChangeType]]
    batch_size: NotRequired[int]
    """The largest number of entries in a message. A message with large objects has fewer. The default is
    100.
    """
    state: NotRequired[WebhookState]
    """The default is `active`."""


class WebhookChanges(TypedDict):
    """The fields to change."""
    url: NotRequired[str]
    """Begins with `https://` and leads to a public address: messages to addresses of private or local
    networks are refused. It has no user name and no fragment.
    """
    description: NotRequired[str]
    types: NotRequired[list[ChangeType]]
    batch_size: NotRequired[int]
    """The largest number of entries in a message. A message with large objects has fewer."""
    state: NotRequired[WebhookState]


class WebhookReplay(TypedDict):
    """Where a webhook continues."""
    after: str
    """A cursor, `""` or `now`."""


class WebhookDelivery(Object):
    """An attempt to deliver a message."""
    id: int
    at: str
    message_id: str
    """The `webhook-id`."""
    type: WebhookDeliveryType
    entries: int
    first_seq: str | None
    """The `seq` of the first entry."""
    last_seq: str | None
    """The `seq` of the last entry."""
    attempt: int
    """1 for the first attempt to deliver the message."""
    succeeded: bool
    status: int | None
    """The HTTP status; `null` without a response."""
    error: str | None
    """Why there is no response, or why the message was not sent because its objects could not be read."""
    latency_ms: int
    response: str
    """The first 1,024 bytes of the response; empty if changes were accepted."""

# A later release can add values.
WebhookDeliveryType = Literal["changes", "test"] | str


class WebhookDeliveryList(Object):
    """WebhookDeliveryList."""
    data: list[WebhookDelivery]
    meta: WebhookDeliveryListMeta
    _classes = {"data": "WebhookDelivery", "meta": "WebhookDeliveryListMeta"}


class WebhookDeliveryListMeta(Object):
    """WebhookDeliveryListMeta."""
    next_before: str | None
    """The value of `before` for older deliveries; `null` at the end."""


class PlanList(Object):
    """PlanList."""
    data: list[PlanListed]
    meta: Meta
    _classes = {"data": "PlanListed", "meta": "Meta"}


class PlanListed(Object):
    """A plan in a list."""
    id: int
    title: str
    """What the plan changes."""
    state: PlanState
    created_at: str
    created_by: str
    """`API key` and the name of the key, for example `API key Till`."""
    planned_at: str | None
    applied_at: str | None
    expires_at: str
    """Until when the plan is kept, and can be undone if it was applied."""
    failure: str | None
    """Why the plan failed, was not applied or waits."""
    url: str | None
    """The page of the plan."""

# A later release can add values.
ShowPlanAction = Literal["created", "updated", "unchanged", "refused", "changed"] | str


class PlanApplication(TypedDict):
    """How a plan is applied."""
    force: NotRequired[bool | None]
    """Leave out the rows that have changed since the plan. The default is false."""


class ImportList(Object):
    """ImportList."""
    data: list[ImportListed]
    meta: Meta
    _classes = {"data": "ImportListed", "meta": "Meta"}


class ImportListed(Object):
    """An import in a list."""
    id: int
    title: str
    """The names of the files."""
    state: ImportListedState
    created_at: str
    created_by: str
    """An e-mail address, or `API key` and the name of the key."""
    planned_at: str | None
    applied_at: str | None
    expires_at: str
    """Until when the plan is kept, and can be undone if it was applied."""
    failure: str | None
    """Why the import failed, was not applied or waits."""

# A later release can add values.
ImportListedState = Literal["planning", "needs_mapping", "planned", "applying", "applied", "undoing", "undone", "cancelled", "failed"] | str


class ImportSettings(TypedDict):
    """How to read the files. A missing setting has its default."""
    mapping: NotRequired[dict[str, dict[str, str]]]
    """The field of each column, by file: `{"sales.csv": {"Item no.": "sku"}}`. An empty field ignores the
    column. A file with a mapping is read as a plain spreadsheet.
    """
    date_order: NotRequired[ImportSettingsDateOrder]
    """Whether `01/02/2026` is 1 February (`dmy`)."""
    decimal: NotRequired[ImportSettingsDecimal]
    """The decimal mark."""
    timezone: NotRequired[str]
    """The IANA name of the time zone of times without one. The default is the tenant's."""
    channel: NotRequired[str]
    """The identifier of the channel of all orders."""
    missing_sku: NotRequired[ImportSettingsMissingSKU]
    """What to do with products without a SKU. `derive` uses their names."""
    refunds: NotRequired[ImportSettingsRefunds]
    """What to do with refunds without an order. `attach` finds an earlier order of the same item."""
    tax_included: NotRequired[ImportSettingsTaxIncluded]
    """Whether prices of a plain spreadsheet include tax."""
    charset: NotRequired[ImportSettingsCharset]
    """How the characters of texts that are not in UTF-8 are encoded, such as `windows-1250`."""
    repeated_sku: NotRequired[ImportSettingsRepeatedSKU]
    """What to do with rows that differ and have the same SKU. `derive` adds the options or the name;
    `last` takes the values of the last row.
    """
    rounding: NotRequired[ImportSettingsRounding]
    """What to do with amounts of more than two decimals."""
    cost: NotRequired[ImportSettingsCost]
    """What a column of costs of goods in a spreadsheet of orders is of."""
    discount: NotRequired[ImportSettingsDiscount]
    """What discounts between 0 and 1 in a spreadsheet of orders are."""
    tax: NotRequired[ImportSettingsTax]
    """What a tax that is equal in all rows of an order of a spreadsheet is of."""
    total: NotRequired[ImportSettingsTotal]
    """What a total without a price in a spreadsheet of orders is."""
    statuses: NotRequired[dict[str, ImportSettingsStatusesValue]]
    """What statuses of orders mean, by the status in lower case: `{"on hold": "unpaid"}`."""
    restore_zeros: NotRequired[bool]
    """Whether to restore leading zeros of barcodes that Excel removed."""

# Whether `01/02/2026` is 1 February (`dmy`).
# A later release can add values.
ImportSettingsDateOrder = Literal["dmy", "mdy"] | str

# The decimal mark.
# A later release can add values.
ImportSettingsDecimal = Literal[",", "."] | str

# What to do with products without a SKU. `derive` uses their names.
# A later release can add values.
ImportSettingsMissingSKU = Literal["derive", "refuse"] | str

# What to do with refunds without an order. `attach` finds an earlier order of the same item.
# A later release can add values.
ImportSettingsRefunds = Literal["attach", "leave_out"] | str

# Whether prices of a plain spreadsheet include tax.
# A later release can add values.
ImportSettingsTaxIncluded = Literal["yes", "no"] | str

# How the characters of texts that are not in UTF-8 are encoded, such as `windows-1250`.
# A later release can add values.
ImportSettingsCharset = Literal["windows-1252", "windows-1250", "windows-1251", "windows-1253", "windows-1254", "windows-1257", "shift_jis", "euc-jp", "gbk", "big5", "euc-kr", "koi8-r", "iso-8859-2", "iso-8859-5", "iso-8859-7", "macintosh"] | str

# What to do with rows that differ and have the same SKU. `derive` adds the options or the name;
# `last` takes the values of the last row.
# A later release can add values.
ImportSettingsRepeatedSKU = Literal["derive", "last", "refuse"] | str

# What to do with amounts of more than two decimals.
# A later release can add values.
ImportSettingsRounding = Literal["round", "refuse"] | str

# What a column of costs of goods in a spreadsheet of orders is of.
# A later release can add values.
ImportSettingsCost = Literal["unit", "line"] | str

# What discounts between 0 and 1 in a spreadsheet of orders are.
# A later release can add values.
ImportSettingsDiscount = Literal["amount", "percent"] | str

# What a tax that is equal in all rows of an order of a spreadsheet is of.
# A later release can add values.
ImportSettingsTax = Literal["order", "row"] | str

# What a total without a price in a spreadsheet of orders is.
# A later release can add values.
ImportSettingsTotal = Literal["before_discount", "after_discount"] | str

# A later release can add values.
ImportSettingsStatusesValue = Literal["sale", "unpaid", "refunded", "ignored", "cancelled"] | str


class Import(Object):
    """An import."""
    id: int
    title: str
    """The names of the files."""
    state: ImportListedState
    created_at: str
    created_by: str
    """An e-mail address, or `API key` and the name of the key."""
    planned_at: str | None
    applied_at: str | None
    expires_at: str
    """Until when the plan is kept, and can be undone if it was applied."""
    failure: str | None
    """Why the import failed, was not applied or waits."""
    files: list[ImportFile]
    settings: ImportSettings
    remembered: list[str]
    """The names of the settings that come from the last applied import of files with the same columns,
    such as `mapping` and `decimal`, without those that were changed since.
    """
    questions: list[ImportQuestion]
    """The questions that settings must answer before the plan can be computed."""
    counts: dict[str, ImportCountsValue]
    """The numbers of rows by kind and by what happens to them, of the kinds that the key may read. Skipped
    rows were changed by something else, so they were not applied or not undone.
    """
    totals: list[ImportTotal]
    """The sums of the orders by month and channel, to compare with the other system."""
    notes: list[ImportNote]
    progress: ImportProgress
    """The rows that are done in the current state. `of` is null while their number is not known."""
    _classes = {"files": "ImportFile", "questions": "ImportQuestion", "counts": "{}ImportCountsValue", "totals": "ImportTotal", "notes": "ImportNote", "progress": "ImportProgress"}


class ImportFile(Object):
    """A file of an import, also one in a ZIP archive."""
    name: str
    size: int
    """In bytes."""
    format: str
    """The format, such as `shopify_orders`. Empty if it needs a mapping."""
    sheet: str | None = None
    """The sheet of a workbook. Other sheets with rows have their own entries."""
    header: list[str] | None = None
    rows: int
    unused: list[str] | None = None
    """Columns without a meaning here."""
    mapping: dict[str, str] | None = None
    """The proposed or given field of each column."""
    examples: dict[str, list[str]] | None = None
    """Values by column."""
    problem: str | None = None
    """Why the file or the sheet is not read."""
    answered: list[str] | None = None
    """The settings that answer a question about the file, and are remembered for files with the same
    columns.
    """
    rounding: ImportFileRounding | None = None
    """The amounts with more than two decimals, which are refused unless the setting `rounding` is `round`."""
    _classes = {"rounding": "ImportFileRounding"}


class ImportFileRounding(Object):
    """The amounts with more than two decimals, which are refused unless the setting `rounding` is `round`."""
    count: int
    examples: list[str]
    change: str
    """What rounding adds to their sum."""


class ImportQuestion(Object):
    """ImportQuestion."""
    id: str
    """The name of the setting."""
    file: str
    column: str | None = None
    examples: list[str] | None = None
    choices: list[str] | None = None
    """The values of the setting."""
    readings: dict[str, list[str]] | None = None
    """What values or rows of the file are with each choice: `{"yes": ["1001: revenue 10.00, tax 1.90"]}`."""
    reason: str | None = None
    """What a mapping lacks, or must not have."""


class ImportCountsValue(Object):
    """ImportCountsValue."""
    created: int
    updated: int
    unchanged: int
    refused: int
    ignored: int
    skipped: int


class ImportTotal(Object):
    """The sums of a month and a channel. Refunds have a separate total, with the channel null."""
    month: str
    channel: str | None
    orders: int
    revenue: str
    discounts: str
    tax: str
    shipping: str
    refunds: str
    total: str
    theirs: dict[str, str] | None = None
    """The sums of amounts in the files, by column."""


class ImportNote(Object):
    """ImportNote."""
    text: str
    count: int
    amount: str


class ImportProgress(Object):
    """The rows that are done in the current state. `of` is null while their number is not known."""
    rows: int
    of: int | None


class ImportSettingsChanges(TypedDict):
    """The settings to change. Null restores the default."""
    mapping: NotRequired[dict[str, dict[str, str]] | None]
    """The field of each column, by file: `{"sales.csv": {"Item no.": "sku"}}`. An empty field ignores the
    column. A file with a mapping is read as a plain spreadsheet.
    """
    date_order: NotRequired[ImportSettingsDateOrder | None]
    """Whether `01/02/2026` is 1 February (`dmy`)."""
    decimal: NotRequired[ImportSettingsDecimal | None]
    """The decimal mark."""
    timezone: NotRequired[str | None]
    """The IANA name of the time zone of times without one. The default is the tenant's."""
    channel: NotRequired[str | None]
    """The identifier of the channel of all orders."""
    missing_sku: NotRequired[ImportSettingsMissingSKU | None]
    """What to do with products without a SKU. `derive` uses their names."""
    refunds: NotRequired[ImportSettingsRefunds | None]
    """What to do with refunds without an order. `attach` finds an earlier order of the same item."""
    tax_included: NotRequired[ImportSettingsTaxIncluded | None]
    """Whether prices of a plain spreadsheet include tax."""
    charset: NotRequired[ImportSettingsCharset | None]
    """How the characters of texts that are not in UTF-8 are encoded, such as `windows-1250`."""
    repeated_sku: NotRequired[ImportSettingsRepeatedSKU | None]
    """What to do with rows that differ and have the same SKU. `derive` adds the options or the name;
    `last` takes the values of the last row.
    """
    rounding: NotRequired[ImportSettingsRounding | None]
    """What to do with amounts of more than two decimals."""
    cost: NotRequired[ImportSettingsCost | None]
    """What a column of costs of goods in a spreadsheet of orders is of."""
    discount: NotRequired[ImportSettingsDiscount | None]
    """What discounts between 0 and 1 in a spreadsheet of orders are."""
    tax: NotRequired[ImportSettingsTax | None]
    """What a tax that is equal in all rows of an order of a spreadsheet is of."""
    total: NotRequired[ImportSettingsTotal | None]
    """What a total without a price in a spreadsheet of orders is."""
    statuses: NotRequired[dict[str, ImportSettingsStatusesValue] | None]
    """What statuses of orders mean, by the status in lower case: `{"on hold": "unpaid"}`."""
    restore_zeros: NotRequired[bool | None]
    """Whether to restore leading zeros of barcodes that Excel removed."""

# A later release can add values.
ListImportRowsAction = Literal["created", "updated", "unchanged", "refused", "ignored", "changed"] | str


class ImportRowList(Object):
    """ImportRowList."""
    data: list[ImportRow]
    meta: Meta
    _classes = {"data": "ImportRow", "meta": "Meta"}


class ImportRow(Object):
    """A row of a plan, or an order with its rows. `file` and `line` are those of the first row."""
    file: str
    line: int
    kind: ImportKind
    key: str
    """The SKU, name, number or id."""
    action: ImportAction
    old: dict[str, Any] | None
    """The stored values of the fields that change."""
    new: dict[str, Any] | None
    """The new values of the fields that change."""
    notes: list[str]
    problems: dict[str, list[str]]
    """Why the row is refused, by column."""
    changed: ImportRowChanged | None = None
    """Set if something else has changed the object, so that the row was not applied or not undone."""
    _classes = {"changed": "ImportRowChanged"}


class ImportRowChanged(Object):
    """Set if something else has changed the object, so that the row was not applied or not undone."""
    fields: list[str]
    """Always empty for imports."""
    reason: str


class ImportApplication(TypedDict):
    """How to apply an import."""
    skip_changed: NotRequired[bool | None]
    """Whether to leave out rows whose objects have changed since."""

# A later release can add values.
SalesSummaryCompare = Literal["true", "false", "previous_period", "previous_year", "previous_year_weekday"] | str


class SalesSummaryReport(Object):
    """SalesSummaryReport."""
    data: SalesSummary
    meta: ChangedMeta
    explain: Explanation | None = None
    _classes = {"data": "SalesSummary", "meta": "ChangedMeta", "explain": "Explanation"}


class SalesSummary(Object):
    """The sales in a range of days."""
    period: Period
    currency: str
    """An ISO 4217 code."""
    timezone: str
    """The time zone of the days."""
    summary: SalesFigures
    by_channel: list[ChannelFigures]
    comparison: SalesComparison | None = None
    daily_breakdown: list[DayFigures]
    _classes = {"period": "Period", "summary": "SalesFigures", "by_channel": "ChannelFigures", "comparison": "SalesComparison", "daily_breakdown": "DayFigures"}


class Period(Object):
    """A range of days. Both days are inclusive."""
    from_: str
    to: str


class SalesFigures(Object):
    """The sales in the whole range."""
    total_revenue: str
    total_orders: int
    average_order_value: str
    total_items_sold: int
    """Units."""
    total_discounts: str
    total_tax: str
    gross_profit: str
    gross_margin_percent: str
    units_without_cost: int
    gross_sales: str
    refunds: str
    net_revenue: str
    shipping: str
    total: str
    items: int
    revenue_without_cost: str
    costed_percent: str
    net_gross_profit: str | None
    """Null if no sold or returned item has a cost."""
    net_margin_percent: str | None
    """Null if no sold or returned item has a cost, or without net revenue."""
    units_returned: int
    refunded_revenue: str
    returned_cost: str


class ChannelFigures(Object):
    """A channel with an order or a refund in the range, sorted by revenue, highest first."""
    gross_sales: str
    discounts: str
    revenue: str
    refunds: str
    net_revenue: str
    tax: str
    shipping: str
    total: str
    orders: int
    avg_order_value: str
    items: int
    units_sold: int
    gross_profit: str | None
    """Null if no sold item has a cost."""
    margin_percent: str | None
    """Null if no sold item has a cost."""
    units_without_cost: int
    revenue_without_cost: str
    costed_percent: str
    net_gross_profit: str | None
    """Null if no sold or returned item has a cost."""
    net_margin_percent: str | None
    """Null if no sold or returned item has a cost, or without net revenue."""
    units_returned: int
    refunded_revenue: str
    returned_cost: str
    channel: str


class SalesComparison(Object):
    """The earlier range. Present if `compare` requests it."""
    period: Period
    total_revenue: str
    revenue_change_percent: str | None
    orders_change_percent: str | None
    compare: Compare
    data_from: str | None
    comparable: bool
    until: str | None
    summary: Figures
    changes: Changes
    by_channel: list[ComparedChannel]
    daily_breakdown: list[ComparedDay]
    _classes = {"period": "Period", "summary": "Figures", "changes": "Changes", "by_channel": "ComparedChannel", "daily_breakdown": "ComparedDay"}


class Figures(Object):
    """All figures of a group of sales."""
    gross_sales: str
    discounts: str
    revenue: str
    refunds: str
    net_revenue: str
    tax: str
    shipping: str
    total: str
    orders: int
    avg_order_value: str
    items: int
    units_sold: int
    gross_profit: str | None
    """Null if no sold item has a cost."""
    margin_percent: str | None
    """Null if no sold item has a cost."""
    units_without_cost: int
    revenue_without_cost: str
    costed_percent: str
    net_gross_profit: str | None
    """Null if no sold or returned item has a cost."""
    net_margin_percent: str | None
    """Null if no sold or returned item has a cost, or without net revenue."""
    units_returned: int
    refunded_revenue: str
    returned_cost: str


class Changes(Object):
    """The difference of each figure from the comparison, in percent. All are null unless they are
    comparable.
    """
    gross_sales: str | None
    discounts: str | None
    revenue: str | None
    refunds: str | None
    net_revenue: str | None
    tax: str | None
    shipping: str | None
    total: str | None
    orders: str | None
    avg_order_value: str | None
    items: str | None
    units_sold: str | None
    gross_profit: str | None
    margin_percent: str | None
    units_without_cost: str | None
    revenue_without_cost: str | None
    costed_percent: str | None
    net_gross_profit: str | None
    net_margin_percent: str | None
    units_returned: str | None
    refunded_revenue: str | None
    returned_cost: str | None


class ComparedChannel(Object):
    """A channel of the report or, after these, of the earlier range alone."""
    gross_sales: str
    discounts: str
    revenue: str
    refunds: str
    net_revenue: str
    tax: str
    shipping: str
    total: str
    orders: int
    avg_order_value: str
    items: int
    units_sold: int
    gross_profit: str | None
    """Null if no sold item has a cost."""
    margin_percent: str | None
    """Null if no sold item has a cost."""
    units_without_cost: int
    revenue_without_cost: str
    costed_percent: str
    net_gross_profit: str | None
    """Null if no sold or returned item has a cost."""
    net_margin_percent: str | None
    """Null if no sold or returned item has a cost, or without net revenue."""
    units_returned: int
    refunded_revenue: str
    returned_cost: str
    changes: Changes
    channel: str
    _classes = {"changes": "Changes"}


class ComparedDay(Object):
    """The day that a day of the report is compared with."""
    gross_sales: str
    discounts: str
    revenue: str
    refunds: str
    net_revenue: str
    tax: str
    shipping: str
    total: str
    orders: int
    avg_order_value: str
    items: int
    units_sold: int
    gross_profit: str | None
    """Null if no sold item has a cost."""
    margin_percent: str | None
    """Null if no sold item has a cost."""
    units_without_cost: int
    revenue_without_cost: str
    costed_percent: str
    net_gross_profit: str | None
    """Null if no sold or returned item has a cost."""
    net_margin_percent: str | None
    """Null if no sold or returned item has a cost, or without net revenue."""
    units_returned: int
    refunded_revenue: str
    returned_cost: str
    changes: Changes
    date: str
    """The day in the earlier range. It can be before 1970."""
    compared_with: str
    """The day in the report."""
    _classes = {"changes": "Changes"}


class DayFigures(Object):
    """A day in the range, in chronological order, including days without sales."""
    gross_sales: str
    discounts: str
    revenue: str
    refunds: str
    net_revenue: str
    tax: str
    shipping: str
    total: str
    orders: int
    avg_order_value: str
    items: int
    units_sold: int
    gross_profit: str | None
    """Null if no sold item has a cost."""
    margin_percent: str | None
    """Null if no sold item has a cost."""
    units_without_cost: int
    revenue_without_cost: str
    costed_percent: str
    net_gross_profit: str | None
    """Null if no sold or returned item has a cost."""
    net_margin_percent: str | None
    """Null if no sold or returned item has a cost, or without net revenue."""
    units_returned: int
    refunded_revenue: str
    returned_cost: str
    date: str


class ChangedMeta(Object):
    """When the range changed last."""
    changed_at: str | None


class Explanation(Object):
    """The calculation of the figures of a report. Present if it was requested."""
    formulas: dict[str, Formula]
    """Formulas by the name of the group and the figure, for example `summary.total_revenue` or
    `rows[].revenue`.
    """
    groups: list[ExplainedGroup]
    left_out: list[LeftOut]
    _classes = {"formulas": "{}Formula", "groups": "ExplainedGroup", "left_out": "LeftOut"}


class Formula(Object):
    """The calculation of a figure."""
    formula: str
    """An expression with `+ - * / ( ) abs( )`, numbers and names."""
    unit: Unit
    rounding: FormulaRounding | None
    """Rounding to two digits, or by largest remainder if the rows add up to 100.00. Null if nothing is
    rounded.
    """
    over_zero: FormulaOverZero | None
    """The value if the formula divides by zero: `0.00`, or `null` for null. Null if nothing is divided."""
    null_if: str | None
    """The condition under which the figure is null: comparisons with `=`, `!=`, `>` and `<=`, joined by
    `and` and then `or`. Null if there is none. `comparison.comparable` is the field of the comparison.
    """

# Rounding to two digits, or by largest remainder if the rows add up to 100.00. Null if nothing is
# rounded.
# A later release can add values.
FormulaRounding = Literal["half_away_from_zero", "largest_remainder"] | str

# The value if the formula divides by zero: `0.00`, or `null` for null. Null if nothing is divided.
# A later release can add values.
FormulaOverZero = Literal["0.00", "null"] | str


class ExplainedGroup(Object):
    """The sums of one part of the response."""
    name: str
    """The name of the group in formulas."""
    path: str | None
    """The position of the figures in the response."""
    sums: Sums
    _classes = {"sums": "Sums"}


class Sums(Object):
    """The sums that the figures of a group are calculated from."""
    orders: int
    """The number of orders. 0 in the totals of products, because an order can contain several products."""
    items: int
    """The number of items of orders."""
    units: int
    """Units."""
    units_without_cost: int
    gross: str
    """Quantity × unit price."""
    discounts: str
    tax: str
    cost: str
    refund_count: int
    """The number of refunds. 0 in the totals of products, like orders."""
    refunds: str
    shipping: str
    revenue_without_cost: str
    refunded_revenue: str | None = None
    """Missing in the report by customer, like the next three."""
    refunded_revenue_without_cost: str | None = None
    units_returned: int | None = None
    returned_cost: str | None = None


class LeftOut(Object):
    """Orders or refunds in the range that were not counted."""
    reason: LeftOutReason
    """`guest`: orders without a customer. `no_order`: refunds to customers without an order in the range."""
    orders: int
    items: int
    units: int
    revenue: str
    refund_count: int
    refunds: str

# `guest`: orders without a customer. `no_order`: refunds to customers without an order in the range.
# A later release can add values.
LeftOutReason = Literal["cancelled", "other_channel", "other_category", "guest", "no_order"] | str

# A later release can add values.
ProductReportSort = Literal["revenue", "net_revenue", "units", "margin"] | str


class ProductReport(Object):
    """ProductReport."""
    data: list[ProductReportRow]
    meta: ProductReportMeta
    explain: Explanation | None = None
    _classes = {"data": "ProductReportRow", "meta": "ProductReportMeta", "explain": "Explanation"}


class ProductReportRow(Object):
    """A product with an item sold or refunded in the range."""
    units_sold: int
    revenue: str
    cost_total: str
    gross_profit: str
    margin_percent: str
    units_without_cost: int
    revenue_without_cost: str
    costed_percent: str
    gross_sales: str
    discounts: str
    refunds: str
    net_revenue: str
    net_gross_profit: str | None
    """Null if no sold or returned item has a cost."""
    net_margin_percent: str | None
    """Null if no sold or returned item has a cost, or without net revenue."""
    units_returned: int
    refunded_revenue: str
    returned_cost: str
    product_id: int | None
    """Null if the SKU was never in the catalog."""
    sku: str
    """The SKU of the latest sale."""
    name: str
    """The name of the latest sale, or the SKU if it was never in the catalog."""


class ProductReportMeta(Object):
    """The position of the page, and the range and the totals of all pages."""
    page: int
    per_page: int
    total: int
    """The exact number of matching objects."""
    total_pages: int
    has_next: bool
    has_prev: bool
    period: Period
    currency: str
    """An ISO 4217 code."""
    timezone: str
    """The time zone of the days."""
    changed_at: str | None
    totals: ProductFigures
    _classes = {"period": "Period", "totals": "ProductFigures"}


class ProductFigures(Object):
    """The figures of a product or of all products."""
    units_sold: int
    revenue: str
    cost_total: str
    gross_profit: str
    margin_percent: str
    units_without_cost: int
    revenue_without_cost: str
    costed_percent: str
    gross_sales: str
    discounts: str
    refunds: str
    net_revenue: str
    net_gross_profit: str | None
    """Null if no sold or returned item has a cost."""
    net_margin_percent: str | None
    """Null if no sold or returned item has a cost, or without net revenue."""
    units_returned: int
    refunded_revenue: str
    returned_cost: str


class ChannelReport(Object):
    """ChannelReport."""
    data: list[ChannelReportRow]
    meta: ChannelReportMeta
    explain: Explanation | None = None
    _classes = {"data": "ChannelReportRow", "meta": "ChannelReportMeta", "explain": "Explanation"}


class ChannelReportRow(Object):
    """A channel with an order or a refund in the range."""
    revenue: str
    orders: int
    average_order_value: str
    gross_sales: str
    discounts: str
    refunds: str
    net_revenue: str
    tax: str
    shipping: str
    total: str
    items: int
    units_sold: int
    gross_profit: str | None
    """Null if no sold item has a cost."""
    margin_percent: str | None
    """Null if no sold item has a cost."""
    units_without_cost: int
    revenue_without_cost: str
    costed_percent: str
    net_gross_profit: str | None
    """Null if no sold or returned item has a cost."""
    net_margin_percent: str | None
    """Null if no sold or returned item has a cost, or without net revenue."""
    units_returned: int
    refunded_revenue: str
    returned_cost: str
    channel: str
    label: str
    comparison: ComparedFigures | None = None
    """The channel in the earlier range. Present if `compare` requests it."""
    percent_of_total: str
    """The share of the revenue of all channels. The shares add up to 100.00, or all are 0.00 if there is
    no revenue.
    """
    _classes = {"comparison": "ComparedFigures"}


class ComparedFigures(Object):
    """All figures of the earlier range, and their changes."""
    gross_sales: str
    discounts: str
    revenue: str
    refunds: str
    net_revenue: str
    tax: str
    shipping: str
    total: str
    orders: int
    avg_order_value: str
    items: int
    units_sold: int
    gross_profit: str | None
    """Null if no sold item has a cost."""
    margin_percent: str | None
    """Null if no sold item has a cost."""
    units_without_cost: int
    revenue_without_cost: str
    costed_percent: str
    net_gross_profit: str | None
    """Null if no sold or returned item has a cost."""
    net_margin_percent: str | None
    """Null if no sold or returned item has a cost, or without net revenue."""
    units_returned: int
    refunded_revenue: str
    returned_cost: str
    changes: Changes
    _classes = {"changes": "Changes"}


class ChannelReportMeta(Object):
    """The range and the totals of all channels."""
    period: Period
    currency: str
    """An ISO 4217 code."""
    timezone: str
    """The time zone of the days."""
    changed_at: str | None
    totals: ChannelReportFigures
    comparison: ChannelReportMetaComparison | None = None
    """The earlier range. Present if `compare` requests it."""
    _classes = {"period": "Period", "totals": "ChannelReportFigures", "comparison": "ChannelReportMetaComparison"}


class ChannelReportFigures(Object):
    """All figures of a channel or of all channels."""
    revenue: str
    orders: int
    average_order_value: str
    gross_sales: str
    discounts: str
    refunds: str
    net_revenue: str
    tax: str
    shipping: str
    total: str
    items: int
    units_sold: int
    gross_profit: str | None
    """Null if no sold item has a cost."""
    margin_percent: str | None
    """Null if no sold item has a cost."""
    units_without_cost: int
    revenue_without_cost: str
    costed_percent: str
    net_gross_profit: str | None
    """Null if no sold or returned item has a cost."""
    net_margin_percent: str | None
    """Null if no sold or returned item has a cost, or without net revenue."""
    units_returned: int
    refunded_revenue: str
    returned_cost: str


class ChannelReportMetaComparison(Object):
    """The earlier range. Present if `compare` requests it."""
    gross_sales: str
    discounts: str
    revenue: str
    refunds: str
    net_revenue: str
    tax: str
    shipping: str
    total: str
    orders: int
    avg_order_value: str
    items: int
    units_sold: int
    gross_profit: str | None
    """Null if no sold item has a cost."""
    margin_percent: str | None
    """Null if no sold item has a cost."""
    units_without_cost: int
    revenue_without_cost: str
    costed_percent: str
    net_gross_profit: str | None
    """Null if no sold or returned item has a cost."""
    net_margin_percent: str | None
    """Null if no sold or returned item has a cost, or without net revenue."""
    units_returned: int
    refunded_revenue: str
    returned_cost: str
    changes: Changes
    period: Period
    compare: Compare
    data_from: str | None
    comparable: bool
    until: str | None
    _classes = {"changes": "Changes", "period": "Period"}

# A later release can add values.
CustomerReportSort = Literal["revenue", "orders", "last_order"] | str


class CustomerReportResult(Object):
    """CustomerReportResult."""
    data: CustomerReport
    meta: CustomerReportMeta
    explain: Explanation | None = None
    _classes = {"data": "CustomerReport", "meta": "CustomerReportMeta", "explain": "Explanation"}


class CustomerReport(Object):
    """The customers with an order in the range."""
    period: Period
    summary: CustomerFigures
    customers: list[CustomerReportRow]
    _classes = {"period": "Period", "summary": "CustomerFigures", "customers": "CustomerReportRow"}


class CustomerFigures(Object):
    """Figures of all customers in the report."""
    total_customers: int
    new_customers: int
    """Customers whose first order ever is in the range."""
    returning_customers: int
    guest_orders: int
    """Orders without a customer."""
    repeat_rate_percent: str
    """Returning customers as a percentage of all customers."""
    average_revenue_per_customer: str


class CustomerReportRow(Object):
    """A customer with an order in the range."""
    customer_id: str
    """Your id of the customer."""
    name: str | None
    email: str | None
    orders: int
    revenue: str
    average_order_value: str
    refunds: str
    first_order_at: str
    """The time of the first order ever, in any channel."""
    last_order_at: str
    """The time of the last order in the range."""


class CustomerReportMeta(Object):
    """The position of the page, and when the range changed last."""
    page: int
    per_page: int
    total: int
    """The exact number of matching objects."""
    total_pages: int
    has_next: bool
    has_prev: bool
    changed_at: str | None

CustomReportQuery = TypedDict("CustomReportQuery", {
    "from": "NotRequired[str | None]",
    "to": "NotRequired[str | None]",
    "period": "NotRequired[PeriodPreset | None]",
    "metrics": "list[Metric]",
    "group_by": "NotRequired[GroupBy | None]",
    "filters": "NotRequired[CustomReportQueryFilters | None]",
    "explain": "NotRequired[bool | None]",
})


class CustomReportQueryFilters(TypedDict):
    """CustomReportQueryFilters."""
    channel: NotRequired[list[str] | None]
    category_id: NotRequired[list[int] | None]


class CustomReportResult(Object):
    """CustomReportResult."""
    data: CustomReport
    meta: ChangedMeta
    explain: Explanation | None = None
    _classes = {"data": "CustomReport", "meta": "ChangedMeta", "explain": "Explanation"}


class CustomReport(Object):
    """The requested metrics."""
    period: Period
    group_by: GroupBy | None
    metrics: list[Metric]
    rows: list[CustomReportRow]
    totals: CustomFigures
    _classes = {"period": "Period", "rows": "CustomReportRow", "totals": "CustomFigures"}


class CustomReportRow(Object):
    """A group of the report."""
    revenue: str | None = None
    orders: int | None = None
    avg_order_value: str | None = None
    gross_profit: str | None = None
    margin_percent: str | None = None
    units_sold: int | None = None
    discounts: str | None = None
    tax: str | None = None
    refunds: str | None = None
    gross_sales: str | None = None
    net_revenue: str | None = None
    shipping: str | None = None
    total: str | None = None
    items: int | None = None
    units_without_cost: int | None = None
    revenue_without_cost: str | None = None
    costed_percent: str | None = None
    net_gross_profit: str | None = None
    """Null if no sold or returned item has a cost."""
    net_margin_percent: str | None = None
    """Null if no sold or returned item has a cost, or without net revenue."""
    units_returned: int | None = None
    refunded_revenue: str | None = None
    returned_cost: str | None = None
    group: str | int | None
    """The day (`YYYY-MM-DD`), the Monday of the week, the month (`YYYY-MM`), the identifier of the
    channel, or the id of the category or seller. Null for items without one.
    """
    label: str
    """The current name of the group, or the name of the latest sale if it was deleted. `None` for items
    without one.
    """


class CustomFigures(Object):
    """The requested metrics. `units_without_cost`, `revenue_without_cost` and `costed_percent` are
    included with profit and margin.
    """
    revenue: str | None = None
    orders: int | None = None
    avg_order_value: str | None = None
    gross_profit: str | None = None
    margin_percent: str | None = None
    units_sold: int | None = None
    discounts: str | None = None
    tax: str | None = None
    refunds: str | None = None
    gross_sales: str | None = None
    net_revenue: str | None = None
    shipping: str | None = None
    total: str | None = None
    items: int | None = None
    units_without_cost: int | None = None
    revenue_without_cost: str | None = None
    costed_percent: str | None = None
    net_gross_profit: str | None = None
    """Null if no sold or returned item has a cost."""
    net_margin_percent: str | None = None
    """Null if no sold or returned item has a cost, or without net revenue."""
    units_returned: int | None = None
    refunded_revenue: str | None = None
    returned_cost: str | None = None


class ReconciliationResult(Object):
    """ReconciliationResult."""
    data: Reconciliation
    meta: ChangedMeta
    _classes = {"data": "Reconciliation", "meta": "ChangedMeta"}


class Reconciliation(Object):
    """A range, calculated in several ways."""
    period: Period
    timezone: str
    """The time zone of the days."""
    currency: str
    """An ISO 4217 code."""
    balanced: bool
    """Whether every figure is equal in all ways."""
    figures: list[Tie]
    _classes = {"period": "Period", "figures": "Tie"}


class Tie(Object):
    """A figure, with its value from each source."""
    figure: TieFigure
    unit: Unit
    facts: str | int
    """Calculated from orders, items and refunds."""
    summary: str | int
    channels: str | int | None
    days: str | int | None
    products: str | int | None
    categories: str | int | None
    sellers: str | int | None
    product_pages: str | int | None
    """The sums that select the pages of products. Null for figures that they do not have."""
    categories_by_channel: str | int | None
    """The sums by day, channel and category."""
    sellers_by_channel: str | int | None
    """The sums by day, channel and seller."""
    group_counts: TieGroupCounts | None
    """For orders and refund_count, which count one in each of its groups: the counts of all groups
    together, from the facts and as they are stored. Null for other figures.
    """
    balanced: bool
    """Whether all values that are not null are equal."""
    _classes = {"group_counts": "TieGroupCounts"}

# A later release can add values.
TieFigure = Literal["revenue", "discounts", "tax", "cost", "gross_profit", "refunds", "orders", "items", "units_sold", "units_without_cost", "refund_count", "gross_sales", "net_revenue", "shipping", "total", "revenue_without_cost", "net_gross_profit", "units_returned", "refunded_revenue", "refunded_revenue_without_cost", "returned_cost"] | str


class TieGroupCounts(Object):
    """For orders and refund_count, which count one in each of its groups: the counts of all groups
    together, from the facts and as they are stored. Null for other figures.
    """
    products: GroupCount
    categories: GroupCount
    sellers: GroupCount
    _classes = {"products": "GroupCount", "categories": "GroupCount", "sellers": "GroupCount"}


class GroupCount(Object):
    """GroupCount."""
    facts: int
    stored: int
    stored_by_channel: int


class ReportChangeList(Object):
    """ReportChangeList."""
    data: list[ReportChange]
    meta: ChangesMeta
    _classes = {"data": "ReportChange", "meta": "ChangesMeta"}


class ReportChange(Object):
    """A change of an order or a refund."""
    seq: str
    """The position of the entry, as a cursor for `after`."""
    type: ReportChangeType
    id: str
    """The number of the order or the id of the refund."""
    order_number: str | None
    """Null for a refund that no longer exists."""
    action: ChangeAction
    """`updated` is the cancellation of an order, or its undo. `deleted` is the undo of an import."""
    at: str
    api_key: Named | None
    """The API key of the request, as in `GET /api/changes`."""
    changed: list[str]
    """The fields of the order that an update changed."""
    days: list[str]
    """The days that changed: that of the order or the refund, and for an update also those of all refunds
    of the order. Empty if it no longer exists. Then the day is unknown, and every range lists it.
    """
    _classes = {"api_key": "Named"}

# A later release can add values.
ReportChangeType = Literal["order", "refund"] | str

# A later release can add values.
ExportReportType = Literal["sales-summary", "products", "channels", "customers"] | str

# A later release can add values.
ExportReportFormat = Literal["csv", "xlsx"] | str

# A later release can add values.
ExportReportSort = Literal["revenue", "net_revenue", "units", "margin", "orders", "last_order"] | str


class Me(Object):
    """Me."""
    tenant: MeTenant
    key: MeKey
    rate_limit: MeRateLimit
    """The values of the rate-limit headers of this response."""
    quotas: MeQuotas
    """What the tenant stores and may store. See *Quotas* above."""
    _classes = {"tenant": "MeTenant", "key": "MeKey", "rate_limit": "MeRateLimit", "quotas": "MeQuotas"}


class MeTenant(Object):
    """MeTenant."""
    id: int
    name: str
    plan: MeTenantPlan
    timezone: str
    """The IANA name of the time zone that decides the days."""
    currency: str
    """An ISO 4217 code."""

# A later release can add values.
MeTenantPlan = Literal["standard", "professional", "enterprise"] | str


class MeKey(Object):
    """MeKey."""
    id: int
    name: str
    permissions: list[MeKeyPermission]
    expires_at: str | None
    """Null if the key never expires."""

# A later release can add values.
MeKeyPermission = Literal["products:read", "products:write", "inventory:write", "reports:read", "orders:read", "orders:write", "customers:read", "customers:write", "usage:read", "imports:read", "imports:write", "webhooks:read", "webhooks:write", "plans:propose"] | str


class MeRateLimit(Object):
    """The values of the rate-limit headers of this response."""
    limit: int
    remaining: int
    reset: int
    """Unix time in seconds, rounded up."""


class MeQuotas(Object):
    """What the tenant stores and may store. See *Quotas* above."""
    storage: Quota
    """In bytes."""
    records: Quota
    """Products, orders, items, refunds and ledger rows."""
    _classes = {"storage": "Quota", "records": "Quota"}


class Quota(Object):
    """What is used of a quota."""
    used: int
    """What is used. It can exceed the limit."""
    limit: int | None
    """Null if there is no limit."""

# A later release can add values.
ShowUsageGroupBy = Literal["day", "hour"] | str


class Usage(Object):
    """The usage of the tenant's API keys in a range."""
    period: Period
    timezone: str
    """The time zone of the days."""
    group_by: ShowUsageGroupBy
    limit: int
    """The current limit of the tenant, in requests per 60 seconds."""
    requests: int
    """The requests of all listed keys, including the refused ones."""
    refused: int
    """The requests above the rate limit (429)."""
    busiest_minute: BusiestMinute | None
    """Of all listed keys together."""
    keys: list[KeyUsage]
    """Most requests first."""
    last_errors: list[UsageError]
    """The last 20 errors of each key in the range, 100 in all, newest first. Refused requests (429) are
    only counted.
    """
    _classes = {"period": "Period", "busiest_minute": "BusiestMinute", "keys": "KeyUsage", "last_errors": "UsageError"}


class BusiestMinute(Object):
    """The minute with most requests, or null if there were no requests."""
    start: str
    requests: int


class KeyUsage(Object):
    """KeyUsage."""
    key_id: int
    name: str
    prefix: str
    """The beginning of the key."""
    last4: str
    """The last four characters of the key."""
    requests: int
    statuses: StatusCounts
    refused: int
    p50_ms: str | None
    p95_ms: str | None
    busiest_minute: BusiestMinute | None
    routes: list[KeyUsageRoute]
    """Most requests first."""
    periods: list[KeyUsagePeriod]
    """Every day or hour of the range, even without requests."""
    _classes = {"statuses": "StatusCounts", "busiest_minute": "BusiestMinute", "routes": "KeyUsageRoute", "periods": "KeyUsagePeriod"}


class StatusCounts(Object):
    """Requests by class of their status. They add up to `requests`; refused requests are part of `4xx`."""
    width_2xx: int
    width_3xx: int
    width_4xx: int
    width_5xx: int


class KeyUsageRoute(Object):
    """KeyUsageRoute."""
    route: str | None
    """The first part of the path after `/api`, for example `products`. Null for requests over the rate
    limit, of a suspended tenant, and to an unknown path.
    """
    requests: int
    statuses: StatusCounts
    refused: int
    p50_ms: str | None
    p95_ms: str | None
    _classes = {"statuses": "StatusCounts"}


class KeyUsagePeriod(Object):
    """KeyUsagePeriod."""
    start: str
    """A day in the tenant's time zone, or the time at which an hour begins."""
    requests: int
    statuses: StatusCounts
    refused: int
    p50_ms: str | None
    p95_ms: str | None
    _classes = {"statuses": "StatusCounts"}


class UsageError(Object):
    """A failed request. Paths, queries and bodies are never recorded."""
    at: str
    """The beginning of the request."""
    key_id: int
    method: str
    route: str | None
    """The path of the operation in this document, or null if there is none."""
    status: int
    code: ErrorCode
    request_id: str
    """The `X-Request-Id` of the response."""


class WebhookMessage(Object):
    """The body of a message."""
    type: WebhookDeliveryType
    timestamp: str
    """The time of the last entry, or of the test."""
    data: list[Change]
    _classes = {"data": "Change"}


class ErrorBody(Object):
    """The body of all error responses."""
    success: bool
    error: Fault
    _classes = {"error": "Fault"}


class Operations(Transport):
    """A method for each operation."""

    def list_products(self, *, page: int | None = None, per_page: int | None = None, cursor: str | None = None, search: str | None = None, status: Status | None = None, category_id: int | None = None, category: int | None = None, seller_id: int | None = None, warehouse_id: int | None = None, tag: str | None = None, sort: ListProductsSort | None = None, direction: Direction | None = None, from_: str | None = None, to: str | None = None, period: PeriodPreset | None = None, updated_since: str | None = None, **options: Unpack[CallOptions]) -> ProductList:
        """List products.

        Returns a page of products. Products must match all filters. `meta.total` is the exact number of
        matching products. With `cursor`, `meta` is `{per_page, total, next_cursor}`, and no product is
        skipped or repeated while others are created or deleted, as long as its own position does not
        change.
        """
        return self._send_for_body(ProductList, "GET", "/api/products", query={"page": page, "per_page": per_page, "cursor": cursor, "search": search, "status": status, "category_id": category_id, "category": category, "seller_id": seller_id, "warehouse_id": warehouse_id, "tag": tag, "sort": sort, "direction": direction, "from": from_, "to": to, "period": period, "updated_since": updated_since}, repeatable=True, **options)

    def all_products(self, *, page: int | None = None, per_page: int | None = None, cursor: str | None = None, search: str | None = None, status: Status | None = None, category_id: int | None = None, category: int | None = None, seller_id: int | None = None, warehouse_id: int | None = None, tag: str | None = None, sort: ListProductsSort | None = None, direction: Direction | None = None, from_: str | None = None, to: str | None = None, period: PeriodPreset | None = None, updated_since: str | None = None, **options: Unpack[CallOptions]) -> Iterator[Product]:
        """All elements of list_products. The next page is requested when it is needed."""
        return self._pages("cursor", cursor, lambda **at: self.list_products(page=page, per_page=per_page, search=search, status=status, category_id=category_id, category=category, seller_id=seller_id, warehouse_id=warehouse_id, tag=tag, sort=sort, direction=direction, from_=from_, to=to, period=period, updated_since=updated_since, **at, **options))

    def create_product(self, body: NewProduct, **options: Unpack[CallOptions]) -> Product:
        """Create a product.

        Requires `sku`, `name` and `price`. All other fields have defaults. An initial `quantity` is
        recorded as a stock adjustment. Returns the product, with its path in `Location`. A duplicate SKU or
        an unknown `category_id`, `seller_id` or `warehouse_id` returns `VALIDATION_ERROR`.
        """
        return self._send_for_data(Product, "POST", "/api/products", body=body, keyed=True, **options)

    def upsert_products(self, body: ProductItems, **options: Unpack[CallOptions]) -> BulkResult:
        """Create or update many products.

        Creates or updates up to 1,000 products by `sku`. A new SKU requires `name` and `price`. For an
        existing product, only the fields in the request change, as with PATCH. Changes of stock are
        recorded as stock adjustments. `images` can be an array of URLs, which are stored and never fetched.
        """
        return self._send_for_body(BulkResult, "POST", "/api/products/bulk", body=body, keyed=True, **options)

    def plan_products(self, body: ProductItems, **options: Unpack[CallOptions]) -> PlanResult:
        """Create or update many products.

        Creates or updates up to 1,000 products by `sku`. A new SKU requires `name` and `price`. For an
        existing product, only the fields in the request change, as with PATCH. Changes of stock are
        recorded as stock adjustments. `images` can be an array of URLs, which are stored and never fetched.
        """
        return self._send_for_body(PlanResult, "POST", "/api/products/bulk", body=body, query={"plan": "true"}, keyed=True, **options)

    def plan_product_changes(self, body: ProductPlan, **options: Unpack[CallOptions]) -> PlanResult:
        """Plan a change of the products of a filter.

        Computes a plan that changes all products that match a filter in the same way; see *Plans*. Nothing
        is changed until the plan is applied. `filter` has the filter parameters of `GET /api/products`;
        `{}` selects all products. `set` replaces fields, and null clears one, as with PATCH.
        `adjust_price_percent` changes prices, rounded to the cent, half a cent away from zero. A value of
        `set` that no product can have is a `VALIDATION_ERROR`. A product for which the change is not valid
        is refused, with the errors in its row.
        """
        return self._send_for_body(PlanResult, "POST", "/api/products/changes", body=body, keyed=True, **options)

    def export_products(self, *, format: ExportProductsFormat | None = None, search: str | None = None, status: Status | None = None, category_id: int | None = None, category: int | None = None, seller_id: int | None = None, warehouse_id: int | None = None, tag: str | None = None, sort: ListProductsSort | None = None, direction: Direction | None = None, from_: str | None = None, to: str | None = None, period: PeriodPreset | None = None, updated_since: str | None = None, **options: Unpack[CallOptions]) -> File:
        """Export products as a file.

        Streams all products that match the filters, in the order of the list.
        """
        return self._send_for_file("GET", "/api/products/export", query={"format": format, "search": search, "status": status, "category_id": category_id, "category": category, "seller_id": seller_id, "warehouse_id": warehouse_id, "tag": tag, "sort": sort, "direction": direction, "from": from_, "to": to, "period": period, "updated_since": updated_since}, repeatable=True, **options)

    def export_stock(self, *, format: ExportProductsFormat | None = None, search: str | None = None, status: Status | None = None, category_id: int | None = None, category: int | None = None, seller_id: int | None = None, warehouse_id: int | None = None, tag: str | None = None, sort: ListProductsSort | None = None, direction: Direction | None = None, from_: str | None = None, to: str | None = None, period: PeriodPreset | None = None, updated_since: str | None = None, **options: Unpack[CallOptions]) -> File:
        """Export stock as a file.

        Streams the stock of all products that match the filters, by warehouse: in the product's own
        warehouse, even if it is 0, and in all others that have stock of it. See *Export products as a file*
        for the formats.
        """
        return self._send_for_file("GET", "/api/stock/export", query={"format": format, "search": search, "status": status, "category_id": category_id, "category": category, "seller_id": seller_id, "warehouse_id": warehouse_id, "tag": tag, "sort": sort, "direction": direction, "from": from_, "to": to, "period": period, "updated_since": updated_since}, repeatable=True, **options)

    def show_product(self, id: int, **options: Unpack[CallOptions]) -> Product:
        """Get a product by id.

        Returns a product. `quantity` is the total stock in all warehouses.
        """
        return self._send_for_data(Product, "GET", path("/api/products/{id}", id), repeatable=True, **options)

    def replace_product(self, id: int, body: NewProduct, **options: Unpack[CallOptions]) -> Product:
        """Replace a product.

        Replaces all writable fields. A missing field gets its default value, also `quantity` and
        `warehouse_id`. Images are kept. You can send the response of GET back without changing anything. A
        change of `quantity` or `warehouse_id` is recorded as a stock adjustment.
        """
        return self._send_for_data(Product, "PUT", path("/api/products/{id}", id), body=body, repeatable=True, **options)

    def patch_product(self, id: int, body: ProductChanges, **options: Unpack[CallOptions]) -> Product:
        """Update a product.

        Changes only the fields in the request. `null` clears an optional field and returns
        `VALIDATION_ERROR` for other fields. `quantity` sets the total stock by changing the stock in the
        product's own warehouse. A new `warehouse_id` moves the stock of the old warehouse to the new one; a
        `quantity` in the same request applies afterwards. Changes of stock are recorded as stock
        adjustments.
        """
        return self._send_for_data(Product, "PATCH", path("/api/products/{id}", id), body=body, repeatable=True, **options)

    def delete_product(self, id: int, **options: Unpack[CallOptions]) -> None:
        """Delete a product.

        Deletes the product and its stock permanently. The SKU can then be used again. To hide a product
        without deleting it, set `status` to `draft`.
        """
        return self._send("DELETE", path("/api/products/{id}", id), repeatable=True, **options)

    def show_product_by_sku(self, sku: str, **options: Unpack[CallOptions]) -> Product:
        """Get a product by SKU.

        Returns the product with exactly this SKU. `quantity` is the total stock in all warehouses.
        """
        return self._send_for_data(Product, "GET", path("/api/products/sku/{sku}", sku), repeatable=True, **options)

    def add_image(self, id: int, body: NewImage, **options: Unpack[CallOptions]) -> Image:
        """Add an image to a product, as a file or a URL.

        Adds an image after the other images of the product: the URL of a file on another server, which is
        stored and never fetched, or a file, as in `addImageFile`. A product can have 20 images.

        Deprecated: generated clients cannot express both content types in one operation. It stays as it is.
        Upload a file with `POST /api/products/{id}/images/file`, and set URLs with `images` of `POST
        /api/products/bulk`.
        """
        return self._send_for_data(Image, "POST", path("/api/products/{id}/images", id), body=body, keyed=True, **options)

    def move_image(self, id: int, image_id: int, body: ImageChanges, **options: Unpack[CallOptions]) -> Image:
        """Move an image of a product.

        Moves an image to a position. The other images make room for it, so that the positions are always 1,
        2, 3 and so on. A position after the last one is the last one.
        """
        return self._send_for_data(Image, "PATCH", path("/api/products/{id}/images/{image_id}", id, image_id), body=body, repeatable=True, **options)

    def remove_image(self, id: int, image_id: int, **options: Unpack[CallOptions]) -> None:
        """Delete an image of a product.

        Deletes an image. The images after it move up.
        """
        return self._send("DELETE", path("/api/products/{id}/images/{image_id}", id, image_id), repeatable=True, **options)

    def show_inventory(self, id: int, **options: Unpack[CallOptions]) -> Inventory:
        """Get the stock of a product by warehouse.

        Returns the stock in the product's own warehouse, also if it is zero, and in all other warehouses
        that have stock. `quantity` is the total.
        """
        return self._send_for_data(Inventory, "GET", path("/api/products/{id}/inventory", id), repeatable=True, **options)

    def adjust_inventory(self, id: int, body: NewAdjustment, **options: Unpack[CallOptions]) -> ProductAdjustedData:
        """Adjust the stock of a product.

        Adds to, removes from or sets the stock, in units, and records a stock adjustment in the same
        transaction. Concurrent adjustments are all applied. With `expected_quantity`, the adjustment is
        applied only if the product's total has that value; otherwise it returns 412.
        """
        return self._send_for_data(ProductAdjustedData, "POST", path("/api/products/{id}/inventory/adjust", id), body=body, keyed=True, **options)

    def list_adjustments(self, id: int, *, page: int | None = None, per_page: int | None = None, type: NewAdjustmentType | None = None, warehouse_id: int | None = None, from_: str | None = None, to: str | None = None, period: PeriodPreset | None = None, **options: Unpack[CallOptions]) -> AdjustmentList:
        """List the stock adjustments of a product.

        Returns a page of the product's stock adjustments, newest first. All changes of stock are recorded,
        starting with the initial stock. Changes by POST, PUT, PATCH, bulk requests and imports have the
        type `set`. Changes by orders have the type `remove` or `add`, and name the order. Adjustments must
        match all filters.
        """
        return self._send_for_body(AdjustmentList, "GET", path("/api/products/{id}/inventory/adjustments", id), query={"page": page, "per_page": per_page, "type": type, "warehouse_id": warehouse_id, "from": from_, "to": to, "period": period}, repeatable=True, **options)

    def all_adjustments(self, id: int, *, page: int | None = None, per_page: int | None = None, type: NewAdjustmentType | None = None, warehouse_id: int | None = None, from_: str | None = None, to: str | None = None, period: PeriodPreset | None = None, **options: Unpack[CallOptions]) -> Iterator[Adjustment]:
        """All elements of list_adjustments. The next page is requested when it is needed."""
        return self._pages("page", page, lambda **at: self.list_adjustments(id, per_page=per_page, type=type, warehouse_id=warehouse_id, from_=from_, to=to, period=period, **at, **options))

    def list_categories(self, *, page: int | None = None, per_page: int | None = None, search: str | None = None, sort: ListCategoriesSort | None = None, direction: Direction | None = None, **options: Unpack[CallOptions]) -> ReferenceList:
        """List categories.

        Returns a page of categories. `meta.total` is the exact number of matching categories.
        """
        return self._send_for_body(ReferenceList, "GET", "/api/categories", query={"page": page, "per_page": per_page, "search": search, "sort": sort, "direction": direction}, repeatable=True, **options)

    def all_categories(self, *, page: int | None = None, per_page: int | None = None, search: str | None = None, sort: ListCategoriesSort | None = None, direction: Direction | None = None, **options: Unpack[CallOptions]) -> Iterator[Reference]:
        """All elements of list_categories. The next page is requested when it is needed."""
        return self._pages("page", page, lambda **at: self.list_categories(per_page=per_page, search=search, sort=sort, direction=direction, **at, **options))

    def create_category(self, body: NewReference, **options: Unpack[CallOptions]) -> Reference:
        """Create a category.

        Requires a `name` that is unique in the tenant. A duplicate name returns `VALIDATION_ERROR`.
        """
        return self._send_for_data(Reference, "POST", "/api/categories", body=body, keyed=True, **options)

    def show_category(self, id: int, **options: Unpack[CallOptions]) -> Reference:
        """Get a category.

        Returns the category with this id.
        """
        return self._send_for_data(Reference, "GET", path("/api/categories/{id}", id), repeatable=True, **options)

    def rename_category(self, id: int, body: ReferenceChanges, **options: Unpack[CallOptions]) -> Reference:
        """Rename a category.

        Changes the `name` if it is in the request. Products show the new name immediately.
        """
        return self._send_for_data(Reference, "PATCH", path("/api/categories/{id}", id), body=body, repeatable=True, **options)

    def delete_category(self, id: int, **options: Unpack[CallOptions]) -> None:
        """Delete a category.

        Deletes the category permanently. Returns `RESOURCE_IN_USE` if products belong to it.
        """
        return self._send("DELETE", path("/api/categories/{id}", id), repeatable=True, **options)

    def list_sellers(self, *, page: int | None = None, per_page: int | None = None, search: str | None = None, sort: ListCategoriesSort | None = None, direction: Direction | None = None, **options: Unpack[CallOptions]) -> ReferenceList:
        """List sellers.

        Returns a page of sellers. `meta.total` is the exact number of matching sellers.
        """
        return self._send_for_body(ReferenceList, "GET", "/api/sellers", query={"page": page, "per_page": per_page, "search": search, "sort": sort, "direction": direction}, repeatable=True, **options)

    def all_sellers(self, *, page: int | None = None, per_page: int | None = None, search: str | None = None, sort: ListCategoriesSort | None = None, direction: Direction | None = None, **options: Unpack[CallOptions]) -> Iterator[Reference]:
        """All elements of list_sellers. The next page is requested when it is needed."""
        return self._pages("page", page, lambda **at: self.list_sellers(per_page=per_page, search=search, sort=sort, direction=direction, **at, **options))

    def create_seller(self, body: NewReference, **options: Unpack[CallOptions]) -> Reference:
        """Create a seller.

        Requires a `name` that is unique in the tenant. A duplicate name returns `VALIDATION_ERROR`.
        """
        return self._send_for_data(Reference, "POST", "/api/sellers", body=body, keyed=True, **options)

    def show_seller(self, id: int, **options: Unpack[CallOptions]) -> Reference:
        """Get a seller.

        Returns the seller with this id.
        """
        return self._send_for_data(Reference, "GET", path("/api/sellers/{id}", id), repeatable=True, **options)

    def rename_seller(self, id: int, body: ReferenceChanges, **options: Unpack[CallOptions]) -> Reference:
        """Rename a seller.

        Changes the `name` if it is in the request. Products show the new name immediately.
        """
        return self._send_for_data(Reference, "PATCH", path("/api/sellers/{id}", id), body=body, repeatable=True, **options)

    def delete_seller(self, id: int, **options: Unpack[CallOptions]) -> None:
        """Delete a seller.

        Deletes the seller permanently. Returns `RESOURCE_IN_USE` if products belong to it.
        """
        return self._send("DELETE", path("/api/sellers/{id}", id), repeatable=True, **options)

    def list_warehouses(self, *, page: int | None = None, per_page: int | None = None, search: str | None = None, sort: ListCategoriesSort | None = None, direction: Direction | None = None, **options: Unpack[CallOptions]) -> WarehouseList:
        """List warehouses.

        Returns a page of warehouses. `meta.total` is the exact number of matching warehouses.
        """
        return self._send_for_body(WarehouseList, "GET", "/api/warehouses", query={"page": page, "per_page": per_page, "search": search, "sort": sort, "direction": direction}, repeatable=True, **options)

    def all_warehouses(self, *, page: int | None = None, per_page: int | None = None, search: str | None = None, sort: ListCategoriesSort | None = None, direction: Direction | None = None, **options: Unpack[CallOptions]) -> Iterator[Warehouse]:
        """All elements of list_warehouses. The next page is requested when it is needed."""
        return self._pages("page", page, lambda **at: self.list_warehouses(per_page=per_page, search=search, sort=sort, direction=direction, **at, **options))

    def create_warehouse(self, body: NewReference, **options: Unpack[CallOptions]) -> Warehouse:
        """Create a warehouse.

        Requires a `name` that is unique in the tenant. A duplicate name returns `VALIDATION_ERROR`.
        """
        return self._send_for_data(Warehouse, "POST", "/api/warehouses", body=body, keyed=True, **options)

    def show_warehouse(self, id: int, **options: Unpack[CallOptions]) -> Warehouse:
        """Get a warehouse.

        Returns the warehouse with this id.
        """
        return self._send_for_data(Warehouse, "GET", path("/api/warehouses/{id}", id), repeatable=True, **options)

    def rename_warehouse(self, id: int, body: ReferenceChanges, **options: Unpack[CallOptions]) -> Warehouse:
        """Rename a warehouse.

        Changes the `name` if it is in the request. Products show the new name immediately.
        """
        return self._send_for_data(Warehouse, "PATCH", path("/api/warehouses/{id}", id), body=body, repeatable=True, **options)

    def delete_warehouse(self, id: int, **options: Unpack[CallOptions]) -> None:
        """Delete a warehouse.

        Deletes the warehouse permanently. Returns `RESOURCE_IN_USE` if products belong to it, if it has
        stock, or if it is the default warehouse.
        """
        return self._send("DELETE", path("/api/warehouses/{id}", id), repeatable=True, **options)

    def list_channels(self, *, page: int | None = None, per_page: int | None = None, **options: Unpack[CallOptions]) -> ChannelList:
        """List channels.

        Returns a page of channels, sorted by identifier. `meta.total` is the exact number of channels.
        """
        return self._send_for_body(ChannelList, "GET", "/api/channels", query={"page": page, "per_page": per_page}, repeatable=True, **options)

    def all_channels(self, *, page: int | None = None, per_page: int | None = None, **options: Unpack[CallOptions]) -> Iterator[Channel]:
        """All elements of list_channels. The next page is requested when it is needed."""
        return self._pages("page", page, lambda **at: self.list_channels(per_page=per_page, **at, **options))

    def create_channel(self, body: NewChannel, **options: Unpack[CallOptions]) -> Channel:
        """Create a channel.

        Requires an `identifier` that is unique in the tenant, and a `label` to display. A channel that an
        order mentions for the first time is created automatically, with its identifier as the label.
        """
        return self._send_for_data(Channel, "POST", "/api/channels", body=body, keyed=True, **options)

    def show_channel(self, identifier: str, **options: Unpack[CallOptions]) -> Channel:
        """Get a channel.

        Returns the channel with this identifier.
        """
        return self._send_for_data(Channel, "GET", path("/api/channels/{identifier}", identifier), repeatable=True, **options)

    def relabel_channel(self, identifier: str, body: ChannelChanges, **options: Unpack[CallOptions]) -> Channel:
        """Update a channel.

        Changes the fields in the request. Reports show a new label immediately. A new `takes_stock` applies
        to orders that are created afterwards. The identifier cannot be changed.
        """
        return self._send_for_data(Channel, "PATCH", path("/api/channels/{identifier}", identifier), body=body, repeatable=True, **options)

    def delete_channel(self, identifier: str, **options: Unpack[CallOptions]) -> None:
        """Delete a channel.

        Deletes the channel permanently. Returns `RESOURCE_IN_USE` for `pos` and for channels with orders.
        """
        return self._send("DELETE", path("/api/channels/{identifier}", identifier), repeatable=True, **options)

    def list_orders(self, *, page: int | None = None, per_page: int | None = None, cursor: str | None = None, search: str | None = None, from_: str | None = None, to: str | None = None, period: PeriodPreset | None = None, channel: str | None = None, customer_id: str | None = None, status: ListOrdersStatus | None = None, updated_since: str | None = None, sort: ListOrdersSort | None = None, direction: Direction | None = None, **options: Unpack[CallOptions]) -> OrderList:
        """List orders.

        Returns a page of orders without items and refunds, newest first. Orders must match all filters.
        `meta.total` is the exact number of matching orders. With `cursor`, `meta` is `{per_page, total,
        next_cursor}`, and no order is skipped or repeated while others are created. The customer's name and
        e-mail address are returned only if the key has `customers:read`; the id is always returned.
        """
        return self._send_for_body(OrderList, "GET", "/api/orders", query={"page": page, "per_page": per_page, "cursor": cursor, "search": search, "from": from_, "to": to, "period": period, "channel": channel, "customer_id": customer_id, "status": status, "updated_since": updated_since, "sort": sort, "direction": direction}, repeatable=True, **options)

    def all_orders(self, *, page: int | None = None, per_page: int | None = None, cursor: str | None = None, search: str | None = None, from_: str | None = None, to: str | None = None, period: PeriodPreset | None = None, channel: str | None = None, customer_id: str | None = None, status: ListOrdersStatus | None = None, updated_since: str | None = None, sort: ListOrdersSort | None = None, direction: Direction | None = None, **options: Unpack[CallOptions]) -> Iterator[ListedOrder]:
        """All elements of list_orders. The next page is requested when it is needed."""
        return self._pages("cursor", cursor, lambda **at: self.list_orders(page=page, per_page=per_page, search=search, from_=from_, to=to, period=period, channel=channel, customer_id=customer_id, status=status, updated_since=updated_since, sort=sort, direction=direction, **at, **options))

    def create_order(self, body: NewOrder, **options: Unpack[CallOptions]) -> Order:
        """Create an order.

        Stores an order once. Returns 201 for a new order, 200 if an order with this `number` and the same
        content exists (cancelled or not), and 422 for `number` if its content is different. See *Orders*
        for the calculated fields, and for the stock that the order takes if its channel has `takes_stock`.
        """
        return self._send_for_data(Order, "POST", "/api/orders", body=body, keyed=True, **options)

    def create_orders(self, body: NewOrders, **options: Unpack[CallOptions]) -> OrdersResult:
        """Create many orders.

        Creates up to 1,000 orders with up to 50,000 items in total.
        """
        return self._send_for_body(OrdersResult, "POST", "/api/orders/bulk", body=body, keyed=True, **options)

    def export_orders(self, *, format: ExportProductsFormat | None = None, search: str | None = None, from_: str | None = None, to: str | None = None, period: PeriodPreset | None = None, channel: str | None = None, customer_id: str | None = None, status: ListOrdersStatus | None = None, updated_since: str | None = None, sort: ListOrdersSort | None = None, direction: Direction | None = None, **options: Unpack[CallOptions]) -> File:
        """Export orders as a file.

        Streams all orders that match the filters, in the order of the list. The files of the three exports
        of orders, items and refunds with the same parameters can be imported together. The import reads the
        columns up to `cancelled_at`; the others are for reading. See *Export products as a file* for the
        formats. The customer's name and e-mail address are present only if the key has `customers:read`.
        """
        return self._send_for_file("GET", "/api/orders/export", query={"format": format, "search": search, "from": from_, "to": to, "period": period, "channel": channel, "customer_id": customer_id, "status": status, "updated_since": updated_since, "sort": sort, "direction": direction}, repeatable=True, **options)

    def export_order_items(self, *, format: ExportProductsFormat | None = None, search: str | None = None, from_: str | None = None, to: str | None = None, period: PeriodPreset | None = None, channel: str | None = None, customer_id: str | None = None, status: ListOrdersStatus | None = None, updated_since: str | None = None, sort: ListOrdersSort | None = None, direction: Direction | None = None, **options: Unpack[CallOptions]) -> File:
        """Export the items of orders as a file.

        Streams the items of all orders that match the filters, in the order of the list of orders. The
        import reads the columns up to `seller_name`; an empty `unit_cost` is not known. `discount`, `tax`
        and `shipping` include the item's shares of the order's amounts.
        """
        return self._send_for_file("GET", "/api/order-items/export", query={"format": format, "search": search, "from": from_, "to": to, "period": period, "channel": channel, "customer_id": customer_id, "status": status, "updated_since": updated_since, "sort": sort, "direction": direction}, repeatable=True, **options)

    def export_refunds(self, *, format: ExportProductsFormat | None = None, search: str | None = None, from_: str | None = None, to: str | None = None, period: PeriodPreset | None = None, channel: str | None = None, customer_id: str | None = None, status: ListOrdersStatus | None = None, updated_since: str | None = None, sort: ListOrdersSort | None = None, direction: Direction | None = None, **options: Unpack[CallOptions]) -> File:
        """Export the refunds of orders as a file.

        Streams the refunds of all orders that match the filters, in the order of the list of orders. `from`
        and `to` are days of the order, not of the refund.
        """
        return self._send_for_file("GET", "/api/refunds/export", query={"format": format, "search": search, "from": from_, "to": to, "period": period, "channel": channel, "customer_id": customer_id, "status": status, "updated_since": updated_since, "sort": sort, "direction": direction}, repeatable=True, **options)

    def show_order(self, number: str, **options: Unpack[CallOptions]) -> Order:
        """Get an order.

        Returns an order with its items as sold and its refunds. The customer's name and e-mail address are
        null if the key does not have `customers:read`.
        """
        return self._send_for_data(Order, "GET", path("/api/orders/{number}", number), repeatable=True, **options)

    def cancel_order(self, number: str, body: NewCancellation | None = None, **options: Unpack[CallOptions]) -> Order:
        """Cancel an order.

        Excludes the order and its refunds from all reports, on all days. You cannot undo this. Cancelling a
        cancelled order returns it without changes. Stock that the order has taken is returned. The body is
        optional.
        """
        return self._send_for_data(Order, "POST", path("/api/orders/{number}/cancel", number), body=body, keyed=True, **options)

    def refund_order(self, number: str, body: NewRefund, **options: Unpack[CallOptions]) -> Refund:
        """Create a refund.

        Stores a refund of the order. With a `reference` you can send the request again safely: it returns
        201 for a new refund, 200 if the order has a refund with this reference and the same content, and
        422 for `reference` if its content is different. Without a `reference`, every request creates
        another refund. The amount can exceed what was paid; `exceeds_paid` is then true. Refunds of a
        cancelled order are stored but do not count in reports. With `restock`, stock that the order has
        taken is returned.
        """
        return self._send_for_data(Refund, "POST", path("/api/orders/{number}/refunds", number), body=body, keyed=True, **options)

    def list_customers(self, *, page: int | None = None, per_page: int | None = None, cursor: str | None = None, search: str | None = None, **options: Unpack[CallOptions]) -> CustomerList:
        """List customers.

        Returns a page of customers, the newest first. Orders and imports create customers. With `cursor`,
        `meta` is `{per_page, total, next_cursor}`, and no customer is skipped or repeated.
        """
        return self._send_for_body(CustomerList, "GET", "/api/customers", query={"page": page, "per_page": per_page, "cursor": cursor, "search": search}, repeatable=True, **options)

    def all_customers(self, *, page: int | None = None, per_page: int | None = None, cursor: str | None = None, search: str | None = None, **options: Unpack[CallOptions]) -> Iterator[ListedCustomer]:
        """All elements of list_customers. The next page is requested when it is needed."""
        return self._pages("cursor", cursor, lambda **at: self.list_customers(page=page, per_page=per_page, search=search, **at, **options))

    def export_customers(self, *, format: ExportProductsFormat | None = None, search: str | None = None, **options: Unpack[CallOptions]) -> File:
        """Export customers as a file.

        Streams all customers that match the filters, the newest first. The CSV file can be imported again.
        See *Export products as a file* for the formats. A customer with the id `export` is returned by `GET
        /api/customers/%65xport`.
        """
        return self._send_for_file("GET", "/api/customers/export", query={"format": format, "search": search}, repeatable=True, **options)

    def show_customer(self, customer_id: str, **options: Unpack[CallOptions]) -> WholeCustomer:
        """Get a customer.

        Returns a customer with the sums of its orders. Cancelled orders do not count.
        """
        return self._send_for_data(WholeCustomer, "GET", path("/api/customers/{customer_id}", customer_id), repeatable=True, **options)

    def erase_customer(self, customer_id: str, **options: Unpack[CallOptions]) -> None:
        """Erase a customer.

        Erases the name and the e-mail address of the customer permanently and at once, and then in stored
        responses to idempotent requests, whose keys stay used, in plans of imports with the rows of their
        files, and in what receivers of webhooks have answered. If the latter takes longer than five
        seconds, or an import of the account is being carried out, it continues in the background after the
        response. Orders keep the id, and reports do not change. A later order, import or undo does not
        restore the name. The audit log keeps the names of imported files.
        """
        return self._send("DELETE", path("/api/customers/{customer_id}", customer_id), repeatable=True, **options)

    def show_customer_data(self, customer_id: str, **options: Unpack[CallOptions]) -> CustomerData:
        """Get all data about a customer.

        Streams one JSON file with all data about a person: the customer, all orders with items and refunds,
        and the stored responses to idempotent requests for orders that contain the customer.
        """
        return self._send_for_body(CustomerData, "GET", path("/api/customers/{customer_id}/data", customer_id), repeatable=True, **options)

    def list_changes(self, *, after: str | None = None, types: str | None = None, limit: int | None = None, wait: int | None = None, **options: Unpack[CallOptions]) -> ChangeList:
        """List what has changed.

        Returns every committed change of the tenant in one order, including deletions and the changes of
        imports. No change is missing, even if its transaction ends after a later one: an entry is returned
        only when no older transaction is running, normally within a second.
        """
        return self._send_for_body(ChangeList, "GET", "/api/changes", query={"after": after, "types": types, "limit": limit, "wait": wait}, repeatable=True, **options)

    def list_webhooks(self, *, page: int | None = None, per_page: int | None = None, **options: Unpack[CallOptions]) -> WebhookList:
        """List webhooks.

        Returns the webhooks of the tenant, the oldest first. It has at most 20.
        """
        return self._send_for_body(WebhookList, "GET", "/api/webhooks", query={"page": page, "per_page": per_page}, repeatable=True, **options)

    def all_webhooks(self, *, page: int | None = None, per_page: int | None = None, **options: Unpack[CallOptions]) -> Iterator[Webhook]:
        """All elements of list_webhooks. The next page is requested when it is needed."""
        return self._pages("page", page, lambda **at: self.list_webhooks(per_page=per_page, **at, **options))

    def create_webhook(self, body: NewWebhook, **options: Unpack[CallOptions]) -> Webhook:
        """Create a webhook.

        Creates an endpoint that gets the changes from now on, see *Webhooks*. The response has the `secret`
        with which messages are signed: store it, because it is shown again only if the request is repeated
        with its `Idempotency-Key` within 24 hours.
        """
        return self._send_for_data(Webhook, "POST", "/api/webhooks", body=body, keyed=True, **options)

    def show_webhook(self, id: int, **options: Unpack[CallOptions]) -> Webhook:
        """Get a webhook.

        Returns the webhook, with the reason if it is paused.
        """
        return self._send_for_data(Webhook, "GET", path("/api/webhooks/{id}", id), repeatable=True, **options)

    def change_webhook(self, id: int, body: WebhookChanges, **options: Unpack[CallOptions]) -> Webhook:
        """Update a webhook.

        Changes the fields in the request. `state` `paused` stops the delivery, and `active` resumes it
        where it stopped. A message that has failed is sent again at once. The key must have the permissions
        for all types of the webhook, before and after the change, see `GET /api/changes`. A body with
        nothing but `state` `paused` needs only `webhooks:write`.
        """
        return self._send_for_data(Webhook, "PATCH", path("/api/webhooks/{id}", id), body=body, repeatable=True, **options)

    def delete_webhook(self, id: int, **options: Unpack[CallOptions]) -> None:
        """Delete a webhook.

        Deletes the webhook and its deliveries. A message that is being sent may still arrive.
        """
        return self._send("DELETE", path("/api/webhooks/{id}", id), repeatable=True, **options)

    def rotate_webhook(self, id: int, **options: Unpack[CallOptions]) -> Webhook:
        """Rotate the secret of a webhook.

        Returns a new `secret`, which is shown again only if the request is repeated with its
        `Idempotency-Key` within 24 hours. For 24 hours messages have two signatures, one of each secret, so
        that a receiver accepts them before and after it gets the new one. If there are two secrets already,
        messages are no longer signed with the older one. The body is optional.
        """
        return self._send_for_data(Webhook, "POST", path("/api/webhooks/{id}/rotate", id), keyed=True, **options)

    def replay_webhook(self, id: int, body: WebhookReplay, **options: Unpack[CallOptions]) -> Webhook:
        """Continue a webhook at another position.

        The webhook continues after the cursor: `seq` of an entry or of a delivery, `""` for the oldest
        entry that is kept, or `now`. Messages get new ids, so that a receiver that ignores known ids
        accepts them. A webhook that is paused because its cursor has expired is resumed.
        """
        return self._send_for_data(Webhook, "POST", path("/api/webhooks/{id}/replay", id), body=body, keyed=True, **options)

    def test_webhook(self, id: int, **options: Unpack[CallOptions]) -> WebhookDelivery:
        """Send a test message.

        Sends a message of the type `test`, without entries, and returns its delivery. It also works for a
        paused webhook. Waits for the receiver for at most 15 seconds. The body is optional.
        """
        return self._send_for_data(WebhookDelivery, "POST", path("/api/webhooks/{id}/test", id), **options)

    def list_webhook_deliveries(self, id: int, *, before: int | None = None, limit: int | None = None, **options: Unpack[CallOptions]) -> WebhookDeliveryList:
        """List the deliveries of a webhook.

        Returns the attempts to deliver messages in the last 30 days, the newest first.
        """
        return self._send_for_body(WebhookDeliveryList, "GET", path("/api/webhooks/{id}/deliveries", id), query={"before": before, "limit": limit}, repeatable=True, **options)

    def all_webhook_deliveries(self, id: int, *, before: int | None = None, limit: int | None = None, **options: Unpack[CallOptions]) -> Iterator[WebhookDelivery]:
        """All elements of list_webhook_deliveries. The next page is requested when it is needed."""
        return self._pages("before", before, lambda **at: self.list_webhook_deliveries(id, limit=limit, **at, **options))

    def export_archive(self, **options: Unpack[CallOptions]) -> File:
        """Export everything as a ZIP file.

        Streams an archive of everything in the account at one moment: products, stock, images with their
        pictures, customers, orders and refunds as CSV files, and `manifest.json` with the number of rows
        and the SHA-256 of each file. `api/IMPORTS.md` in the source describes the columns. Keys, members,
        the audit log and usage are not part of it.
        """
        return self._send_for_file("GET", "/api/archive", repeatable=True, **options)

    def list_plans(self, *, page: int | None = None, per_page: int | None = None, **options: Unpack[CallOptions]) -> PlanList:
        """List plans.

        Returns a page of the plans that are kept, newest first. Imports are not among them.
        """
        return self._send_for_body(PlanList, "GET", "/api/plans", query={"page": page, "per_page": per_page}, repeatable=True, **options)

    def all_plans(self, *, page: int | None = None, per_page: int | None = None, **options: Unpack[CallOptions]) -> Iterator[PlanListed]:
        """All elements of list_plans. The next page is requested when it is needed."""
        return self._pages("page", page, lambda **at: self.list_plans(per_page=per_page, **at, **options))

    def show_plan(self, id: int, *, action: ShowPlanAction | None = None, cursor: str | None = None, per_page: int | None = None, **options: Unpack[CallOptions]) -> PlanResult:
        """Get a plan.

        Returns a plan with its counts and some of its rows. Send `meta.next_cursor` as `cursor` for the
        next rows. After the plan was applied, `action` is what happened to a row. Request the plan again
        while `state` is `planning`, `applying` or `undoing`.
        """
        return self._send_for_body(PlanResult, "GET", path("/api/plans/{id}", id), query={"action": action, "cursor": cursor, "per_page": per_page}, repeatable=True, **options)

    def apply_plan(self, id: int, body: PlanApplication | None = None, **options: Unpack[CallOptions]) -> PlanResult:
        """Apply a plan.

        Makes exactly the planned changes. If a product no longer has the old value of a field that the plan
        changes, nothing is changed: the response is 412 and names up to 100 of these rows, and `state`
        returns to `planned`. Send `force` to leave them out and apply the others. The state must be
        `planned`, or `failed`; a failed plan continues where it stopped. The body is optional.
        """
        return self._send_for_body(PlanResult, "POST", path("/api/plans/{id}/apply", id), body=body, keyed=True, **options)

    def cancel_plan(self, id: int, **options: Unpack[CallOptions]) -> PlanResult:
        """Cancel a plan.

        Stops a plan after the rows that are being written. What was written stays, and can be undone. The
        state must be `planning`, `planned` or `applying`.
        """
        return self._send_for_body(PlanResult, "POST", path("/api/plans/{id}/cancel", id), keyed=True, **options)

    def undo_plan(self, id: int, **options: Unpack[CallOptions]) -> PlanResult:
        """Undo a plan.

        Restores the products that a plan has changed, and deletes those that it has created. A product is
        kept as it is if a changed field no longer has the new value; its row has `changed`. The state must
        be `applied`, or `failed` or `cancelled` with applied rows, until `expires_at`.
        """
        return self._send_for_body(PlanResult, "POST", path("/api/plans/{id}/undo", id), keyed=True, **options)

    def list_imports(self, *, page: int | None = None, per_page: int | None = None, **options: Unpack[CallOptions]) -> ImportList:
        """List imports.

        Returns a page of the stored imports, the newest first.
        """
        return self._send_for_body(ImportList, "GET", "/api/imports", query={"page": page, "per_page": per_page}, repeatable=True, **options)

    def all_imports(self, *, page: int | None = None, per_page: int | None = None, **options: Unpack[CallOptions]) -> Iterator[ImportListed]:
        """All elements of list_imports. The next page is requested when it is needed."""
        return self._pages("page", page, lambda **at: self.list_imports(per_page=per_page, **at, **options))

    def show_import(self, id: int, **options: Unpack[CallOptions]) -> Import:
        """Get an import.

        Returns an import with its counts, totals and progress. Request it again while `state` is
        `planning`, `applying` or `undoing`.
        """
        return self._send_for_data(Import, "GET", path("/api/imports/{id}", id), repeatable=True, **options)

    def configure_import(self, id: int, body: ImportSettingsChanges, **options: Unpack[CallOptions]) -> Import:
        """Change the settings of an import.

        Changes the settings that are in the request and computes the plan again. Null restores a default.
        Answer `questions` this way. The state must be `needs_mapping` or `planned`.
        """
        return self._send_for_data(Import, "PATCH", path("/api/imports/{id}", id), body=body, repeatable=True, **options)

    def list_import_rows(self, id: int, *, action: ListImportRowsAction | None = None, kind: ImportKind | None = None, page: int | None = None, per_page: int | None = None, **options: Unpack[CallOptions]) -> ImportRowList:
        """List the rows of an import.

        Returns a page of the rows of the plan, in the order in which they are applied. After the import was
        applied, `action` is what happened. Rows of products, stock and references need `products:read`,
        those of channels, orders, refunds and cancellations `orders:read`, and those of customers
        `customers:read`. Without it, only rows are returned that are ignored, or refused because of the
        file itself, whatever is stored, with their place in the file and the fields that are not valid.
        """
        return self._send_for_body(ImportRowList, "GET", path("/api/imports/{id}/rows", id), query={"action": action, "kind": kind, "page": page, "per_page": per_page}, repeatable=True, **options)

    def all_import_rows(self, id: int, *, action: ListImportRowsAction | None = None, kind: ImportKind | None = None, page: int | None = None, per_page: int | None = None, **options: Unpack[CallOptions]) -> Iterator[ImportRow]:
        """All elements of list_import_rows. The next page is requested when it is needed."""
        return self._pages("page", page, lambda **at: self.list_import_rows(id, action=action, kind=kind, per_page=per_page, **at, **options))

    def export_refused_rows(self, id: int, **options: Unpack[CallOptions]) -> File:
        """Download the refused rows.

        Returns the refused rows as they are in the file, each once, with a last column `reason`. Correct
        the rows and import the file: that column is ignored. In a file whose last column is `reason`, an
        import removes the apostrophe before text that a spreadsheet would read as a formula. If the import
        has several files, the response is a ZIP archive of one file for each.
        """
        return self._send_for_file("GET", path("/api/imports/{id}/refused.csv", id), repeatable=True, **options)

    def apply_import(self, id: int, body: ImportApplication | None = None, **options: Unpack[CallOptions]) -> Import:
        """Apply an import.

        Makes the planned changes in the background. If objects have changed since the plan, nothing is
        written: the state returns to `planned`, and `failure` has the number of rows, which the list of
        rows with `action=changed` names. Send `skip_changed` to apply the other rows. The state must be
        `planned` or `failed`; a failed import continues where it stopped. The body is optional.
        """
        return self._send_for_data(Import, "POST", path("/api/imports/{id}/apply", id), body=body, keyed=True, **options)

    def cancel_import(self, id: int, **options: Unpack[CallOptions]) -> Import:
        """Cancel an import.

        Stops an import after the rows that are being written. What was written stays, and can be undone.
        The state must be `planning`, `needs_mapping`, `planned` or `applying`.
        """
        return self._send_for_data(Import, "POST", path("/api/imports/{id}/cancel", id), keyed=True, **options)

    def undo_import(self, id: int, **options: Unpack[CallOptions]) -> Import:
        """Undo an import.

        Undoes an import in the background, until seven days after it was applied. Products and names of
        customers get their earlier values back, and what the import created is deleted. What has changed
        since is kept. The state must be `applied`, or `failed` or `cancelled` after a part of it was
        applied.
        """
        return self._send_for_data(Import, "POST", path("/api/imports/{id}/undo", id), keyed=True, **options)

    def sales_summary(self, *, from_: str | None = None, to: str | None = None, period: PeriodPreset | None = None, channel: str | None = None, compare: SalesSummaryCompare | None = None, compare_until: str | None = None, explain: bool | None = None, **options: Unpack[CallOptions]) -> SalesSummaryReport:
        """Get a sales summary.

        Returns the sales in a range of days: in total, by channel and by day. `compare` adds an earlier
        range. `channel` filters all figures, also those of `comparison`.
        """
        return self._send_for_body(SalesSummaryReport, "GET", "/api/reports/sales-summary", query={"from": from_, "to": to, "period": period, "channel": channel, "compare": compare, "compare_until": compare_until, "explain": explain}, repeatable=True, **options)

    def product_report(self, *, from_: str | None = None, to: str | None = None, period: PeriodPreset | None = None, category_id: int | None = None, sort: ProductReportSort | None = None, direction: Direction | None = None, page: int | None = None, per_page: int | None = None, explain: bool | None = None, **options: Unpack[CallOptions]) -> ProductReport:
        """Get the best-selling products.

        Returns a page of the products with an item sold in the range, one row per product, best first. Rows
        with equal values are sorted by revenue, then by id. A SKU that was never in the catalog has a row
        without `product_id`. Deleted products are included, as they were sold. Without `from` and `to`, the
        range is the last 30 days including today. The totals of all pages are in `meta`. Refunds of
        products without a sale in the range are not included.
        """
        return self._send_for_body(ProductReport, "GET", "/api/reports/products", query={"from": from_, "to": to, "period": period, "category_id": category_id, "sort": sort, "direction": direction, "page": page, "per_page": per_page, "explain": explain}, repeatable=True, **options)

    def all_product_report(self, *, from_: str | None = None, to: str | None = None, period: PeriodPreset | None = None, category_id: int | None = None, sort: ProductReportSort | None = None, direction: Direction | None = None, page: int | None = None, per_page: int | None = None, explain: bool | None = None, **options: Unpack[CallOptions]) -> Iterator[ProductReportRow]:
        """All elements of product_report. The next page is requested when it is needed."""
        return self._pages("page", page, lambda **at: self.product_report(from_=from_, to=to, period=period, category_id=category_id, sort=sort, direction=direction, per_page=per_page, explain=explain, **at, **options))

    def channel_report(self, *, from_: str | None = None, to: str | None = None, period: PeriodPreset | None = None, compare: SalesSummaryCompare | None = None, compare_until: str | None = None, explain: bool | None = None, **options: Unpack[CallOptions]) -> ChannelReport:
        """Get sales by channel.

        Returns the channels with an order or a refund in the range, sorted by revenue, highest first.
        `percent_of_total` adds up to exactly 100.00. Without `from` and `to`, the range is the last 30 days
        including today. With `compare`, channels with sales only in the earlier range follow the others.
        """
        return self._send_for_body(ChannelReport, "GET", "/api/reports/channels", query={"from": from_, "to": to, "period": period, "compare": compare, "compare_until": compare_until, "explain": explain}, repeatable=True, **options)

    def customer_report(self, *, from_: str | None = None, to: str | None = None, period: PeriodPreset | None = None, channel: str | None = None, sort: CustomerReportSort | None = None, direction: Direction | None = None, page: int | None = None, per_page: int | None = None, explain: bool | None = None, **options: Unpack[CallOptions]) -> CustomerReportResult:
        """Get sales by customer.

        Returns figures about all customers with an order in the range, and a page of these customers, best
        first. Rows with equal values are sorted by id. A customer is new if the first order ever, in any
        channel, is in the range. Orders, revenue and refunds are those of the range and the channel. Names
        and e-mail addresses are null if the key does not have `customers:read`. Without `from` and `to`,
        the range is the last 30 days including today.
        """
        return self._send_for_body(CustomerReportResult, "GET", "/api/reports/customers", query={"from": from_, "to": to, "period": period, "channel": channel, "sort": sort, "direction": direction, "page": page, "per_page": per_page, "explain": explain}, repeatable=True, **options)

    def custom_report(self, body: CustomReportQuery, **options: Unpack[CallOptions]) -> CustomReportResult:
        """Create a custom report.

        Returns the requested metrics by group and in total. Sales must match all filters; a filter matches
        if one of its values matches. Days, weeks and months are in chronological order. Other groups are
        sorted by the first metric, highest first, then by label. A week is named by its Monday and contains
        only the days in the range.
        """
        return self._send_for_body(CustomReportResult, "POST", "/api/reports/custom", body=body, repeatable=True, **options)

    def reconcile(self, *, from_: str | None = None, to: str | None = None, period: PeriodPreset | None = None, **options: Unpack[CallOptions]) -> ReconciliationResult:
        """Reconcile a range.

        Returns every figure of a range, calculated from the stored orders (`facts`) and from the sums of
        each report. `balanced` reports whether all values are equal. A value is null if it cannot be
        calculated that way: for example, one order can contain several products.
        """
        return self._send_for_body(ReconciliationResult, "GET", "/api/reports/reconcile", query={"from": from_, "to": to, "period": period}, repeatable=True, **options)

    def report_changes(self, *, from_: str | None = None, to: str | None = None, period: PeriodPreset | None = None, since: str | None = None, after: str | None = None, limit: int | None = None, **options: Unpack[CallOptions]) -> ReportChangeList:
        """List what changed in a range.

        Returns the orders, refunds, cancellations and undone imports that changed days of a range since a
        time, in the order of `GET /api/changes`. Cancellations and imports can change days long ago, so use
        it to find out why a figure of a closed month is another one: remember `meta.changed_at` of a
        report, and list what changed since when it is later.
        """
        return self._send_for_body(ReportChangeList, "GET", "/api/reports/changes", query={"from": from_, "to": to, "period": period, "since": since, "after": after, "limit": limit}, repeatable=True, **options)

    def all_report_changes(self, *, from_: str | None = None, to: str | None = None, period: PeriodPreset | None = None, since: str | None = None, after: str | None = None, limit: int | None = None, **options: Unpack[CallOptions]) -> Iterator[ReportChange]:
        """All elements of report_changes. The next page is requested when it is needed."""
        return self._pages("after", after, lambda **at: self.report_changes(from_=from_, to=to, period=period, since=since, limit=limit, **at, **options))

    def export_report(self, type: ExportReportType, *, format: ExportReportFormat | None = None, from_: str | None = None, to: str | None = None, period: PeriodPreset | None = None, channel: str | None = None, compare: SalesSummaryCompare | None = None, compare_until: str | None = None, category_id: int | None = None, sort: ExportReportSort | None = None, direction: Direction | None = None, **options: Unpack[CallOptions]) -> File:
        """Export a report as a file.

        Returns all rows of a report in its order. Each type accepts only the filters of its JSON report:
        `sales-summary` accepts `from` and `to` (required), `channel`, `compare` and `compare_until`;
        `products` accepts `from`, `to`, `category_id`, `sort` and `direction`; `channels` accepts `from`,
        `to`, `compare` and `compare_until`; `customers` accepts `from`, `to`, `channel`, `sort` and
        `direction`. An unknown type returns `NOT_FOUND`.
        """
        return self._send_for_file("GET", path("/api/reports/export/{type}", type), query={"format": format, "from": from_, "to": to, "period": period, "channel": channel, "compare": compare, "compare_until": compare_until, "category_id": category_id, "sort": sort, "direction": direction}, repeatable=True, **options)

    def show_me(self, **options: Unpack[CallOptions]) -> Me:
        """Get the tenant and the key.

        Returns the tenant, the key with its permissions, the rate limit as in the headers of this response,
        and what is used of the quotas. Every valid key can use this operation.
        """
        return self._send_for_data(Me, "GET", "/api/me", repeatable=True, **options)

    def show_usage(self, *, from_: str | None = None, to: str | None = None, period: PeriodPreset | None = None, key_id: int | None = None, group_by: ShowUsageGroupBy | None = None, **options: Unpack[CallOptions]) -> Usage:
        """Get the usage of the API keys.

        Returns the requests of each key of the tenant in a range of days, by default the last seven: by
        route and status class, refusals by the rate limit, durations, the busiest minute, and the last
        errors. Keys without requests in the range are not listed; revoked, expired and rolled keys are.
        Requests without a valid key are not recorded. Usage is kept for 90 days. The last ten seconds may
        be missing.
        """
        return self._send_for_data(Usage, "GET", "/api/usage", query={"from": from_, "to": to, "period": period, "key_id": key_id, "group_by": group_by}, repeatable=True, **options)
