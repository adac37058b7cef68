package pages

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/people"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// member returns the user as the actor of a change of products.
func (u user) member() catalog.Actor { return catalog.Actor{Tenant: u.Tenant.ID, Member: &u.Email} }

// Colleague returns how a page names a member. People who see no e-mail addresses see the part before the @.
func (u user) Colleague(email string) string {
	if name, _, found := strings.Cut(email, "@"); found && !u.Can(people.ReadEmails) {
		return name
	}
	return email
}

// fieldTexts say what a field of a product accepts, by its name in the catalog.
var fieldTexts = map[string]string{
	"name":          mark("Enter a name of 1 to 255 characters."),
	"price":         mark("Enter an amount such as 12.50."),
	"cost":          mark("Enter an amount such as 12.50."),
	"reorder_point": mark("Enter a whole number from 0."),
	"quantity":      mark("Enter a whole number from 0."),
	"upc":           mark("Enter 8 to 14 digits."),
	"bin_location":  mark("Enter at most 64 characters."),
	"sku":           mark("Enter an SKU of 1 to 100 characters that no other product has."),
	"description":   mark("Enter at most 65,535 characters."),
	"tags":          mark("Enter at most 50 tags of at most 64 characters."),
	"notes":         mark("Enter at most 1,000 characters."),
}

// addProblems adds the errors of a change of a product. It returns other errors.
func (f form) addProblems(u user, err error) error {
	invalid, isInvalid := errors.AsType[tenancy.InvalidError](err)
	if !isInvalid {
		return err
	}
	for field := range invalid {
		field, _, _ = strings.Cut(field, "[")
		field = strings.TrimSuffix(field, "_id")
		f.Errors[field] = u.T(cmp.Or(fieldTexts[field], string(invalidOption)))
	}
	return nil
}

// stockForm is the form that changes the stock of a product.
type stockForm struct {
	form
	Warehouses []catalog.Reference
}

// newStockForm returns the form as it is first shown.
func newStockForm(p catalog.Product) form {
	return form{url.Values{
		"type": {"add"}, "warehouse": {strconv.FormatInt(p.WarehouseID, 10)}, "request": {rand.Text()},
	}, fieldErrors{}}
}

// adjustStock adds to the stock of a product, removes from it or sets it to what was counted.
func (p *Handler) adjustStock(w http.ResponseWriter, r *http.Request, u user) error {
	id, f := pathID(r), submitted(r)
	warehouse, err := strconv.ParseInt(f.Get("warehouse"), 10, 64)
	if !slices.Contains(catalog.AdjustmentTypes, f.Get("type")) || err != nil {
		return ErrForm
	}
	request := catalog.AdjustRequest{Type: catalog.Value(f.Get("type")), WarehouseID: catalog.Value(warehouse)}
	var notes *string
	if text := strings.TrimSpace(f.Get("notes")); text != "" {
		notes, request.Notes = &text, catalog.Value(text)
	}
	refuse := func() error {
		return p.showProductWith(w, r, u, http.StatusUnprocessableEntity, id, &f)
	}
	isCount := f.Get("type") == "set"
	quantity, err := strconv.ParseInt(strings.TrimSpace(f.Get("quantity")), 10, 64)
	if err != nil || isCount && (quantity < 0 || quantity > catalog.MaxQuantity) { // a blank is never a count of zero
		f.Errors["quantity"] = u.T(fieldTexts["quantity"])
		return refuse()
	}
	request.Quantity = catalog.Value(quantity)
	seen := f.Get("seen")
	if isCount && f.isCounted("quantity", seen) {
		if seen, err = u.seen(r.Context(), id, f); err != nil {
			return err
		}
	}
	if isCount && seen == "" {
		f.Errors["quantity"] = u.T("This was counted more than 12 hours ago. Count it again.")
		f.Del("quantity")
		return refuse()
	}
	f.Del(agoField + "quantity") // which differs if the form is sent twice
	err = p.once(w, r, u, f, func(u user) (string, error) {
		to := u.path("/products/" + strconv.FormatInt(id, 10))
		if isCount {
			at, err := strconv.ParseInt(seen, 10, 64)
			if err != nil {
				return "", ErrForm
			}
			return to, p.countOne(r, u, id, warehouse, int32(quantity), notes, at)
		}
		_, _, err := u.catalog().Adjust(r.Context(), u.member(), id, request, nil)
		return to, err
	})
	repeat, mustRepeat := errors.AsType[repeatError](err)
	switch {
	case err == nil:
		return nil
	case mustRepeat:
		f.Errors["quantity"] = repeat.Text(u)
		f.Del("quantity")
		return refuse()
	case errors.Is(err, catalog.ErrInsufficientStock):
		f.Errors["quantity"] = u.T("There is not enough in this warehouse.")
	default:
		if err := f.addProblems(u, err); err != nil {
			return err
		}
	}
	if isCount { // it stays a count of that moment
		f.Set("seen", seen)
		f.Set("was-quantity", f.Get("quantity"))
	}
	return refuse()
}

// seen returns what a person saw of a product when they counted its quantity, see catalog.Store.Seen, or "" if that is
// not known.
func (u user) seen(ctx context.Context, id int64, f form) (string, error) {
	age, isKnown := f.age("quantity")
	if !isKnown {
		return "", nil
	}
	seen, err := u.catalog().Seen(ctx, u.Tenant.ID, map[int64]time.Duration{id: age})
	return strconv.FormatInt(seen[id], 10), err
}

// editPage is the page that changes a product, or creates one.
type editPage struct {
	form
	Product    catalog.Product // with the id 0 if it is a new one
	Stored     url.Values      // the values of the product, if they are not those that the form began with
	References []referenceChoice
	MaxImages  int
}

// editReferences are the parameters of productReferences that a form has: the category and the seller, and the warehouse
// of a new product.
const editReferences = 2

// readReferences reads the fields for references, and sets their ids in the form.
func (p *editPage) readReferences(ctx context.Context, u user) error {
	of := productReferences[:editReferences]
	if p.Product.ID == 0 {
		of = productReferences
	}
	var err error
	p.References, err = u.chooseReferences(ctx, p.Values, of, true)
	for _, c := range p.References {
		if c.Error != "" {
			p.Errors[c.Name] = c.Error
		}
		if p.Has(c.Name+"_name") && c.Typed == "" {
			p.Set(c.Name, "")
		}
	}
	return err
}

// Now returns the stored value of a field if it is not the submitted one.
func (p editPage) Now(field string) string {
	if p.Stored == nil || p.Stored.Get(field) == p.Get(field) {
		return ""
	}
	value := p.Stored.Get(field)
	switch {
	case field == "category" && p.Product.CategoryName != nil:
		value = *p.Product.CategoryName
	case field == "seller" && p.Product.SellerName != nil:
		value = *p.Product.SellerName
	}
	return cmp.Or(value, "–")
}

// maxDescription is the length in bytes of the longest description that a form can have, because browsers send three
// bytes for many of them.
const maxDescription = 12 << 10

// productValues returns the fields of a product as its form has them. The form has a cost only for those who see it.
func productValues(p catalog.Product, u user) url.Values {
	v := url.Values{
		"name": {p.Name}, "price": {p.Price.String()}, "status": {p.Status}, "tags": {strings.Join(p.Tags, ", ")},
		"reorder_point": {""}, "upc": {""}, "bin_location": {""}, "category": {""}, "seller": {""},
	}
	if p.CategoryID != nil {
		v.Set("category", strconv.FormatInt(*p.CategoryID, 10))
	}
	if p.SellerID != nil {
		v.Set("seller", strconv.FormatInt(*p.SellerID, 10))
	}
	if p.Description == nil {
		v.Set("description", "")
	} else if len(*p.Description) <= maxDescription {
		v.Set("description", *p.Description)
	}
	if p.ReorderPoint != nil {
		v.Set("reorder_point", strconv.FormatInt(int64(*p.ReorderPoint), 10))
	}
	if p.UPC != nil {
		v.Set("upc", *p.UPC)
	}
	if p.BinLocation != nil {
		v.Set("bin_location", *p.BinLocation)
	}
	if u.Can(people.ReadCosts) {
		v.Set("cost", "")
		if p.Cost != nil {
			v.Set("cost", p.Cost.String())
		}
	}
	return v
}

// versionOf returns a digest of values, which the form sends back.
func versionOf(values url.Values) string {
	sum := sha256.Sum256([]byte(values.Encode()))
	return hex.EncodeToString(sum[:8])
}

func (p *Handler) showEdit(w http.ResponseWriter, r *http.Request, u user) error {
	product, err := u.catalog().Product(r.Context(), u.Tenant.ID, pathID(r))
	if err != nil {
		return err
	}
	values := productValues(product, u)
	values.Set("version", versionOf(values))
	values.Set("request", rand.Text())
	page := editPage{form: form{values, fieldErrors{}}, Product: product}
	return p.showEditWith(w, r, u, http.StatusOK, page)
}

// showEditWith reads the choices of references unless the page has them.
func (p *Handler) showEditWith(w http.ResponseWriter, r *http.Request, u user, status int, page editPage) error {
	if page.References == nil {
		if err := page.readReferences(r.Context(), u); err != nil {
			return err
		}
	}
	page.MaxImages = catalog.MaxImages
	return p.show(w, status, "product-edit", u, page)
}

// showNewProduct shows the form for a new product.
func (p *Handler) showNewProduct(w http.ResponseWriter, r *http.Request, u user) error {
	values := url.Values{"request": {rand.Text()}, "status": {"active"}}
	return p.showEditWith(w, r, u, http.StatusOK, editPage{form: form{values, fieldErrors{}}})
}

// createProduct stores a new product, once for a form that is sent twice.
func (p *Handler) createProduct(w http.ResponseWriter, r *http.Request, u user) error {
	page := editPage{form: submitted(r)}
	if err := page.readReferences(r.Context(), u); err != nil {
		return err
	}
	empty := productValues(catalog.Product{}, u)
	empty.Set("price", "") // 0 is a price
	empty.Set("sku", "")
	empty.Set("quantity", "")
	empty.Set("warehouse", "")
	for field := range empty {
		page.Set(field, page.canonical(field, strings.TrimSpace(page.Get(field))))
	}
	for _, field := range []string{"sku", "name", "price"} {
		if page.Get(field) == "" {
			page.Errors[field] = u.T(fieldTexts[field])
		}
	}
	changes, fields := page.changes(u, empty)
	if len(page.Errors) == 0 {
		err := p.once(w, r, u, page.form, func(u user) (string, error) {
			product, err := u.catalog().Create(r.Context(), u.member(), changes, nil)
			if err != nil {
				return "", err
			}
			entry := tenants.Entry{Action: "product.create", Target: product.SKU, Details: map[string]any{"fields": fields}}
			err = u.db.Run(r.Context(), u.Tenant.ID, func(b *pgx.Batch) {
				tenants.QueueAudit(b, u.Tenant.ID, p.by(r, u), entry)
			})
			return u.path("/products/" + strconv.FormatInt(product.ID, 10)), err
		})
		if err == nil {
			return nil
		}
		if err := page.addProblems(u, err); err != nil {
			return err
		}
	}
	return p.showEditWith(w, r, u, http.StatusUnprocessableEntity, page)
}

// editProduct changes the fields of the form that are not as the product has them.
func (p *Handler) editProduct(w http.ResponseWriter, r *http.Request, u user) error {
	page := editPage{form: submitted(r)}
	page.Product.ID = pathID(r)
	if err := page.readReferences(r.Context(), u); err != nil {
		return err
	}
	err := p.once(w, r, u, page.form, func(u user) (string, error) {
		err := page.save(r.Context(), u, pathID(r), p.by(r, u))
		if errors.Is(err, catalog.ErrPrecondition) { // it has changed since save read it, so its version is another one
			err = page.save(r.Context(), u, pathID(r), p.by(r, u))
		}
		return u.path("/products/" + strconv.FormatInt(page.Product.ID, 10)), err
	})
	if err == nil {
		return nil
	}
	if !errors.Is(err, errRefused) {
		if err := page.addProblems(u, err); err != nil {
			return err
		}
	}
	return p.showEditWith(w, r, u, http.StatusUnprocessableEntity, page)
}

// newFields are fields that forms of earlier releases lack. They keep their values then.
var newFields = []string{"category", "seller", "description"}

// save changes a product and records it in the audit log. It returns errRefused with errors in the form, also if someone
// else has changed the product since the form was shown.
func (p *editPage) save(ctx context.Context, u user, id int64, by tenancy.Actor) (err error) {
	if p.Product, err = u.catalog().Product(ctx, u.Tenant.ID, id); err != nil {
		return err
	}
	stored := productValues(p.Product, u)
	for field := range stored {
		if !p.Has(field) && slices.Contains(newFields, field) {
			p.Set(field, stored.Get(field))
		}
		p.Set(field, p.canonical(field, strings.TrimSpace(p.Get(field))))
	}
	version := versionOf(stored)
	changes, fields := p.changes(u, stored)
	switch {
	case len(p.Errors) > 0:
		return errRefused
	case len(fields) == 0:
		return nil
	case p.Get("version") != version:
		p.Stored = stored
		p.Errors[""] = u.T("Someone has changed this product since you opened the page. " +
			"Compare the values below and save again.")
		p.Set("version", version)
		return errRefused
	}
	_, err = u.catalog().Patch(ctx, u.member(), id, func(now catalog.Product) error {
		if versionOf(productValues(now, u)) != version {
			return catalog.ErrPrecondition
		}
		return nil
	}, changes, nil)
	if err != nil {
		return err
	}
	return u.db.Run(ctx, u.Tenant.ID, func(b *pgx.Batch) {
		tenants.QueueAudit(b, u.Tenant.ID, by, tenants.Entry{
			Action: "product.change", Target: p.Product.SKU, Details: map[string]any{"fields": fields},
		})
	})
}

// changes returns the fields that the form changes, and their names.
func (p editPage) changes(u user, stored url.Values) (c catalog.Changes, fields []string) {
	for field := range stored {
		if p.Get(field) != p.canonical(field, stored.Get(field)) {
			fields = append(fields, field)
		}
	}
	slices.Sort(fields)
	for _, field := range fields {
		text := p.Get(field)
		problem := false
		switch field {
		case "name":
			c.Name = catalog.Value(text)
		case "status":
			c.Status = catalog.Value(text)
		case "price":
			c.Price, problem = amountField(text)
			problem = problem || text == ""
		case "cost":
			c.Cost, problem = amountField(text)
		case "reorder_point":
			if c.ReorderPoint = (catalog.Field[int64]{Set: true, Null: text == ""}); text != "" {
				n, err := strconv.ParseInt(text, 10, 64)
				c.ReorderPoint.Value, problem = n, err != nil
			}
		case "upc":
			c.UPC = catalog.Field[string]{Set: true, Null: text == "", Value: text}
		case "bin_location":
			c.BinLocation = catalog.Field[string]{Set: true, Null: text == "", Value: text}
		case "tags":
			c.Tags = catalog.Value(splitTags(text, p.Product.Tags...))
			if p.hasUnclearTags() {
				p.Errors[field] = u.T("These tags cannot be told apart here, because some have commas. " +
					"The API or an import can change them.")
			}
		case "description":
			c.Description = catalog.Field[string]{Set: true, Null: text == "", Value: text}
		case "category":
			c.CategoryID, problem = referenceField(text)
		case "seller":
			c.SellerID, problem = referenceField(text)
		case "sku":
			c.SKU = catalog.Value(text)
		case "warehouse":
			c.WarehouseID, problem = referenceField(text)
		case "quantity":
			n, err := strconv.ParseInt(text, 10, 64)
			c.Quantity, problem = catalog.Value(n), err != nil
		}
		if problem {
			p.Errors[field] = u.T(cmp.Or(fieldTexts[field], invalidOption))
		}
	}
	return c, fields
}

// referenceField reads the id of a reference. An empty text is none.
func referenceField(text string) (f catalog.Field[int64], problem bool) {
	if text == "" {
		return catalog.Field[int64]{Set: true, Null: true}, false
	}
	id, err := strconv.ParseInt(text, 10, 64)
	return catalog.Value(id), err != nil
}

// canonical returns a value as productValues writes it, so that 5 and 5.00 are the same price. It returns invalid ones
// unchanged.
func (p editPage) canonical(field, text string) string {
	switch field {
	case "price", "cost":
		if amount, problem := amountField(text); !problem && !amount.Null {
			return amount.Value.String()
		}
	case "reorder_point":
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return strconv.FormatInt(n, 10)
		}
	case "tags":
		if !p.hasUnclearTags() {
			return strings.Join(splitTags(text, p.Product.Tags...), ", ")
		}
	case "description": // browsers send other ends of lines
		return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	}
	return text
}

// hasUnclearTags reports whether the form cannot tell the stored tags apart: a, b and "a, b".
func (p editPage) hasUnclearTags() bool {
	return !slices.Equal(splitTags(strings.Join(p.Product.Tags, ", "), p.Product.Tags...), p.Product.Tags)
}

// splitTags returns the tags of a text that separates them with commas. A stored tag that has commas itself stays one.
func splitTags(text string, stored ...string) []string {
	tags, words := []string{}, splitCommas(text)
	for len(words) > 0 {
		tag, used := words[0], 1
		for _, s := range stored {
			if of := splitCommas(s); len(of) > used && len(of) <= len(words) && slices.Equal(of, words[:len(of)]) {
				tag, used = s, len(of)
			}
		}
		if words = words[used:]; tag != "" && !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// splitCommas returns what is between the commas of a text.
func splitCommas(text string) []string {
	words := strings.Split(text, ",")
	for i, word := range words {
		words[i] = strings.TrimSpace(word)
	}
	return words
}

// amountField reads an amount as people write it: with a point or a comma before one or two digits. An empty text is no
// amount. It refuses 1.500, which is 1500 in some languages.
func amountField(text string) (f catalog.Field[money.Cents], problem bool) {
	if text == "" {
		return catalog.Field[money.Cents]{Set: true, Null: true}, false
	}
	whole, fraction, found := strings.Cut(text, ",")
	if found && (len(fraction) == 1 || len(fraction) == 2) && !strings.Contains(whole, ".") {
		text = whole + "." + fraction
	}
	_, fraction, _ = strings.Cut(text, ".")
	cents, err := money.ParseText(text)
	return catalog.Value(cents), err != nil || len(fraction) > 2
}
