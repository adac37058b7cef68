// Code generated from openapi.yaml by api/sdk/generate. DO NOT EDIT.

package storeroom

import (
	"context"
	"iter"
	"net/url"
)

// The codes of errors. A later release can add some.
const (
	ErrInvalidJson             ErrorCode = "INVALID_JSON"
	ErrInvalidParameter        ErrorCode = "INVALID_PARAMETER"
	ErrInvalidHeader           ErrorCode = "INVALID_HEADER"
	ErrMissingAPIKey           ErrorCode = "MISSING_API_KEY"
	ErrInvalidAPIKey           ErrorCode = "INVALID_API_KEY"
	ErrInsufficientPermissions ErrorCode = "INSUFFICIENT_PERMISSIONS"
	ErrTenantSuspended         ErrorCode = "TENANT_SUSPENDED"
	ErrQuotaExceeded           ErrorCode = "QUOTA_EXCEEDED"
	ErrNotFound                ErrorCode = "NOT_FOUND"
	ErrRouteNotFound           ErrorCode = "ROUTE_NOT_FOUND"
	ErrMethodNotAllowed        ErrorCode = "METHOD_NOT_ALLOWED"
	ErrResourceInUse           ErrorCode = "RESOURCE_IN_USE"
	ErrInvalidState            ErrorCode = "INVALID_STATE"
	ErrIdempotencyInProgress   ErrorCode = "IDEMPOTENCY_IN_PROGRESS"
	ErrCursorExpired           ErrorCode = "CURSOR_EXPIRED"
	ErrPreconditionFailed      ErrorCode = "PRECONDITION_FAILED"
	ErrPayloadTooLarge         ErrorCode = "PAYLOAD_TOO_LARGE"
	ErrUnsupportedMediaType    ErrorCode = "UNSUPPORTED_MEDIA_TYPE"
	ErrValidationError         ErrorCode = "VALIDATION_ERROR"
	ErrInsufficientStock       ErrorCode = "INSUFFICIENT_STOCK"
	ErrIdempotencyKeyReused    ErrorCode = "IDEMPOTENCY_KEY_REUSED"
	ErrRateLimitExceeded       ErrorCode = "RATE_LIMIT_EXCEEDED"
	ErrInternalError           ErrorCode = "INTERNAL_ERROR"
	ErrServiceUnavailable      ErrorCode = "SERVICE_UNAVAILABLE"
)

// Status: `active` products are for sale, `draft` products are not.
type Status string

// The values of Status. A later release can add some.
const (
	StatusActive Status = "active"
	StatusDraft  Status = "draft"
)

// Condition is described by its fields.
type Condition string

// The values of Condition. A later release can add some.
const (
	ConditionNew         Condition = "new"
	ConditionLikeNew     Condition = "like_new"
	ConditionUsed        Condition = "used"
	ConditionRefurbished Condition = "refurbished"
	ConditionForParts    Condition = "for_parts"
)

// WhenShort: What happens to an order for more than is in stock: `refuse` it, or `accept` it with what there is
// and mark it as `short`. The default is `refuse`.
type WhenShort string

// The values of WhenShort. A later release can add some.
const (
	WhenShortRefuse WhenShort = "refuse"
	WhenShortAccept WhenShort = "accept"
)

// PlanState: The state of a plan.
type PlanState string

// The values of PlanState. A later release can add some.
const (
	PlanStatePlanning  PlanState = "planning"
	PlanStatePlanned   PlanState = "planned"
	PlanStateApplying  PlanState = "applying"
	PlanStateApplied   PlanState = "applied"
	PlanStateUndoing   PlanState = "undoing"
	PlanStateUndone    PlanState = "undone"
	PlanStateCancelled PlanState = "cancelled"
	PlanStateFailed    PlanState = "failed"
)

// ImportKind: What a row becomes.
type ImportKind string

// The values of ImportKind. A later release can add some.
const (
	ImportKindCategory     ImportKind = "category"
	ImportKindSeller       ImportKind = "seller"
	ImportKindWarehouse    ImportKind = "warehouse"
	ImportKindProduct      ImportKind = "product"
	ImportKindStock        ImportKind = "stock"
	ImportKindChannel      ImportKind = "channel"
	ImportKindCustomer     ImportKind = "customer"
	ImportKindOrder        ImportKind = "order"
	ImportKindRefund       ImportKind = "refund"
	ImportKindCancellation ImportKind = "cancellation"
)

// ImportAction: What happens to a row.
type ImportAction string

// The values of ImportAction. A later release can add some.
const (
	ImportActionCreated   ImportAction = "created"
	ImportActionUpdated   ImportAction = "updated"
	ImportActionUnchanged ImportAction = "unchanged"
	ImportActionRefused   ImportAction = "refused"
	ImportActionIgnored   ImportAction = "ignored"
)

// Compare is described by its fields.
type Compare string

// The values of Compare. A later release can add some.
const (
	ComparePreviousPeriod      Compare = "previous_period"
	ComparePreviousYear        Compare = "previous_year"
	ComparePreviousYearWeekday Compare = "previous_year_weekday"
)

// Metric is described by its fields.
type Metric string

// The values of Metric. A later release can add some.
const (
	MetricRevenue          Metric = "revenue"
	MetricOrders           Metric = "orders"
	MetricAvgOrderValue    Metric = "avg_order_value"
	MetricGrossProfit      Metric = "gross_profit"
	MetricMarginPercent    Metric = "margin_percent"
	MetricUnitsSold        Metric = "units_sold"
	MetricDiscounts        Metric = "discounts"
	MetricTax              Metric = "tax"
	MetricRefunds          Metric = "refunds"
	MetricGrossSales       Metric = "gross_sales"
	MetricNetRevenue       Metric = "net_revenue"
	MetricShipping         Metric = "shipping"
	MetricTotal            Metric = "total"
	MetricItems            Metric = "items"
	MetricNetGrossProfit   Metric = "net_gross_profit"
	MetricNetMarginPercent Metric = "net_margin_percent"
	MetricUnitsReturned    Metric = "units_returned"
	MetricRefundedRevenue  Metric = "refunded_revenue"
	MetricReturnedCost     Metric = "returned_cost"
)

// GroupBy is described by its fields.
type GroupBy string

// The values of GroupBy. A later release can add some.
const (
	GroupByDay      GroupBy = "day"
	GroupByWeek     GroupBy = "week"
	GroupByMonth    GroupBy = "month"
	GroupByChannel  GroupBy = "channel"
	GroupByCategory GroupBy = "category"
	GroupBySeller   GroupBy = "seller"
)

// PeriodPreset: A period that ends today or earlier, in the tenant's time zone.
type PeriodPreset string

// The values of PeriodPreset. A later release can add some.
const (
	PeriodPresetToday       PeriodPreset = "today"
	PeriodPresetYesterday   PeriodPreset = "yesterday"
	PeriodPresetLast7Days   PeriodPreset = "last_7_days"
	PeriodPresetLast30Days  PeriodPreset = "last_30_days"
	PeriodPresetLast90Days  PeriodPreset = "last_90_days"
	PeriodPresetThisMonth   PeriodPreset = "this_month"
	PeriodPresetLastMonth   PeriodPreset = "last_month"
	PeriodPresetThisQuarter PeriodPreset = "this_quarter"
	PeriodPresetThisYear    PeriodPreset = "this_year"
	PeriodPresetLastYear    PeriodPreset = "last_year"
)

// Unit is described by its fields.
type Unit string

// The values of Unit. A later release can add some.
const (
	UnitMoney   Unit = "money"
	UnitPercent Unit = "percent"
	UnitCount   Unit = "count"
)

// ListProductsSort is described by its fields.
type ListProductsSort string

// The values of ListProductsSort. A later release can add some.
const (
	ListProductsSortName      ListProductsSort = "name"
	ListProductsSortSKU       ListProductsSort = "sku"
	ListProductsSortPrice     ListProductsSort = "price"
	ListProductsSortCreatedAt ListProductsSort = "created_at"
)

// Direction is described by its fields.
type Direction string

// The values of Direction. A later release can add some.
const (
	DirectionAsc  Direction = "asc"
	DirectionDesc Direction = "desc"
)

// ProductList is described by its fields.
type ProductList struct {
	Data []Product `json:"data"`
	// The position of a page, or the position of `cursor`.
	Meta ListMeta `json:"meta"`
}

// Product: A product. All fields are always present. Missing values are null, and missing lists are `[]`.
type Product struct {
	ID int64 `json:"id"`
	// Unique in the tenant, compared exactly.
	SKU  string `json:"sku"`
	Name string `json:"name"`
	// HTML, returned exactly as it was sent.
	Description *string   `json:"description"`
	Price       Decimal   `json:"price"`
	MSRP        *Decimal  `json:"msrp"`
	Cost        *Decimal  `json:"cost"`
	Status      Status    `json:"status"`
	Condition   Condition `json:"condition"`
	// Units in all warehouses.
	Quantity int64 `json:"quantity"`
	// Units. Your threshold for reordering.
	ReorderPoint *int64  `json:"reorder_point"`
	Category     *Named  `json:"category"`
	Seller       *Named  `json:"seller"`
	Warehouse    Named   `json:"warehouse"`
	BinLocation  *string `json:"bin_location"`
	// The digits of the barcode, including leading zeros.
	UPC       *string  `json:"upc"`
	Tags      []string `json:"tags"`
	Images    []Image  `json:"images"`
	CreatedAt Time     `json:"created_at"`
	UpdatedAt Time     `json:"updated_at"`
}

// Named: An object that a product refers to.
type Named struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// Image is described by its fields.
type Image struct {
	ID int64 `json:"id"`
	// An absolute URL.
	URL      string `json:"url"`
	Position int64  `json:"position"`
	// Absolute URLs of smaller pictures for lists, by width in pixels. The height is at most twice the width. A size
	// that the picture already fits has the URL of the picture itself. Null if the image is on another server.
	Thumbnails *ImageThumbnails `json:"thumbnails"`
}

// ImageThumbnails: Absolute URLs of smaller pictures for lists, by width in pixels. The height is at most twice
// the width. A size that the picture already fits has the URL of the picture itself. Null if the image is on
// another server.
type ImageThumbnails struct {
	Width160  string `json:"160"`
	Width480  string `json:"480"`
	Width1200 string `json:"1200"`
}

// Meta: The position of the page in the list.
type Meta struct {
	Page    int64 `json:"page"`
	PerPage int64 `json:"per_page"`
	// The exact number of matching objects.
	Total      int64 `json:"total"`
	TotalPages int64 `json:"total_pages"`
	HasNext    bool  `json:"has_next"`
	HasPrev    bool  `json:"has_prev"`
}

// WalkMeta: The position in the list, for requests with `cursor`.
type WalkMeta struct {
	PerPage int64 `json:"per_page"`
	// The exact number of matching objects.
	Total int64 `json:"total"`
	// The `cursor` for the next request, or null at the end of the list.
	NextCursor *string `json:"next_cursor"`
}

// ListMeta is described by its fields.
type ListMeta struct {
	Page    *int64 `json:"page"`
	PerPage int64  `json:"per_page"`
	// The exact number of matching objects.
	Total      int64  `json:"total"`
	TotalPages *int64 `json:"total_pages"`
	HasNext    *bool  `json:"has_next"`
	HasPrev    *bool  `json:"has_prev"`
	// The `cursor` for the next request, or null at the end of the list.
	NextCursor *string `json:"next_cursor"`
}

// NewProduct: A product for POST and PUT.
type NewProduct struct {
	// Trimmed. Unique in the tenant. Must not contain control characters and must not be `.` or `..`.
	SKU string `json:"sku"`
	// Trimmed. Must not contain control characters.
	Name string `json:"name"`
	// HTML, stored exactly as sent.
	Description Optional[string]  `json:"description,omitzero"`
	Price       Decimal           `json:"price"`
	MSRP        Optional[Decimal] `json:"msrp,omitzero"`
	Cost        Optional[Decimal] `json:"cost,omitzero"`
	// A new product without it is `active`.
	Status Optional[Status] `json:"status,omitzero"`
	// A new product without it is `new`.
	Condition Optional[Condition] `json:"condition,omitzero"`
	// Units in all warehouses. A new product without it has 0.
	Quantity     Optional[int64] `json:"quantity,omitzero"`
	ReorderPoint Optional[int64] `json:"reorder_point,omitzero"`
	CategoryID   Optional[int64] `json:"category_id,omitzero"`
	SellerID     Optional[int64] `json:"seller_id,omitzero"`
	// The product's own warehouse. The default is the tenant's default warehouse.
	WarehouseID Optional[int64] `json:"warehouse_id,omitzero"`
	// Must not contain control characters.
	BinLocation Optional[string] `json:"bin_location,omitzero"`
	UPC         Optional[string] `json:"upc,omitzero"`
	// Trimmed. Exact duplicates are removed, and the order is kept. At most 50 different tags.
	Tags []string `json:"tags,omitzero"`
}

// ProductItems: The rows of a bulk request. An invalid row is reported in its row of the response.
type ProductItems struct {
	Items []ProductItemsItem `json:"items"`
}

// ProductItemsItem is described by its fields.
type ProductItemsItem struct {
	// Trimmed. Unique in the tenant. Must not contain control characters and must not be `.` or `..`.
	SKU string `json:"sku"`
	// Trimmed. Must not contain control characters.
	Name Optional[string] `json:"name,omitzero"`
	// HTML, stored exactly as sent.
	Description Optional[string]  `json:"description,omitzero"`
	Price       Optional[Decimal] `json:"price,omitzero"`
	MSRP        Optional[Decimal] `json:"msrp,omitzero"`
	Cost        Optional[Decimal] `json:"cost,omitzero"`
	// A new product without it is `active`.
	Status Optional[Status] `json:"status,omitzero"`
	// A new product without it is `new`.
	Condition Optional[Condition] `json:"condition,omitzero"`
	// Units in all warehouses. A new product without it has 0.
	Quantity     Optional[int64] `json:"quantity,omitzero"`
	ReorderPoint Optional[int64] `json:"reorder_point,omitzero"`
	CategoryID   Optional[int64] `json:"category_id,omitzero"`
	SellerID     Optional[int64] `json:"seller_id,omitzero"`
	// The product's own warehouse. The default is the tenant's default warehouse.
	WarehouseID Optional[int64] `json:"warehouse_id,omitzero"`
	// Must not contain control characters.
	BinLocation Optional[string] `json:"bin_location,omitzero"`
	UPC         Optional[string] `json:"upc,omitzero"`
	// Trimmed. Exact duplicates are removed, and the order is kept. At most 50 different tags.
	Tags []string `json:"tags,omitzero"`
	// URLs of images, which replace the product's images. An image whose URL the product already has keeps its id.
	// An empty array and the objects of a response are ignored.
	Images []string `json:"images,omitzero"`
}

// BulkResult is described by its fields.
type BulkResult struct {
	Data []BulkRow `json:"data"`
	Meta BulkMeta  `json:"meta"`
}

// BulkRow: The result of a row.
type BulkRow struct {
	// The position in `items`, starting at 0.
	Index int64 `json:"index"`
	// The SKU of the row, or null if it has none.
	SKU    *string       `json:"sku"`
	Status BulkRowStatus `json:"status"`
	// The id of the product, or null if the product does not exist.
	ID *int64 `json:"id"`
	// Present if the row failed.
	Error *Fault `json:"error"`
}

// BulkRowStatus is described by its fields.
type BulkRowStatus string

// The values of BulkRowStatus. A later release can add some.
const (
	BulkRowStatusCreated   BulkRowStatus = "created"
	BulkRowStatusUpdated   BulkRowStatus = "updated"
	BulkRowStatusUnchanged BulkRowStatus = "unchanged"
	BulkRowStatusFailed    BulkRowStatus = "failed"
)

// Fault: An error.
type Fault struct {
	Code ErrorCode `json:"code"`
	// A message for people. It may change.
	Message string `json:"message"`
	// The errors by the name of the parameter, header or field.
	Details map[string][]string `json:"details"`
	// The rows of a plan that something else has changed, up to 100.
	Changed []PlanRowChanged `json:"changed"`
}

// PlanRowChanged: A row that something else has changed.
type PlanRowChanged struct {
	SKU string `json:"sku"`
	ID  *int64 `json:"id"`
	// The changed fields. Empty if the product was created or deleted.
	Fields []string `json:"fields"`
	Reason string   `json:"reason"`
}

// BulkMeta: The number of rows by result.
type BulkMeta struct {
	Total     int64 `json:"total"`
	Created   int64 `json:"created"`
	Updated   int64 `json:"updated"`
	Unchanged int64 `json:"unchanged"`
	Failed    int64 `json:"failed"`
}

// PlanResult is described by its fields.
type PlanResult struct {
	Data Plan     `json:"data"`
	Meta PlanMeta `json:"meta"`
}

// Plan: A plan of changes of products.
type Plan struct {
	ID int64 `json:"id"`
	// What the plan changes.
	Title     string    `json:"title"`
	State     PlanState `json:"state"`
	CreatedAt Time      `json:"created_at"`
	// `API key` and the name of the key, for example `API key Till`.
	CreatedBy string `json:"created_by"`
	PlannedAt *Time  `json:"planned_at"`
	AppliedAt *Time  `json:"applied_at"`
	// Until when the plan is kept, and can be undone if it was applied.
	ExpiresAt Time `json:"expires_at"`
	// Why the plan failed, was not applied or waits.
	Failure *string `json:"failure"`
	// The page of the plan.
	URL *string `json:"url"`
	// The numbers of rows by what happens to them. Skipped rows were changed by something else, so they were not
	// applied or not undone.
	Counts PlanCounts `json:"counts"`
	// How many rows are done in the current state. `of` is null while the plan is computed.
	Progress PlanProgress `json:"progress"`
	Rows     []PlanRow    `json:"rows"`
}

// PlanCounts: The numbers of rows by what happens to them. Skipped rows were changed by something else, so they
// were not applied or not undone.
type PlanCounts struct {
	Created   int64 `json:"created"`
	Updated   int64 `json:"updated"`
	Unchanged int64 `json:"unchanged"`
	Refused   int64 `json:"refused"`
	Skipped   int64 `json:"skipped"`
}

// PlanProgress: How many rows are done in the current state. `of` is null while the plan is computed.
type PlanProgress struct {
	Rows int64  `json:"rows"`
	Of   *int64 `json:"of"`
}

// PlanRow: A product of a plan.
type PlanRow struct {
	// The index in a bulk request.
	Index *int64 `json:"index"`
	// Null if a row of a bulk request has none.
	SKU *string `json:"sku"`
	// Null if the product did not exist.
	ID     *int64        `json:"id"`
	Action PlanRowAction `json:"action"`
	// The stored values of the fields that change.
	Old Raw `json:"old"`
	// The new values of the fields that change.
	New Raw `json:"new"`
	// Why the row is refused, by field. The key is empty for the whole row.
	Errors map[string][]string `json:"errors"`
	// Set if something else has changed the row, so that it was not applied or not undone.
	Changed *PlanRowChanged `json:"changed"`
}

// PlanRowAction is described by its fields.
type PlanRowAction string

// The values of PlanRowAction. A later release can add some.
const (
	PlanRowActionCreated   PlanRowAction = "created"
	PlanRowActionUpdated   PlanRowAction = "updated"
	PlanRowActionUnchanged PlanRowAction = "unchanged"
	PlanRowActionRefused   PlanRowAction = "refused"
)

// PlanMeta: The id of the plan, and where its next rows are.
type PlanMeta struct {
	PlanID int64 `json:"plan_id"`
	// The page of the plan.
	URL     *string `json:"url"`
	PerPage int64   `json:"per_page"`
	// The number of rows.
	Total int64 `json:"total"`
	// Null after the last row.
	NextCursor *string `json:"next_cursor"`
}

// ProductPlan: A change of all products that match a filter. At least one field besides `filter` is required.
type ProductPlan struct {
	// The filter parameters of `GET /api/products`, with the same meaning. `{}` selects all products.
	Filter ProductPlanFilter `json:"filter"`
	// New values of fields, except `sku`. Null clears a field.
	Set *ProductFields `json:"set,omitempty"`
	// The percentage to add to prices, from -1000 to 1000 with at most two fraction digits. Cannot be combined with
	// `set.price`. It must not be 0.
	AdjustPricePercent Optional[Decimal] `json:"adjust_price_percent,omitzero"`
	// Tags to add. Cannot be combined with `set.tags`.
	AddTags []string `json:"add_tags,omitzero"`
	// Tags to remove. Cannot be combined with `set.tags`.
	RemoveTags []string `json:"remove_tags,omitzero"`
}

// ProductPlanFilter: The filter parameters of `GET /api/products`, with the same meaning. `{}` selects all
// products.
type ProductPlanFilter struct {
	Search       Optional[string]       `json:"search,omitzero"`
	Status       Optional[Status]       `json:"status,omitzero"`
	CategoryID   Optional[int64]        `json:"category_id,omitzero"`
	Category     Optional[int64]        `json:"category,omitzero"`
	SellerID     Optional[int64]        `json:"seller_id,omitzero"`
	WarehouseID  Optional[int64]        `json:"warehouse_id,omitzero"`
	Tag          Optional[string]       `json:"tag,omitzero"`
	From         Optional[string]       `json:"from,omitzero"`
	To           Optional[string]       `json:"to,omitzero"`
	Period       Optional[PeriodPreset] `json:"period,omitzero"`
	UpdatedSince Optional[Time]         `json:"updated_since,omitzero"`
}

// ProductFields: The fields of a product in a request.
type ProductFields struct {
	// Trimmed. Unique in the tenant. Must not contain control characters and must not be `.` or `..`.
	SKU Optional[string] `json:"sku,omitzero"`
	// Trimmed. Must not contain control characters.
	Name Optional[string] `json:"name,omitzero"`
	// HTML, stored exactly as sent.
	Description Optional[string]  `json:"description,omitzero"`
	Price       Optional[Decimal] `json:"price,omitzero"`
	MSRP        Optional[Decimal] `json:"msrp,omitzero"`
	Cost        Optional[Decimal] `json:"cost,omitzero"`
	// A new product without it is `active`.
	Status Optional[Status] `json:"status,omitzero"`
	// A new product without it is `new`.
	Condition Optional[Condition] `json:"condition,omitzero"`
	// Units in all warehouses. A new product without it has 0.
	Quantity     Optional[int64] `json:"quantity,omitzero"`
	ReorderPoint Optional[int64] `json:"reorder_point,omitzero"`
	CategoryID   Optional[int64] `json:"category_id,omitzero"`
	SellerID     Optional[int64] `json:"seller_id,omitzero"`
	// The product's own warehouse. The default is the tenant's default warehouse.
	WarehouseID Optional[int64] `json:"warehouse_id,omitzero"`
	// Must not contain control characters.
	BinLocation Optional[string] `json:"bin_location,omitzero"`
	UPC         Optional[string] `json:"upc,omitzero"`
	// Trimmed. Exact duplicates are removed, and the order is kept. At most 50 different tags.
	Tags []string `json:"tags,omitzero"`
}

// ExportProductsFormat is described by its fields.
type ExportProductsFormat string

// The values of ExportProductsFormat. A later release can add some.
const (
	ExportProductsFormatCsv    ExportProductsFormat = "csv"
	ExportProductsFormatXlsx   ExportProductsFormat = "xlsx"
	ExportProductsFormatNdjson ExportProductsFormat = "ndjson"
)

// ProductChanges: The fields of a product to change with PATCH.
type ProductChanges struct {
	// Trimmed. Unique in the tenant. Must not contain control characters and must not be `.` or `..`.
	SKU Optional[string] `json:"sku,omitzero"`
	// Trimmed. Must not contain control characters.
	Name Optional[string] `json:"name,omitzero"`
	// HTML, stored exactly as sent.
	Description Optional[string]  `json:"description,omitzero"`
	Price       Optional[Decimal] `json:"price,omitzero"`
	MSRP        Optional[Decimal] `json:"msrp,omitzero"`
	Cost        Optional[Decimal] `json:"cost,omitzero"`
	// A new product without it is `active`.
	Status Optional[Status] `json:"status,omitzero"`
	// A new product without it is `new`.
	Condition Optional[Condition] `json:"condition,omitzero"`
	// Units in all warehouses. A new product without it has 0.
	Quantity     Optional[int64] `json:"quantity,omitzero"`
	ReorderPoint Optional[int64] `json:"reorder_point,omitzero"`
	CategoryID   Optional[int64] `json:"category_id,omitzero"`
	SellerID     Optional[int64] `json:"seller_id,omitzero"`
	// The product's own warehouse. The default is the tenant's default warehouse.
	WarehouseID Optional[int64] `json:"warehouse_id,omitzero"`
	// Must not contain control characters.
	BinLocation Optional[string] `json:"bin_location,omitzero"`
	UPC         Optional[string] `json:"upc,omitzero"`
	// Trimmed. Exact duplicates are removed, and the order is kept. At most 50 different tags.
	Tags []string `json:"tags,omitzero"`
}

// NewImage is described by its fields.
type NewImage struct {
	// An absolute URL, `http` or `https`, without a user name.
	URL string `json:"url"`
}

// ImageChanges is described by its fields.
type ImageChanges struct {
	Position int64 `json:"position"`
}

// Inventory: The stock of a product.
type Inventory struct {
	ProductID int64 `json:"product_id"`
	// Units in all warehouses.
	Quantity   int64                `json:"quantity"`
	Warehouses []InventoryWarehouse `json:"warehouses"`
}

// InventoryWarehouse is described by its fields.
type InventoryWarehouse struct {
	Warehouse Named `json:"warehouse"`
	// Units in this warehouse.
	Quantity int64 `json:"quantity"`
}

// NewAdjustment: A stock adjustment.
type NewAdjustment struct {
	Type NewAdjustmentType `json:"type"`
	// The number of units to add or remove (at least 1), or the new number (at least 0).
	Quantity int64 `json:"quantity"`
	// The warehouse whose stock changes. The default is the product's own warehouse.
	WarehouseID Optional[int64]  `json:"warehouse_id,omitzero"`
	Notes       Optional[string] `json:"notes,omitzero"`
	// The expected total of the product. If the total is different, the response is 412 `PRECONDITION_FAILED`.
	ExpectedQuantity Optional[int64] `json:"expected_quantity,omitzero"`
}

// NewAdjustmentType is described by its fields.
type NewAdjustmentType string

// The values of NewAdjustmentType. A later release can add some.
const (
	NewAdjustmentTypeAdd    NewAdjustmentType = "add"
	NewAdjustmentTypeRemove NewAdjustmentType = "remove"
	NewAdjustmentTypeSet    NewAdjustmentType = "set"
)

// ProductAdjustedData is described by its fields.
type ProductAdjustedData struct {
	ID int64 `json:"id"`
	// Unique in the tenant, compared exactly.
	SKU  string `json:"sku"`
	Name string `json:"name"`
	// HTML, returned exactly as it was sent.
	Description *string   `json:"description"`
	Price       Decimal   `json:"price"`
	MSRP        *Decimal  `json:"msrp"`
	Cost        *Decimal  `json:"cost"`
	Status      Status    `json:"status"`
	Condition   Condition `json:"condition"`
	// Units in all warehouses.
	Quantity int64 `json:"quantity"`
	// Units. Your threshold for reordering.
	ReorderPoint *int64  `json:"reorder_point"`
	Category     *Named  `json:"category"`
	Seller       *Named  `json:"seller"`
	Warehouse    Named   `json:"warehouse"`
	BinLocation  *string `json:"bin_location"`
	// The digits of the barcode, including leading zeros.
	UPC        *string    `json:"upc"`
	Tags       []string   `json:"tags"`
	Images     []Image    `json:"images"`
	CreatedAt  Time       `json:"created_at"`
	UpdatedAt  Time       `json:"updated_at"`
	Adjustment Adjustment `json:"adjustment"`
}

// Adjustment: A recorded stock adjustment. It never changes.
type Adjustment struct {
	ID   int64             `json:"id"`
	Type NewAdjustmentType `json:"type"`
	// The number of units in the request.
	Quantity    int64 `json:"quantity"`
	WarehouseID int64 `json:"warehouse_id"`
	// The product's total before the adjustment.
	QuantityBefore int64 `json:"quantity_before"`
	// The product's total after the adjustment.
	QuantityAfter int64   `json:"quantity_after"`
	Notes         *string `json:"notes"`
	// The order that changed the stock.
	OrderNumber *string `json:"order_number"`
	// Why the order changed the stock.
	Reason *AdjustmentReason `json:"reason"`
	// The API key of the request. Null if it was not made with an API key, and for an import or a plan that was
	// applied or undone in the background (202).
	APIKey    *Named `json:"api_key"`
	CreatedAt Time   `json:"created_at"`
}

// AdjustmentReason: Why the order changed the stock.
type AdjustmentReason string

// The values of AdjustmentReason. A later release can add some.
const (
	AdjustmentReasonSale         AdjustmentReason = "sale"
	AdjustmentReasonCancellation AdjustmentReason = "cancellation"
	AdjustmentReasonRefund       AdjustmentReason = "refund"
)

// AdjustmentList is described by its fields.
type AdjustmentList struct {
	Data []Adjustment `json:"data"`
	Meta Meta         `json:"meta"`
}

// ListCategoriesSort is described by its fields.
type ListCategoriesSort string

// The values of ListCategoriesSort. A later release can add some.
const (
	ListCategoriesSortName      ListCategoriesSort = "name"
	ListCategoriesSortCreatedAt ListCategoriesSort = "created_at"
)

// ReferenceList is described by its fields.
type ReferenceList struct {
	Data []Reference `json:"data"`
	Meta Meta        `json:"meta"`
}

// Reference: A category or a seller.
type Reference struct {
	ID        int64  `json:"id"`
	Name      string `json:"name"`
	CreatedAt Time   `json:"created_at"`
	UpdatedAt Time   `json:"updated_at"`
}

// NewReference: A category, seller or warehouse for POST.
type NewReference struct {
	// Trimmed. Unique in the tenant. Must not contain control characters.
	Name string `json:"name"`
}

// ReferenceChanges: The fields of a category, seller or warehouse to change with PATCH.
type ReferenceChanges struct {
	// Trimmed. Unique in the tenant. Must not contain control characters.
	Name Optional[string] `json:"name,omitzero"`
}

// WarehouseList is described by its fields.
type WarehouseList struct {
	Data []Warehouse `json:"data"`
	Meta Meta        `json:"meta"`
}

// Warehouse: A warehouse.
type Warehouse struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	// Whether products without a warehouse belong to this warehouse.
	IsDefault bool `json:"is_default"`
	CreatedAt Time `json:"created_at"`
	UpdatedAt Time `json:"updated_at"`
}

// ChannelList is described by its fields.
type ChannelList struct {
	Data []Channel `json:"data"`
	Meta Meta      `json:"meta"`
}

// Channel: A sales channel.
type Channel struct {
	Identifier string `json:"identifier"`
	Label      string `json:"label"`
	// Whether orders take their items from stock.
	TakesStock bool      `json:"takes_stock"`
	WhenShort  WhenShort `json:"when_short"`
	// The warehouse that orders take from. Null is the warehouse of each product.
	Warehouse *Named `json:"warehouse"`
	CreatedAt Time   `json:"created_at"`
	UpdatedAt Time   `json:"updated_at"`
}

// NewChannel: A channel for POST.
type NewChannel struct {
	// Unique in the tenant. In PATCH it must be the current identifier.
	Identifier string `json:"identifier"`
	// The name to display. Trimmed. Must not contain control characters.
	Label string `json:"label"`
	// Whether orders take their items from stock. The default is false.
	TakesStock Optional[bool]      `json:"takes_stock,omitzero"`
	WhenShort  Optional[WhenShort] `json:"when_short,omitzero"`
	// The warehouse that orders take from. Null is the warehouse of each product.
	WarehouseID Optional[int64] `json:"warehouse_id,omitzero"`
	// The same as `warehouse_id`, in the form of a response.
	Warehouse *NewChannelWarehouse `json:"warehouse,omitempty"`
}

// NewChannelWarehouse: The same as `warehouse_id`, in the form of a response.
type NewChannelWarehouse struct {
	ID int64 `json:"id"`
}

// ChannelChanges: The fields of a channel to change with PATCH.
type ChannelChanges struct {
	// Unique in the tenant. In PATCH it must be the current identifier.
	Identifier Optional[string] `json:"identifier,omitzero"`
	// The name to display. Trimmed. Must not contain control characters.
	Label Optional[string] `json:"label,omitzero"`
	// Whether orders take their items from stock. The default is false.
	TakesStock Optional[bool]      `json:"takes_stock,omitzero"`
	WhenShort  Optional[WhenShort] `json:"when_short,omitzero"`
	// The warehouse that orders take from. Null is the warehouse of each product.
	WarehouseID Optional[int64] `json:"warehouse_id,omitzero"`
	// The same as `warehouse_id`, in the form of a response.
	Warehouse *ChannelChangesWarehouse `json:"warehouse,omitempty"`
}

// ChannelChangesWarehouse: The same as `warehouse_id`, in the form of a response.
type ChannelChangesWarehouse struct {
	ID int64 `json:"id"`
}

// ListOrdersStatus is described by its fields.
type ListOrdersStatus string

// The values of ListOrdersStatus. A later release can add some.
const (
	ListOrdersStatusPlaced    ListOrdersStatus = "placed"
	ListOrdersStatusCancelled ListOrdersStatus = "cancelled"
)

// ListOrdersSort is described by its fields.
type ListOrdersSort string

// The values of ListOrdersSort. A later release can add some.
const (
	ListOrdersSortPlacedAt ListOrdersSort = "placed_at"
	ListOrdersSortNumber   ListOrdersSort = "number"
)

// OrderList is described by its fields.
type OrderList struct {
	Data []ListedOrder `json:"data"`
	// The position of a page, or the position of `cursor`.
	Meta ListMeta `json:"meta"`
}

// ListedOrder: An order in a list.
type ListedOrder struct {
	ID     int64  `json:"id"`
	Number string `json:"number"`
	// `cancelled` orders are excluded from reports.
	Status      ListOrdersStatus `json:"status"`
	PlacedAt    Time             `json:"placed_at"`
	CancelledAt *Time            `json:"cancelled_at"`
	Channel     string           `json:"channel"`
	// Null for a guest order.
	Customer *Customer `json:"customer"`
	// Quantity × price of all items − all discounts, without tax. Refunds are not subtracted.
	Revenue       Decimal `json:"revenue"`
	DiscountTotal Decimal `json:"discount_total"`
	TaxTotal      Decimal `json:"tax_total"`
	ShippingTotal Decimal `json:"shipping_total"`
	// Quantity × cost of the items with a cost.
	CostTotal     Decimal `json:"cost_total"`
	RefundedTotal Decimal `json:"refunded_total"`
	// Units.
	Units int64 `json:"units"`
	// Units without a cost.
	UnitsWithoutCost int64 `json:"units_without_cost"`
	// Whether the order took less from stock than it has items.
	Short     bool `json:"short"`
	CreatedAt Time `json:"created_at"`
	// When the order, its last refund or its cancellation was stored.
	UpdatedAt Time `json:"updated_at"`
	// The number of items of the order.
	ItemCount int64 `json:"item_count"`
}

// Customer: A customer. The name and the e-mail address are null if they are unknown or were erased, or if the
// key does not have `customers:read`.
type Customer struct {
	// The id that was sent in orders.
	ID    string  `json:"id"`
	Name  *string `json:"name"`
	Email *string `json:"email"`
}

// NewOrder: An order in a request. A field that is null counts as missing.
type NewOrder struct {
	// Your number of the order. Trimmed. Unique in the tenant. Must not contain control characters and must not be
	// `.` or `..`.
	Number   string `json:"number"`
	PlacedAt Time   `json:"placed_at"`
	Channel  string `json:"channel"`
	// The customer. If missing, the order is a guest order.
	Customer *NewCustomer `json:"customer,omitempty"`
	// All discounts, including the discounts of the items: at least their sum, at most the value of the items. The
	// default is the sum of the discounts of the items.
	DiscountTotal Optional[Decimal] `json:"discount_total,omitzero"`
	// Tax in addition to the prices. The default is 0.
	TaxTotal Optional[Decimal] `json:"tax_total,omitzero"`
	// Shipping in addition to the prices. The default is 0.
	ShippingTotal Optional[Decimal] `json:"shipping_total,omitzero"`
	// False takes nothing from stock. The default is true, for channels that take stock.
	TakeStock Optional[bool] `json:"take_stock,omitzero"`
	Items     []NewItem      `json:"items"`
}

// NewCustomer: A customer in a request. A name or an e-mail address replaces the stored one; if missing, the
// stored one is kept.
type NewCustomer struct {
	// Your id of the customer. An integer is converted to its digits.
	ID Scalar `json:"id"`
	// Trimmed. Must not contain control characters.
	Name Optional[string] `json:"name,omitzero"`
	// Trimmed. Must contain an `@`.
	Email Optional[string] `json:"email,omitzero"`
}

// NewItem: An item of an order. Quantity × price and quantity × cost are at most 9999999999.99.
type NewItem struct {
	// Trimmed. An unknown SKU is stored as sent.
	SKU       string  `json:"sku"`
	Quantity  int64   `json:"quantity"`
	UnitPrice Decimal `json:"unit_price"`
	// The cost of one unit. The default is the current cost of the product.
	UnitCost Optional[Decimal] `json:"unit_cost,omitzero"`
	// The discount on the whole item, at most quantity × price. The default is 0.
	Discount Optional[Decimal] `json:"discount,omitzero"`
}

// Order: An order with its items and refunds.
type Order struct {
	ID     int64  `json:"id"`
	Number string `json:"number"`
	// `cancelled` orders are excluded from reports.
	Status      ListOrdersStatus `json:"status"`
	PlacedAt    Time             `json:"placed_at"`
	CancelledAt *Time            `json:"cancelled_at"`
	Channel     string           `json:"channel"`
	// Null for a guest order.
	Customer *Customer `json:"customer"`
	// Quantity × price of all items − all discounts, without tax. Refunds are not subtracted.
	Revenue       Decimal `json:"revenue"`
	DiscountTotal Decimal `json:"discount_total"`
	TaxTotal      Decimal `json:"tax_total"`
	ShippingTotal Decimal `json:"shipping_total"`
	// Quantity × cost of the items with a cost.
	CostTotal     Decimal `json:"cost_total"`
	RefundedTotal Decimal `json:"refunded_total"`
	// Units.
	Units int64 `json:"units"`
	// Units without a cost.
	UnitsWithoutCost int64 `json:"units_without_cost"`
	// Whether the order took less from stock than it has items.
	Short     bool `json:"short"`
	CreatedAt Time `json:"created_at"`
	// When the order, its last refund or its cancellation was stored.
	UpdatedAt Time          `json:"updated_at"`
	Items     []Item        `json:"items"`
	Refunds   []OrderRefund `json:"refunds"`
}

// Item: An item as it was sold, with the name, category, seller and cost at the time the order was created.
type Item struct {
	Line int64  `json:"line"`
	SKU  string `json:"sku"`
	// The SKU if the catalog did not contain the product.
	Name string `json:"name"`
	// Null if the catalog did not contain the SKU. The product can have been deleted since.
	ProductID *int64   `json:"product_id"`
	Category  *Named   `json:"category"`
	Seller    *Named   `json:"seller"`
	Quantity  int64    `json:"quantity"`
	UnitPrice Decimal  `json:"unit_price"`
	UnitCost  *Decimal `json:"unit_cost"`
	// The discount of the item, including its share of the order's discount.
	Discount Decimal `json:"discount"`
	// The share of the order's tax.
	Tax Decimal `json:"tax"`
	// The share of the order's shipping.
	Shipping Decimal `json:"shipping"`
	// Quantity × price − discount.
	Revenue Decimal `json:"revenue"`
	// The share of the order's refunds.
	Refunded Decimal `json:"refunded"`
	// Units that were taken from stock.
	StockTaken int64 `json:"stock_taken"`
	// Units that a cancellation or refunds returned to stock.
	StockReturned int64 `json:"stock_returned"`
	// Units that refunds returned, whether or not they came from stock.
	UnitsReturned int64 `json:"units_returned"`
}

// OrderRefund: A refund of an order.
type OrderRefund struct {
	ID         int64   `json:"id"`
	Amount     Decimal `json:"amount"`
	RefundedAt Time    `json:"refunded_at"`
	Reference  *string `json:"reference"`
	CreatedAt  Time    `json:"created_at"`
	// The part of the amount that is tax.
	Tax Decimal `json:"tax"`
	// The part of the amount that is shipping. The rest is revenue.
	Shipping Decimal `json:"shipping"`
	// Whether the returned units were for sale again.
	Restock bool `json:"restock"`
	// The units that the refund returned.
	UnitsReturned int64 `json:"units_returned"`
	// The items that the refund names or returns units of.
	Items []RefundItem `json:"items"`
}

// RefundItem: An item that a refund names or returns units of.
type RefundItem struct {
	Line int64 `json:"line"`
	// The units that were returned, or null.
	Quantity *int64 `json:"quantity"`
	// The amount for the item, or null if the refund is for all items.
	Amount *Decimal `json:"amount"`
}

// NewOrders: The orders of a bulk request. An invalid order is reported in its row of the response.
type NewOrders struct {
	Orders []NewOrder `json:"orders"`
}

// OrdersResult is described by its fields.
type OrdersResult struct {
	Data []OrderRow `json:"data"`
	Meta OrderMeta  `json:"meta"`
}

// OrderRow: The result of one order of a bulk request.
type OrderRow struct {
	// The position in `orders`, starting at 0.
	Index int64 `json:"index"`
	// The number of the order, or null if it has none.
	Number *string        `json:"number"`
	Status OrderRowStatus `json:"status"`
	// The id of the order, or null if the order does not exist.
	ID *int64 `json:"id"`
	// Present if the new order took less from stock than it has items.
	Short *bool `json:"short"`
	// Present if the row failed.
	Error *Fault `json:"error"`
}

// OrderRowStatus is described by its fields.
type OrderRowStatus string

// The values of OrderRowStatus. A later release can add some.
const (
	OrderRowStatusCreated   OrderRowStatus = "created"
	OrderRowStatusUnchanged OrderRowStatus = "unchanged"
	OrderRowStatusFailed    OrderRowStatus = "failed"
)

// OrderMeta: The number of orders by result.
type OrderMeta struct {
	Total     int64 `json:"total"`
	Created   int64 `json:"created"`
	Unchanged int64 `json:"unchanged"`
	Failed    int64 `json:"failed"`
}

// NewCancellation is described by its fields.
type NewCancellation struct {
	// The default is now.
	CancelledAt Optional[Time] `json:"cancelled_at,omitzero"`
}

// NewRefund: A refund in a request.
type NewRefund struct {
	// At least 0.01.
	Amount Decimal `json:"amount"`
	// The time of the refund, which decides the day in reports. The default is now.
	RefundedAt Optional[Time] `json:"refunded_at,omitzero"`
	// Your reference. Trimmed. Unique in the order.
	Reference Optional[string] `json:"reference,omitzero"`
	// The part of the amount that is tax. Needs `shipping`. The default is the share of the order's tax.
	Tax Optional[Decimal] `json:"tax,omitzero"`
	// The part of the amount that is shipping. Needs `tax`. The default is as for `tax`.
	Shipping Optional[Decimal] `json:"shipping,omitzero"`
	// The items that the refund is for. Either all have an `amount`, and these add up to the amount of the refund,
	// or none has. The default is all items of the order.
	Items []NewRefundItem `json:"items,omitzero"`
	// Whether returned units are for sale again. They return to stock as far as the order has taken them. Without
	// `items` and `restock_items`, all units return that were not returned yet. The default is false.
	Restock Optional[bool] `json:"restock,omitzero"`
	// Return only these quantities, at most what no earlier refund returned. An item returns at most what it has
	// taken. Needs `restock`, and excludes `items`.
	RestockItems []NewRefundRestockItem `json:"restock_items,omitzero"`
}

// NewRefundItem is described by its fields.
type NewRefundItem struct {
	// The line of the item. Must occur once.
	Line int64 `json:"line"`
	// The units that are returned. At most those that no earlier refund returned.
	Quantity Optional[int64]   `json:"quantity,omitzero"`
	Amount   Optional[Decimal] `json:"amount,omitzero"`
}

// NewRefundRestockItem is described by its fields.
type NewRefundRestockItem struct {
	// The line of the item. Must occur once.
	Line int64 `json:"line"`
	// At most that of the item.
	Quantity int64 `json:"quantity"`
}

// Refund: A refund with its order.
type Refund struct {
	ID          int64   `json:"id"`
	OrderNumber string  `json:"order_number"`
	Amount      Decimal `json:"amount"`
	RefundedAt  Time    `json:"refunded_at"`
	Reference   *string `json:"reference"`
	// Whether the refunds of the order exceed its revenue, tax and shipping.
	ExceedsPaid bool `json:"exceeds_paid"`
	CreatedAt   Time `json:"created_at"`
	// The part of the amount that is tax.
	Tax Decimal `json:"tax"`
	// The part of the amount that is shipping. The rest is revenue.
	Shipping Decimal `json:"shipping"`
	// Whether the returned units were for sale again.
	Restock bool `json:"restock"`
	// The units that the refund returned.
	UnitsReturned int64 `json:"units_returned"`
	// The items that the refund names or returns units of.
	Items []RefundItem `json:"items"`
}

// CustomerList is described by its fields.
type CustomerList struct {
	Data []ListedCustomer `json:"data"`
	// The position of a page, or the position of `cursor`.
	Meta ListMeta `json:"meta"`
}

// ListedCustomer: A customer in a list.
type ListedCustomer struct {
	// The id of the customer that the sender of the orders uses.
	ID        string  `json:"id"`
	Name      *string `json:"name"`
	Email     *string `json:"email"`
	CreatedAt Time    `json:"created_at"`
	// When the name and the e-mail address were erased.
	ErasedAt *Time `json:"erased_at"`
}

// WholeCustomer: A customer with the sums of its orders. Cancelled orders do not count.
type WholeCustomer struct {
	// The id of the customer that the sender of the orders uses.
	ID        string  `json:"id"`
	Name      *string `json:"name"`
	Email     *string `json:"email"`
	CreatedAt Time    `json:"created_at"`
	// When the name and the e-mail address were erased.
	ErasedAt *Time `json:"erased_at"`
	// Orders.
	Orders       int64   `json:"orders"`
	Revenue      Decimal `json:"revenue"`
	Refunds      Decimal `json:"refunds"`
	FirstOrderAt *Time   `json:"first_order_at"`
	LastOrderAt  *Time   `json:"last_order_at"`
}

// CustomerData: All data about a customer.
type CustomerData struct {
	Customer        WholeCustomer                `json:"customer"`
	Orders          []Order                      `json:"orders"`
	StoredResponses []CustomerDataStoredResponse `json:"stored_responses"`
}

// CustomerDataStoredResponse is described by its fields.
type CustomerDataStoredResponse struct {
	IdempotencyKey string `json:"idempotency_key"`
	CreatedAt      Time   `json:"created_at"`
	// The response.
	Body Raw `json:"body"`
}

// ChangeList is described by its fields.
type ChangeList struct {
	Data []Change    `json:"data"`
	Meta ChangesMeta `json:"meta"`
}

// Change: A change of one object.
type Change struct {
	// The position of the entry, as a cursor for `after`.
	Seq  string     `json:"seq"`
	Type ChangeType `json:"type"`
	// The id of the object as text. `stock` has the id of the product, `order` the number, `channel` the identifier,
	// and `customer` the id that the sender gave it.
	ID     string       `json:"id"`
	Action ChangeAction `json:"action"`
	At     Time         `json:"at"`
	// The API key of the request. `null` for a change by a person, a command, an import, or a plan that was applied
	// or undone in the background (202).
	APIKey *Named `json:"api_key"`
	// The fields that an update changed.
	Changed []string `json:"changed"`
	// The object as its GET returns it when this page is read, or `null` if it no longer exists. `stock` is as in
	// `GET /api/products/{id}/inventory`, and `refund` as in its order, with `order_number`. The name and e-mail
	// address of a customer are `null` in orders if the key does not have `customers:read`.
	Data Raw `json:"data"`
}

// ChangeType is described by its fields.
type ChangeType string

// The values of ChangeType. A later release can add some.
const (
	ChangeTypeProduct   ChangeType = "product"
	ChangeTypeStock     ChangeType = "stock"
	ChangeTypeCategory  ChangeType = "category"
	ChangeTypeSeller    ChangeType = "seller"
	ChangeTypeWarehouse ChangeType = "warehouse"
	ChangeTypeChannel   ChangeType = "channel"
	ChangeTypeOrder     ChangeType = "order"
	ChangeTypeRefund    ChangeType = "refund"
	ChangeTypeCustomer  ChangeType = "customer"
)

// ChangeAction is described by its fields.
type ChangeAction string

// The values of ChangeAction. A later release can add some.
const (
	ChangeActionCreated ChangeAction = "created"
	ChangeActionUpdated ChangeAction = "updated"
	ChangeActionDeleted ChangeAction = "deleted"
)

// ChangesMeta: Where the feed continues.
type ChangesMeta struct {
	// The value of `after` for the next request.
	NextCursor string `json:"next_cursor"`
	// Whether there may be more entries already.
	HasMore bool `json:"has_more"`
}

// WebhookList is described by its fields.
type WebhookList struct {
	Data []Webhook `json:"data"`
	Meta Meta      `json:"meta"`
}

// Webhook: An endpoint that gets the changes.
type Webhook struct {
	ID int64 `json:"id"`
	// Begins with `https://` and leads to a public address: messages to addresses of private or local networks are
	// refused. It has no user name and no fragment.
	URL         string       `json:"url"`
	Description string       `json:"description"`
	Types       []ChangeType `json:"types"`
	// The largest number of entries in a message. A message with large objects has fewer.
	BatchSize int64        `json:"batch_size"`
	State     WebhookState `json:"state"`
	// `user`: a key or a member has paused it. `failing`: no attempt has succeeded for three days. `gone`: the
	// receiver has answered 410. `expired`: the changes after `cursor` are no longer kept; replay continues.
	// `maker_gone`: the key in `created_by` was revoked or has expired, or the member was removed. Who resumes the
	// webhook is then its `created_by`.
	PauseReason *WebhookPauseReason `json:"pause_reason"`
	PausedAt    *Time               `json:"paused_at"`
	// The time of the first failed attempt since the last success, or since the webhook was resumed, replayed or got
	// another `url`.
	FailingSince *Time `json:"failing_since"`
	// How many attempts have failed since the last success, or since the webhook was changed or replayed.
	FailedAttempts int64 `json:"failed_attempts"`
	// When a message that has failed is sent again.
	NextAttemptAt *Time `json:"next_attempt_at"`
	// The position after the last message that was accepted.
	Cursor string `json:"cursor"`
	// Until when messages also have a signature of the secret before the last rotation.
	PreviousSecretExpiresAt *Time `json:"previous_secret_expires_at"`
	CreatedAt               Time  `json:"created_at"`
	// The key or the member that made the webhook. When the key is replaced by a new one, it is the new key. Null
	// for webhooks of earlier releases, which go on, and for those that an operator has taken over.
	CreatedBy *WebhookMaker `json:"created_by"`
	UpdatedAt Time          `json:"updated_at"`
	// Only in responses that create or rotate it.
	Secret *string `json:"secret"`
}

// WebhookState is described by its fields.
type WebhookState string

// The values of WebhookState. A later release can add some.
const (
	WebhookStateActive WebhookState = "active"
	WebhookStatePaused WebhookState = "paused"
)

// WebhookPauseReason: `user`: a key or a member has paused it. `failing`: no attempt has succeeded for three
// days. `gone`: the receiver has answered 410. `expired`: the changes after `cursor` are no longer kept; replay
// continues. `maker_gone`: the key in `created_by` was revoked or has expired, or the member was removed. Who
// resumes the webhook is then its `created_by`.
type WebhookPauseReason string

// The values of WebhookPauseReason. A later release can add some.
const (
	WebhookPauseReasonUser      WebhookPauseReason = "user"
	WebhookPauseReasonFailing   WebhookPauseReason = "failing"
	WebhookPauseReasonGone      WebhookPauseReason = "gone"
	WebhookPauseReasonExpired   WebhookPauseReason = "expired"
	WebhookPauseReasonMakerGone WebhookPauseReason = "maker_gone"
)

// WebhookMaker: The key or the member that made a webhook.
type WebhookMaker struct {
	Type WebhookMakerType `json:"type"`
	ID   int64            `json:"id"`
	// The name of the key, or the e-mail address of the member.
	Name string `json:"name"`
}

// WebhookMakerType is described by its fields.
type WebhookMakerType string

// The values of WebhookMakerType. A later release can add some.
const (
	WebhookMakerTypeKey    WebhookMakerType = "key"
	WebhookMakerTypeMember WebhookMakerType = "member"
)

// NewWebhook: A webhook to create.
type NewWebhook struct {
	// Begins with `https://` and leads to a public address: messages to addresses of private or local networks are
	// refused. It has no user name and no fragment.
	URL         string           `json:"url"`
	Description Optional[string] `json:"description,omitzero"`
	Types       []ChangeType     `json:"types,omitzero"`
	// The largest number of entries in a message. A message with large objects has fewer. The default is 100.
	BatchSize Optional[int64] `json:"batch_size,omitzero"`
	// The default is `active`.
	State Optional[WebhookState] `json:"state,omitzero"`
}

// WebhookChanges: The fields to change.
type WebhookChanges struct {
	// Begins with `https://` and leads to a public address: messages to addresses of private or local networks are
	// refused. It has no user name and no fragment.
	URL         Optional[string] `json:"url,omitzero"`
	Description Optional[string] `json:"description,omitzero"`
	Types       []ChangeType     `json:"types,omitzero"`
	// The largest number of entries in a message. A message with large objects has fewer.
	BatchSize Optional[int64]        `json:"batch_size,omitzero"`
	State     Optional[WebhookState] `json:"state,omitzero"`
}

// WebhookReplay: Where a webhook continues.
type WebhookReplay struct {
	// A cursor, `""` or `now`.
	After string `json:"after"`
}

// WebhookDelivery: An attempt to deliver a message.
type WebhookDelivery struct {
	ID int64 `json:"id"`
	At Time  `json:"at"`
	// The `webhook-id`.
	MessageID string              `json:"message_id"`
	Type      WebhookDeliveryType `json:"type"`
	Entries   int64               `json:"entries"`
	// The `seq` of the first entry.
	FirstSeq *string `json:"first_seq"`
	// The `seq` of the last entry.
	LastSeq *string `json:"last_seq"`
	// 1 for the first attempt to deliver the message.
	Attempt   int64 `json:"attempt"`
	Succeeded bool  `json:"succeeded"`
	// The HTTP status; `null` without a response.
	Status *int64 `json:"status"`
	// Why there is no response, or why the message was not sent because its objects could not be read.
	Error     *string `json:"error"`
	LatencyMs int64   `json:"latency_ms"`
	// The first 1,024 bytes of the response; empty if changes were accepted.
	Response string `json:"response"`
}

// WebhookDeliveryType is described by its fields.
type WebhookDeliveryType string

// The values of WebhookDeliveryType. A later release can add some.
const (
	WebhookDeliveryTypeChanges WebhookDeliveryType = "changes"
	WebhookDeliveryTypeTest    WebhookDeliveryType = "test"
)

// WebhookDeliveryList is described by its fields.
type WebhookDeliveryList struct {
	Data []WebhookDelivery       `json:"data"`
	Meta WebhookDeliveryListMeta `json:"meta"`
}

// WebhookDeliveryListMeta is described by its fields.
type WebhookDeliveryListMeta struct {
	// The value of `before` for older deliveries; `null` at the end.
	NextBefore *string `json:"next_before"`
}

// PlanList is described by its fields.
type PlanList struct {
	Data []PlanListed `json:"data"`
	Meta Meta         `json:"meta"`
}

// PlanListed: A plan in a list.
type PlanListed struct {
	ID int64 `json:"id"`
	// What the plan changes.
	Title     string    `json:"title"`
	State     PlanState `json:"state"`
	CreatedAt Time      `json:"created_at"`
	// `API key` and the name of the key, for example `API key Till`.
	CreatedBy string `json:"created_by"`
	PlannedAt *Time  `json:"planned_at"`
	AppliedAt *Time  `json:"applied_at"`
	// Until when the plan is kept, and can be undone if it was applied.
	ExpiresAt Time `json:"expires_at"`
	// Why the plan failed, was not applied or waits.
	Failure *string `json:"failure"`
	// The page of the plan.
	URL *string `json:"url"`
}

// ShowPlanAction is described by its fields.
type ShowPlanAction string

// The values of ShowPlanAction. A later release can add some.
const (
	ShowPlanActionCreated   ShowPlanAction = "created"
	ShowPlanActionUpdated   ShowPlanAction = "updated"
	ShowPlanActionUnchanged ShowPlanAction = "unchanged"
	ShowPlanActionRefused   ShowPlanAction = "refused"
	ShowPlanActionChanged   ShowPlanAction = "changed"
)

// PlanApplication: How a plan is applied.
type PlanApplication struct {
	// Leave out the rows that have changed since the plan. The default is false.
	Force Optional[bool] `json:"force,omitzero"`
}

// ImportList is described by its fields.
type ImportList struct {
	Data []ImportListed `json:"data"`
	Meta Meta           `json:"meta"`
}

// ImportListed: An import in a list.
type ImportListed struct {
	ID int64 `json:"id"`
	// The names of the files.
	Title     string            `json:"title"`
	State     ImportListedState `json:"state"`
	CreatedAt Time              `json:"created_at"`
	// An e-mail address, or `API key` and the name of the key.
	CreatedBy string `json:"created_by"`
	PlannedAt *Time  `json:"planned_at"`
	AppliedAt *Time  `json:"applied_at"`
	// Until when the plan is kept, and can be undone if it was applied.
	ExpiresAt Time `json:"expires_at"`
	// Why the import failed, was not applied or waits.
	Failure *string `json:"failure"`
}

// ImportListedState is described by its fields.
type ImportListedState string

// The values of ImportListedState. A later release can add some.
const (
	ImportListedStatePlanning     ImportListedState = "planning"
	ImportListedStateNeedsMapping ImportListedState = "needs_mapping"
	ImportListedStatePlanned      ImportListedState = "planned"
	ImportListedStateApplying     ImportListedState = "applying"
	ImportListedStateApplied      ImportListedState = "applied"
	ImportListedStateUndoing      ImportListedState = "undoing"
	ImportListedStateUndone       ImportListedState = "undone"
	ImportListedStateCancelled    ImportListedState = "cancelled"
	ImportListedStateFailed       ImportListedState = "failed"
)

// ImportSettings: How to read the files. A missing setting has its default.
type ImportSettings struct {
	// The field of each column, by file: `{"sales.csv": {"Item no.": "sku"}}`. An empty field ignores the column. A
	// file with a mapping is read as a plain spreadsheet.
	Mapping map[string]map[string]string `json:"mapping,omitzero"`
	// Whether `01/02/2026` is 1 February (`dmy`).
	DateOrder Optional[ImportSettingsDateOrder] `json:"date_order,omitzero"`
	// The decimal mark.
	Decimal Optional[ImportSettingsDecimal] `json:"decimal,omitzero"`
	// The IANA name of the time zone of times without one. The default is the tenant's.
	Timezone Optional[string] `json:"timezone,omitzero"`
	// The identifier of the channel of all orders.
	Channel Optional[string] `json:"channel,omitzero"`
	// What to do with products without a SKU. `derive` uses their names.
	MissingSKU Optional[ImportSettingsMissingSKU] `json:"missing_sku,omitzero"`
	// What to do with refunds without an order. `attach` finds an earlier order of the same item.
	Refunds Optional[ImportSettingsRefunds] `json:"refunds,omitzero"`
	// Whether prices of a plain spreadsheet include tax.
	TaxIncluded Optional[ImportSettingsTaxIncluded] `json:"tax_included,omitzero"`
	// How the characters of texts that are not in UTF-8 are encoded, such as `windows-1250`.
	Charset Optional[ImportSettingsCharset] `json:"charset,omitzero"`
	// What to do with rows that differ and have the same SKU. `derive` adds the options or the name; `last` takes
	// the values of the last row.
	RepeatedSKU Optional[ImportSettingsRepeatedSKU] `json:"repeated_sku,omitzero"`
	// What to do with amounts of more than two decimals.
	Rounding Optional[ImportSettingsRounding] `json:"rounding,omitzero"`
	// What a column of costs of goods in a spreadsheet of orders is of.
	Cost Optional[ImportSettingsCost] `json:"cost,omitzero"`
	// What discounts between 0 and 1 in a spreadsheet of orders are.
	Discount Optional[ImportSettingsDiscount] `json:"discount,omitzero"`
	// What a tax that is equal in all rows of an order of a spreadsheet is of.
	Tax Optional[ImportSettingsTax] `json:"tax,omitzero"`
	// What a total without a price in a spreadsheet of orders is.
	Total Optional[ImportSettingsTotal] `json:"total,omitzero"`
	// What statuses of orders mean, by the status in lower case: `{"on hold": "unpaid"}`.
	Statuses map[string]ImportSettingsStatusesValue `json:"statuses,omitzero"`
	// Whether to restore leading zeros of barcodes that Excel removed.
	RestoreZeros Optional[bool] `json:"restore_zeros,omitzero"`
}

// ImportSettingsDateOrder: Whether `01/02/2026` is 1 February (`dmy`).
type ImportSettingsDateOrder string

// The values of ImportSettingsDateOrder. A later release can add some.
const (
	ImportSettingsDateOrderDmy ImportSettingsDateOrder = "dmy"
	ImportSettingsDateOrderMdy ImportSettingsDateOrder = "mdy"
)

// ImportSettingsDecimal: The decimal mark.
type ImportSettingsDecimal string

// The values of ImportSettingsDecimal. A later release can add some.
const (
	ImportSettingsDecimalComma ImportSettingsDecimal = ","
	ImportSettingsDecimalPoint ImportSettingsDecimal = "."
)

// ImportSettingsMissingSKU: What to do with products without a SKU. `derive` uses their names.
type ImportSettingsMissingSKU string

// The values of ImportSettingsMissingSKU. A later release can add some.
const (
	ImportSettingsMissingSKUDerive ImportSettingsMissingSKU = "derive"
	ImportSettingsMissingSKURefuse ImportSettingsMissingSKU = "refuse"
)

// ImportSettingsRefunds: What to do with refunds without an order. `attach` finds an earlier order of the same
// item.
type ImportSettingsRefunds string

// The values of ImportSettingsRefunds. A later release can add some.
const (
	ImportSettingsRefundsAttach   ImportSettingsRefunds = "attach"
	ImportSettingsRefundsLeaveOut ImportSettingsRefunds = "leave_out"
)

// ImportSettingsTaxIncluded: Whether prices of a plain spreadsheet include tax.
type ImportSettingsTaxIncluded string

// The values of ImportSettingsTaxIncluded. A later release can add some.
const (
	ImportSettingsTaxIncludedYes ImportSettingsTaxIncluded = "yes"
	ImportSettingsTaxIncludedNo  ImportSettingsTaxIncluded = "no"
)

// ImportSettingsCharset: How the characters of texts that are not in UTF-8 are encoded, such as `windows-1250`.
type ImportSettingsCharset string

// The values of ImportSettingsCharset. A later release can add some.
const (
	ImportSettingsCharsetWindows1252 ImportSettingsCharset = "windows-1252"
	ImportSettingsCharsetWindows1250 ImportSettingsCharset = "windows-1250"
	ImportSettingsCharsetWindows1251 ImportSettingsCharset = "windows-1251"
	ImportSettingsCharsetWindows1253 ImportSettingsCharset = "windows-1253"
	ImportSettingsCharsetWindows1254 ImportSettingsCharset = "windows-1254"
	ImportSettingsCharsetWindows1257 ImportSettingsCharset = "windows-1257"
	ImportSettingsCharsetShiftJis    ImportSettingsCharset = "shift_jis"
	ImportSettingsCharsetEucJp       ImportSettingsCharset = "euc-jp"
	ImportSettingsCharsetGbk         ImportSettingsCharset = "gbk"
	ImportSettingsCharsetBig5        ImportSettingsCharset = "big5"
	ImportSettingsCharsetEucKr       ImportSettingsCharset = "euc-kr"
	ImportSettingsCharsetKoi8R       ImportSettingsCharset = "koi8-r"
	ImportSettingsCharsetIso88592    ImportSettingsCharset = "iso-8859-2"
	ImportSettingsCharsetIso88595    ImportSettingsCharset = "iso-8859-5"
	ImportSettingsCharsetIso88597    ImportSettingsCharset = "iso-8859-7"
	ImportSettingsCharsetMacintosh   ImportSettingsCharset = "macintosh"
)

// ImportSettingsRepeatedSKU: What to do with rows that differ and have the same SKU. `derive` adds the options
// or the name; `last` takes the values of the last row.
type ImportSettingsRepeatedSKU string

// The values of ImportSettingsRepeatedSKU. A later release can add some.
const (
	ImportSettingsRepeatedSKUDerive ImportSettingsRepeatedSKU = "derive"
	ImportSettingsRepeatedSKULast   ImportSettingsRepeatedSKU = "last"
	ImportSettingsRepeatedSKURefuse ImportSettingsRepeatedSKU = "refuse"
)

// ImportSettingsRounding: What to do with amounts of more than two decimals.
type ImportSettingsRounding string

// The values of ImportSettingsRounding. A later release can add some.
const (
	ImportSettingsRoundingRound  ImportSettingsRounding = "round"
	ImportSettingsRoundingRefuse ImportSettingsRounding = "refuse"
)

// ImportSettingsCost: What a column of costs of goods in a spreadsheet of orders is of.
type ImportSettingsCost string

// The values of ImportSettingsCost. A later release can add some.
const (
	ImportSettingsCostUnit ImportSettingsCost = "unit"
	ImportSettingsCostLine ImportSettingsCost = "line"
)

// ImportSettingsDiscount: What discounts between 0 and 1 in a spreadsheet of orders are.
type ImportSettingsDiscount string

// The values of ImportSettingsDiscount. A later release can add some.
const (
	ImportSettingsDiscountAmount  ImportSettingsDiscount = "amount"
	ImportSettingsDiscountPercent ImportSettingsDiscount = "percent"
)

// ImportSettingsTax: What a tax that is equal in all rows of an order of a spreadsheet is of.
type ImportSettingsTax string

// The values of ImportSettingsTax. A later release can add some.
const (
	ImportSettingsTaxOrder ImportSettingsTax = "order"
	ImportSettingsTaxRow   ImportSettingsTax = "row"
)

// ImportSettingsTotal: What a total without a price in a spreadsheet of orders is.
type ImportSettingsTotal string

// The values of ImportSettingsTotal. A later release can add some.
const (
	ImportSettingsTotalBeforeDiscount ImportSettingsTotal = "before_discount"
	ImportSettingsTotalAfterDiscount  ImportSettingsTotal = "after_discount"
)

// ImportSettingsStatusesValue is described by its fields.
type ImportSettingsStatusesValue string

// The values of ImportSettingsStatusesValue. A later release can add some.
const (
	ImportSettingsStatusesValueSale      ImportSettingsStatusesValue = "sale"
	ImportSettingsStatusesValueUnpaid    ImportSettingsStatusesValue = "unpaid"
	ImportSettingsStatusesValueRefunded  ImportSettingsStatusesValue = "refunded"
	ImportSettingsStatusesValueIgnored   ImportSettingsStatusesValue = "ignored"
	ImportSettingsStatusesValueCancelled ImportSettingsStatusesValue = "cancelled"
)

// Import: An import.
type Import struct {
	ID int64 `json:"id"`
	// The names of the files.
	Title     string            `json:"title"`
	State     ImportListedState `json:"state"`
	CreatedAt Time              `json:"created_at"`
	// An e-mail address, or `API key` and the name of the key.
	CreatedBy string `json:"created_by"`
	PlannedAt *Time  `json:"planned_at"`
	AppliedAt *Time  `json:"applied_at"`
	// Until when the plan is kept, and can be undone if it was applied.
	ExpiresAt Time `json:"expires_at"`
	// Why the import failed, was not applied or waits.
	Failure  *string        `json:"failure"`
	Files    []ImportFile   `json:"files"`
	Settings ImportSettings `json:"settings"`
	// The names of the settings that come from the last applied import of files with the same columns, such as
	// `mapping` and `decimal`, without those that were changed since.
	Remembered []string `json:"remembered"`
	// The questions that settings must answer before the plan can be computed.
	Questions []ImportQuestion `json:"questions"`
	// The numbers of rows by kind and by what happens to them, of the kinds that the key may read. Skipped rows were
	// changed by something else, so they were not applied or not undone.
	Counts map[string]ImportCountsValue `json:"counts"`
	// The sums of the orders by month and channel, to compare with the other system.
	Totals []ImportTotal `json:"totals"`
	Notes  []ImportNote  `json:"notes"`
	// The rows that are done in the current state. `of` is null while their number is not known.
	Progress ImportProgress `json:"progress"`
}

// ImportFile: A file of an import, also one in a ZIP archive.
type ImportFile struct {
	Name string `json:"name"`
	// In bytes.
	Size int64 `json:"size"`
	// The format, such as `shopify_orders`. Empty if it needs a mapping.
	Format string `json:"format"`
	// The sheet of a workbook. Other sheets with rows have their own entries.
	Sheet  *string  `json:"sheet"`
	Header []string `json:"header"`
	Rows   int64    `json:"rows"`
	// Columns without a meaning here.
	Unused []string `json:"unused"`
	// The proposed or given field of each column.
	Mapping map[string]string `json:"mapping"`
	// Values by column.
	Examples map[string][]string `json:"examples"`
	// Why the file or the sheet is not read.
	Problem *string `json:"problem"`
	// The settings that answer a question about the file, and are remembered for files with the same columns.
	Answered []string `json:"answered"`
	// The amounts with more than two decimals, which are refused unless the setting `rounding` is `round`.
	Rounding *ImportFileRounding `json:"rounding"`
}

// ImportFileRounding: The amounts with more than two decimals, which are refused unless the setting `rounding`
// is `round`.
type ImportFileRounding struct {
	Count    int64    `json:"count"`
	Examples []string `json:"examples"`
	// What rounding adds to their sum.
	Change string `json:"change"`
}

// ImportQuestion is described by its fields.
type ImportQuestion struct {
	// The name of the setting.
	ID       string   `json:"id"`
	File     string   `json:"file"`
	Column   *string  `json:"column"`
	Examples []string `json:"examples"`
	// The values of the setting.
	Choices []string `json:"choices"`
	// What values or rows of the file are with each choice: `{"yes": ["1001: revenue 10.00, tax 1.90"]}`.
	Readings map[string][]string `json:"readings"`
	// What a mapping lacks, or must not have.
	Reason *string `json:"reason"`
}

// ImportCountsValue is described by its fields.
type ImportCountsValue struct {
	Created   int64 `json:"created"`
	Updated   int64 `json:"updated"`
	Unchanged int64 `json:"unchanged"`
	Refused   int64 `json:"refused"`
	Ignored   int64 `json:"ignored"`
	Skipped   int64 `json:"skipped"`
}

// ImportTotal: The sums of a month and a channel. Refunds have a separate total, with the channel null.
type ImportTotal struct {
	Month     string  `json:"month"`
	Channel   *string `json:"channel"`
	Orders    int64   `json:"orders"`
	Revenue   Decimal `json:"revenue"`
	Discounts Decimal `json:"discounts"`
	Tax       Decimal `json:"tax"`
	Shipping  Decimal `json:"shipping"`
	Refunds   Decimal `json:"refunds"`
	Total     Decimal `json:"total"`
	// The sums of amounts in the files, by column.
	Theirs map[string]Decimal `json:"theirs"`
}

// ImportNote is described by its fields.
type ImportNote struct {
	Text   string  `json:"text"`
	Count  int64   `json:"count"`
	Amount Decimal `json:"amount"`
}

// ImportProgress: The rows that are done in the current state. `of` is null while their number is not known.
type ImportProgress struct {
	Rows int64  `json:"rows"`
	Of   *int64 `json:"of"`
}

// ImportSettingsChanges: The settings to change. Null restores the default.
type ImportSettingsChanges struct {
	// The field of each column, by file: `{"sales.csv": {"Item no.": "sku"}}`. An empty field ignores the column. A
	// file with a mapping is read as a plain spreadsheet.
	Mapping Optional[map[string]map[string]string] `json:"mapping,omitzero"`
	// Whether `01/02/2026` is 1 February (`dmy`).
	DateOrder Optional[ImportSettingsDateOrder] `json:"date_order,omitzero"`
	// The decimal mark.
	Decimal Optional[ImportSettingsDecimal] `json:"decimal,omitzero"`
	// The IANA name of the time zone of times without one. The default is the tenant's.
	Timezone Optional[string] `json:"timezone,omitzero"`
	// The identifier of the channel of all orders.
	Channel Optional[string] `json:"channel,omitzero"`
	// What to do with products without a SKU. `derive` uses their names.
	MissingSKU Optional[ImportSettingsMissingSKU] `json:"missing_sku,omitzero"`
	// What to do with refunds without an order. `attach` finds an earlier order of the same item.
	Refunds Optional[ImportSettingsRefunds] `json:"refunds,omitzero"`
	// Whether prices of a plain spreadsheet include tax.
	TaxIncluded Optional[ImportSettingsTaxIncluded] `json:"tax_included,omitzero"`
	// How the characters of texts that are not in UTF-8 are encoded, such as `windows-1250`.
	Charset Optional[ImportSettingsCharset] `json:"charset,omitzero"`
	// What to do with rows that differ and have the same SKU. `derive` adds the options or the name; `last` takes
	// the values of the last row.
	RepeatedSKU Optional[ImportSettingsRepeatedSKU] `json:"repeated_sku,omitzero"`
	// What to do with amounts of more than two decimals.
	Rounding Optional[ImportSettingsRounding] `json:"rounding,omitzero"`
	// What a column of costs of goods in a spreadsheet of orders is of.
	Cost Optional[ImportSettingsCost] `json:"cost,omitzero"`
	// What discounts between 0 and 1 in a spreadsheet of orders are.
	Discount Optional[ImportSettingsDiscount] `json:"discount,omitzero"`
	// What a tax that is equal in all rows of an order of a spreadsheet is of.
	Tax Optional[ImportSettingsTax] `json:"tax,omitzero"`
	// What a total without a price in a spreadsheet of orders is.
	Total Optional[ImportSettingsTotal] `json:"total,omitzero"`
	// What statuses of orders mean, by the status in lower case: `{"on hold": "unpaid"}`.
	Statuses Optional[map[string]ImportSettingsStatusesValue] `json:"statuses,omitzero"`
	// Whether to restore leading zeros of barcodes that Excel removed.
	RestoreZeros Optional[bool] `json:"restore_zeros,omitzero"`
}

// ListImportRowsAction is described by its fields.
type ListImportRowsAction string

// The values of ListImportRowsAction. A later release can add some.
const (
	ListImportRowsActionCreated   ListImportRowsAction = "created"
	ListImportRowsActionUpdated   ListImportRowsAction = "updated"
	ListImportRowsActionUnchanged ListImportRowsAction = "unchanged"
	ListImportRowsActionRefused   ListImportRowsAction = "refused"
	ListImportRowsActionIgnored   ListImportRowsAction = "ignored"
	ListImportRowsActionChanged   ListImportRowsAction = "changed"
)

// ImportRowList is described by its fields.
type ImportRowList struct {
	Data []ImportRow `json:"data"`
	Meta Meta        `json:"meta"`
}

// ImportRow: A row of a plan, or an order with its rows. `file` and `line` are those of the first row.
type ImportRow struct {
	File string     `json:"file"`
	Line int64      `json:"line"`
	Kind ImportKind `json:"kind"`
	// The SKU, name, number or id.
	Key    string       `json:"key"`
	Action ImportAction `json:"action"`
	// The stored values of the fields that change.
	Old Raw `json:"old"`
	// The new values of the fields that change.
	New   Raw      `json:"new"`
	Notes []string `json:"notes"`
	// Why the row is refused, by column.
	Problems map[string][]string `json:"problems"`
	// Set if something else has changed the object, so that the row was not applied or not undone.
	Changed *ImportRowChanged `json:"changed"`
}

// ImportRowChanged: Set if something else has changed the object, so that the row was not applied or not undone.
type ImportRowChanged struct {
	// Always empty for imports.
	Fields []string `json:"fields"`
	Reason string   `json:"reason"`
}

// ImportApplication: How to apply an import.
type ImportApplication struct {
	// Whether to leave out rows whose objects have changed since.
	SkipChanged Optional[bool] `json:"skip_changed,omitzero"`
}

// SalesSummaryCompare is described by its fields.
type SalesSummaryCompare string

// The values of SalesSummaryCompare. A later release can add some.
const (
	SalesSummaryCompareTrue                SalesSummaryCompare = "true"
	SalesSummaryCompareFalse               SalesSummaryCompare = "false"
	SalesSummaryComparePreviousPeriod      SalesSummaryCompare = "previous_period"
	SalesSummaryComparePreviousYear        SalesSummaryCompare = "previous_year"
	SalesSummaryComparePreviousYearWeekday SalesSummaryCompare = "previous_year_weekday"
)

// SalesSummaryReport is described by its fields.
type SalesSummaryReport struct {
	Data    SalesSummary `json:"data"`
	Meta    ChangedMeta  `json:"meta"`
	Explain *Explanation `json:"explain"`
}

// SalesSummary: The sales in a range of days.
type SalesSummary struct {
	Period Period `json:"period"`
	// An ISO 4217 code.
	Currency string `json:"currency"`
	// The time zone of the days.
	Timezone       string           `json:"timezone"`
	Summary        SalesFigures     `json:"summary"`
	ByChannel      []ChannelFigures `json:"by_channel"`
	Comparison     *SalesComparison `json:"comparison"`
	DailyBreakdown []DayFigures     `json:"daily_breakdown"`
}

// Period: A range of days. Both days are inclusive.
type Period struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// SalesFigures: The sales in the whole range.
type SalesFigures struct {
	TotalRevenue      Decimal `json:"total_revenue"`
	TotalOrders       int64   `json:"total_orders"`
	AverageOrderValue Decimal `json:"average_order_value"`
	// Units.
	TotalItemsSold     int64   `json:"total_items_sold"`
	TotalDiscounts     Decimal `json:"total_discounts"`
	TotalTax           Decimal `json:"total_tax"`
	GrossProfit        Decimal `json:"gross_profit"`
	GrossMarginPercent Decimal `json:"gross_margin_percent"`
	UnitsWithoutCost   int64   `json:"units_without_cost"`
	GrossSales         Decimal `json:"gross_sales"`
	Refunds            Decimal `json:"refunds"`
	NetRevenue         Decimal `json:"net_revenue"`
	Shipping           Decimal `json:"shipping"`
	Total              Decimal `json:"total"`
	Items              int64   `json:"items"`
	RevenueWithoutCost Decimal `json:"revenue_without_cost"`
	CostedPercent      Decimal `json:"costed_percent"`
	// Null if no sold or returned item has a cost.
	NetGrossProfit *Decimal `json:"net_gross_profit"`
	// Null if no sold or returned item has a cost, or without net revenue.
	NetMarginPercent *Decimal `json:"net_margin_percent"`
	UnitsReturned    int64    `json:"units_returned"`
	RefundedRevenue  Decimal  `json:"refunded_revenue"`
	ReturnedCost     Decimal  `json:"returned_cost"`
}

// ChannelFigures: A channel with an order or a refund in the range, sorted by revenue, highest first.
type ChannelFigures struct {
	GrossSales    Decimal `json:"gross_sales"`
	Discounts     Decimal `json:"discounts"`
	Revenue       Decimal `json:"revenue"`
	Refunds       Decimal `json:"refunds"`
	NetRevenue    Decimal `json:"net_revenue"`
	Tax           Decimal `json:"tax"`
	Shipping      Decimal `json:"shipping"`
	Total         Decimal `json:"total"`
	Orders        int64   `json:"orders"`
	AvgOrderValue Decimal `json:"avg_order_value"`
	Items         int64   `json:"items"`
	UnitsSold     int64   `json:"units_sold"`
	// Null if no sold item has a cost.
	GrossProfit *Decimal `json:"gross_profit"`
	// Null if no sold item has a cost.
	MarginPercent      *Decimal `json:"margin_percent"`
	UnitsWithoutCost   int64    `json:"units_without_cost"`
	RevenueWithoutCost Decimal  `json:"revenue_without_cost"`
	CostedPercent      Decimal  `json:"costed_percent"`
	// Null if no sold or returned item has a cost.
	NetGrossProfit *Decimal `json:"net_gross_profit"`
	// Null if no sold or returned item has a cost, or without net revenue.
	NetMarginPercent *Decimal `json:"net_margin_percent"`
	UnitsReturned    int64    `json:"units_returned"`
	RefundedRevenue  Decimal  `json:"refunded_revenue"`
	ReturnedCost     Decimal  `json:"returned_cost"`
	Channel          string   `json:"channel"`
}

// SalesComparison: The earlier range. Present if `compare` requests it.
type SalesComparison struct {
	Period               Period            `json:"period"`
	TotalRevenue         Decimal           `json:"total_revenue"`
	RevenueChangePercent *Decimal          `json:"revenue_change_percent"`
	OrdersChangePercent  *Decimal          `json:"orders_change_percent"`
	Compare              Compare           `json:"compare"`
	DataFrom             *string           `json:"data_from"`
	Comparable           bool              `json:"comparable"`
	Until                *Time             `json:"until"`
	Summary              Figures           `json:"summary"`
	Changes              Changes           `json:"changes"`
	ByChannel            []ComparedChannel `json:"by_channel"`
	DailyBreakdown       []ComparedDay     `json:"daily_breakdown"`
}

// Figures: All figures of a group of sales.
type Figures struct {
	GrossSales    Decimal `json:"gross_sales"`
	Discounts     Decimal `json:"discounts"`
	Revenue       Decimal `json:"revenue"`
	Refunds       Decimal `json:"refunds"`
	NetRevenue    Decimal `json:"net_revenue"`
	Tax           Decimal `json:"tax"`
	Shipping      Decimal `json:"shipping"`
	Total         Decimal `json:"total"`
	Orders        int64   `json:"orders"`
	AvgOrderValue Decimal `json:"avg_order_value"`
	Items         int64   `json:"items"`
	UnitsSold     int64   `json:"units_sold"`
	// Null if no sold item has a cost.
	GrossProfit *Decimal `json:"gross_profit"`
	// Null if no sold item has a cost.
	MarginPercent      *Decimal `json:"margin_percent"`
	UnitsWithoutCost   int64    `json:"units_without_cost"`
	RevenueWithoutCost Decimal  `json:"revenue_without_cost"`
	CostedPercent      Decimal  `json:"costed_percent"`
	// Null if no sold or returned item has a cost.
	NetGrossProfit *Decimal `json:"net_gross_profit"`
	// Null if no sold or returned item has a cost, or without net revenue.
	NetMarginPercent *Decimal `json:"net_margin_percent"`
	UnitsReturned    int64    `json:"units_returned"`
	RefundedRevenue  Decimal  `json:"refunded_revenue"`
	ReturnedCost     Decimal  `json:"returned_cost"`
}

// Changes: The difference of each figure from the comparison, in percent. All are null unless they are
// comparable.
type Changes struct {
	GrossSales         *Decimal `json:"gross_sales"`
	Discounts          *Decimal `json:"discounts"`
	Revenue            *Decimal `json:"revenue"`
	Refunds            *Decimal `json:"refunds"`
	NetRevenue         *Decimal `json:"net_revenue"`
	Tax                *Decimal `json:"tax"`
	Shipping           *Decimal `json:"shipping"`
	Total              *Decimal `json:"total"`
	Orders             *Decimal `json:"orders"`
	AvgOrderValue      *Decimal `json:"avg_order_value"`
	Items              *Decimal `json:"items"`
	UnitsSold          *Decimal `json:"units_sold"`
	GrossProfit        *Decimal `json:"gross_profit"`
	MarginPercent      *Decimal `json:"margin_percent"`
	UnitsWithoutCost   *Decimal `json:"units_without_cost"`
	RevenueWithoutCost *Decimal `json:"revenue_without_cost"`
	CostedPercent      *Decimal `json:"costed_percent"`
	NetGrossProfit     *Decimal `json:"net_gross_profit"`
	NetMarginPercent   *Decimal `json:"net_margin_percent"`
	UnitsReturned      *Decimal `json:"units_returned"`
	RefundedRevenue    *Decimal `json:"refunded_revenue"`
	ReturnedCost       *Decimal `json:"returned_cost"`
}

// ComparedChannel: A channel of the report or, after these, of the earlier range alone.
type ComparedChannel struct {
	GrossSales    Decimal `json:"gross_sales"`
	Discounts     Decimal `json:"discounts"`
	Revenue       Decimal `json:"revenue"`
	Refunds       Decimal `json:"refunds"`
	NetRevenue    Decimal `json:"net_revenue"`
	Tax           Decimal `json:"tax"`
	Shipping      Decimal `json:"shipping"`
	Total         Decimal `json:"total"`
	Orders        int64   `json:"orders"`
	AvgOrderValue Decimal `json:"avg_order_value"`
	Items         int64   `json:"items"`
	UnitsSold     int64   `json:"units_sold"`
	// Null if no sold item has a cost.
	GrossProfit *Decimal `json:"gross_profit"`
	// Null if no sold item has a cost.
	MarginPercent      *Decimal `json:"margin_percent"`
	UnitsWithoutCost   int64    `json:"units_without_cost"`
	RevenueWithoutCost Decimal  `json:"revenue_without_cost"`
	CostedPercent      Decimal  `json:"costed_percent"`
	// Null if no sold or returned item has a cost.
	NetGrossProfit *Decimal `json:"net_gross_profit"`
	// Null if no sold or returned item has a cost, or without net revenue.
	NetMarginPercent *Decimal `json:"net_margin_percent"`
	UnitsReturned    int64    `json:"units_returned"`
	RefundedRevenue  Decimal  `json:"refunded_revenue"`
	ReturnedCost     Decimal  `json:"returned_cost"`
	Changes          Changes  `json:"changes"`
	Channel          string   `json:"channel"`
}

// ComparedDay: The day that a day of the report is compared with.
type ComparedDay struct {
	GrossSales    Decimal `json:"gross_sales"`
	Discounts     Decimal `json:"discounts"`
	Revenue       Decimal `json:"revenue"`
	Refunds       Decimal `json:"refunds"`
	NetRevenue    Decimal `json:"net_revenue"`
	Tax           Decimal `json:"tax"`
	Shipping      Decimal `json:"shipping"`
	Total         Decimal `json:"total"`
	Orders        int64   `json:"orders"`
	AvgOrderValue Decimal `json:"avg_order_value"`
	Items         int64   `json:"items"`
	UnitsSold     int64   `json:"units_sold"`
	// Null if no sold item has a cost.
	GrossProfit *Decimal `json:"gross_profit"`
	// Null if no sold item has a cost.
	MarginPercent      *Decimal `json:"margin_percent"`
	UnitsWithoutCost   int64    `json:"units_without_cost"`
	RevenueWithoutCost Decimal  `json:"revenue_without_cost"`
	CostedPercent      Decimal  `json:"costed_percent"`
	// Null if no sold or returned item has a cost.
	NetGrossProfit *Decimal `json:"net_gross_profit"`
	// Null if no sold or returned item has a cost, or without net revenue.
	NetMarginPercent *Decimal `json:"net_margin_percent"`
	UnitsReturned    int64    `json:"units_returned"`
	RefundedRevenue  Decimal  `json:"refunded_revenue"`
	ReturnedCost     Decimal  `json:"returned_cost"`
	Changes          Changes  `json:"changes"`
	// The day in the earlier range. It can be before 1970.
	Date string `json:"date"`
	// The day in the report.
	ComparedWith string `json:"compared_with"`
}

// DayFigures: A day in the range, in chronological order, including days without sales.
type DayFigures struct {
	GrossSales    Decimal `json:"gross_sales"`
	Discounts     Decimal `json:"discounts"`
	Revenue       Decimal `json:"revenue"`
	Refunds       Decimal `json:"refunds"`
	NetRevenue    Decimal `json:"net_revenue"`
	Tax           Decimal `json:"tax"`
	Shipping      Decimal `json:"shipping"`
	Total         Decimal `json:"total"`
	Orders        int64   `json:"orders"`
	AvgOrderValue Decimal `json:"avg_order_value"`
	Items         int64   `json:"items"`
	UnitsSold     int64   `json:"units_sold"`
	// Null if no sold item has a cost.
	GrossProfit *Decimal `json:"gross_profit"`
	// Null if no sold item has a cost.
	MarginPercent      *Decimal `json:"margin_percent"`
	UnitsWithoutCost   int64    `json:"units_without_cost"`
	RevenueWithoutCost Decimal  `json:"revenue_without_cost"`
	CostedPercent      Decimal  `json:"costed_percent"`
	// Null if no sold or returned item has a cost.
	NetGrossProfit *Decimal `json:"net_gross_profit"`
	// Null if no sold or returned item has a cost, or without net revenue.
	NetMarginPercent *Decimal `json:"net_margin_percent"`
	UnitsReturned    int64    `json:"units_returned"`
	RefundedRevenue  Decimal  `json:"refunded_revenue"`
	ReturnedCost     Decimal  `json:"returned_cost"`
	Date             string   `json:"date"`
}

// ChangedMeta: When the range changed last.
type ChangedMeta struct {
	ChangedAt *Time `json:"changed_at"`
}

// Explanation: The calculation of the figures of a report. Present if it was requested.
type Explanation struct {
	// Formulas by the name of the group and the figure, for example `summary.total_revenue` or `rows[].revenue`.
	Formulas map[string]Formula `json:"formulas"`
	Groups   []ExplainedGroup   `json:"groups"`
	LeftOut  []LeftOut          `json:"left_out"`
}

// Formula: The calculation of a figure.
type Formula struct {
	// An expression with `+ - * / ( ) abs( )`, numbers and names.
	Formula string `json:"formula"`
	Unit    Unit   `json:"unit"`
	// Rounding to two digits, or by largest remainder if the rows add up to 100.00. Null if nothing is rounded.
	Rounding *FormulaRounding `json:"rounding"`
	// The value if the formula divides by zero: `0.00`, or `null` for null. Null if nothing is divided.
	OverZero *FormulaOverZero `json:"over_zero"`
	// The condition under which the figure is null: comparisons with `=`, `!=`, `>` and `<=`, joined by `and` and
	// then `or`. Null if there is none. `comparison.comparable` is the field of the comparison.
	NullIf *string `json:"null_if"`
}

// FormulaRounding: Rounding to two digits, or by largest remainder if the rows add up to 100.00. Null if nothing
// is rounded.
type FormulaRounding string

// The values of FormulaRounding. A later release can add some.
const (
	FormulaRoundingHalfAwayFromZero FormulaRounding = "half_away_from_zero"
	FormulaRoundingLargestRemainder FormulaRounding = "largest_remainder"
)

// FormulaOverZero: The value if the formula divides by zero: `0.00`, or `null` for null. Null if nothing is
// divided.
type FormulaOverZero string

// The values of FormulaOverZero. A later release can add some.
const (
	FormulaOverZero000  FormulaOverZero = "0.00"
	FormulaOverZeroNull FormulaOverZero = "null"
)

// ExplainedGroup: The sums of one part of the response.
type ExplainedGroup struct {
	// The name of the group in formulas.
	Name string `json:"name"`
	// The position of the figures in the response.
	Path *string `json:"path"`
	Sums Sums    `json:"sums"`
}

// Sums: The sums that the figures of a group are calculated from.
type Sums struct {
	// The number of orders. 0 in the totals of products, because an order can contain several products.
	Orders int64 `json:"orders"`
	// The number of items of orders.
	Items int64 `json:"items"`
	// Units.
	Units            int64 `json:"units"`
	UnitsWithoutCost int64 `json:"units_without_cost"`
	// Quantity × unit price.
	Gross     Decimal `json:"gross"`
	Discounts Decimal `json:"discounts"`
	Tax       Decimal `json:"tax"`
	Cost      Decimal `json:"cost"`
	// The number of refunds. 0 in the totals of products, like orders.
	RefundCount        int64   `json:"refund_count"`
	Refunds            Decimal `json:"refunds"`
	Shipping           Decimal `json:"shipping"`
	RevenueWithoutCost Decimal `json:"revenue_without_cost"`
	// Missing in the report by customer, like the next three.
	RefundedRevenue            *Decimal `json:"refunded_revenue"`
	RefundedRevenueWithoutCost *Decimal `json:"refunded_revenue_without_cost"`
	UnitsReturned              *int64   `json:"units_returned"`
	ReturnedCost               *Decimal `json:"returned_cost"`
}

// LeftOut: Orders or refunds in the range that were not counted.
type LeftOut struct {
	// `guest`: orders without a customer. `no_order`: refunds to customers without an order in the range.
	Reason      LeftOutReason `json:"reason"`
	Orders      int64         `json:"orders"`
	Items       int64         `json:"items"`
	Units       int64         `json:"units"`
	Revenue     Decimal       `json:"revenue"`
	RefundCount int64         `json:"refund_count"`
	Refunds     Decimal       `json:"refunds"`
}

// LeftOutReason: `guest`: orders without a customer. `no_order`: refunds to customers without an order in the
// range.
type LeftOutReason string

// The values of LeftOutReason. A later release can add some.
const (
	LeftOutReasonCancelled     LeftOutReason = "cancelled"
	LeftOutReasonOtherChannel  LeftOutReason = "other_channel"
	LeftOutReasonOtherCategory LeftOutReason = "other_category"
	LeftOutReasonGuest         LeftOutReason = "guest"
	LeftOutReasonNoOrder       LeftOutReason = "no_order"
)

// ProductReportSort is described by its fields.
type ProductReportSort string

// The values of ProductReportSort. A later release can add some.
const (
	ProductReportSortRevenue    ProductReportSort = "revenue"
	ProductReportSortNetRevenue ProductReportSort = "net_revenue"
	ProductReportSortUnits      ProductReportSort = "units"
	ProductReportSortMargin     ProductReportSort = "margin"
)

// ProductReport is described by its fields.
type ProductReport struct {
	Data    []ProductReportRow `json:"data"`
	Meta    ProductReportMeta  `json:"meta"`
	Explain *Explanation       `json:"explain"`
}

// ProductReportRow: A product with an item sold or refunded in the range.
type ProductReportRow struct {
	UnitsSold          int64   `json:"units_sold"`
	Revenue            Decimal `json:"revenue"`
	CostTotal          Decimal `json:"cost_total"`
	GrossProfit        Decimal `json:"gross_profit"`
	MarginPercent      Decimal `json:"margin_percent"`
	UnitsWithoutCost   int64   `json:"units_without_cost"`
	RevenueWithoutCost Decimal `json:"revenue_without_cost"`
	CostedPercent      Decimal `json:"costed_percent"`
	GrossSales         Decimal `json:"gross_sales"`
	Discounts          Decimal `json:"discounts"`
	Refunds            Decimal `json:"refunds"`
	NetRevenue         Decimal `json:"net_revenue"`
	// Null if no sold or returned item has a cost.
	NetGrossProfit *Decimal `json:"net_gross_profit"`
	// Null if no sold or returned item has a cost, or without net revenue.
	NetMarginPercent *Decimal `json:"net_margin_percent"`
	UnitsReturned    int64    `json:"units_returned"`
	RefundedRevenue  Decimal  `json:"refunded_revenue"`
	ReturnedCost     Decimal  `json:"returned_cost"`
	// Null if the SKU was never in the catalog.
	ProductID *int64 `json:"product_id"`
	// The SKU of the latest sale.
	SKU string `json:"sku"`
	// The name of the latest sale, or the SKU if it was never in the catalog.
	Name string `json:"name"`
}

// ProductReportMeta: The position of the page, and the range and the totals of all pages.
type ProductReportMeta struct {
	Page    int64 `json:"page"`
	PerPage int64 `json:"per_page"`
	// The exact number of matching objects.
	Total      int64  `json:"total"`
	TotalPages int64  `json:"total_pages"`
	HasNext    bool   `json:"has_next"`
	HasPrev    bool   `json:"has_prev"`
	Period     Period `json:"period"`
	// An ISO 4217 code.
	Currency string `json:"currency"`
	// The time zone of the days.
	Timezone  string         `json:"timezone"`
	ChangedAt *Time          `json:"changed_at"`
	Totals    ProductFigures `json:"totals"`
}

// ProductFigures: The figures of a product or of all products.
type ProductFigures struct {
	UnitsSold          int64   `json:"units_sold"`
	Revenue            Decimal `json:"revenue"`
	CostTotal          Decimal `json:"cost_total"`
	GrossProfit        Decimal `json:"gross_profit"`
	MarginPercent      Decimal `json:"margin_percent"`
	UnitsWithoutCost   int64   `json:"units_without_cost"`
	RevenueWithoutCost Decimal `json:"revenue_without_cost"`
	CostedPercent      Decimal `json:"costed_percent"`
	GrossSales         Decimal `json:"gross_sales"`
	Discounts          Decimal `json:"discounts"`
	Refunds            Decimal `json:"refunds"`
	NetRevenue         Decimal `json:"net_revenue"`
	// Null if no sold or returned item has a cost.
	NetGrossProfit *Decimal `json:"net_gross_profit"`
	// Null if no sold or returned item has a cost, or without net revenue.
	NetMarginPercent *Decimal `json:"net_margin_percent"`
	UnitsReturned    int64    `json:"units_returned"`
	RefundedRevenue  Decimal  `json:"refunded_revenue"`
	ReturnedCost     Decimal  `json:"returned_cost"`
}

// ChannelReport is described by its fields.
type ChannelReport struct {
	Data    []ChannelReportRow `json:"data"`
	Meta    ChannelReportMeta  `json:"meta"`
	Explain *Explanation       `json:"explain"`
}

// ChannelReportRow: A channel with an order or a refund in the range.
type ChannelReportRow struct {
	Revenue           Decimal `json:"revenue"`
	Orders            int64   `json:"orders"`
	AverageOrderValue Decimal `json:"average_order_value"`
	GrossSales        Decimal `json:"gross_sales"`
	Discounts         Decimal `json:"discounts"`
	Refunds           Decimal `json:"refunds"`
	NetRevenue        Decimal `json:"net_revenue"`
	Tax               Decimal `json:"tax"`
	Shipping          Decimal `json:"shipping"`
	Total             Decimal `json:"total"`
	Items             int64   `json:"items"`
	UnitsSold         int64   `json:"units_sold"`
	// Null if no sold item has a cost.
	GrossProfit *Decimal `json:"gross_profit"`
	// Null if no sold item has a cost.
	MarginPercent      *Decimal `json:"margin_percent"`
	UnitsWithoutCost   int64    `json:"units_without_cost"`
	RevenueWithoutCost Decimal  `json:"revenue_without_cost"`
	CostedPercent      Decimal  `json:"costed_percent"`
	// Null if no sold or returned item has a cost.
	NetGrossProfit *Decimal `json:"net_gross_profit"`
	// Null if no sold or returned item has a cost, or without net revenue.
	NetMarginPercent *Decimal `json:"net_margin_percent"`
	UnitsReturned    int64    `json:"units_returned"`
	RefundedRevenue  Decimal  `json:"refunded_revenue"`
	ReturnedCost     Decimal  `json:"returned_cost"`
	Channel          string   `json:"channel"`
	Label            string   `json:"label"`
	// The channel in the earlier range. Present if `compare` requests it.
	Comparison *ComparedFigures `json:"comparison"`
	// The share of the revenue of all channels. The shares add up to 100.00, or all are 0.00 if there is no revenue.
	PercentOfTotal Decimal `json:"percent_of_total"`
}

// ComparedFigures: All figures of the earlier range, and their changes.
type ComparedFigures struct {
	GrossSales    Decimal `json:"gross_sales"`
	Discounts     Decimal `json:"discounts"`
	Revenue       Decimal `json:"revenue"`
	Refunds       Decimal `json:"refunds"`
	NetRevenue    Decimal `json:"net_revenue"`
	Tax           Decimal `json:"tax"`
	Shipping      Decimal `json:"shipping"`
	Total         Decimal `json:"total"`
	Orders        int64   `json:"orders"`
	AvgOrderValue Decimal `json:"avg_order_value"`
	Items         int64   `json:"items"`
	UnitsSold     int64   `json:"units_sold"`
	// Null if no sold item has a cost.
	GrossProfit *Decimal `json:"gross_profit"`
	// Null if no sold item has a cost.
	MarginPercent      *Decimal `json:"margin_percent"`
	UnitsWithoutCost   int64    `json:"units_without_cost"`
	RevenueWithoutCost Decimal  `json:"revenue_without_cost"`
	CostedPercent      Decimal  `json:"costed_percent"`
	// Null if no sold or returned item has a cost.
	NetGrossProfit *Decimal `json:"net_gross_profit"`
	// Null if no sold or returned item has a cost, or without net revenue.
	NetMarginPercent *Decimal `json:"net_margin_percent"`
	UnitsReturned    int64    `json:"units_returned"`
	RefundedRevenue  Decimal  `json:"refunded_revenue"`
	ReturnedCost     Decimal  `json:"returned_cost"`
	Changes          Changes  `json:"changes"`
}

// ChannelReportMeta: The range and the totals of all channels.
type ChannelReportMeta struct {
	Period Period `json:"period"`
	// An ISO 4217 code.
	Currency string `json:"currency"`
	// The time zone of the days.
	Timezone  string               `json:"timezone"`
	ChangedAt *Time                `json:"changed_at"`
	Totals    ChannelReportFigures `json:"totals"`
	// The earlier range. Present if `compare` requests it.
	Comparison *ChannelReportMetaComparison `json:"comparison"`
}

// ChannelReportFigures: All figures of a channel or of all channels.
type ChannelReportFigures struct {
	Revenue           Decimal `json:"revenue"`
	Orders            int64   `json:"orders"`
	AverageOrderValue Decimal `json:"average_order_value"`
	GrossSales        Decimal `json:"gross_sales"`
	Discounts         Decimal `json:"discounts"`
	Refunds           Decimal `json:"refunds"`
	NetRevenue        Decimal `json:"net_revenue"`
	Tax               Decimal `json:"tax"`
	Shipping          Decimal `json:"shipping"`
	Total             Decimal `json:"total"`
	Items             int64   `json:"items"`
	UnitsSold         int64   `json:"units_sold"`
	// Null if no sold item has a cost.
	GrossProfit *Decimal `json:"gross_profit"`
	// Null if no sold item has a cost.
	MarginPercent      *Decimal `json:"margin_percent"`
	UnitsWithoutCost   int64    `json:"units_without_cost"`
	RevenueWithoutCost Decimal  `json:"revenue_without_cost"`
	CostedPercent      Decimal  `json:"costed_percent"`
	// Null if no sold or returned item has a cost.
	NetGrossProfit *Decimal `json:"net_gross_profit"`
	// Null if no sold or returned item has a cost, or without net revenue.
	NetMarginPercent *Decimal `json:"net_margin_percent"`
	UnitsReturned    int64    `json:"units_returned"`
	RefundedRevenue  Decimal  `json:"refunded_revenue"`
	ReturnedCost     Decimal  `json:"returned_cost"`
}

// ChannelReportMetaComparison: The earlier range. Present if `compare` requests it.
type ChannelReportMetaComparison struct {
	GrossSales    Decimal `json:"gross_sales"`
	Discounts     Decimal `json:"discounts"`
	Revenue       Decimal `json:"revenue"`
	Refunds       Decimal `json:"refunds"`
	NetRevenue    Decimal `json:"net_revenue"`
	Tax           Decimal `json:"tax"`
	Shipping      Decimal `json:"shipping"`
	Total         Decimal `json:"total"`
	Orders        int64   `json:"orders"`
	AvgOrderValue Decimal `json:"avg_order_value"`
	Items         int64   `json:"items"`
	UnitsSold     int64   `json:"units_sold"`
	// Null if no sold item has a cost.
	GrossProfit *Decimal `json:"gross_profit"`
	// Null if no sold item has a cost.
	MarginPercent      *Decimal `json:"margin_percent"`
	UnitsWithoutCost   int64    `json:"units_without_cost"`
	RevenueWithoutCost Decimal  `json:"revenue_without_cost"`
	CostedPercent      Decimal  `json:"costed_percent"`
	// Null if no sold or returned item has a cost.
	NetGrossProfit *Decimal `json:"net_gross_profit"`
	// Null if no sold or returned item has a cost, or without net revenue.
	NetMarginPercent *Decimal `json:"net_margin_percent"`
	UnitsReturned    int64    `json:"units_returned"`
	RefundedRevenue  Decimal  `json:"refunded_revenue"`
	ReturnedCost     Decimal  `json:"returned_cost"`
	Changes          Changes  `json:"changes"`
	Period           Period   `json:"period"`
	Compare          Compare  `json:"compare"`
	DataFrom         *string  `json:"data_from"`
	Comparable       bool     `json:"comparable"`
	Until            *Time    `json:"until"`
}

// CustomerReportSort is described by its fields.
type CustomerReportSort string

// The values of CustomerReportSort. A later release can add some.
const (
	CustomerReportSortRevenue   CustomerReportSort = "revenue"
	CustomerReportSortOrders    CustomerReportSort = "orders"
	CustomerReportSortLastOrder CustomerReportSort = "last_order"
)

// CustomerReportResult is described by its fields.
type CustomerReportResult struct {
	Data    CustomerReport     `json:"data"`
	Meta    CustomerReportMeta `json:"meta"`
	Explain *Explanation       `json:"explain"`
}

// CustomerReport: The customers with an order in the range.
type CustomerReport struct {
	Period    Period              `json:"period"`
	Summary   CustomerFigures     `json:"summary"`
	Customers []CustomerReportRow `json:"customers"`
}

// CustomerFigures: Figures of all customers in the report.
type CustomerFigures struct {
	TotalCustomers int64 `json:"total_customers"`
	// Customers whose first order ever is in the range.
	NewCustomers       int64 `json:"new_customers"`
	ReturningCustomers int64 `json:"returning_customers"`
	// Orders without a customer.
	GuestOrders int64 `json:"guest_orders"`
	// Returning customers as a percentage of all customers.
	RepeatRatePercent         Decimal `json:"repeat_rate_percent"`
	AverageRevenuePerCustomer Decimal `json:"average_revenue_per_customer"`
}

// CustomerReportRow: A customer with an order in the range.
type CustomerReportRow struct {
	// Your id of the customer.
	CustomerID        string  `json:"customer_id"`
	Name              *string `json:"name"`
	Email             *string `json:"email"`
	Orders            int64   `json:"orders"`
	Revenue           Decimal `json:"revenue"`
	AverageOrderValue Decimal `json:"average_order_value"`
	Refunds           Decimal `json:"refunds"`
	// The time of the first order ever, in any channel.
	FirstOrderAt Time `json:"first_order_at"`
	// The time of the last order in the range.
	LastOrderAt Time `json:"last_order_at"`
}

// CustomerReportMeta: The position of the page, and when the range changed last.
type CustomerReportMeta struct {
	Page    int64 `json:"page"`
	PerPage int64 `json:"per_page"`
	// The exact number of matching objects.
	Total      int64 `json:"total"`
	TotalPages int64 `json:"total_pages"`
	HasNext    bool  `json:"has_next"`
	HasPrev    bool  `json:"has_prev"`
	ChangedAt  *Time `json:"changed_at"`
}

// CustomReportQuery: A custom report in a request. Optional fields can be null.
type CustomReportQuery struct {
	From Optional[string] `json:"from,omitzero"`
	To   Optional[string] `json:"to,omitzero"`
	// The days instead of `from` and `to`, which are required without it.
	Period  Optional[PeriodPreset] `json:"period,omitzero"`
	Metrics []Metric               `json:"metrics"`
	// The groups of the report. If missing, the report contains only totals.
	GroupBy Optional[GroupBy]         `json:"group_by,omitzero"`
	Filters *CustomReportQueryFilters `json:"filters,omitempty"`
	// The default is false.
	Explain Optional[bool] `json:"explain,omitzero"`
}

// CustomReportQueryFilters is described by its fields.
type CustomReportQueryFilters struct {
	Channel    []string `json:"channel,omitzero"`
	CategoryID []int64  `json:"category_id,omitzero"`
}

// CustomReportResult is described by its fields.
type CustomReportResult struct {
	Data    CustomReport `json:"data"`
	Meta    ChangedMeta  `json:"meta"`
	Explain *Explanation `json:"explain"`
}

// CustomReport: The requested metrics.
type CustomReport struct {
	Period  Period            `json:"period"`
	GroupBy *GroupBy          `json:"group_by"`
	Metrics []Metric          `json:"metrics"`
	Rows    []CustomReportRow `json:"rows"`
	Totals  CustomFigures     `json:"totals"`
}

// CustomReportRow: A group of the report.
type CustomReportRow struct {
	Revenue            *Decimal `json:"revenue"`
	Orders             *int64   `json:"orders"`
	AvgOrderValue      *Decimal `json:"avg_order_value"`
	GrossProfit        *Decimal `json:"gross_profit"`
	MarginPercent      *Decimal `json:"margin_percent"`
	UnitsSold          *int64   `json:"units_sold"`
	Discounts          *Decimal `json:"discounts"`
	Tax                *Decimal `json:"tax"`
	Refunds            *Decimal `json:"refunds"`
	GrossSales         *Decimal `json:"gross_sales"`
	NetRevenue         *Decimal `json:"net_revenue"`
	Shipping           *Decimal `json:"shipping"`
	Total              *Decimal `json:"total"`
	Items              *int64   `json:"items"`
	UnitsWithoutCost   *int64   `json:"units_without_cost"`
	RevenueWithoutCost *Decimal `json:"revenue_without_cost"`
	CostedPercent      *Decimal `json:"costed_percent"`
	// Null if no sold or returned item has a cost.
	NetGrossProfit *Decimal `json:"net_gross_profit"`
	// Null if no sold or returned item has a cost, or without net revenue.
	NetMarginPercent *Decimal `json:"net_margin_percent"`
	UnitsReturned    *int64   `json:"units_returned"`
	RefundedRevenue  *Decimal `json:"refunded_revenue"`
	ReturnedCost     *Decimal `json:"returned_cost"`
	// The day (`YYYY-MM-DD`), the Monday of the week, the month (`YYYY-MM`), the identifier of the channel, or the
	// id of the category or seller. Null for items without one.
	Group *Scalar `json:"group"`
	// The current name of the group, or the name of the latest sale if it was deleted. `None` for items without one.
	Label string `json:"label"`
}

// CustomFigures: The requested metrics. `units_without_cost`, `revenue_without_cost` and `costed_percent` are
// included with profit and margin.
type CustomFigures struct {
	Revenue            *Decimal `json:"revenue"`
	Orders             *int64   `json:"orders"`
	AvgOrderValue      *Decimal `json:"avg_order_value"`
	GrossProfit        *Decimal `json:"gross_profit"`
	MarginPercent      *Decimal `json:"margin_percent"`
	UnitsSold          *int64   `json:"units_sold"`
	Discounts          *Decimal `json:"discounts"`
	Tax                *Decimal `json:"tax"`
	Refunds            *Decimal `json:"refunds"`
	GrossSales         *Decimal `json:"gross_sales"`
	NetRevenue         *Decimal `json:"net_revenue"`
	Shipping           *Decimal `json:"shipping"`
	Total              *Decimal `json:"total"`
	Items              *int64   `json:"items"`
	UnitsWithoutCost   *int64   `json:"units_without_cost"`
	RevenueWithoutCost *Decimal `json:"revenue_without_cost"`
	CostedPercent      *Decimal `json:"costed_percent"`
	// Null if no sold or returned item has a cost.
	NetGrossProfit *Decimal `json:"net_gross_profit"`
	// Null if no sold or returned item has a cost, or without net revenue.
	NetMarginPercent *Decimal `json:"net_margin_percent"`
	UnitsReturned    *int64   `json:"units_returned"`
	RefundedRevenue  *Decimal `json:"refunded_revenue"`
	ReturnedCost     *Decimal `json:"returned_cost"`
}

// ReconciliationResult is described by its fields.
type ReconciliationResult struct {
	Data Reconciliation `json:"data"`
	Meta ChangedMeta    `json:"meta"`
}

// Reconciliation: A range, calculated in several ways.
type Reconciliation struct {
	Period Period `json:"period"`
	// The time zone of the days.
	Timezone string `json:"timezone"`
	// An ISO 4217 code.
	Currency string `json:"currency"`
	// Whether every figure is equal in all ways.
	Balanced bool  `json:"balanced"`
	Figures  []Tie `json:"figures"`
}

// Tie: A figure, with its value from each source.
type Tie struct {
	Figure TieFigure `json:"figure"`
	Unit   Unit      `json:"unit"`
	// Calculated from orders, items and refunds.
	Facts      Scalar  `json:"facts"`
	Summary    Scalar  `json:"summary"`
	Channels   *Scalar `json:"channels"`
	Days       *Scalar `json:"days"`
	Products   *Scalar `json:"products"`
	Categories *Scalar `json:"categories"`
	Sellers    *Scalar `json:"sellers"`
	// The sums that select the pages of products. Null for figures that they do not have.
	ProductPages *Scalar `json:"product_pages"`
	// The sums by day, channel and category.
	CategoriesByChannel *Scalar `json:"categories_by_channel"`
	// The sums by day, channel and seller.
	SellersByChannel *Scalar `json:"sellers_by_channel"`
	// For orders and refund_count, which count one in each of its groups: the counts of all groups together, from
	// the facts and as they are stored. Null for other figures.
	GroupCounts *TieGroupCounts `json:"group_counts"`
	// Whether all values that are not null are equal.
	Balanced bool `json:"balanced"`
}

// TieFigure is described by its fields.
type TieFigure string

// The values of TieFigure. A later release can add some.
const (
	TieFigureRevenue                    TieFigure = "revenue"
	TieFigureDiscounts                  TieFigure = "discounts"
	TieFigureTax                        TieFigure = "tax"
	TieFigureCost                       TieFigure = "cost"
	TieFigureGrossProfit                TieFigure = "gross_profit"
	TieFigureRefunds                    TieFigure = "refunds"
	TieFigureOrders                     TieFigure = "orders"
	TieFigureItems                      TieFigure = "items"
	TieFigureUnitsSold                  TieFigure = "units_sold"
	TieFigureUnitsWithoutCost           TieFigure = "units_without_cost"
	TieFigureRefundCount                TieFigure = "refund_count"
	TieFigureGrossSales                 TieFigure = "gross_sales"
	TieFigureNetRevenue                 TieFigure = "net_revenue"
	TieFigureShipping                   TieFigure = "shipping"
	TieFigureTotal                      TieFigure = "total"
	TieFigureRevenueWithoutCost         TieFigure = "revenue_without_cost"
	TieFigureNetGrossProfit             TieFigure = "net_gross_profit"
	TieFigureUnitsReturned              TieFigure = "units_returned"
	TieFigureRefundedRevenue            TieFigure = "refunded_revenue"
	TieFigureRefundedRevenueWithoutCost TieFigure = "refunded_revenue_without_cost"
	TieFigureReturnedCost               TieFigure = "returned_cost"
)

// TieGroupCounts: For orders and refund_count, which count one in each of its groups: the counts of all groups
// together, from the facts and as they are stored. Null for other figures.
type TieGroupCounts struct {
	Products   GroupCount `json:"products"`
	Categories GroupCount `json:"categories"`
	Sellers    GroupCount `json:"sellers"`
}

// GroupCount is described by its fields.
type GroupCount struct {
	Facts           int64 `json:"facts"`
	Stored          int64 `json:"stored"`
	StoredByChannel int64 `json:"stored_by_channel"`
}

// ReportChangeList is described by its fields.
type ReportChangeList struct {
	Data []ReportChange `json:"data"`
	Meta ChangesMeta    `json:"meta"`
}

// ReportChange: A change of an order or a refund.
type ReportChange struct {
	// The position of the entry, as a cursor for `after`.
	Seq  string           `json:"seq"`
	Type ReportChangeType `json:"type"`
	// The number of the order or the id of the refund.
	ID string `json:"id"`
	// Null for a refund that no longer exists.
	OrderNumber *string `json:"order_number"`
	// `updated` is the cancellation of an order, or its undo. `deleted` is the undo of an import.
	Action ChangeAction `json:"action"`
	At     Time         `json:"at"`
	// The API key of the request, as in `GET /api/changes`.
	APIKey *Named `json:"api_key"`
	// The fields of the order that an update changed.
	Changed []string `json:"changed"`
	// The days that changed: that of the order or the refund, and for an update also those of all refunds of the
	// order. Empty if it no longer exists. Then the day is unknown, and every range lists it.
	Days []string `json:"days"`
}

// ReportChangeType is described by its fields.
type ReportChangeType string

// The values of ReportChangeType. A later release can add some.
const (
	ReportChangeTypeOrder  ReportChangeType = "order"
	ReportChangeTypeRefund ReportChangeType = "refund"
)

// ExportReportType is described by its fields.
type ExportReportType string

// The values of ExportReportType. A later release can add some.
const (
	ExportReportTypeSalesSummary ExportReportType = "sales-summary"
	ExportReportTypeProducts     ExportReportType = "products"
	ExportReportTypeChannels     ExportReportType = "channels"
	ExportReportTypeCustomers    ExportReportType = "customers"
)

// ExportReportFormat is described by its fields.
type ExportReportFormat string

// The values of ExportReportFormat. A later release can add some.
const (
	ExportReportFormatCsv  ExportReportFormat = "csv"
	ExportReportFormatXlsx ExportReportFormat = "xlsx"
)

// ExportReportSort is described by its fields.
type ExportReportSort string

// The values of ExportReportSort. A later release can add some.
const (
	ExportReportSortRevenue    ExportReportSort = "revenue"
	ExportReportSortNetRevenue ExportReportSort = "net_revenue"
	ExportReportSortUnits      ExportReportSort = "units"
	ExportReportSortMargin     ExportReportSort = "margin"
	ExportReportSortOrders     ExportReportSort = "orders"
	ExportReportSortLastOrder  ExportReportSort = "last_order"
)

// Me is described by its fields.
type Me struct {
	Tenant MeTenant `json:"tenant"`
	Key    MeKey    `json:"key"`
	// The values of the rate-limit headers of this response.
	RateLimit MeRateLimit `json:"rate_limit"`
	// What the tenant stores and may store. See *Quotas* above.
	Quotas MeQuotas `json:"quotas"`
}

// MeTenant is described by its fields.
type MeTenant struct {
	ID   int64        `json:"id"`
	Name string       `json:"name"`
	Plan MeTenantPlan `json:"plan"`
	// The IANA name of the time zone that decides the days.
	Timezone string `json:"timezone"`
	// An ISO 4217 code.
	Currency string `json:"currency"`
}

// MeTenantPlan is described by its fields.
type MeTenantPlan string

// The values of MeTenantPlan. A later release can add some.
const (
	MeTenantPlanStandard     MeTenantPlan = "standard"
	MeTenantPlanProfessional MeTenantPlan = "professional"
	MeTenantPlanEnterprise   MeTenantPlan = "enterprise"
)

// MeKey is described by its fields.
type MeKey struct {
	ID          int64             `json:"id"`
	Name        string            `json:"name"`
	Permissions []MeKeyPermission `json:"permissions"`
	// Null if the key never expires.
	ExpiresAt *Time `json:"expires_at"`
}

// MeKeyPermission is described by its fields.
type MeKeyPermission string

// The values of MeKeyPermission. A later release can add some.
const (
	MeKeyPermissionProductsRead   MeKeyPermission = "products:read"
	MeKeyPermissionProductsWrite  MeKeyPermission = "products:write"
	MeKeyPermissionInventoryWrite MeKeyPermission = "inventory:write"
	MeKeyPermissionReportsRead    MeKeyPermission = "reports:read"
	MeKeyPermissionOrdersRead     MeKeyPermission = "orders:read"
	MeKeyPermissionOrdersWrite    MeKeyPermission = "orders:write"
	MeKeyPermissionCustomersRead  MeKeyPermission = "customers:read"
	MeKeyPermissionCustomersWrite MeKeyPermission = "customers:write"
	MeKeyPermissionUsageRead      MeKeyPermission = "usage:read"
	MeKeyPermissionImportsRead    MeKeyPermission = "imports:read"
	MeKeyPermissionImportsWrite   MeKeyPermission = "imports:write"
	MeKeyPermissionWebhooksRead   MeKeyPermission = "webhooks:read"
	MeKeyPermissionWebhooksWrite  MeKeyPermission = "webhooks:write"
	MeKeyPermissionPlansPropose   MeKeyPermission = "plans:propose"
)

// MeRateLimit: The values of the rate-limit headers of this response.
type MeRateLimit struct {
	Limit     int64 `json:"limit"`
	Remaining int64 `json:"remaining"`
	// Unix time in seconds, rounded up.
	Reset int64 `json:"reset"`
}

// MeQuotas: What the tenant stores and may store. See *Quotas* above.
type MeQuotas struct {
	// In bytes.
	Storage Quota `json:"storage"`
	// Products, orders, items, refunds and ledger rows.
	Records Quota `json:"records"`
}

// Quota: What is used of a quota.
type Quota struct {
	// What is used. It can exceed the limit.
	Used int64 `json:"used"`
	// Null if there is no limit.
	Limit *int64 `json:"limit"`
}

// ShowUsageGroupBy is described by its fields.
type ShowUsageGroupBy string

// The values of ShowUsageGroupBy. A later release can add some.
const (
	ShowUsageGroupByDay  ShowUsageGroupBy = "day"
	ShowUsageGroupByHour ShowUsageGroupBy = "hour"
)

// Usage: The usage of the tenant's API keys in a range.
type Usage struct {
	Period Period `json:"period"`
	// The time zone of the days.
	Timezone string           `json:"timezone"`
	GroupBy  ShowUsageGroupBy `json:"group_by"`
	// The current limit of the tenant, in requests per 60 seconds.
	Limit int64 `json:"limit"`
	// The requests of all listed keys, including the refused ones.
	Requests int64 `json:"requests"`
	// The requests above the rate limit (429).
	Refused int64 `json:"refused"`
	// Of all listed keys together.
	BusiestMinute *BusiestMinute `json:"busiest_minute"`
	// Most requests first.
	Keys []KeyUsage `json:"keys"`
	// The last 20 errors of each key in the range, 100 in all, newest first. Refused requests (429) are only
	// counted.
	LastErrors []UsageError `json:"last_errors"`
}

// BusiestMinute: The minute with most requests, or null if there were no requests.
type BusiestMinute struct {
	Start    Time  `json:"start"`
	Requests int64 `json:"requests"`
}

// KeyUsage is described by its fields.
type KeyUsage struct {
	KeyID int64  `json:"key_id"`
	Name  string `json:"name"`
	// The beginning of the key.
	Prefix string `json:"prefix"`
	// The last four characters of the key.
	Last4         string         `json:"last4"`
	Requests      int64          `json:"requests"`
	Statuses      StatusCounts   `json:"statuses"`
	Refused       int64          `json:"refused"`
	P50Ms         *Decimal       `json:"p50_ms"`
	P95Ms         *Decimal       `json:"p95_ms"`
	BusiestMinute *BusiestMinute `json:"busiest_minute"`
	// Most requests first.
	Routes []KeyUsageRoute `json:"routes"`
	// Every day or hour of the range, even without requests.
	Periods []KeyUsagePeriod `json:"periods"`
}

// StatusCounts: Requests by class of their status. They add up to `requests`; refused requests are part of
// `4xx`.
type StatusCounts struct {
	Width2xx int64 `json:"2xx"`
	Width3xx int64 `json:"3xx"`
	Width4xx int64 `json:"4xx"`
	Width5xx int64 `json:"5xx"`
}

// KeyUsageRoute is described by its fields.
type KeyUsageRoute struct {
	// The first part of the path after `/api`, for example `products`. Null for requests over the rate limit, of a
	// suspended tenant, and to an unknown path.
	Route    *string      `json:"route"`
	Requests int64        `json:"requests"`
	Statuses StatusCounts `json:"statuses"`
	Refused  int64        `json:"refused"`
	P50Ms    *Decimal     `json:"p50_ms"`
	P95Ms    *Decimal     `json:"p95_ms"`
}

// KeyUsagePeriod is described by its fields.
type KeyUsagePeriod struct {
	// A day in the tenant's time zone, or the time at which an hour begins.
	Start    string       `json:"start"`
	Requests int64        `json:"requests"`
	Statuses StatusCounts `json:"statuses"`
	Refused  int64        `json:"refused"`
	P50Ms    *Decimal     `json:"p50_ms"`
	P95Ms    *Decimal     `json:"p95_ms"`
}

// UsageError: A failed request. Paths, queries and bodies are never recorded.
type UsageError struct {
	// The beginning of the request.
	At     Time   `json:"at"`
	KeyID  int64  `json:"key_id"`
	Method string `json:"method"`
	// The path of the operation in this document, or null if there is none.
	Route  *string   `json:"route"`
	Status int64     `json:"status"`
	Code   ErrorCode `json:"code"`
	// The `X-Request-Id` of the response.
	RequestID string `json:"request_id"`
}

// WebhookMessage: The body of a message.
type WebhookMessage struct {
	Type WebhookDeliveryType `json:"type"`
	// The time of the last entry, or of the test.
	Timestamp Time     `json:"timestamp"`
	Data      []Change `json:"data"`
}

// errorBody: The body of all error responses.
type errorBody struct {
	Success bool  `json:"success"`
	Error   Fault `json:"error"`
}

// ListProductsParams are the parameters of ListProducts. A zero value is not sent.
type ListProductsParams struct {
	// The page number, starting at 1. A page after the last one is an empty list.
	Page int64
	// The number of objects per page. A value above 100 returns 400.
	PerPage int64
	// Reads the list step by step. Start with an empty value, then send the `meta.next_cursor` of the previous
	// response with the same filters and sort order; `per_page` can change. Cannot be combined with `page`. A cursor
	// of another list or another tenant returns 400.
	Cursor *string
	// Words that must all occur in the name, SKU or barcode. Case and accents do not count: `cafe` finds `Café`,
	// `ΧΥΜΟΣ` finds `Χυμος` and `strasse` finds `Straße`, but `ø`, `ł` and `ı` are letters of their
	// own. Words of one or two characters match only at the start of a word: at a letter or digit whose predecessor
	// is neither, and at every ideograph, kana and Hangul syllable. `%` and `_` are ordinary characters.
	Search string
	// Only products with this status.
	Status Status
	// Only products in this category.
	CategoryID int64
	// Alias of `category_id`. If both are present, they must be equal.
	Category int64
	// Only products of this seller.
	SellerID int64
	// Only products of this warehouse.
	WarehouseID int64
	// Only products with exactly this tag.
	Tag string
	// The field to sort by, ascending unless `direction` is set. By default `created_at`, newest first.
	Sort ListProductsSort
	// The sort direction. Without `sort` it applies to `created_at`.
	Direction Direction
	// Only products created on or after this day, in the tenant's time zone.
	From string
	// Only products created on or before this day, in the tenant's time zone.
	To string
	// The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
	// *Periods*.
	Period PeriodPreset
	// Only products that changed at or after this time (RFC 3339; write `+` as `%2B`), including changes of stock.
	// Changes in transactions that are still running can be missing, so let consecutive requests overlap by one
	// minute. Deleted products are not listed: use `GET /api/changes` to follow all changes.
	UpdatedSince Time
}

func (p ListProductsParams) values() url.Values {
	v := url.Values{}
	addParameter(v, "page", p.Page)
	addParameter(v, "per_page", p.PerPage)
	addParameter(v, "cursor", p.Cursor)
	addParameter(v, "search", p.Search)
	addParameter(v, "status", p.Status)
	addParameter(v, "category_id", p.CategoryID)
	addParameter(v, "category", p.Category)
	addParameter(v, "seller_id", p.SellerID)
	addParameter(v, "warehouse_id", p.WarehouseID)
	addParameter(v, "tag", p.Tag)
	addParameter(v, "sort", p.Sort)
	addParameter(v, "direction", p.Direction)
	addParameter(v, "from", p.From)
	addParameter(v, "to", p.To)
	addParameter(v, "period", p.Period)
	addParameter(v, "updated_since", p.UpdatedSince)
	return v
}

// ListProducts: List products.
//
// Returns a page of products. Products must match all filters. `meta.total` is the exact number of matching
// products. With `cursor`, `meta` is `{per_page, total, next_cursor}`, and no product is skipped or repeated
// while others are created or deleted, as long as its own position does not change.
func (c *Client) ListProducts(ctx context.Context, params ListProductsParams, options ...RequestOption) (*ProductList, error) {
	return sendForBody[*ProductList](ctx, c, request{method: "GET", path: "/api/products", query: params.values(), repeatable: true}, options)
}

// AllProducts returns all elements of ListProducts, and requests the next page when it is needed. It stops after an error.
func (c *Client) AllProducts(ctx context.Context, params ListProductsParams, options ...RequestOption) iter.Seq2[*Product, error] {
	if params.Cursor == nil {
		params.Cursor = new(string)
	}
	return func(yield func(*Product, error) bool) {
		params := params // each loop begins again
		yieldPages(yield, func() ([]Product, bool, error) {
			page, err := c.ListProducts(ctx, params, options...)
			if err != nil {
				return nil, false, err
			}
			params.Cursor = page.Meta.NextCursor
			return page.Data, params.Cursor != nil, nil
		})
	}
}

// CreateProduct: Create a product.
//
// Requires `sku`, `name` and `price`. All other fields have defaults. An initial `quantity` is recorded as a
// stock adjustment. Returns the product, with its path in `Location`. A duplicate SKU or an unknown
// `category_id`, `seller_id` or `warehouse_id` returns `VALIDATION_ERROR`.
func (c *Client) CreateProduct(ctx context.Context, body NewProduct, options ...RequestOption) (*Product, error) {
	return sendForData[*Product](ctx, c, request{method: "POST", path: "/api/products", body: body, keyed: true}, options)
}

// UpsertProducts: Create or update many products.
//
// Creates or updates up to 1,000 products by `sku`. A new SKU requires `name` and `price`. For an existing
// product, only the fields in the request change, as with PATCH. Changes of stock are recorded as stock
// adjustments. `images` can be an array of URLs, which are stored and never fetched.
func (c *Client) UpsertProducts(ctx context.Context, body ProductItems, options ...RequestOption) (*BulkResult, error) {
	return sendForBody[*BulkResult](ctx, c, request{method: "POST", path: "/api/products/bulk", body: body, keyed: true}, options)
}

// PlanProducts: Create or update many products.
//
// Creates or updates up to 1,000 products by `sku`. A new SKU requires `name` and `price`. For an existing
// product, only the fields in the request change, as with PATCH. Changes of stock are recorded as stock
// adjustments. `images` can be an array of URLs, which are stored and never fetched.
func (c *Client) PlanProducts(ctx context.Context, body ProductItems, options ...RequestOption) (*PlanResult, error) {
	return sendForBody[*PlanResult](ctx, c, request{method: "POST", path: "/api/products/bulk", body: body, query: url.Values{"plan": {"true"}}, keyed: true}, options)
}

// PlanProductChanges: Plan a change of the products of a filter.
//
// Computes a plan that changes all products that match a filter in the same way; see *Plans*. Nothing is changed
// until the plan is applied. `filter` has the filter parameters of `GET /api/products`; `{}` selects all
// products. `set` replaces fields, and null clears one, as with PATCH. `adjust_price_percent` changes prices,
// rounded to the cent, half a cent away from zero. A value of `set` that no product can have is a
// `VALIDATION_ERROR`. A product for which the change is not valid is refused, with the errors in its row.
func (c *Client) PlanProductChanges(ctx context.Context, body ProductPlan, options ...RequestOption) (*PlanResult, error) {
	return sendForBody[*PlanResult](ctx, c, request{method: "POST", path: "/api/products/changes", body: body, keyed: true}, options)
}

// ExportProductsParams are the parameters of ExportProducts. A zero value is not sent.
type ExportProductsParams struct {
	// The format of the file. XLSX holds at most 1,048,575 rows; more return 400. A cell of XLSX holds the first
	// 32,767 characters of a text; CSV and NDJSON have all of it.
	Format ExportProductsFormat
	// Words that must all occur in the name, SKU or barcode. Case and accents do not count: `cafe` finds `Café`,
	// `ΧΥΜΟΣ` finds `Χυμος` and `strasse` finds `Straße`, but `ø`, `ł` and `ı` are letters of their
	// own. Words of one or two characters match only at the start of a word: at a letter or digit whose predecessor
	// is neither, and at every ideograph, kana and Hangul syllable. `%` and `_` are ordinary characters.
	Search string
	// Only products with this status.
	Status Status
	// Only products in this category.
	CategoryID int64
	// Alias of `category_id`. If both are present, they must be equal.
	Category int64
	// Only products of this seller.
	SellerID int64
	// Only products of this warehouse.
	WarehouseID int64
	// Only products with exactly this tag.
	Tag string
	// The field to sort by, ascending unless `direction` is set. By default `created_at`, newest first.
	Sort ListProductsSort
	// The sort direction. Without `sort` it applies to `created_at`.
	Direction Direction
	// Only products created on or after this day, in the tenant's time zone.
	From string
	// Only products created on or before this day, in the tenant's time zone.
	To string
	// The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
	// *Periods*.
	Period PeriodPreset
	// Only products that changed at or after this time (RFC 3339; write `+` as `%2B`), including changes of stock.
	// Changes in transactions that are still running can be missing, so let consecutive requests overlap by one
	// minute. Deleted products are not listed: use `GET /api/changes` to follow all changes.
	UpdatedSince Time
}

func (p ExportProductsParams) values() url.Values {
	v := url.Values{}
	addParameter(v, "format", p.Format)
	addParameter(v, "search", p.Search)
	addParameter(v, "status", p.Status)
	addParameter(v, "category_id", p.CategoryID)
	addParameter(v, "category", p.Category)
	addParameter(v, "seller_id", p.SellerID)
	addParameter(v, "warehouse_id", p.WarehouseID)
	addParameter(v, "tag", p.Tag)
	addParameter(v, "sort", p.Sort)
	addParameter(v, "direction", p.Direction)
	addParameter(v, "from", p.From)
	addParameter(v, "to", p.To)
	addParameter(v, "period", p.Period)
	addParameter(v, "updated_since", p.UpdatedSince)
	return v
}

// ExportProducts: Export products as a file.
//
// Streams all products that match the filters, in the order of the list.
func (c *Client) ExportProducts(ctx context.Context, params ExportProductsParams, options ...RequestOption) (*File, error) {
	return c.sendForFile(ctx, request{method: "GET", path: "/api/products/export", query: params.values(), repeatable: true}, options)
}

// ExportStockParams are the parameters of ExportStock. A zero value is not sent.
type ExportStockParams struct {
	// The format of the file. XLSX holds at most 1,048,575 rows; more return 400. A cell of XLSX holds the first
	// 32,767 characters of a text; CSV and NDJSON have all of it.
	Format ExportProductsFormat
	// Words that must all occur in the name, SKU or barcode. Case and accents do not count: `cafe` finds `Café`,
	// `ΧΥΜΟΣ` finds `Χυμος` and `strasse` finds `Straße`, but `ø`, `ł` and `ı` are letters of their
	// own. Words of one or two characters match only at the start of a word: at a letter or digit whose predecessor
	// is neither, and at every ideograph, kana and Hangul syllable. `%` and `_` are ordinary characters.
	Search string
	// Only products with this status.
	Status Status
	// Only products in this category.
	CategoryID int64
	// Alias of `category_id`. If both are present, they must be equal.
	Category int64
	// Only products of this seller.
	SellerID int64
	// Only products of this warehouse.
	WarehouseID int64
	// Only products with exactly this tag.
	Tag string
	// The field to sort by, ascending unless `direction` is set. By default `created_at`, newest first.
	Sort ListProductsSort
	// The sort direction. Without `sort` it applies to `created_at`.
	Direction Direction
	// Only products created on or after this day, in the tenant's time zone.
	From string
	// Only products created on or before this day, in the tenant's time zone.
	To string
	// The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
	// *Periods*.
	Period PeriodPreset
	// Only products that changed at or after this time (RFC 3339; write `+` as `%2B`), including changes of stock.
	// Changes in transactions that are still running can be missing, so let consecutive requests overlap by one
	// minute. Deleted products are not listed: use `GET /api/changes` to follow all changes.
	UpdatedSince Time
}

func (p ExportStockParams) values() url.Values {
	v := url.Values{}
	addParameter(v, "format", p.Format)
	addParameter(v, "search", p.Search)
	addParameter(v, "status", p.Status)
	addParameter(v, "category_id", p.CategoryID)
	addParameter(v, "category", p.Category)
	addParameter(v, "seller_id", p.SellerID)
	addParameter(v, "warehouse_id", p.WarehouseID)
	addParameter(v, "tag", p.Tag)
	addParameter(v, "sort", p.Sort)
	addParameter(v, "direction", p.Direction)
	addParameter(v, "from", p.From)
	addParameter(v, "to", p.To)
	addParameter(v, "period", p.Period)
	addParameter(v, "updated_since", p.UpdatedSince)
	return v
}

// ExportStock: Export stock as a file.
//
// Streams the stock of all products that match the filters, by warehouse: in the product's own warehouse, even
// if it is 0, and in all others that have stock of it. See *Export products as a file* for the formats.
func (c *Client) ExportStock(ctx context.Context, params ExportStockParams, options ...RequestOption) (*File, error) {
	return c.sendForFile(ctx, request{method: "GET", path: "/api/stock/export", query: params.values(), repeatable: true}, options)
}

// ShowProduct: Get a product by id.
//
// Returns a product. `quantity` is the total stock in all warehouses.
func (c *Client) ShowProduct(ctx context.Context, id int64, options ...RequestOption) (*Product, error) {
	return sendForData[*Product](ctx, c, request{method: "GET", path: makePath("/api/products/%s", id), repeatable: true}, options)
}

// ReplaceProduct: Replace a product.
//
// Replaces all writable fields. A missing field gets its default value, also `quantity` and `warehouse_id`.
// Images are kept. You can send the response of GET back without changing anything. A change of `quantity` or
// `warehouse_id` is recorded as a stock adjustment.
func (c *Client) ReplaceProduct(ctx context.Context, id int64, body NewProduct, options ...RequestOption) (*Product, error) {
	return sendForData[*Product](ctx, c, request{method: "PUT", path: makePath("/api/products/%s", id), body: body, repeatable: true}, options)
}

// PatchProduct: Update a product.
//
// Changes only the fields in the request. `null` clears an optional field and returns `VALIDATION_ERROR` for
// other fields. `quantity` sets the total stock by changing the stock in the product's own warehouse. A new
// `warehouse_id` moves the stock of the old warehouse to the new one; a `quantity` in the same request applies
// afterwards. Changes of stock are recorded as stock adjustments.
func (c *Client) PatchProduct(ctx context.Context, id int64, body ProductChanges, options ...RequestOption) (*Product, error) {
	return sendForData[*Product](ctx, c, request{method: "PATCH", path: makePath("/api/products/%s", id), body: body, repeatable: true}, options)
}

// DeleteProduct: Delete a product.
//
// Deletes the product and its stock permanently. The SKU can then be used again. To hide a product without
// deleting it, set `status` to `draft`.
func (c *Client) DeleteProduct(ctx context.Context, id int64, options ...RequestOption) error {
	return c.send(ctx, request{method: "DELETE", path: makePath("/api/products/%s", id), repeatable: true}, nil, options)
}

// ShowProductBySKU: Get a product by SKU.
//
// Returns the product with exactly this SKU. `quantity` is the total stock in all warehouses.
func (c *Client) ShowProductBySKU(ctx context.Context, sku string, options ...RequestOption) (*Product, error) {
	return sendForData[*Product](ctx, c, request{method: "GET", path: makePath("/api/products/sku/%s", sku), repeatable: true}, options)
}

// AddImage: Add an image to a product, as a file or a URL.
//
// Adds an image after the other images of the product: the URL of a file on another server, which is stored and
// never fetched, or a file, as in `addImageFile`. A product can have 20 images.
//
// Deprecated: generated clients cannot express both content types in one operation. It stays as it is. Upload a
// file with `POST /api/products/{id}/images/file`, and set URLs with `images` of `POST /api/products/bulk`.
func (c *Client) AddImage(ctx context.Context, id int64, body NewImage, options ...RequestOption) (*Image, error) {
	return sendForData[*Image](ctx, c, request{method: "POST", path: makePath("/api/products/%s/images", id), body: body, keyed: true}, options)
}

// MoveImage: Move an image of a product.
//
// Moves an image to a position. The other images make room for it, so that the positions are always 1, 2, 3 and
// so on. A position after the last one is the last one.
func (c *Client) MoveImage(ctx context.Context, id int64, imageID int64, body ImageChanges, options ...RequestOption) (*Image, error) {
	return sendForData[*Image](ctx, c, request{method: "PATCH", path: makePath("/api/products/%s/images/%s", id, imageID), body: body, repeatable: true}, options)
}

// RemoveImage: Delete an image of a product.
//
// Deletes an image. The images after it move up.
func (c *Client) RemoveImage(ctx context.Context, id int64, imageID int64, options ...RequestOption) error {
	return c.send(ctx, request{method: "DELETE", path: makePath("/api/products/%s/images/%s", id, imageID), repeatable: true}, nil, options)
}

// ShowInventory: Get the stock of a product by warehouse.
//
// Returns the stock in the product's own warehouse, also if it is zero, and in all other warehouses that have
// stock. `quantity` is the total.
func (c *Client) ShowInventory(ctx context.Context, id int64, options ...RequestOption) (*Inventory, error) {
	return sendForData[*Inventory](ctx, c, request{method: "GET", path: makePath("/api/products/%s/inventory", id), repeatable: true}, options)
}

// AdjustInventory: Adjust the stock of a product.
//
// Adds to, removes from or sets the stock, in units, and records a stock adjustment in the same transaction.
// Concurrent adjustments are all applied. With `expected_quantity`, the adjustment is applied only if the
// product's total has that value; otherwise it returns 412.
func (c *Client) AdjustInventory(ctx context.Context, id int64, body NewAdjustment, options ...RequestOption) (*ProductAdjustedData, error) {
	return sendForData[*ProductAdjustedData](ctx, c, request{method: "POST", path: makePath("/api/products/%s/inventory/adjust", id), body: body, keyed: true}, options)
}

// ListAdjustmentsParams are the parameters of ListAdjustments. A zero value is not sent.
type ListAdjustmentsParams struct {
	// The page number, starting at 1. A page after the last one is an empty list.
	Page int64
	// The number of objects per page. A value above 100 returns 400.
	PerPage int64
	// Only adjustments of this type.
	Type NewAdjustmentType
	// Only adjustments in this warehouse.
	WarehouseID int64
	// Only adjustments on or after this day, in the tenant's time zone.
	From string
	// Only adjustments on or before this day, in the tenant's time zone.
	To string
	// The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
	// *Periods*.
	Period PeriodPreset
}

func (p ListAdjustmentsParams) values() url.Values {
	v := url.Values{}
	addParameter(v, "page", p.Page)
	addParameter(v, "per_page", p.PerPage)
	addParameter(v, "type", p.Type)
	addParameter(v, "warehouse_id", p.WarehouseID)
	addParameter(v, "from", p.From)
	addParameter(v, "to", p.To)
	addParameter(v, "period", p.Period)
	return v
}

// ListAdjustments: List the stock adjustments of a product.
//
// Returns a page of the product's stock adjustments, newest first. All changes of stock are recorded, starting
// with the initial stock. Changes by POST, PUT, PATCH, bulk requests and imports have the type `set`. Changes by
// orders have the type `remove` or `add`, and name the order. Adjustments must match all filters.
func (c *Client) ListAdjustments(ctx context.Context, id int64, params ListAdjustmentsParams, options ...RequestOption) (*AdjustmentList, error) {
	return sendForBody[*AdjustmentList](ctx, c, request{method: "GET", path: makePath("/api/products/%s/inventory/adjustments", id), query: params.values(), repeatable: true}, options)
}

// AllAdjustments returns all elements of ListAdjustments, and requests the next page when it is needed. It stops after an error.
func (c *Client) AllAdjustments(ctx context.Context, id int64, params ListAdjustmentsParams, options ...RequestOption) iter.Seq2[*Adjustment, error] {
	params.Page = max(params.Page, 1)
	return func(yield func(*Adjustment, error) bool) {
		params := params // each loop begins again
		yieldPages(yield, func() ([]Adjustment, bool, error) {
			page, err := c.ListAdjustments(ctx, id, params, options...)
			if err != nil {
				return nil, false, err
			}
			params.Page++
			return page.Data, page.Meta.HasNext, nil
		})
	}
}

// ListCategoriesParams are the parameters of ListCategories. A zero value is not sent.
type ListCategoriesParams struct {
	// The page number, starting at 1. A page after the last one is an empty list.
	Page int64
	// The number of objects per page. A value above 100 returns 400.
	PerPage int64
	// A part of the name, case-insensitive. `%` and `_` are ordinary characters.
	Search string
	// The field to sort by, ascending unless `direction` is set. By default `created_at`, newest first.
	Sort ListCategoriesSort
	// The sort direction. Without `sort` it applies to `created_at`.
	Direction Direction
}

func (p ListCategoriesParams) values() url.Values {
	v := url.Values{}
	addParameter(v, "page", p.Page)
	addParameter(v, "per_page", p.PerPage)
	addParameter(v, "search", p.Search)
	addParameter(v, "sort", p.Sort)
	addParameter(v, "direction", p.Direction)
	return v
}

// ListCategories: List categories.
//
// Returns a page of categories. `meta.total` is the exact number of matching categories.
func (c *Client) ListCategories(ctx context.Context, params ListCategoriesParams, options ...RequestOption) (*ReferenceList, error) {
	return sendForBody[*ReferenceList](ctx, c, request{method: "GET", path: "/api/categories", query: params.values(), repeatable: true}, options)
}

// AllCategories returns all elements of ListCategories, and requests the next page when it is needed. It stops after an error.
func (c *Client) AllCategories(ctx context.Context, params ListCategoriesParams, options ...RequestOption) iter.Seq2[*Reference, error] {
	params.Page = max(params.Page, 1)
	return func(yield func(*Reference, error) bool) {
		params := params // each loop begins again
		yieldPages(yield, func() ([]Reference, bool, error) {
			page, err := c.ListCategories(ctx, params, options...)
			if err != nil {
				return nil, false, err
			}
			params.Page++
			return page.Data, page.Meta.HasNext, nil
		})
	}
}

// CreateCategory: Create a category.
//
// Requires a `name` that is unique in the tenant. A duplicate name returns `VALIDATION_ERROR`.
func (c *Client) CreateCategory(ctx context.Context, body NewReference, options ...RequestOption) (*Reference, error) {
	return sendForData[*Reference](ctx, c, request{method: "POST", path: "/api/categories", body: body, keyed: true}, options)
}

// ShowCategory: Get a category.
//
// Returns the category with this id.
func (c *Client) ShowCategory(ctx context.Context, id int64, options ...RequestOption) (*Reference, error) {
	return sendForData[*Reference](ctx, c, request{method: "GET", path: makePath("/api/categories/%s", id), repeatable: true}, options)
}

// RenameCategory: Rename a category.
//
// Changes the `name` if it is in the request. Products show the new name immediately.
func (c *Client) RenameCategory(ctx context.Context, id int64, body ReferenceChanges, options ...RequestOption) (*Reference, error) {
	return sendForData[*Reference](ctx, c, request{method: "PATCH", path: makePath("/api/categories/%s", id), body: body, repeatable: true}, options)
}

// DeleteCategory: Delete a category.
//
// Deletes the category permanently. Returns `RESOURCE_IN_USE` if products belong to it.
func (c *Client) DeleteCategory(ctx context.Context, id int64, options ...RequestOption) error {
	return c.send(ctx, request{method: "DELETE", path: makePath("/api/categories/%s", id), repeatable: true}, nil, options)
}

// ListSellersParams are the parameters of ListSellers. A zero value is not sent.
type ListSellersParams struct {
	// The page number, starting at 1. A page after the last one is an empty list.
	Page int64
	// The number of objects per page. A value above 100 returns 400.
	PerPage int64
	// A part of the name, case-insensitive. `%` and `_` are ordinary characters.
	Search string
	// The field to sort by, ascending unless `direction` is set. By default `created_at`, newest first.
	Sort ListCategoriesSort
	// The sort direction. Without `sort` it applies to `created_at`.
	Direction Direction
}

func (p ListSellersParams) values() url.Values {
	v := url.Values{}
	addParameter(v, "page", p.Page)
	addParameter(v, "per_page", p.PerPage)
	addParameter(v, "search", p.Search)
	addParameter(v, "sort", p.Sort)
	addParameter(v, "direction", p.Direction)
	return v
}

// ListSellers: List sellers.
//
// Returns a page of sellers. `meta.total` is the exact number of matching sellers.
func (c *Client) ListSellers(ctx context.Context, params ListSellersParams, options ...RequestOption) (*ReferenceList, error) {
	return sendForBody[*ReferenceList](ctx, c, request{method: "GET", path: "/api/sellers", query: params.values(), repeatable: true}, options)
}

// AllSellers returns all elements of ListSellers, and requests the next page when it is needed. It stops after an error.
func (c *Client) AllSellers(ctx context.Context, params ListSellersParams, options ...RequestOption) iter.Seq2[*Reference, error] {
	params.Page = max(params.Page, 1)
	return func(yield func(*Reference, error) bool) {
		params := params // each loop begins again
		yieldPages(yield, func() ([]Reference, bool, error) {
			page, err := c.ListSellers(ctx, params, options...)
			if err != nil {
				return nil, false, err
			}
			params.Page++
			return page.Data, page.Meta.HasNext, nil
		})
	}
}

// CreateSeller: Create a seller.
//
// Requires a `name` that is unique in the tenant. A duplicate name returns `VALIDATION_ERROR`.
func (c *Client) CreateSeller(ctx context.Context, body NewReference, options ...RequestOption) (*Reference, error) {
	return sendForData[*Reference](ctx, c, request{method: "POST", path: "/api/sellers", body: body, keyed: true}, options)
}

// ShowSeller: Get a seller.
//
// Returns the seller with this id.
func (c *Client) ShowSeller(ctx context.Context, id int64, options ...RequestOption) (*Reference, error) {
	return sendForData[*Reference](ctx, c, request{method: "GET", path: makePath("/api/sellers/%s", id), repeatable: true}, options)
}

// RenameSeller: Rename a seller.
//
// Changes the `name` if it is in the request. Products show the new name immediately.
func (c *Client) RenameSeller(ctx context.Context, id int64, body ReferenceChanges, options ...RequestOption) (*Reference, error) {
	return sendForData[*Reference](ctx, c, request{method: "PATCH", path: makePath("/api/sellers/%s", id), body: body, repeatable: true}, options)
}

// DeleteSeller: Delete a seller.
//
// Deletes the seller permanently. Returns `RESOURCE_IN_USE` if products belong to it.
func (c *Client) DeleteSeller(ctx context.Context, id int64, options ...RequestOption) error {
	return c.send(ctx, request{method: "DELETE", path: makePath("/api/sellers/%s", id), repeatable: true}, nil, options)
}

// ListWarehousesParams are the parameters of ListWarehouses. A zero value is not sent.
type ListWarehousesParams struct {
	// The page number, starting at 1. A page after the last one is an empty list.
	Page int64
	// The number of objects per page. A value above 100 returns 400.
	PerPage int64
	// A part of the name, case-insensitive. `%` and `_` are ordinary characters.
	Search string
	// The field to sort by, ascending unless `direction` is set. By default `created_at`, newest first.
	Sort ListCategoriesSort
	// The sort direction. Without `sort` it applies to `created_at`.
	Direction Direction
}

func (p ListWarehousesParams) values() url.Values {
	v := url.Values{}
	addParameter(v, "page", p.Page)
	addParameter(v, "per_page", p.PerPage)
	addParameter(v, "search", p.Search)
	addParameter(v, "sort", p.Sort)
	addParameter(v, "direction", p.Direction)
	return v
}

// ListWarehouses: List warehouses.
//
// Returns a page of warehouses. `meta.total` is the exact number of matching warehouses.
func (c *Client) ListWarehouses(ctx context.Context, params ListWarehousesParams, options ...RequestOption) (*WarehouseList, error) {
	return sendForBody[*WarehouseList](ctx, c, request{method: "GET", path: "/api/warehouses", query: params.values(), repeatable: true}, options)
}

// AllWarehouses returns all elements of ListWarehouses, and requests the next page when it is needed. It stops after an error.
func (c *Client) AllWarehouses(ctx context.Context, params ListWarehousesParams, options ...RequestOption) iter.Seq2[*Warehouse, error] {
	params.Page = max(params.Page, 1)
	return func(yield func(*Warehouse, error) bool) {
		params := params // each loop begins again
		yieldPages(yield, func() ([]Warehouse, bool, error) {
			page, err := c.ListWarehouses(ctx, params, options...)
			if err != nil {
				return nil, false, err
			}
			params.Page++
			return page.Data, page.Meta.HasNext, nil
		})
	}
}

// CreateWarehouse: Create a warehouse.
//
// Requires a `name` that is unique in the tenant. A duplicate name returns `VALIDATION_ERROR`.
func (c *Client) CreateWarehouse(ctx context.Context, body NewReference, options ...RequestOption) (*Warehouse, error) {
	return sendForData[*Warehouse](ctx, c, request{method: "POST", path: "/api/warehouses", body: body, keyed: true}, options)
}

// ShowWarehouse: Get a warehouse.
//
// Returns the warehouse with this id.
func (c *Client) ShowWarehouse(ctx context.Context, id int64, options ...RequestOption) (*Warehouse, error) {
	return sendForData[*Warehouse](ctx, c, request{method: "GET", path: makePath("/api/warehouses/%s", id), repeatable: true}, options)
}

// RenameWarehouse: Rename a warehouse.
//
// Changes the `name` if it is in the request. Products show the new name immediately.
func (c *Client) RenameWarehouse(ctx context.Context, id int64, body ReferenceChanges, options ...RequestOption) (*Warehouse, error) {
	return sendForData[*Warehouse](ctx, c, request{method: "PATCH", path: makePath("/api/warehouses/%s", id), body: body, repeatable: true}, options)
}

// DeleteWarehouse: Delete a warehouse.
//
// Deletes the warehouse permanently. Returns `RESOURCE_IN_USE` if products belong to it, if it has stock, or if
// it is the default warehouse.
func (c *Client) DeleteWarehouse(ctx context.Context, id int64, options ...RequestOption) error {
	return c.send(ctx, request{method: "DELETE", path: makePath("/api/warehouses/%s", id), repeatable: true}, nil, options)
}

// ListChannelsParams are the parameters of ListChannels. A zero value is not sent.
type ListChannelsParams struct {
	// The page number, starting at 1. A page after the last one is an empty list.
	Page int64
	// The number of objects per page. A value above 100 returns 400.
	PerPage int64
}

func (p ListChannelsParams) values() url.Values {
	v := url.Values{}
	addParameter(v, "page", p.Page)
	addParameter(v, "per_page", p.PerPage)
	return v
}

// ListChannels: List channels.
//
// Returns a page of channels, sorted by identifier. `meta.total` is the exact number of channels.
func (c *Client) ListChannels(ctx context.Context, params ListChannelsParams, options ...RequestOption) (*ChannelList, error) {
	return sendForBody[*ChannelList](ctx, c, request{method: "GET", path: "/api/channels", query: params.values(), repeatable: true}, options)
}

// AllChannels returns all elements of ListChannels, and requests the next page when it is needed. It stops after an error.
func (c *Client) AllChannels(ctx context.Context, params ListChannelsParams, options ...RequestOption) iter.Seq2[*Channel, error] {
	params.Page = max(params.Page, 1)
	return func(yield func(*Channel, error) bool) {
		params := params // each loop begins again
		yieldPages(yield, func() ([]Channel, bool, error) {
			page, err := c.ListChannels(ctx, params, options...)
			if err != nil {
				return nil, false, err
			}
			params.Page++
			return page.Data, page.Meta.HasNext, nil
		})
	}
}

// CreateChannel: Create a channel.
//
// Requires an `identifier` that is unique in the tenant, and a `label` to display. A channel that an order
// mentions for the first time is created automatically, with its identifier as the label.
func (c *Client) CreateChannel(ctx context.Context, body NewChannel, options ...RequestOption) (*Channel, error) {
	return sendForData[*Channel](ctx, c, request{method: "POST", path: "/api/channels", body: body, keyed: true}, options)
}

// ShowChannel: Get a channel.
//
// Returns the channel with this identifier.
func (c *Client) ShowChannel(ctx context.Context, identifier string, options ...RequestOption) (*Channel, error) {
	return sendForData[*Channel](ctx, c, request{method: "GET", path: makePath("/api/channels/%s", identifier), repeatable: true}, options)
}

// RelabelChannel: Update a channel.
//
// Changes the fields in the request. Reports show a new label immediately. A new `takes_stock` applies to orders
// that are created afterwards. The identifier cannot be changed.
func (c *Client) RelabelChannel(ctx context.Context, identifier string, body ChannelChanges, options ...RequestOption) (*Channel, error) {
	return sendForData[*Channel](ctx, c, request{method: "PATCH", path: makePath("/api/channels/%s", identifier), body: body, repeatable: true}, options)
}

// DeleteChannel: Delete a channel.
//
// Deletes the channel permanently. Returns `RESOURCE_IN_USE` for `pos` and for channels with orders.
func (c *Client) DeleteChannel(ctx context.Context, identifier string, options ...RequestOption) error {
	return c.send(ctx, request{method: "DELETE", path: makePath("/api/channels/%s", identifier), repeatable: true}, nil, options)
}

// ListOrdersParams are the parameters of ListOrders. A zero value is not sent.
type ListOrdersParams struct {
	// The page number, starting at 1. A page after the last one is an empty list.
	Page int64
	// The number of objects per page. A value above 100 returns 400.
	PerPage int64
	// Reads the list step by step. Start with an empty value, then send the `meta.next_cursor` of the previous
	// response with the same filters and sort order; `per_page` can change. Cannot be combined with `page`. A cursor
	// of another list or another tenant returns 400.
	Cursor *string
	// Only orders whose number contains this text, exactly as written, with its case. If the key has
	// `customers:read`, also orders of customers in whose id, name or e-mail address all words occur, as in a search
	// of customers.
	Search string
	// Only orders placed on or after this day, in the tenant's time zone.
	From string
	// Only orders placed on or before this day, in the tenant's time zone.
	To string
	// The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
	// *Periods*.
	Period PeriodPreset
	// Only orders of this channel. An unknown channel returns an empty list, a malformed one 400.
	Channel string
	// Only orders of the customer with this id, as sent in orders.
	CustomerID string
	// Only orders with this status.
	Status ListOrdersStatus
	// Only orders that were stored, refunded or cancelled at or after this time, which is their `updated_at` (RFC
	// 3339; write `+` as `%2B`). Changes in transactions that are still running can be missing, so let consecutive
	// requests overlap by one minute. When an import is undone, its refunds and cancellations are deleted, and the
	// orders have their earlier `updated_at` again: use `GET /api/changes` to follow all changes.
	UpdatedSince Time
	// The field to sort by, ascending unless `direction` is set. By default `placed_at`, newest first.
	Sort ListOrdersSort
	// The sort direction. Without `sort` it applies to `placed_at`.
	Direction Direction
}

func (p ListOrdersParams) values() url.Values {
	v := url.Values{}
	addParameter(v, "page", p.Page)
	addParameter(v, "per_page", p.PerPage)
	addParameter(v, "cursor", p.Cursor)
	addParameter(v, "search", p.Search)
	addParameter(v, "from", p.From)
	addParameter(v, "to", p.To)
	addParameter(v, "period", p.Period)
	addParameter(v, "channel", p.Channel)
	addParameter(v, "customer_id", p.CustomerID)
	addParameter(v, "status", p.Status)
	addParameter(v, "updated_since", p.UpdatedSince)
	addParameter(v, "sort", p.Sort)
	addParameter(v, "direction", p.Direction)
	return v
}

// ListOrders: List orders.
//
// Returns a page of orders without items and refunds, newest first. Orders must match all filters. `meta.total`
// is the exact number of matching orders. With `cursor`, `meta` is `{per_page, total, next_cursor}`, and no
// order is skipped or repeated while others are created. The customer's name and e-mail address are returned
// only if the key has `customers:read`; the id is always returned.
func (c *Client) ListOrders(ctx context.Context, params ListOrdersParams, options ...RequestOption) (*OrderList, error) {
	return sendForBody[*OrderList](ctx, c, request{method: "GET", path: "/api/orders", query: params.values(), repeatable: true}, options)
}

// AllOrders returns all elements of ListOrders, and requests the next page when it is needed. It stops after an error.
func (c *Client) AllOrders(ctx context.Context, params ListOrdersParams, options ...RequestOption) iter.Seq2[*ListedOrder, error] {
	if params.Cursor == nil {
		params.Cursor = new(string)
	}
	return func(yield func(*ListedOrder, error) bool) {
		params := params // each loop begins again
		yieldPages(yield, func() ([]ListedOrder, bool, error) {
			page, err := c.ListOrders(ctx, params, options...)
			if err != nil {
				return nil, false, err
			}
			params.Cursor = page.Meta.NextCursor
			return page.Data, params.Cursor != nil, nil
		})
	}
}

// CreateOrder: Create an order.
//
// Stores an order once. Returns 201 for a new order, 200 if an order with this `number` and the same content
// exists (cancelled or not), and 422 for `number` if its content is different. See *Orders* for the calculated
// fields, and for the stock that the order takes if its channel has `takes_stock`.
func (c *Client) CreateOrder(ctx context.Context, body NewOrder, options ...RequestOption) (*Order, error) {
	return sendForData[*Order](ctx, c, request{method: "POST", path: "/api/orders", body: body, keyed: true}, options)
}

// CreateOrders: Create many orders.
//
// Creates up to 1,000 orders with up to 50,000 items in total.
func (c *Client) CreateOrders(ctx context.Context, body NewOrders, options ...RequestOption) (*OrdersResult, error) {
	return sendForBody[*OrdersResult](ctx, c, request{method: "POST", path: "/api/orders/bulk", body: body, keyed: true}, options)
}

// ExportOrdersParams are the parameters of ExportOrders. A zero value is not sent.
type ExportOrdersParams struct {
	// The format of the file. XLSX holds at most 1,048,575 rows; more return 400. A cell of XLSX holds the first
	// 32,767 characters of a text; CSV and NDJSON have all of it.
	Format ExportProductsFormat
	// Only orders whose number contains this text, exactly as written, with its case. If the key has
	// `customers:read`, also orders of customers in whose id, name or e-mail address all words occur, as in a search
	// of customers.
	Search string
	// Only orders placed on or after this day, in the tenant's time zone.
	From string
	// Only orders placed on or before this day, in the tenant's time zone.
	To string
	// The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
	// *Periods*.
	Period PeriodPreset
	// Only orders of this channel. An unknown channel returns an empty list, a malformed one 400.
	Channel string
	// Only orders of the customer with this id, as sent in orders.
	CustomerID string
	// Only orders with this status.
	Status ListOrdersStatus
	// Only orders that were stored, refunded or cancelled at or after this time, which is their `updated_at` (RFC
	// 3339; write `+` as `%2B`). Changes in transactions that are still running can be missing, so let consecutive
	// requests overlap by one minute. When an import is undone, its refunds and cancellations are deleted, and the
	// orders have their earlier `updated_at` again: use `GET /api/changes` to follow all changes.
	UpdatedSince Time
	// The field to sort by, ascending unless `direction` is set. By default `placed_at`, newest first.
	Sort ListOrdersSort
	// The sort direction. Without `sort` it applies to `placed_at`.
	Direction Direction
}

func (p ExportOrdersParams) values() url.Values {
	v := url.Values{}
	addParameter(v, "format", p.Format)
	addParameter(v, "search", p.Search)
	addParameter(v, "from", p.From)
	addParameter(v, "to", p.To)
	addParameter(v, "period", p.Period)
	addParameter(v, "channel", p.Channel)
	addParameter(v, "customer_id", p.CustomerID)
	addParameter(v, "status", p.Status)
	addParameter(v, "updated_since", p.UpdatedSince)
	addParameter(v, "sort", p.Sort)
	addParameter(v, "direction", p.Direction)
	return v
}

// ExportOrders: Export orders as a file.
//
// Streams all orders that match the filters, in the order of the list. The files of the three exports of orders,
// items and refunds with the same parameters can be imported together. The import reads the columns up to
// `cancelled_at`; the others are for reading. See *Export products as a file* for the formats. The customer's
// name and e-mail address are present only if the key has `customers:read`.
func (c *Client) ExportOrders(ctx context.Context, params ExportOrdersParams, options ...RequestOption) (*File, error) {
	return c.sendForFile(ctx, request{method: "GET", path: "/api/orders/export", query: params.values(), repeatable: true}, options)
}

// ExportOrderItemsParams are the parameters of ExportOrderItems. A zero value is not sent.
type ExportOrderItemsParams struct {
	// The format of the file. XLSX holds at most 1,048,575 rows; more return 400. A cell of XLSX holds the first
	// 32,767 characters of a text; CSV and NDJSON have all of it.
	Format ExportProductsFormat
	// Only orders whose number contains this text, exactly as written, with its case. If the key has
	// `customers:read`, also orders of customers in whose id, name or e-mail address all words occur, as in a search
	// of customers.
	Search string
	// Only orders placed on or after this day, in the tenant's time zone.
	From string
	// Only orders placed on or before this day, in the tenant's time zone.
	To string
	// The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
	// *Periods*.
	Period PeriodPreset
	// Only orders of this channel. An unknown channel returns an empty list, a malformed one 400.
	Channel string
	// Only orders of the customer with this id, as sent in orders.
	CustomerID string
	// Only orders with this status.
	Status ListOrdersStatus
	// Only orders that were stored, refunded or cancelled at or after this time, which is their `updated_at` (RFC
	// 3339; write `+` as `%2B`). Changes in transactions that are still running can be missing, so let consecutive
	// requests overlap by one minute. When an import is undone, its refunds and cancellations are deleted, and the
	// orders have their earlier `updated_at` again: use `GET /api/changes` to follow all changes.
	UpdatedSince Time
	// The field to sort by, ascending unless `direction` is set. By default `placed_at`, newest first.
	Sort ListOrdersSort
	// The sort direction. Without `sort` it applies to `placed_at`.
	Direction Direction
}

func (p ExportOrderItemsParams) values() url.Values {
	v := url.Values{}
	addParameter(v, "format", p.Format)
	addParameter(v, "search", p.Search)
	addParameter(v, "from", p.From)
	addParameter(v, "to", p.To)
	addParameter(v, "period", p.Period)
	addParameter(v, "channel", p.Channel)
	addParameter(v, "customer_id", p.CustomerID)
	addParameter(v, "status", p.Status)
	addParameter(v, "updated_since", p.UpdatedSince)
	addParameter(v, "sort", p.Sort)
	addParameter(v, "direction", p.Direction)
	return v
}

// ExportOrderItems: Export the items of orders as a file.
//
// Streams the items of all orders that match the filters, in the order of the list of orders. The import reads
// the columns up to `seller_name`; an empty `unit_cost` is not known. `discount`, `tax` and `shipping` include
// the item's shares of the order's amounts.
func (c *Client) ExportOrderItems(ctx context.Context, params ExportOrderItemsParams, options ...RequestOption) (*File, error) {
	return c.sendForFile(ctx, request{method: "GET", path: "/api/order-items/export", query: params.values(), repeatable: true}, options)
}

// ExportRefundsParams are the parameters of ExportRefunds. A zero value is not sent.
type ExportRefundsParams struct {
	// The format of the file. XLSX holds at most 1,048,575 rows; more return 400. A cell of XLSX holds the first
	// 32,767 characters of a text; CSV and NDJSON have all of it.
	Format ExportProductsFormat
	// Only orders whose number contains this text, exactly as written, with its case. If the key has
	// `customers:read`, also orders of customers in whose id, name or e-mail address all words occur, as in a search
	// of customers.
	Search string
	// Only orders placed on or after this day, in the tenant's time zone.
	From string
	// Only orders placed on or before this day, in the tenant's time zone.
	To string
	// The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
	// *Periods*.
	Period PeriodPreset
	// Only orders of this channel. An unknown channel returns an empty list, a malformed one 400.
	Channel string
	// Only orders of the customer with this id, as sent in orders.
	CustomerID string
	// Only orders with this status.
	Status ListOrdersStatus
	// Only orders that were stored, refunded or cancelled at or after this time, which is their `updated_at` (RFC
	// 3339; write `+` as `%2B`). Changes in transactions that are still running can be missing, so let consecutive
	// requests overlap by one minute. When an import is undone, its refunds and cancellations are deleted, and the
	// orders have their earlier `updated_at` again: use `GET /api/changes` to follow all changes.
	UpdatedSince Time
	// The field to sort by, ascending unless `direction` is set. By default `placed_at`, newest first.
	Sort ListOrdersSort
	// The sort direction. Without `sort` it applies to `placed_at`.
	Direction Direction
}

func (p ExportRefundsParams) values() url.Values {
	v := url.Values{}
	addParameter(v, "format", p.Format)
	addParameter(v, "search", p.Search)
	addParameter(v, "from", p.From)
	addParameter(v, "to", p.To)
	addParameter(v, "period", p.Period)
	addParameter(v, "channel", p.Channel)
	addParameter(v, "customer_id", p.CustomerID)
	addParameter(v, "status", p.Status)
	addParameter(v, "updated_since", p.UpdatedSince)
	addParameter(v, "sort", p.Sort)
	addParameter(v, "direction", p.Direction)
	return v
}

// ExportRefunds: Export the refunds of orders as a file.
//
// Streams the refunds of all orders that match the filters, in the order of the list of orders. `from` and `to`
// are days of the order, not of the refund.
func (c *Client) ExportRefunds(ctx context.Context, params ExportRefundsParams, options ...RequestOption) (*File, error) {
	return c.sendForFile(ctx, request{method: "GET", path: "/api/refunds/export", query: params.values(), repeatable: true}, options)
}

// ShowOrder: Get an order.
//
// Returns an order with its items as sold and its refunds. The customer's name and e-mail address are null if
// the key does not have `customers:read`.
func (c *Client) ShowOrder(ctx context.Context, number string, options ...RequestOption) (*Order, error) {
	return sendForData[*Order](ctx, c, request{method: "GET", path: makePath("/api/orders/%s", number), repeatable: true}, options)
}

// CancelOrder: Cancel an order.
//
// Excludes the order and its refunds from all reports, on all days. You cannot undo this. Cancelling a cancelled
// order returns it without changes. Stock that the order has taken is returned. The body is optional.
func (c *Client) CancelOrder(ctx context.Context, number string, body *NewCancellation, options ...RequestOption) (*Order, error) {
	return sendForData[*Order](ctx, c, request{method: "POST", path: makePath("/api/orders/%s/cancel", number), body: body, keyed: true}, options)
}

// RefundOrder: Create a refund.
//
// Stores a refund of the order. With a `reference` you can send the request again safely: it returns 201 for a
// new refund, 200 if the order has a refund with this reference and the same content, and 422 for `reference` if
// its content is different. Without a `reference`, every request creates another refund. The amount can exceed
// what was paid; `exceeds_paid` is then true. Refunds of a cancelled order are stored but do not count in
// reports. With `restock`, stock that the order has taken is returned.
func (c *Client) RefundOrder(ctx context.Context, number string, body NewRefund, options ...RequestOption) (*Refund, error) {
	return sendForData[*Refund](ctx, c, request{method: "POST", path: makePath("/api/orders/%s/refunds", number), body: body, keyed: true}, options)
}

// ListCustomersParams are the parameters of ListCustomers. A zero value is not sent.
type ListCustomersParams struct {
	// The page number, starting at 1. A page after the last one is an empty list.
	Page int64
	// The number of objects per page. A value above 100 returns 400.
	PerPage int64
	// Reads the list step by step. Start with an empty value, then send the `meta.next_cursor` of the previous
	// response with the same filters and sort order; `per_page` can change. Cannot be combined with `page`. A cursor
	// of another list or another tenant returns 400.
	Cursor *string
	// Words that must all occur in the id, name or e-mail address of a customer. Case and accents do not count:
	// `cafe` finds `Café`, `ΧΥΜΟΣ` finds `Χυμος` and `strasse` finds `Straße`, but `ø`, `ł` and `ı`
	// are letters of their own. Words of one or two characters match only at the start of a word: at a letter or
	// digit whose predecessor is neither, and at every ideograph, kana and Hangul syllable. `%` and `_` are ordinary
	// characters.
	Search string
}

func (p ListCustomersParams) values() url.Values {
	v := url.Values{}
	addParameter(v, "page", p.Page)
	addParameter(v, "per_page", p.PerPage)
	addParameter(v, "cursor", p.Cursor)
	addParameter(v, "search", p.Search)
	return v
}

// ListCustomers: List customers.
//
// Returns a page of customers, the newest first. Orders and imports create customers. With `cursor`, `meta` is
// `{per_page, total, next_cursor}`, and no customer is skipped or repeated.
func (c *Client) ListCustomers(ctx context.Context, params ListCustomersParams, options ...RequestOption) (*CustomerList, error) {
	return sendForBody[*CustomerList](ctx, c, request{method: "GET", path: "/api/customers", query: params.values(), repeatable: true}, options)
}

// AllCustomers returns all elements of ListCustomers, and requests the next page when it is needed. It stops after an error.
func (c *Client) AllCustomers(ctx context.Context, params ListCustomersParams, options ...RequestOption) iter.Seq2[*ListedCustomer, error] {
	if params.Cursor == nil {
		params.Cursor = new(string)
	}
	return func(yield func(*ListedCustomer, error) bool) {
		params := params // each loop begins again
		yieldPages(yield, func() ([]ListedCustomer, bool, error) {
			page, err := c.ListCustomers(ctx, params, options...)
			if err != nil {
				return nil, false, err
			}
			params.Cursor = page.Meta.NextCursor
			return page.Data, params.Cursor != nil, nil
		})
	}
}

// ExportCustomersParams are the parameters of ExportCustomers. A zero value is not sent.
type ExportCustomersParams struct {
	// The format of the file. XLSX holds at most 1,048,575 rows; more return 400. A cell of XLSX holds the first
	// 32,767 characters of a text; CSV and NDJSON have all of it.
	Format ExportProductsFormat
	// Words that must all occur in the id, name or e-mail address of a customer. Case and accents do not count:
	// `cafe` finds `Café`, `ΧΥΜΟΣ` finds `Χυμος` and `strasse` finds `Straße`, but `ø`, `ł` and `ı`
	// are letters of their own. Words of one or two characters match only at the start of a word: at a letter or
	// digit whose predecessor is neither, and at every ideograph, kana and Hangul syllable. `%` and `_` are ordinary
	// characters.
	Search string
}

func (p ExportCustomersParams) values() url.Values {
	v := url.Values{}
	addParameter(v, "format", p.Format)
	addParameter(v, "search", p.Search)
	return v
}

// ExportCustomers: Export customers as a file.
//
// Streams all customers that match the filters, the newest first. The CSV file can be imported again. See
// *Export products as a file* for the formats. A customer with the id `export` is returned by `GET
// /api/customers/%65xport`.
func (c *Client) ExportCustomers(ctx context.Context, params ExportCustomersParams, options ...RequestOption) (*File, error) {
	return c.sendForFile(ctx, request{method: "GET", path: "/api/customers/export", query: params.values(), repeatable: true}, options)
}

// ShowCustomer: Get a customer.
//
// Returns a customer with the sums of its orders. Cancelled orders do not count.
func (c *Client) ShowCustomer(ctx context.Context, customerID string, options ...RequestOption) (*WholeCustomer, error) {
	return sendForData[*WholeCustomer](ctx, c, request{method: "GET", path: makePath("/api/customers/%s", customerID), repeatable: true}, options)
}

// EraseCustomer: Erase a customer.
//
// Erases the name and the e-mail address of the customer permanently and at once, and then in stored responses
// to idempotent requests, whose keys stay used, in plans of imports with the rows of their files, and in what
// receivers of webhooks have answered. If the latter takes longer than five seconds, or an import of the account
// is being carried out, it continues in the background after the response. Orders keep the id, and reports do
// not change. A later order, import or undo does not restore the name. The audit log keeps the names of imported
// files.
func (c *Client) EraseCustomer(ctx context.Context, customerID string, options ...RequestOption) error {
	return c.send(ctx, request{method: "DELETE", path: makePath("/api/customers/%s", customerID), repeatable: true}, nil, options)
}

// ShowCustomerData: Get all data about a customer.
//
// Streams one JSON file with all data about a person: the customer, all orders with items and refunds, and the
// stored responses to idempotent requests for orders that contain the customer.
func (c *Client) ShowCustomerData(ctx context.Context, customerID string, options ...RequestOption) (*CustomerData, error) {
	return sendForBody[*CustomerData](ctx, c, request{method: "GET", path: makePath("/api/customers/%s/data", customerID), repeatable: true}, options)
}

// ListChangesParams are the parameters of ListChanges. A zero value is not sent.
type ListChangesParams struct {
	// `next_cursor` of the last response, or `seq` of an entry. Empty or missing: the oldest entry. `now`: only
	// later entries.
	After string
	// Types separated by commas: `product`, `stock`, `category`, `seller`, `warehouse`, `channel`, `order`,
	// `refund`, `customer`.
	Types string
	// The largest number of entries. A page with large objects has fewer.
	Limit int64
	// The maximum number of seconds to wait for an entry. A tenant can have 16 requests for changes at a time on
	// each instance. If the key is revoked while the request waits, the response is 401.
	Wait int64
}

func (p ListChangesParams) values() url.Values {
	v := url.Values{}
	addParameter(v, "after", p.After)
	addParameter(v, "types", p.Types)
	addParameter(v, "limit", p.Limit)
	addParameter(v, "wait", p.Wait)
	return v
}

// ListChanges: List what has changed.
//
// Returns every committed change of the tenant in one order, including deletions and the changes of imports. No
// change is missing, even if its transaction ends after a later one: an entry is returned only when no older
// transaction is running, normally within a second.
func (c *Client) ListChanges(ctx context.Context, params ListChangesParams, options ...RequestOption) (*ChangeList, error) {
	return sendForBody[*ChangeList](ctx, c, request{method: "GET", path: "/api/changes", query: params.values(), repeatable: true}, options)
}

// ListWebhooksParams are the parameters of ListWebhooks. A zero value is not sent.
type ListWebhooksParams struct {
	// The page number, starting at 1. A page after the last one is an empty list.
	Page int64
	// The number of objects per page. A value above 100 returns 400.
	PerPage int64
}

func (p ListWebhooksParams) values() url.Values {
	v := url.Values{}
	addParameter(v, "page", p.Page)
	addParameter(v, "per_page", p.PerPage)
	return v
}

// ListWebhooks: List webhooks.
//
// Returns the webhooks of the tenant, the oldest first. It has at most 20.
func (c *Client) ListWebhooks(ctx context.Context, params ListWebhooksParams, options ...RequestOption) (*WebhookList, error) {
	return sendForBody[*WebhookList](ctx, c, request{method: "GET", path: "/api/webhooks", query: params.values(), repeatable: true}, options)
}

// AllWebhooks returns all elements of ListWebhooks, and requests the next page when it is needed. It stops after an error.
func (c *Client) AllWebhooks(ctx context.Context, params ListWebhooksParams, options ...RequestOption) iter.Seq2[*Webhook, error] {
	params.Page = max(params.Page, 1)
	return func(yield func(*Webhook, error) bool) {
		params := params // each loop begins again
		yieldPages(yield, func() ([]Webhook, bool, error) {
			page, err := c.ListWebhooks(ctx, params, options...)
			if err != nil {
				return nil, false, err
			}
			params.Page++
			return page.Data, page.Meta.HasNext, nil
		})
	}
}

// CreateWebhook: Create a webhook.
//
// Creates an endpoint that gets the changes from now on, see *Webhooks*. The response has the `secret` with
// which messages are signed: store it, because it is shown again only if the request is repeated with its
// `Idempotency-Key` within 24 hours.
func (c *Client) CreateWebhook(ctx context.Context, body NewWebhook, options ...RequestOption) (*Webhook, error) {
	return sendForData[*Webhook](ctx, c, request{method: "POST", path: "/api/webhooks", body: body, keyed: true}, options)
}

// ShowWebhook: Get a webhook.
//
// Returns the webhook, with the reason if it is paused.
func (c *Client) ShowWebhook(ctx context.Context, id int64, options ...RequestOption) (*Webhook, error) {
	return sendForData[*Webhook](ctx, c, request{method: "GET", path: makePath("/api/webhooks/%s", id), repeatable: true}, options)
}

// ChangeWebhook: Update a webhook.
//
// Changes the fields in the request. `state` `paused` stops the delivery, and `active` resumes it where it
// stopped. A message that has failed is sent again at once. The key must have the permissions for all types of
// the webhook, before and after the change, see `GET /api/changes`. A body with nothing but `state` `paused`
// needs only `webhooks:write`.
func (c *Client) ChangeWebhook(ctx context.Context, id int64, body WebhookChanges, options ...RequestOption) (*Webhook, error) {
	return sendForData[*Webhook](ctx, c, request{method: "PATCH", path: makePath("/api/webhooks/%s", id), body: body, repeatable: true}, options)
}

// DeleteWebhook: Delete a webhook.
//
// Deletes the webhook and its deliveries. A message that is being sent may still arrive.
func (c *Client) DeleteWebhook(ctx context.Context, id int64, options ...RequestOption) error {
	return c.send(ctx, request{method: "DELETE", path: makePath("/api/webhooks/%s", id), repeatable: true}, nil, options)
}

// RotateWebhook: Rotate the secret of a webhook.
//
// Returns a new `secret`, which is shown again only if the request is repeated with its `Idempotency-Key` within
// 24 hours. For 24 hours messages have two signatures, one of each secret, so that a receiver accepts them
// before and after it gets the new one. If there are two secrets already, messages are no longer signed with the
// older one. The body is optional.
func (c *Client) RotateWebhook(ctx context.Context, id int64, options ...RequestOption) (*Webhook, error) {
	return sendForData[*Webhook](ctx, c, request{method: "POST", path: makePath("/api/webhooks/%s/rotate", id), keyed: true}, options)
}

// ReplayWebhook: Continue a webhook at another position.
//
// The webhook continues after the cursor: `seq` of an entry or of a delivery, `""` for the oldest entry that is
// kept, or `now`. Messages get new ids, so that a receiver that ignores known ids accepts them. A webhook that
// is paused because its cursor has expired is resumed.
func (c *Client) ReplayWebhook(ctx context.Context, id int64, body WebhookReplay, options ...RequestOption) (*Webhook, error) {
	return sendForData[*Webhook](ctx, c, request{method: "POST", path: makePath("/api/webhooks/%s/replay", id), body: body, keyed: true}, options)
}

// TestWebhook: Send a test message.
//
// Sends a message of the type `test`, without entries, and returns its delivery. It also works for a paused
// webhook. Waits for the receiver for at most 15 seconds. The body is optional.
func (c *Client) TestWebhook(ctx context.Context, id int64, options ...RequestOption) (*WebhookDelivery, error) {
	return sendForData[*WebhookDelivery](ctx, c, request{method: "POST", path: makePath("/api/webhooks/%s/test", id)}, options)
}

// ListWebhookDeliveriesParams are the parameters of ListWebhookDeliveries. A zero value is not sent.
type ListWebhookDeliveriesParams struct {
	// `next_before` of the last response, for older deliveries.
	Before int64
	// The largest number of deliveries.
	Limit int64
}

func (p ListWebhookDeliveriesParams) values() url.Values {
	v := url.Values{}
	addParameter(v, "before", p.Before)
	addParameter(v, "limit", p.Limit)
	return v
}

// ListWebhookDeliveries: List the deliveries of a webhook.
//
// Returns the attempts to deliver messages in the last 30 days, the newest first.
func (c *Client) ListWebhookDeliveries(ctx context.Context, id int64, params ListWebhookDeliveriesParams, options ...RequestOption) (*WebhookDeliveryList, error) {
	return sendForBody[*WebhookDeliveryList](ctx, c, request{method: "GET", path: makePath("/api/webhooks/%s/deliveries", id), query: params.values(), repeatable: true}, options)
}

// AllWebhookDeliveries returns all elements of ListWebhookDeliveries, and requests the next page when it is needed. It stops after an error.
func (c *Client) AllWebhookDeliveries(ctx context.Context, id int64, params ListWebhookDeliveriesParams, options ...RequestOption) iter.Seq2[*WebhookDelivery, error] {
	return func(yield func(*WebhookDelivery, error) bool) {
		params := params // each loop begins again
		yieldPages(yield, func() ([]WebhookDelivery, bool, error) {
			page, err := c.ListWebhookDeliveries(ctx, id, params, options...)
			if err != nil {
				return nil, false, err
			}
			more := page.Meta.NextBefore != nil
			if more {
				params.Before = parseID(*page.Meta.NextBefore)
			}
			return page.Data, more, nil
		})
	}
}

// ExportArchive: Export everything as a ZIP file.
//
// Streams an archive of everything in the account at one moment: products, stock, images with their pictures,
// customers, orders and refunds as CSV files, and `manifest.json` with the number of rows and the SHA-256 of
// each file. `api/IMPORTS.md` in the source describes the columns. Keys, members, the audit log and usage are
// not part of it.
func (c *Client) ExportArchive(ctx context.Context, options ...RequestOption) (*File, error) {
	return c.sendForFile(ctx, request{method: "GET", path: "/api/archive", repeatable: true}, options)
}

// ListPlansParams are the parameters of ListPlans. A zero value is not sent.
type ListPlansParams struct {
	// The page number, starting at 1. A page after the last one is an empty list.
	Page int64
	// The number of objects per page. A value above 100 returns 400.
	PerPage int64
}

func (p ListPlansParams) values() url.Values {
	v := url.Values{}
	addParameter(v, "page", p.Page)
	addParameter(v, "per_page", p.PerPage)
	return v
}

// ListPlans: List plans.
//
// Returns a page of the plans that are kept, newest first. Imports are not among them.
func (c *Client) ListPlans(ctx context.Context, params ListPlansParams, options ...RequestOption) (*PlanList, error) {
	return sendForBody[*PlanList](ctx, c, request{method: "GET", path: "/api/plans", query: params.values(), repeatable: true}, options)
}

// AllPlans returns all elements of ListPlans, and requests the next page when it is needed. It stops after an error.
func (c *Client) AllPlans(ctx context.Context, params ListPlansParams, options ...RequestOption) iter.Seq2[*PlanListed, error] {
	params.Page = max(params.Page, 1)
	return func(yield func(*PlanListed, error) bool) {
		params := params // each loop begins again
		yieldPages(yield, func() ([]PlanListed, bool, error) {
			page, err := c.ListPlans(ctx, params, options...)
			if err != nil {
				return nil, false, err
			}
			params.Page++
			return page.Data, page.Meta.HasNext, nil
		})
	}
}

// ShowPlanParams are the parameters of ShowPlan. A zero value is not sent.
type ShowPlanParams struct {
	// Only rows with this action, or those that something else has changed since.
	Action ShowPlanAction
	// The `meta.next_cursor` of the previous response, with the same `action` and `per_page`.
	Cursor *string
	// The number of rows in the response.
	PerPage int64
}

func (p ShowPlanParams) values() url.Values {
	v := url.Values{}
	addParameter(v, "action", p.Action)
	addParameter(v, "cursor", p.Cursor)
	addParameter(v, "per_page", p.PerPage)
	return v
}

// ShowPlan: Get a plan.
//
// Returns a plan with its counts and some of its rows. Send `meta.next_cursor` as `cursor` for the next rows.
// After the plan was applied, `action` is what happened to a row. Request the plan again while `state` is
// `planning`, `applying` or `undoing`.
func (c *Client) ShowPlan(ctx context.Context, id int64, params ShowPlanParams, options ...RequestOption) (*PlanResult, error) {
	return sendForBody[*PlanResult](ctx, c, request{method: "GET", path: makePath("/api/plans/%s", id), query: params.values(), repeatable: true}, options)
}

// ApplyPlan: Apply a plan.
//
// Makes exactly the planned changes. If a product no longer has the old value of a field that the plan changes,
// nothing is changed: the response is 412 and names up to 100 of these rows, and `state` returns to `planned`.
// Send `force` to leave them out and apply the others. The state must be `planned`, or `failed`; a failed plan
// continues where it stopped. The body is optional.
func (c *Client) ApplyPlan(ctx context.Context, id int64, body *PlanApplication, options ...RequestOption) (*PlanResult, error) {
	return sendForBody[*PlanResult](ctx, c, request{method: "POST", path: makePath("/api/plans/%s/apply", id), body: body, keyed: true}, options)
}

// CancelPlan: Cancel a plan.
//
// Stops a plan after the rows that are being written. What was written stays, and can be undone. The state must
// be `planning`, `planned` or `applying`.
func (c *Client) CancelPlan(ctx context.Context, id int64, options ...RequestOption) (*PlanResult, error) {
	return sendForBody[*PlanResult](ctx, c, request{method: "POST", path: makePath("/api/plans/%s/cancel", id), keyed: true}, options)
}

// UndoPlan: Undo a plan.
//
// Restores the products that a plan has changed, and deletes those that it has created. A product is kept as it
// is if a changed field no longer has the new value; its row has `changed`. The state must be `applied`, or
// `failed` or `cancelled` with applied rows, until `expires_at`.
func (c *Client) UndoPlan(ctx context.Context, id int64, options ...RequestOption) (*PlanResult, error) {
	return sendForBody[*PlanResult](ctx, c, request{method: "POST", path: makePath("/api/plans/%s/undo", id), keyed: true}, options)
}

// ListImportsParams are the parameters of ListImports. A zero value is not sent.
type ListImportsParams struct {
	// The page number, starting at 1. A page after the last one is an empty list.
	Page int64
	// The number of objects per page. A value above 100 returns 400.
	PerPage int64
}

func (p ListImportsParams) values() url.Values {
	v := url.Values{}
	addParameter(v, "page", p.Page)
	addParameter(v, "per_page", p.PerPage)
	return v
}

// ListImports: List imports.
//
// Returns a page of the stored imports, the newest first.
func (c *Client) ListImports(ctx context.Context, params ListImportsParams, options ...RequestOption) (*ImportList, error) {
	return sendForBody[*ImportList](ctx, c, request{method: "GET", path: "/api/imports", query: params.values(), repeatable: true}, options)
}

// AllImports returns all elements of ListImports, and requests the next page when it is needed. It stops after an error.
func (c *Client) AllImports(ctx context.Context, params ListImportsParams, options ...RequestOption) iter.Seq2[*ImportListed, error] {
	params.Page = max(params.Page, 1)
	return func(yield func(*ImportListed, error) bool) {
		params := params // each loop begins again
		yieldPages(yield, func() ([]ImportListed, bool, error) {
			page, err := c.ListImports(ctx, params, options...)
			if err != nil {
				return nil, false, err
			}
			params.Page++
			return page.Data, page.Meta.HasNext, nil
		})
	}
}

// ShowImport: Get an import.
//
// Returns an import with its counts, totals and progress. Request it again while `state` is `planning`,
// `applying` or `undoing`.
func (c *Client) ShowImport(ctx context.Context, id int64, options ...RequestOption) (*Import, error) {
	return sendForData[*Import](ctx, c, request{method: "GET", path: makePath("/api/imports/%s", id), repeatable: true}, options)
}

// ConfigureImport: Change the settings of an import.
//
// Changes the settings that are in the request and computes the plan again. Null restores a default. Answer
// `questions` this way. The state must be `needs_mapping` or `planned`.
func (c *Client) ConfigureImport(ctx context.Context, id int64, body ImportSettingsChanges, options ...RequestOption) (*Import, error) {
	return sendForData[*Import](ctx, c, request{method: "PATCH", path: makePath("/api/imports/%s", id), body: body, repeatable: true}, options)
}

// ListImportRowsParams are the parameters of ListImportRows. A zero value is not sent.
type ListImportRowsParams struct {
	// Only rows with this action, or those that something else has changed since.
	Action ListImportRowsAction
	// Only rows of this kind.
	Kind ImportKind
	// The page number, starting at 1. A page after the last one is an empty list.
	Page int64
	// The number of objects per page. A value above 100 returns 400.
	PerPage int64
}

func (p ListImportRowsParams) values() url.Values {
	v := url.Values{}
	addParameter(v, "action", p.Action)
	addParameter(v, "kind", p.Kind)
	addParameter(v, "page", p.Page)
	addParameter(v, "per_page", p.PerPage)
	return v
}

// ListImportRows: List the rows of an import.
//
// Returns a page of the rows of the plan, in the order in which they are applied. After the import was applied,
// `action` is what happened. Rows of products, stock and references need `products:read`, those of channels,
// orders, refunds and cancellations `orders:read`, and those of customers `customers:read`. Without it, only
// rows are returned that are ignored, or refused because of the file itself, whatever is stored, with their
// place in the file and the fields that are not valid.
func (c *Client) ListImportRows(ctx context.Context, id int64, params ListImportRowsParams, options ...RequestOption) (*ImportRowList, error) {
	return sendForBody[*ImportRowList](ctx, c, request{method: "GET", path: makePath("/api/imports/%s/rows", id), query: params.values(), repeatable: true}, options)
}

// AllImportRows returns all elements of ListImportRows, and requests the next page when it is needed. It stops after an error.
func (c *Client) AllImportRows(ctx context.Context, id int64, params ListImportRowsParams, options ...RequestOption) iter.Seq2[*ImportRow, error] {
	params.Page = max(params.Page, 1)
	return func(yield func(*ImportRow, error) bool) {
		params := params // each loop begins again
		yieldPages(yield, func() ([]ImportRow, bool, error) {
			page, err := c.ListImportRows(ctx, id, params, options...)
			if err != nil {
				return nil, false, err
			}
			params.Page++
			return page.Data, page.Meta.HasNext, nil
		})
	}
}

// ExportRefusedRows: Download the refused rows.
//
// Returns the refused rows as they are in the file, each once, with a last column `reason`. Correct the rows and
// import the file: that column is ignored. In a file whose last column is `reason`, an import removes the
// apostrophe before text that a spreadsheet would read as a formula. If the import has several files, the
// response is a ZIP archive of one file for each.
func (c *Client) ExportRefusedRows(ctx context.Context, id int64, options ...RequestOption) (*File, error) {
	return c.sendForFile(ctx, request{method: "GET", path: makePath("/api/imports/%s/refused.csv", id), repeatable: true}, options)
}

// ApplyImport: Apply an import.
//
// Makes the planned changes in the background. If objects have changed since the plan, nothing is written: the
// state returns to `planned`, and `failure` has the number of rows, which the list of rows with `action=changed`
// names. Send `skip_changed` to apply the other rows. The state must be `planned` or `failed`; a failed import
// continues where it stopped. The body is optional.
func (c *Client) ApplyImport(ctx context.Context, id int64, body *ImportApplication, options ...RequestOption) (*Import, error) {
	return sendForData[*Import](ctx, c, request{method: "POST", path: makePath("/api/imports/%s/apply", id), body: body, keyed: true}, options)
}

// CancelImport: Cancel an import.
//
// Stops an import after the rows that are being written. What was written stays, and can be undone. The state
// must be `planning`, `needs_mapping`, `planned` or `applying`.
func (c *Client) CancelImport(ctx context.Context, id int64, options ...RequestOption) (*Import, error) {
	return sendForData[*Import](ctx, c, request{method: "POST", path: makePath("/api/imports/%s/cancel", id), keyed: true}, options)
}

// UndoImport: Undo an import.
//
// Undoes an import in the background, until seven days after it was applied. Products and names of customers get
// their earlier values back, and what the import created is deleted. What has changed since is kept. The state
// must be `applied`, or `failed` or `cancelled` after a part of it was applied.
func (c *Client) UndoImport(ctx context.Context, id int64, options ...RequestOption) (*Import, error) {
	return sendForData[*Import](ctx, c, request{method: "POST", path: makePath("/api/imports/%s/undo", id), keyed: true}, options)
}

// SalesSummaryParams are the parameters of SalesSummary. A zero value is not sent.
type SalesSummaryParams struct {
	// The first day of the range, in the tenant's time zone. Required unless `period` is present.
	From string
	// The last day of the range. The range covers 1 to 7,320 days. Required unless `period` is present.
	To string
	// The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
	// *Periods*.
	Period PeriodPreset
	// Only sales of this channel. An unknown channel has no sales, a malformed one returns 400.
	Channel string
	// The earlier range to include. `true` means `previous_period`.
	Compare SalesSummaryCompare
	// `now` ends the last compared day at the same local time as now, rounded down to a quarter of an hour. It
	// requires `compare` and a range that ends today.
	CompareUntil string
	// Whether to include the calculation of the figures.
	Explain bool
}

func (p SalesSummaryParams) values() url.Values {
	v := url.Values{}
	addParameter(v, "from", p.From)
	addParameter(v, "to", p.To)
	addParameter(v, "period", p.Period)
	addParameter(v, "channel", p.Channel)
	addParameter(v, "compare", p.Compare)
	addParameter(v, "compare_until", p.CompareUntil)
	addParameter(v, "explain", p.Explain)
	return v
}

// SalesSummary: Get a sales summary.
//
// Returns the sales in a range of days: in total, by channel and by day. `compare` adds an earlier range.
// `channel` filters all figures, also those of `comparison`.
func (c *Client) SalesSummary(ctx context.Context, params SalesSummaryParams, options ...RequestOption) (*SalesSummaryReport, error) {
	return sendForBody[*SalesSummaryReport](ctx, c, request{method: "GET", path: "/api/reports/sales-summary", query: params.values(), repeatable: true}, options)
}

// ProductReportParams are the parameters of ProductReport. A zero value is not sent.
type ProductReportParams struct {
	// The first day of the range, in the tenant's time zone. Requires `to`.
	From string
	// The last day of the range. The range covers 1 to 7,320 days. Requires `from`.
	To string
	// The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
	// *Periods*.
	Period PeriodPreset
	// Only items sold in this category.
	CategoryID int64
	// The field to sort by. `margin` sorts by `margin_percent`.
	Sort ProductReportSort
	// The sort direction. `desc` returns the highest value first.
	Direction Direction
	// The page number, starting at 1. A page after the last one is an empty list.
	Page int64
	// The number of objects per page. A value above 100 returns 400.
	PerPage int64
	// Whether to include the calculation of the figures.
	Explain bool
}

func (p ProductReportParams) values() url.Values {
	v := url.Values{}
	addParameter(v, "from", p.From)
	addParameter(v, "to", p.To)
	addParameter(v, "period", p.Period)
	addParameter(v, "category_id", p.CategoryID)
	addParameter(v, "sort", p.Sort)
	addParameter(v, "direction", p.Direction)
	addParameter(v, "page", p.Page)
	addParameter(v, "per_page", p.PerPage)
	addParameter(v, "explain", p.Explain)
	return v
}

// ProductReport: Get the best-selling products.
//
// Returns a page of the products with an item sold in the range, one row per product, best first. Rows with
// equal values are sorted by revenue, then by id. A SKU that was never in the catalog has a row without
// `product_id`. Deleted products are included, as they were sold. Without `from` and `to`, the range is the last
// 30 days including today. The totals of all pages are in `meta`. Refunds of products without a sale in the
// range are not included.
func (c *Client) ProductReport(ctx context.Context, params ProductReportParams, options ...RequestOption) (*ProductReport, error) {
	return sendForBody[*ProductReport](ctx, c, request{method: "GET", path: "/api/reports/products", query: params.values(), repeatable: true}, options)
}

// AllProductReport returns all elements of ProductReport, and requests the next page when it is needed. It stops after an error.
func (c *Client) AllProductReport(ctx context.Context, params ProductReportParams, options ...RequestOption) iter.Seq2[*ProductReportRow, error] {
	params.Page = max(params.Page, 1)
	return func(yield func(*ProductReportRow, error) bool) {
		params := params // each loop begins again
		yieldPages(yield, func() ([]ProductReportRow, bool, error) {
			page, err := c.ProductReport(ctx, params, options...)
			if err != nil {
				return nil, false, err
			}
			params.Page++
			return page.Data, page.Meta.HasNext, nil
		})
	}
}

// ChannelReportParams are the parameters of ChannelReport. A zero value is not sent.
type ChannelReportParams struct {
	// The first day of the range, in the tenant's time zone. Requires `to`.
	From string
	// The last day of the range. The range covers 1 to 7,320 days. Requires `from`.
	To string
	// The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
	// *Periods*.
	Period PeriodPreset
	// The earlier range to include. `true` means `previous_period`.
	Compare SalesSummaryCompare
	// `now` ends the last compared day at the same local time as now, rounded down to a quarter of an hour. It
	// requires `compare` and a range that ends today.
	CompareUntil string
	// Whether to include the calculation of the figures.
	Explain bool
}

func (p ChannelReportParams) values() url.Values {
	v := url.Values{}
	addParameter(v, "from", p.From)
	addParameter(v, "to", p.To)
	addParameter(v, "period", p.Period)
	addParameter(v, "compare", p.Compare)
	addParameter(v, "compare_until", p.CompareUntil)
	addParameter(v, "explain", p.Explain)
	return v
}

// ChannelReport: Get sales by channel.
//
// Returns the channels with an order or a refund in the range, sorted by revenue, highest first.
// `percent_of_total` adds up to exactly 100.00. Without `from` and `to`, the range is the last 30 days including
// today. With `compare`, channels with sales only in the earlier range follow the others.
func (c *Client) ChannelReport(ctx context.Context, params ChannelReportParams, options ...RequestOption) (*ChannelReport, error) {
	return sendForBody[*ChannelReport](ctx, c, request{method: "GET", path: "/api/reports/channels", query: params.values(), repeatable: true}, options)
}

// CustomerReportParams are the parameters of CustomerReport. A zero value is not sent.
type CustomerReportParams struct {
	// The first day of the range, in the tenant's time zone. Requires `to`.
	From string
	// The last day of the range. The range covers 1 to 7,320 days. Requires `from`.
	To string
	// The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
	// *Periods*.
	Period PeriodPreset
	// Only sales of this channel. An unknown channel has no sales, a malformed one returns 400.
	Channel string
	// The field to sort by.
	Sort CustomerReportSort
	// The sort direction. `desc` returns the highest value first.
	Direction Direction
	// The page number, starting at 1. A page after the last one is an empty list.
	Page int64
	// The number of objects per page. A value above 100 returns 400.
	PerPage int64
	// Whether to include the calculation of the figures.
	Explain bool
}

func (p CustomerReportParams) values() url.Values {
	v := url.Values{}
	addParameter(v, "from", p.From)
	addParameter(v, "to", p.To)
	addParameter(v, "period", p.Period)
	addParameter(v, "channel", p.Channel)
	addParameter(v, "sort", p.Sort)
	addParameter(v, "direction", p.Direction)
	addParameter(v, "page", p.Page)
	addParameter(v, "per_page", p.PerPage)
	addParameter(v, "explain", p.Explain)
	return v
}

// CustomerReport: Get sales by customer.
//
// Returns figures about all customers with an order in the range, and a page of these customers, best first.
// Rows with equal values are sorted by id. A customer is new if the first order ever, in any channel, is in the
// range. Orders, revenue and refunds are those of the range and the channel. Names and e-mail addresses are null
// if the key does not have `customers:read`. Without `from` and `to`, the range is the last 30 days including
// today.
func (c *Client) CustomerReport(ctx context.Context, params CustomerReportParams, options ...RequestOption) (*CustomerReportResult, error) {
	return sendForBody[*CustomerReportResult](ctx, c, request{method: "GET", path: "/api/reports/customers", query: params.values(), repeatable: true}, options)
}

// CustomReport: Create a custom report.
//
// Returns the requested metrics by group and in total. Sales must match all filters; a filter matches if one of
// its values matches. Days, weeks and months are in chronological order. Other groups are sorted by the first
// metric, highest first, then by label. A week is named by its Monday and contains only the days in the range.
func (c *Client) CustomReport(ctx context.Context, body CustomReportQuery, options ...RequestOption) (*CustomReportResult, error) {
	return sendForBody[*CustomReportResult](ctx, c, request{method: "POST", path: "/api/reports/custom", body: body, repeatable: true}, options)
}

// ReconcileParams are the parameters of Reconcile. A zero value is not sent.
type ReconcileParams struct {
	// The first day of the range, in the tenant's time zone. Required unless `period` is present.
	From string
	// The last day of the range. The range covers 1 to 7,320 days. Required unless `period` is present.
	To string
	// The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
	// *Periods*.
	Period PeriodPreset
}

func (p ReconcileParams) values() url.Values {
	v := url.Values{}
	addParameter(v, "from", p.From)
	addParameter(v, "to", p.To)
	addParameter(v, "period", p.Period)
	return v
}

// Reconcile: Reconcile a range.
//
// Returns every figure of a range, calculated from the stored orders (`facts`) and from the sums of each report.
// `balanced` reports whether all values are equal. A value is null if it cannot be calculated that way: for
// example, one order can contain several products.
func (c *Client) Reconcile(ctx context.Context, params ReconcileParams, options ...RequestOption) (*ReconciliationResult, error) {
	return sendForBody[*ReconciliationResult](ctx, c, request{method: "GET", path: "/api/reports/reconcile", query: params.values(), repeatable: true}, options)
}

// ReportChangesParams are the parameters of ReportChanges. A zero value is not sent.
type ReportChangesParams struct {
	// The first day of the range, in the tenant's time zone. Required unless `period` is present.
	From string
	// The last day of the range. The range covers 1 to 7,320 days. Required unless `period` is present.
	To string
	// The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
	// *Periods*.
	Period PeriodPreset
	// Only changes after this time, which must not be in the future. Required without `after`.
	Since Time
	// `next_cursor` of the last response, or `seq` of an entry. `now`: only later entries. It replaces `since` as
	// the start of the list.
	After string
	// The largest number of entries.
	Limit int64
}

func (p ReportChangesParams) values() url.Values {
	v := url.Values{}
	addParameter(v, "from", p.From)
	addParameter(v, "to", p.To)
	addParameter(v, "period", p.Period)
	addParameter(v, "since", p.Since)
	addParameter(v, "after", p.After)
	addParameter(v, "limit", p.Limit)
	return v
}

// ReportChanges: List what changed in a range.
//
// Returns the orders, refunds, cancellations and undone imports that changed days of a range since a time, in
// the order of `GET /api/changes`. Cancellations and imports can change days long ago, so use it to find out why
// a figure of a closed month is another one: remember `meta.changed_at` of a report, and list what changed since
// when it is later.
func (c *Client) ReportChanges(ctx context.Context, params ReportChangesParams, options ...RequestOption) (*ReportChangeList, error) {
	return sendForBody[*ReportChangeList](ctx, c, request{method: "GET", path: "/api/reports/changes", query: params.values(), repeatable: true}, options)
}

// AllReportChanges returns all elements of ReportChanges, and requests the next page when it is needed. It stops after an error.
func (c *Client) AllReportChanges(ctx context.Context, params ReportChangesParams, options ...RequestOption) iter.Seq2[*ReportChange, error] {
	return func(yield func(*ReportChange, error) bool) {
		params := params // each loop begins again
		yieldPages(yield, func() ([]ReportChange, bool, error) {
			page, err := c.ReportChanges(ctx, params, options...)
			if err != nil {
				return nil, false, err
			}
			params.After = page.Meta.NextCursor
			return page.Data, page.Meta.HasMore, nil
		})
	}
}

// ExportReportParams are the parameters of ExportReport. A zero value is not sent.
type ExportReportParams struct {
	// The format of the file.
	Format ExportReportFormat
	// The first day of the range, in the tenant's time zone. Required for `sales-summary` unless `period` is
	// present. For other reports it requires `to`; without both, the range is the last 30 days including today.
	From string
	// The last day of the range. The range covers 1 to 7,320 days. Required if `from` is required or present.
	To string
	// The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
	// *Periods*.
	Period PeriodPreset
	// Only sales of this channel. An unknown channel has no sales, a malformed one returns 400.
	Channel string
	// The earlier range to include. `true` means `previous_period`.
	Compare SalesSummaryCompare
	// `now` ends the last compared day at the same local time as now, rounded down to a quarter of an hour. It
	// requires `compare` and a range that ends today.
	CompareUntil string
	// Only items sold in this category.
	CategoryID int64
	// The field to sort by. Products accept `revenue`, `units` and `margin`; customers accept `revenue`, `orders`
	// and `last_order`.
	Sort ExportReportSort
	// The sort direction. `desc` returns the highest value first.
	Direction Direction
}

func (p ExportReportParams) values() url.Values {
	v := url.Values{}
	addParameter(v, "format", p.Format)
	addParameter(v, "from", p.From)
	addParameter(v, "to", p.To)
	addParameter(v, "period", p.Period)
	addParameter(v, "channel", p.Channel)
	addParameter(v, "compare", p.Compare)
	addParameter(v, "compare_until", p.CompareUntil)
	addParameter(v, "category_id", p.CategoryID)
	addParameter(v, "sort", p.Sort)
	addParameter(v, "direction", p.Direction)
	return v
}

// ExportReport: Export a report as a file.
//
// Returns all rows of a report in its order. Each type accepts only the filters of its JSON report:
// `sales-summary` accepts `from` and `to` (required), `channel`, `compare` and `compare_until`; `products`
// accepts `from`, `to`, `category_id`, `sort` and `direction`; `channels` accepts `from`, `to`, `compare` and
// `compare_until`; `customers` accepts `from`, `to`, `channel`, `sort` and `direction`. An unknown type returns
// `NOT_FOUND`.
func (c *Client) ExportReport(ctx context.Context, kind ExportReportType, params ExportReportParams, options ...RequestOption) (*File, error) {
	return c.sendForFile(ctx, request{method: "GET", path: makePath("/api/reports/export/%s", kind), query: params.values(), repeatable: true}, options)
}

// ShowMe: Get the tenant and the key.
//
// Returns the tenant, the key with its permissions, the rate limit as in the headers of this response, and what
// is used of the quotas. Every valid key can use this operation.
func (c *Client) ShowMe(ctx context.Context, options ...RequestOption) (*Me, error) {
	return sendForData[*Me](ctx, c, request{method: "GET", path: "/api/me", repeatable: true}, options)
}

// ShowUsageParams are the parameters of ShowUsage. A zero value is not sent.
type ShowUsageParams struct {
	// The first day of the range, in the tenant's time zone. Requires `to`.
	From string
	// The last day of the range. The range covers at most 90 days, or 31 days by hour. Requires `from`.
	To string
	// The days instead of `from` and `to`, as a period that ends today or earlier in the tenant's time zone. See
	// *Periods*.
	Period PeriodPreset
	// Only this key. An unknown key has no usage.
	KeyID int64
	// The length of the `periods` of each key. Hours begin as in the tenant's time zone.
	GroupBy ShowUsageGroupBy
}

func (p ShowUsageParams) values() url.Values {
	v := url.Values{}
	addParameter(v, "from", p.From)
	addParameter(v, "to", p.To)
	addParameter(v, "period", p.Period)
	addParameter(v, "key_id", p.KeyID)
	addParameter(v, "group_by", p.GroupBy)
	return v
}

// ShowUsage: Get the usage of the API keys.
//
// Returns the requests of each key of the tenant in a range of days, by default the last seven: by route and
// status class, refusals by the rate limit, durations, the busiest minute, and the last errors. Keys without
// requests in the range are not listed; revoked, expired and rolled keys are. Requests without a valid key are
// not recorded. Usage is kept for 90 days. The last ten seconds may be missing.
func (c *Client) ShowUsage(ctx context.Context, params ShowUsageParams, options ...RequestOption) (*Usage, error) {
	return sendForData[*Usage](ctx, c, request{method: "GET", path: "/api/usage", query: params.values(), repeatable: true}, options)
}
