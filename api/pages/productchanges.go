package pages

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/money"
)

const (
	// maxSettled is the number of rows up to which a page computes, applies or undoes a plan itself, for at most
	// settleTime. Larger plans run in the background.
	maxSettled = 1000
	settleTime = 5 * time.Second
	// maxTitle is the length of the title of a plan in characters.
	maxTitle = 200
)

// changePage is the page that changes several products.
type changePage struct {
	form
	selection
	Category referenceChoice
}

// The fields of the page have other names than the filters of the list, which are hidden fields of the form.
var changeFields = []string{
	"price_how", "price", "rounding", "new_status", "add_tags", "remove_tags", "reorder_how", "reorder_point", "category_how",
	"new_category",
}

// roundings are the values of the field rounding.
var roundings = map[string]catalog.Rounding{
	"": {}, "0.05": {Step: 5}, "0.10": {Step: 10}, "0.50": {Step: 50}, "1.00": {Step: 1_00},
	".99": {Step: 1_00, Below: 1}, ".95": {Step: 1_00, Below: 5}, ".90": {Step: 1_00, Below: 10},
}

// showChange shows the form that changes the chosen products.
func (p *Handler) showChange(w http.ResponseWriter, r *http.Request, u user) error {
	page := changePage{form: form{url.Values{"request": {rand.Text()}}, fieldErrors{}}}
	return p.showChangeWith(w, r, u, http.StatusOK, page)
}

func (p *Handler) showChangeWith(w http.ResponseWriter, r *http.Request, u user, status int, page changePage) (err error) {
	if page.Query == nil {
		if page.selection, err = u.readSelection(r); err != nil {
			return err
		}
		if err = page.chooseCategory(r.Context(), u); err != nil {
			return err
		}
	}
	return p.show(w, status, "product-change", u, page)
}

// chooseCategory reads the category that products get.
func (p *changePage) chooseCategory(ctx context.Context, u user) error {
	all, err := u.chooseReferences(ctx, p.Values, []productReference{{name: "new_category", kind: catalog.Categories}}, true)
	if err == nil {
		p.Category = all[0]
	}
	return err
}

// planChange stores what the form would change as a plan, and shows it.
func (p *Handler) planChange(w http.ResponseWriter, r *http.Request, u user) (err error) {
	page := changePage{form: submitted(r)}
	if page.selection, err = u.readSelection(r); err != nil {
		return err
	}
	if err = page.chooseCategory(r.Context(), u); err != nil {
		return err
	}
	change, parts := page.change(u)
	if page.Total == 0 {
		page.Errors[""] = u.T("No products are chosen. Go back to the list and choose some.")
	}
	if len(page.Errors) == 0 {
		if err := page.check(r.Context(), u, change); err != nil {
			return err
		}
	}
	if len(page.Errors) > 0 {
		return p.showChangeWith(w, r, u, http.StatusUnprocessableEntity, page)
	}
	title := strings.Join(parts, "; ") + " (" + u.Format.english().T("%d products", page.Total) + ")"
	if characters := []rune(title); len(characters) > maxTitle {
		title = string(characters[:maxTitle-1]) + "…"
	}
	var id int64
	to, err := u.once(r, page.form, func(u user) (string, error) {
		changes := imports.NewChanges(p.Plans.On(u.db))
		if page.IsAll {
			id, err = changes.Create(r.Context(), u.Tenant.ID, p.by(r, u), title, page.Filter, change)
		} else {
			id, err = changes.CreateChosen(r.Context(), u.Tenant.ID, p.by(r, u), title, page.IDs, change)
		}
		return u.path("/plans/" + strconv.FormatInt(id, 10)), err
	})
	if limit, isLimit := errors.AsType[changeplan.LimitError](err); isLimit {
		page.Errors[""] = u.Format.Sentence(limit.Error())
		return p.showChangeWith(w, r, u, http.StatusConflict, page)
	}
	if err != nil {
		return err
	}
	if id != 0 {
		if err := p.plans().settle(r.Context(), u, id, page.Total); err != nil {
			return err
		}
	}
	redirect(w, r, to)
	return nil
}

// settle carries out the work on a small plan.
func (k planKind) settle(ctx context.Context, u user, id, rows int64) error {
	if rows > maxSettled {
		return nil
	}
	_, err := k.stored(u).Settle(ctx, u.Tenant.ID, id, settleTime)
	return err
}

// change returns the change of the form and its parts in English words. It adds the errors of fields.
func (p *changePage) change(u user) (c catalog.Change, parts []string) {
	stored := u.Format.english() // everybody reads the title
	say := func(text string, values ...any) { parts = append(parts, stored.T(text, values...)) }
	p.changePrice(u, &c, say)
	if status := p.Get("new_status"); status != "" {
		c.Set.Status = catalog.Value(status)
		say(mark("Status: %s"), stored.Word(status))
	}
	if c.AddTags = splitTags(p.Get("add_tags")); len(c.AddTags) > 0 {
		say(mark("Tags added: %s"), strings.Join(c.AddTags, ", "))
	}
	if c.RemoveTags = splitTags(p.Get("remove_tags")); len(c.RemoveTags) > 0 {
		say(mark("Tags removed: %s"), strings.Join(c.RemoveTags, ", "))
	}
	if slices.ContainsFunc(c.AddTags, func(tag string) bool { return slices.Contains(c.RemoveTags, tag) }) {
		p.Errors["remove_tags"] = u.T("The same tag is added and removed.")
	}
	switch point := strings.TrimSpace(p.Get("reorder_point")); p.Get("reorder_how") {
	case "set":
		n, err := strconv.ParseInt(point, 10, 64)
		if err != nil {
			p.Errors["reorder_point"] = u.T(fieldTexts["reorder_point"])
		}
		c.Set.ReorderPoint = catalog.Value(n)
		say(mark("Reorder at %s"), stored.Count(n))
	case "none":
		c.Set.ReorderPoint = catalog.Field[int64]{Set: true, Null: true}
		say(mark("No reorder point"))
	default:
		if point != "" {
			p.Errors["reorder_how"] = u.T("Choose what the value is for.")
		}
	}
	p.changeCategory(u, &c, say)
	if len(parts) == 0 && len(p.Errors) == 0 {
		p.Errors[""] = u.T("Fill in what should change.")
	}
	return c, parts
}

func (p *changePage) changePrice(u user, c *catalog.Change, say func(string, ...any)) {
	how, text := p.Get("price_how"), strings.TrimSpace(p.Get("price"))
	var known bool
	if c.Rounding, known = roundings[p.Get("rounding")]; !known {
		p.Errors["rounding"] = u.T(invalidOption)
	}
	amount, problem := amountField(strings.TrimSpace(strings.TrimSuffix(text, "%")))
	problem = problem || amount.Null
	value := amount.Value
	switch how {
	case "":
		if text != "" {
			p.Errors["price_how"] = u.T("Choose what the value is for.")
		}
		problem = false
	case "more_percent", "less_percent":
		problem = problem || value <= 0 || value > 1000_00 || how == "less_percent" && value >= 100_00
		if problem {
			p.Errors["price"] = u.T("Enter a percentage such as 5 or 2.5, at most 1,000, or less than 100 to lower prices.")
			return
		}
		c.PricePercent = int64(value)
		if how == "less_percent" {
			c.PricePercent = -c.PricePercent
		}
		say(mark("Price %s %%"), u.Format.english().SignedMoney(money.Cents(c.PricePercent)))
	case "more", "less":
		problem = problem || value <= 0
		c.PriceAmount = value
		if how == "less" {
			c.PriceAmount = -value
		}
		say(mark("Price %s"), u.Format.english().SignedMoney(c.PriceAmount))
	case "set":
		c.Set.Price = amount
		say(mark("Price: %s"), u.Format.english().Money(value))
		if c.Rounding != (catalog.Rounding{}) {
			p.Errors["rounding"] = u.T("A price that you set is not rounded.")
		}
	case "round":
		problem = text != ""
		if problem {
			p.Errors["price"] = u.T("Leave this empty to round prices only.")
			return
		}
		if c.Rounding == (catalog.Rounding{}) {
			p.Errors["rounding"] = u.T("Choose how prices are rounded.")
		}
	default:
		p.Errors["price_how"] = u.T(invalidOption)
	}
	if problem {
		p.Errors["price"] = u.T(fieldTexts["price"])
	}
	switch isRounded := c.Rounding != (catalog.Rounding{}); {
	case isRounded && how == "":
		p.Errors["price_how"] = u.T("Choose how the price changes, or that prices are only rounded.")
	case isRounded && c.Rounding.Below != 0:
		say(mark("Prices end in %s"), u.Format.english().Ending(c.Rounding))
	case isRounded:
		say(mark("Prices rounded to %s"), u.Format.english().Money(c.Rounding.Step))
	}
}

func (p *changePage) changeCategory(u user, c *catalog.Change, say func(string, ...any)) {
	chosen := p.Category
	if chosen.Error != "" {
		p.Errors["new_category"] = chosen.Error
	}
	switch p.Get("category_how") {
	case "set":
		if chosen.ID == 0 && chosen.Error == "" {
			p.Errors["new_category"] = u.T("Choose a category.")
		}
		c.Set.CategoryID = catalog.Value(chosen.ID)
		say(mark("Category: %s"), chosen.NameOf())
	case "none":
		c.Set.CategoryID = catalog.Field[int64]{Set: true, Null: true}
		say(mark("No category"))
	default:
		if chosen.ID != 0 {
			p.Errors["category_how"] = u.T("Choose what the value is for.")
		}
	}
}

// changedFields are the fields of the page by those of catalog.Changes.
var changedFields = map[string]string{
	"price": "price", "status": "new_status", "reorder_point": "reorder_point", "category_id": "new_category",
}

// check adds the errors that the catalog finds.
func (p *changePage) check(ctx context.Context, u user, c catalog.Change) error {
	for field, tags := range map[string][]string{"add_tags": c.AddTags, "remove_tags": c.RemoveTags} {
		if len(tags) > catalog.MaxTags || slices.ContainsFunc(tags, func(tag string) bool {
			_, problem := tenancy.Label(tag, 64)
			return problem != ""
		}) {
			p.Errors[field] = u.T(fieldTexts["tags"])
		}
	}
	err := u.catalog().CheckChange(ctx, u.Tenant.ID, c)
	invalid, isInvalid := errors.AsType[tenancy.InvalidError](err)
	if !isInvalid {
		return err
	}
	for field := range invalid {
		p.Errors[changedFields[field]] = u.T(cmp.Or(fieldTexts[field], invalidOption))
	}
	return nil
}

// SignedMoney formats an amount or hundredths of a percent with its sign.
func (f formatter) SignedMoney(c money.Cents) string {
	if c > 0 {
		return "+" + f.Money(c)
	}
	return f.Money(c)
}

// Ending returns how prices end that are rounded so.
func (f formatter) Ending(r catalog.Rounding) string {
	return strings.TrimLeft(f.Money(r.Step-r.Below), "0")
}
