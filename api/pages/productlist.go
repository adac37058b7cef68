package pages

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/export"
	"github.com/storeroom/storeroom/tenancy/paging"
)

type productsPage struct {
	Search, Status, Tag, Stock string
	Sort                       string // a key of productSorts
	References                 []referenceChoice
	Products                   []catalog.Product
	Pager                      pager
	IsFiltered                 bool
	Chips                      []filterChip
	Filters                    url.Values // the parameters that select the same products
	isUnclear                  bool       // a filter has a value that nobody can mean, which the list leaves out
}

// filterChip is a link that sets a filter, or removes it if it is on.
type filterChip struct {
	Text, Link string
	IsOn       bool
}

// productSorts are the values of the parameter sort. The first is the default.
var productSorts = map[string]paging.Order{
	"": {Descending: true}, "name": {By: "name"}, "-name": {By: "name", Descending: true},
	"sku": {By: "sku"}, "-sku": {By: "sku", Descending: true},
	"price": {By: "price"}, "-price": {By: "price", Descending: true},
	"stock": {By: catalog.ByQuantity}, "-stock": {By: catalog.ByQuantity, Descending: true},
}

// productReference is a reference by which lists filter products, with the name of its parameter.
type productReference struct {
	name string
	kind catalog.Kind
	of   func(*catalog.Filter) **int64
}

var productReferences = []productReference{
	{"category", catalog.Categories, func(f *catalog.Filter) **int64 { return &f.CategoryID }},
	{"seller", catalog.Sellers, func(f *catalog.Filter) **int64 { return &f.SellerID }},
	{"warehouse", catalog.Warehouses, func(f *catalog.Filter) **int64 { return &f.WarehouseID }},
}

// referenceChoice is a field that chooses a category, a seller or a warehouse: a select, or a field for its name if
// there are too many.
type referenceChoice struct {
	Name  string // of the field
	ID    int64  // 0 for none
	Typed string // the name in its field
	All   []catalog.Reference
	More  bool                // All are only the first
	Found []catalog.Reference // several that have the typed text in their names
	Error string
}

// IsFolded reports whether the list has no chips for the choice.
func (c referenceChoice) IsFolded() bool {
	return c.Name != "warehouse" || len(c.All) > maxWarehouseChips
}

// chooseReferences reads each reference from the parameter of its name, or the name in the parameter with the suffix
// _name. It sets the first parameter to the id. withAll reads what can be chosen.
func (u user) chooseReferences(
	ctx context.Context, v url.Values, of []productReference, withAll bool,
) (choices []referenceChoice, err error) {
	all := make([]paging.List[catalog.Reference], len(of))
	if withAll {
		kinds := make([]catalog.Kind, len(of))
		for i := range of {
			kinds[i] = of[i].kind
		}
		if all, err = u.catalog().FirstReferences(ctx, u.Tenant.ID, kinds, maxChoices); err != nil {
			return nil, err
		}
	}
	for i := range of {
		c, err := u.chooseReference(ctx, v, of[i], all[i])
		if err != nil {
			return nil, err
		}
		choices = append(choices, c)
	}
	return choices, nil
}

func (u user) chooseReference(
	ctx context.Context, v url.Values, of productReference, all paging.List[catalog.Reference],
) (c referenceChoice, err error) {
	name, kind := of.name, of.kind
	c = referenceChoice{Name: name, All: all.Items, More: all.Total > maxChoices, Typed: cleanText(v.Get(name + "_name"))}
	if c.Typed == "" {
		if c.ID, err = strconv.ParseInt(v.Get(name), 10, 64); err != nil || !c.More {
			return c, nil
		}
		chosen, err := u.catalog().ReferencesByID(ctx, u.Tenant.ID, kind, []int64{c.ID})
		for _, r := range chosen {
			c.Typed = r.Name
		}
		return c, err
	}
	const shown = 10
	found, err := u.catalog().References(ctx, u.Tenant.ID, kind, c.Typed, paging.Order{By: "name"},
		paging.Page{Number: 1, PerPage: maxChoices})
	if err != nil {
		return c, err
	}
	i := slices.IndexFunc(found.Items, func(r catalog.Reference) bool { return r.Name == c.Typed })
	if i < 0 && found.Total == 1 {
		i = 0
	}
	switch {
	case i >= 0:
		c.ID, c.Typed = found.Items[i].ID, found.Items[i].Name
		v.Set(name, strconv.FormatInt(c.ID, 10))
	case found.Total == 0:
		c.Error = u.T("Nothing has this name.")
	default:
		c.Error = u.T("Several have this text in their names. Choose one:")
		c.Found = found.Items[:min(shown, len(found.Items))]
	}
	return c, nil
}

// readProducts returns the form of the list and its filter, which matches nothing if the form has an error. withAll reads
// the references that can be chosen.
func (u user) readProducts(r *http.Request, withAll bool) (page productsPage, filter catalog.Filter, err error) {
	page = productsPage{
		Search: filterText(r, "search"), Status: r.FormValue("status"), Sort: r.FormValue("sort"),
		Tag: filterText(r, "tag"), Stock: r.FormValue("stock"),
	}
	filter = catalog.Filter{Search: page.Search, Tag: page.Tag}
	if slices.Contains(catalog.Statuses, page.Status) {
		filter.Status = page.Status
	}
	if page.Stock == catalog.LowStock || page.Stock == catalog.NoStock {
		filter.Stock = page.Stock
	}
	if _, known := productSorts[page.Sort]; !known {
		page.Sort = ""
	}
	if page.Sort == "" && filter.Stock == catalog.LowStock {
		page.Sort = "stock"
	}
	filter.Order = productSorts[page.Sort]
	values := maps.Clone(r.Form)
	if page.References, err = u.chooseReferences(r.Context(), values, productReferences, withAll); err != nil {
		return page, filter, err
	}
	known := map[string]string{"search": page.Search, "status": filter.Status, "tag": page.Tag, "stock": filter.Stock}
	for i, c := range page.References {
		if c.ID != 0 || c.Error != "" {
			*productReferences[i].of(&filter) = &c.ID
			known[c.Name] = values.Get(c.Name)
		}
	}
	page.Filters = url.Values{}
	for _, name := range []string{"search", "status", "tag", "stock", "category", "seller", "warehouse"} {
		if known[name] != strings.TrimSpace(values.Get(name)) {
			page.isUnclear = true
		}
		if known[name] != "" {
			page.Filters.Set(name, known[name])
		}
	}
	page.IsFiltered = page.Search != "" || filter.Status != "" || filter.CategoryID != nil || filter.WarehouseID != nil ||
		filter.SellerID != nil || filter.Tag != "" || filter.Stock != ""
	return page, filter, nil
}

// maxWarehouseChips is the number of warehouses above which the list has no chips for them.
const maxWarehouseChips = 6

// addChips adds the filters that one click sets.
func (p *productsPage) addChips(r *http.Request, u user) {
	add := func(text, name, value string) {
		values := maps.Clone(r.Form)
		values.Del("page")
		isOn := values.Get(name) == value
		if values.Set(name, value); isOn {
			values.Del(name)
		}
		p.Chips = append(p.Chips, filterChip{text, "?" + values.Encode(), isOn})
	}
	p.Chips = append(p.Chips, filterChip{u.T("All"), "?", !p.IsFiltered})
	add(u.T("Low stock"), "stock", catalog.LowStock)
	add(u.T("Out of stock"), "stock", catalog.NoStock)
	add(u.T("Draft"), "status", "draft")
	warehouses := p.References[len(p.References)-1]
	if n := len(warehouses.All); n > 1 && n <= maxWarehouseChips {
		for _, w := range warehouses.All {
			add(w.Name, "warehouse", strconv.FormatInt(w.ID, 10))
		}
	}
}

// Choose returns the link that filters the list by a reference.
func (p productsPage) Choose(name string, id int64) string {
	values := maps.Clone(p.Filters)
	values.Set(name, strconv.FormatInt(id, 10))
	return "?" + values.Encode()
}

// IsNarrowed reports whether the fields that are folded away filter the list.
func (p productsPage) IsNarrowed() bool {
	return p.Tag != "" || p.Status == "active" || slices.ContainsFunc(p.References, func(c referenceChoice) bool {
		return c.Error != "" || c.ID != 0 && c.IsFolded()
	})
}

// SortBy returns the link that sorts the list by a column, in the other direction if it is sorted so.
func (p productsPage) SortBy(column string) string {
	values, _ := url.ParseQuery(string(p.Pager.Query)) // was encoded here
	if values.Set("sort", column); p.Sort == column {
		values.Set("sort", "-"+column)
	}
	return "?" + values.Encode()
}

// Sorted returns the value of aria-sort of a column.
func (p productsPage) Sorted(column string) string {
	switch p.Sort {
	case column:
		return "ascending"
	case "-" + column:
		return "descending"
	}
	return "none"
}

// showProducts lists the products of the tenant. A barcode or an SKU leads to its product, because scanners type them.
func (p *Handler) showProducts(w http.ResponseWriter, r *http.Request, u user) error {
	page, filter, err := u.readProducts(r, true)
	if err != nil {
		return err
	}
	filter.Page = paging.Page{Number: pageNumber(r), PerPage: listPerPage}
	if page.Search != "" && len(page.Filters) == 1 && r.FormValue("sort") == "" && filter.Page.Number == 1 {
		scanned, err := u.catalog().Scanned(r.Context(), u.Tenant.ID, page.Search)
		if err != nil {
			return err
		}
		if len(scanned) == 1 {
			redirect(w, r, u.path("/products/"+strconv.FormatInt(scanned[0].ID, 10)))
			return nil
		}
	}
	products, err := u.catalog().List(r.Context(), u.Tenant.ID, filter)
	if err != nil {
		return err
	}
	page.Products = products.Items
	page.Pager = newPager(r, filter.Page.Number, listPerPage, products.Total)
	page.addChips(r, u)
	return p.showList(w, r, "products", u, page.Pager, page)
}

// exportProducts returns the handler that sends the list of products as a file.
func (p *Handler) exportProducts(format string) handler {
	return func(w http.ResponseWriter, r *http.Request, u user) error {
		_, filter, err := u.readProducts(r, false)
		if err != nil {
			return err
		}
		return p.sendList(w, r, u, "products", format, func(ctx context.Context) export.Sheet {
			return export.ProductFile.List(func(write func(catalog.Product) error) error {
				return u.catalog().Walk(ctx, u.Tenant.ID, filter, write)
			})
		})
	}
}

// maxChosen limits the products that are chosen one by one, and labels of a page.
const maxChosen = 500

// selection are products that were chosen in the list: some, or all of its filter.
type selection struct {
	IDs    []int64 // in the order of the list; empty with IsAll
	IsAll  bool
	Filter catalog.Filter
	Total  int64
	First  []catalog.Product // those that the page names
	Query  url.Values        // the parameters that choose them again
}

// namedProducts is how many of the chosen products a page names.
const namedProducts = 5

// Others is the number of products that are not in First.
func (s selection) Others() int64 { return s.Total - int64(len(s.First)) }

// readSelection reads which products the form of the list has chosen. Products that were deleted since are left out. For
// all products of a filter that it cannot read it returns ErrForm, because without the filter there would be more.
func (u user) readSelection(r *http.Request) (s selection, err error) {
	if s.IsAll = r.FormValue("all") != ""; s.IsAll {
		page, filter, err := u.readProducts(r, false)
		if err == nil && page.isUnclear {
			err = ErrForm
		}
		if err != nil {
			return s, err
		}
		s.Query = page.Filters
		s.Query.Set("all", "1")
		filter.Order, filter.Page = paging.Order{}, paging.Page{Number: 1, PerPage: namedProducts}
		first, err := u.catalog().List(r.Context(), u.Tenant.ID, filter)
		s.Filter, s.First, s.Total = filter, first.Items, first.Total
		return s, err
	}
	s.Query = url.Values{"id": nil}
	for _, text := range r.Form["id"] {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || len(s.IDs) == maxChosen {
			return s, ErrForm
		}
		if !slices.Contains(s.IDs, id) {
			s.IDs = append(s.IDs, id)
		}
	}
	products, err := u.catalog().ProductsByID(r.Context(), u.Tenant.ID, s.IDs)
	s.IDs = nil
	for _, p := range products {
		s.IDs = append(s.IDs, p.ID)
		s.Query.Add("id", strconv.FormatInt(p.ID, 10))
	}
	s.First, s.Total = products[:min(namedProducts, len(products))], int64(len(products))
	return s, err
}

// NameOf returns the name of the chosen reference.
func (c referenceChoice) NameOf() string {
	for _, r := range c.All {
		if r.ID == c.ID {
			return r.Name
		}
	}
	return cmp.Or(c.Typed, strconv.FormatInt(c.ID, 10))
}
