package pages

import (
	"context"
	"fmt"
	"html/template"
	"image/color"
	"net/http"
	"strconv"
	"strings"

	"github.com/boombuler/barcode"
	"github.com/boombuler/barcode/code128"
	"github.com/boombuler/barcode/ean"

	"github.com/storeroom/storeroom/catalog"
)

// maxLabels limits the labels of a page, and maxCopies those of a product.
const maxLabels, maxCopies = 2000, 100

// labelsPage has labels to print.
type labelsPage struct {
	selection
	Labels  []label
	Copies  int
	Repeats []struct{} // one for each copy
	Error   string
}

// label is the label of a product.
type label struct {
	catalog.Product
	Bars template.HTML // "" if the text has no barcode
	Text string        // what the bars mean
}

// showLabels shows labels of the chosen products, which the browser prints.
func (p *Handler) showLabels(w http.ResponseWriter, r *http.Request, u user) (err error) {
	page := labelsPage{Copies: 1}
	if page.selection, err = u.readSelection(r); err != nil {
		return err
	}
	if text := r.FormValue("copies"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxCopies {
			page.Error = u.T("Choose 1 to %s copies.", u.Format.Rows(maxCopies))
			return p.show(w, http.StatusUnprocessableEntity, "labels", u, page)
		}
		page.Copies = n
	}
	if page.Total > maxChosen || page.Total*int64(page.Copies) > maxLabels {
		page.Error = u.T("Choose at most %[2]s products and %[3]s labels: these are %[1]d products.", page.Total,
			u.Format.Rows(maxChosen), u.Format.Rows(maxLabels))
		return p.show(w, http.StatusUnprocessableEntity, "labels", u, page)
	}
	page.Repeats = make([]struct{}, page.Copies)
	err = u.eachChosen(r.Context(), page.selection, func(product catalog.Product) {
		page.Labels = append(page.Labels, labelOf(product))
	})
	if err != nil {
		return err
	}
	return p.show(w, http.StatusOK, "labels", u, page)
}

// eachChosen calls f with the chosen products.
func (u user) eachChosen(ctx context.Context, s selection, f func(catalog.Product)) error {
	if s.IsAll {
		return u.catalog().Walk(ctx, u.Tenant.ID, s.Filter, func(product catalog.Product) error {
			f(product)
			return nil
		})
	}
	products, err := u.catalog().ProductsByID(ctx, u.Tenant.ID, s.IDs)
	for _, product := range products {
		f(product)
	}
	return err
}

// labelOf returns the label of a product, with its barcode or, if it has none, its SKU.
func labelOf(p catalog.Product) label {
	l := label{Product: p, Text: p.SKU}
	if p.UPC != nil {
		l.Text = *p.UPC
	}
	if code, err := encodeBarcode(l.Text); err == nil {
		l.Bars = drawBars(code)
	}
	return l
}

// encodeBarcode returns an EAN if the text is one, or a UPC, which is an EAN with a zero in front, otherwise Code 128.
func encodeBarcode(text string) (barcode.Barcode, error) {
	number := text
	if len(number) == 12 {
		number = "0" + number
	}
	if len(number) == 8 || len(number) == 13 { // the encoder would add a digit to 7 and 12
		if code, err := ean.Encode(number); err == nil {
			return code, nil
		}
	}
	return code128.Encode(text)
}

// maxModules is the width of the widest barcode that scanners read on a label, in widths of the thinnest bar.
const maxModules = 350

// drawBars returns a barcode as SVG, with the space beside the bars that scanners need. It returns "" for one that is too
// wide.
func drawBars(code barcode.Barcode) template.HTML {
	const space, height = 11, 40
	width := code.Bounds().Dx()
	if width > maxModules {
		return ""
	}
	var bars strings.Builder
	for x := 0; x < width; {
		end := x
		for end < width && isBlack(code.At(end, 0)) {
			end++
		}
		if end > x {
			fmt.Fprintf(&bars, "M%d 0h%dv%dh-%dz", x+space, end-x, height, end-x)
		}
		x = max(end, x+1)
	}
	return template.HTML(fmt.Sprintf(
		`<svg class="bars" viewBox="0 0 %d %d" preserveAspectRatio="none" aria-hidden="true"><path d="%s"/></svg>`,
		width+2*space, height, bars.String()))
}

func isBlack(c color.Color) bool {
	r, _, _, _ := c.RGBA()
	return r == 0
}
