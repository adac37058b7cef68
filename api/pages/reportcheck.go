package pages

import (
	"net/http"
	"slices"
	"time"

	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/tenancy"
)

// figuresCheck says whether the figures of all reports agree with the orders.
type figuresCheck struct {
	rangeForm
	Format    formatter
	Kinds     []reportLink
	Rows      []checkedFigure
	Differing int // rows that do not agree
	Cancelled reports.Sums
	IsEmpty   bool
}

// checkedFigure is a figure from the orders, with what reports say instead.
type checkedFigure struct {
	Name, Label, Value, Unit string
	Differences              []string
	Calculation              string // the path of its calculation, or empty
}

// showCheck compares each figure of a period as it is added up from the orders with what each report says.
func (p *Handler) showCheck(w http.ResponseWriter, r *http.Request, u user) error {
	f := u.Format
	form, selected := readRange(r, f, tenancy.DayOf(time.Now(), f.zone))
	form.Compare, form.Channel, form.Running, form.IsAlone = "", "", false, true
	page := figuresCheck{rangeForm: form, Format: f, Kinds: reportLinks(form, nil, "check")}
	if len(form.Errors) > 0 {
		return p.show(w, http.StatusOK, "report-check", u, page)
	}
	result, err := p.Reports.On(u.db).Reconcile(r.Context(), *u.Tenant, selected)
	if err != nil {
		return err
	}
	summary, err := p.Reports.On(u.db).Summary(r.Context(), *u.Tenant, reports.SummaryQuery{Range: selected, Explain: true})
	if err != nil {
		return err
	}
	for _, left := range summary.Explain.LeftOut {
		if left.Reason == "cancelled" {
			page.Cancelled = left.Sums
		}
	}
	page.IsEmpty = summary.Total.Empty() && page.Cancelled.Empty() && result.Balanced
	explained := map[string]bool{}
	for _, t := range tiles(reports.Summary{Total: summary.Total, Previous: &reports.Summary{}}, f) {
		explained[t.Name] = true
	}
	for _, figure := range result.Figures {
		row := newCheckedFigure(figure, f)
		if explained[figure.Figure] {
			row.Calculation = "reports/sales?" + form.days().Encode() + "#calculation-" + figure.Figure
		}
		if len(row.Differences) > 0 {
			page.Differing++
		}
		page.Rows = append(page.Rows, row)
	}
	// What differs comes first.
	slices.SortStableFunc(page.Rows, func(a, b checkedFigure) int { return min(1, len(b.Differences)) - min(1, len(a.Differences)) })
	return p.show(w, http.StatusOK, "report-check", u, page)
}

// newCheckedFigure compares a figure from the orders with each other way to add it up.
func newCheckedFigure(figure reports.ReconciledFigure, f formatter) checkedFigure {
	row := checkedFigure{Name: figure.Figure, Label: f.Column(columnName(figure.Figure)), Value: f.valueText(figure.Facts, figure.Unit)}
	if figure.Unit == reports.Money {
		row.Unit = f.Currency
	}
	compare := func(where string, got *reports.Figure, want reports.Figure) {
		if got != nil && *got != want {
			row.Differences = append(row.Differences,
				f.T("%s: %s instead of %s.", where, f.valueText(*got, figure.Unit), f.valueText(want, figure.Unit)))
		}
	}
	compare(f.T("In total"), &figure.Summary, figure.Facts)
	compare(f.T("By shop"), figure.Channels, figure.Facts)
	compare(f.T("By day"), figure.Days, figure.Facts)
	compare(f.T("By product"), figure.Products, figure.Facts)
	compare(f.T("On pages of products"), figure.ProductPages, figure.Facts)
	compare(f.T("By category"), figure.Categories, figure.Facts)
	compare(f.T("By category and shop"), figure.CategoryChannels, figure.Facts)
	compare(f.T("By seller"), figure.Sellers, figure.Facts)
	compare(f.T("By seller and shop"), figure.SellerChannels, figure.Facts)
	if g := figure.Groups; g != nil {
		compare(f.T("By product"), &g.Products.Stored, g.Products.Facts)
		compare(f.T("By category"), &g.Categories.Stored, g.Categories.Facts)
		compare(f.T("By category and shop"), &g.Categories.StoredByChannel, g.Categories.Facts)
		compare(f.T("By seller"), &g.Sellers.Stored, g.Sellers.Facts)
		compare(f.T("By seller and shop"), &g.Sellers.StoredByChannel, g.Sellers.Facts)
	}
	return row
}
