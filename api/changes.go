package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/feed"
)

const (
	maxChanges     = 1000
	defaultChanges = 100
	maxWait        = 25 // seconds
	changesPart    = 100
	// maxChangeData ends a page early, so that it fits into the memory of the tenant.
	maxChangeData   = 4 << 20
	messagePart     = 10
	maxMessageData  = 256 << 10
	maxDataTime     = 3 * time.Second // after which a page or message ends early, so that slow objects are delivered
	changesDeadline = maxWait*time.Second + 8*time.Second
)

// changeJSON is an entry of the feed.
type changeJSON struct {
	Seq     string          `json:"seq"`
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Action  string          `json:"action"`
	At      timestamp       `json:"at"`
	APIKey  *named          `json:"api_key"`
	Changed []string        `json:"changed"`
	Data    json.RawMessage `json:"data"` // null if the object no longer exists
}

type changesMeta struct {
	NextCursor string `json:"next_cursor"`
	HasMore    bool   `json:"has_more"`
}

// changePermissions are the permissions for the types of the feed.
var changePermissions = map[string]keys.Permission{
	"product": keys.ProductsRead, "stock": keys.ProductsRead, "category": keys.ProductsRead,
	"seller": keys.ProductsRead, "warehouse": keys.ProductsRead,
	"channel": keys.OrdersRead, "order": keys.OrdersRead, "refund": keys.OrdersRead,
	"customer": keys.CustomersRead,
}

// listChanges handles GET /api/changes.
func (s *Server) listChanges(w http.ResponseWriter, r *http.Request) error {
	q := readQuery(r)
	after, err := feed.ParseCursor(tenant(r), q.text("after"))
	q.check("after", err)
	asked := q.changeTypes()
	limit, wait := q.between("limit", 1, maxChanges, defaultChanges), q.between("wait", 0, maxWait, 0)
	if err := q.err(); err != nil {
		return err
	}
	types, err := allowedTypes(principal(r), asked)
	if err != nil {
		return err
	}
	page, err := s.feed(r).ReadWaiting(r.Context(), tenant(r), feed.Query{After: after, Types: types, Limit: limit},
		time.Duration(wait)*time.Second)
	if err == nil && wait > 0 {
		err = s.checkKeyAgain(r)
	}
	if err != nil {
		return err
	}
	data := s.newChangeData(r.Context(), stateOf(r).db, tenant(r), canReadCustomers(r))
	n, err := data.read(page.Entries, changesPart, changesPart, maxChangeData)
	if err != nil {
		return err
	}
	meta := changesMeta{HasMore: page.HasMore || n < len(page.Entries)}
	if n < len(page.Entries) {
		page.Entries, page.Next = page.Entries[:n], page.Entries[n-1].At
	}
	meta.NextCursor = page.Next.String(tenant(r))
	return writeLarge(w, r, http.StatusOK, envelope(arrayFrom(page.Entries, data.shape), jsonField{"meta", meta}))
}

// EncodeChanges is the function for webhooks.Store.Worker. It reads few objects at a time, because many messages are
// made concurrently, and starts with one, which may be slow.
func (s *Server) EncodeChanges(
	ctx context.Context, tenant tenancy.ID, names bool, entries []feed.Entry,
) ([]json.RawMessage, error) {
	data := s.newChangeData(ctx, s.DB, tenant, names)
	n, err := data.read(entries, 1, messagePart, maxMessageData)
	if err != nil {
		return nil, err
	}
	texts := make([]json.RawMessage, 0, n)
	for _, e := range entries[:n] {
		text, err := encode(data.shape(e))
		if err != nil {
			return nil, err
		}
		texts = append(texts, bytes.TrimSpace(text))
	}
	return texts, nil
}

// changeTypes takes a list of types; nil means absent or invalid.
func (q *query) changeTypes() []string {
	text, set := q.take("types")
	if !set {
		return nil
	}
	types := strings.Split(text, ",")
	for _, t := range types {
		if !slices.Contains(feed.Types, t) {
			q.errs.Add("types", "must be a list of %s, separated by commas", strings.Join(feed.Types, ", "))
			return nil
		}
	}
	return types
}

// allowedTypes returns the types that a key asked for, or all that it may read.
func allowedTypes(p *keys.Principal, asked []string) ([]string, error) {
	var allowed []string
	for _, t := range feed.Types {
		switch isAllowed := p.Permissions.Allow(changePermissions[t]); {
		case isAllowed && (asked == nil || slices.Contains(asked, t)):
			allowed = append(allowed, t)
		case !isAllowed && slices.Contains(asked, t):
			return nil, checkPermission(p, changePermissions[t])
		}
	}
	if len(allowed) == 0 {
		return nil, checkPermission(p, keys.ProductsRead)
	}
	return allowed, nil
}

// objectName identifies an object of the feed.
type objectName struct{ objectType, id string }

// changeData has the objects of entries, as the responses of GET have them.
type changeData struct {
	server  *Server
	db      *db.DB
	ctx     context.Context
	tenant  tenancy.ID
	names   bool // of customers in orders
	objects map[objectName]json.RawMessage
	bytes   int
}

func (s *Server) newChangeData(ctx context.Context, d *db.DB, tenant tenancy.ID, names bool) *changeData {
	return &changeData{s, d, ctx, tenant, names, map[objectName]json.RawMessage{}, 0}
}

func (d *changeData) shape(e feed.Entry) changeJSON {
	return changeJSON{
		Seq: e.At.String(d.tenant), Type: e.Type, ID: e.ID, Action: e.Action, At: timestamp(e.Time),
		APIKey: optionalNamed(e.KeyID, e.KeyName), Changed: orEmpty(e.Changed), Data: d.objects[objectName{e.Type, e.ID}],
	}
}

var errEnoughData = errors.New("the page is large enough")

// read reads the objects of the first n entries, with one query for each type in a part, until they have so many bytes,
// take long, or cannot be read. Parts have twice as many entries as the one before, at most maxPart.
func (d *changeData) read(entries []feed.Entry, firstPart, maxPart, most int) (n int, err error) {
	begin := time.Now()
	for size := firstPart; n < len(entries) && d.bytes <= most && time.Since(begin) < maxDataTime; {
		read, isWhole, err := d.readPart(entries[n:min(n+size, len(entries))], most)
		if err != nil && n == 0 {
			return 0, err
		}
		n += read
		if err != nil || !isWhole {
			break
		}
		size = min(2*size, maxPart)
	}
	return n, nil
}

// readPart reads the objects of the first n entries until they have so many bytes.
func (d *changeData) readPart(part []feed.Entry, most int) (n int, isWhole bool, err error) {
	ids := map[string][]string{}
	for _, e := range part {
		if !slices.Contains(ids[e.Type], e.ID) {
			ids[e.Type] = append(ids[e.Type], e.ID)
		}
	}
	var unread []string
	for t, of := range ids {
		if t == "order" {
			unread, err = d.readOrders(of, most)
		} else {
			err = d.readObjects(t, of)
		}
		if err != nil {
			return 0, false, err
		}
	}
	for _, e := range part {
		if e.Type == "order" && slices.Contains(unread, e.ID) {
			return n, false, nil
		}
		n++
	}
	return n, true, nil
}

// add stores an object.
func (d *changeData) add(objectType, id string, object any) error {
	text, err := encode(object)
	d.objects[objectName{objectType, id}] = text
	d.bytes += len(text)
	return err
}

// readOrders reads orders until there is enough data. It returns the numbers of the others.
func (d *changeData) readOrders(numbers []string, most int) (unread []string, err error) {
	err = sales.New(d.db).OrdersByNumber(d.ctx, d.tenant, numbers, func(o sales.StoredOrder) error {
		unread = numbers[slices.Index(numbers, o.Number)+1:]
		if err := d.add("order", o.Number, wholeOrderShape(o, d.names)); err != nil {
			return err
		}
		if d.bytes > most {
			return errEnoughData
		}
		return nil
	})
	if errors.Is(err, errEnoughData) {
		return unread, nil
	}
	return nil, err
}

// readObjects reads the objects of a type that exist, other than orders.
func (d *changeData) readObjects(objectType string, ids []string) error {
	s := d.server
	switch objectType {
	case "product":
		return addAll(d, objectType, integers(ids), catalog.New(d.db).ProductsByID, func(p catalog.Product) (string, any) {
			return strconv.FormatInt(p.ID, 10), s.productShape(p)
		})
	case "stock":
		return addAll(d, objectType, integers(ids), catalog.New(d.db).Inventories, func(i catalog.Inventory) (string, any) {
			return strconv.FormatInt(i.ProductID, 10), inventoryShape(i.ProductID, i.Stock)
		})
	case "channel":
		return addAll(d, objectType, ids, sales.New(d.db).ChannelsByID, func(c sales.Channel) (string, any) {
			return c.Identifier, channelShape(c)
		})
	case "customer":
		return addAll(d, objectType, ids, sales.New(d.db).CustomersByID, func(c sales.CustomerSales) (string, any) {
			return c.ID, customerShape(c)
		})
	case "refund":
		return addAll(d, objectType, integers(ids), sales.New(d.db).RefundsByID, func(g sales.OrderRefund) (string, any) {
			return strconv.FormatInt(g.ID, 10), orderRefundJSON{g.OrderNumber, refundShape(g.StoredRefund)}
		})
	}
	kind := map[string]catalog.Kind{
		"category": catalog.Categories, "seller": catalog.Sellers, "warehouse": catalog.Warehouses,
	}[objectType]
	read := func(ctx context.Context, of tenancy.ID, ids []int64) ([]catalog.Reference, error) {
		return catalog.New(d.db).ReferencesByID(ctx, of, kind, ids)
	}
	return addAll(d, objectType, integers(ids), read, func(r catalog.Reference) (string, any) {
		return strconv.FormatInt(r.ID, 10), references{s, kind}.shape(r)
	})
}

// addAll stores the objects that read returns.
func addAll[T, K any](
	d *changeData, objectType string, ids []K, read func(context.Context, tenancy.ID, []K) ([]T, error),
	shape func(T) (string, any),
) error {
	found, err := read(d.ctx, d.tenant, ids)
	if err != nil {
		return err
	}
	for _, object := range found {
		id, shown := shape(object)
		if err := d.add(objectType, id, shown); err != nil {
			return err
		}
	}
	return nil
}

// integers returns the numbers of ids, which the database wrote.
func integers(ids []string) []int64 {
	return mapSlice(ids, func(id string) int64 {
		n, _ := strconv.ParseInt(id, 10, 64)
		return n
	})
}
