package pages

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/export"
	"github.com/storeroom/storeroom/tenancy/people"
)

// noGroup is the name that the API gives items without a category or a seller.
const noGroup = "None"

// downloadReport returns the handler of a file with all rows of a report. CSV has the names of the API, XLSX those of the
// person's language. An invalid period leads back to the page, which has a message.
func (p *Handler) downloadReport(kind *reportKind, format string) handler {
	send := func(w http.ResponseWriter, r *http.Request, u user) error {
		page, err := p.newReport(r, u, kind, false)
		if err != nil {
			return err
		}
		if len(page.Errors) > 0 {
			redirect(w, r, u.path("/reports/"+kind.Name+"?"+r.Form.Encode()))
			return nil
		}
		sheet, err := page.sheet(r.Context(), p, u, format)
		if err != nil {
			return err
		}
		if kind.Name == "customers" && u.Can(people.DownloadNames) {
			if err := p.logExport(r, u, "report of customers."+format, "channel", "from", "to", "period"); err != nil {
				return err
			}
		}
		columns, what := u.leftOut(page.list())
		name := fmt.Sprintf("%s_%s_%s", kind.Name, page.Range.From.Format(time.DateOnly), page.Range.To.Format(time.DateOnly))
		if what != "" {
			name += "_without" + what
		}
		return p.SendReport(w, r, name, format, func(ctx context.Context) export.Sheet {
			if s := sheet(ctx).Without(columns...); format == "csv" {
				return s
			} else {
				return s.Named(u.Format.Column).Titled(u.T(kind.Title))
			}
		})
	}
	if kind.Name == "customers" {
		return p.withRecentPassword(people.DownloadNames, send)
	}
	return send
}

// sheet runs the report, or returns a sheet that runs it while it is written.
func (p *reportPage) sheet(
	ctx context.Context, h *Handler, u user, format string,
) (func(context.Context) export.Sheet, error) {
	store := h.Reports.On(u.db)
	read := func(s export.Sheet) func(context.Context) export.Sheet {
		return func(context.Context) export.Sheet { return s }
	}
	switch p.Name {
	case "sales":
		summary, err := store.Summary(ctx, *u.Tenant, p.summaryQuery())
		if format == "csv" && p.By == "day" {
			return read(export.Days(summary)), err
		}
		return read(export.Periods(summary, p.By)), err
	case "products":
		return func(ctx context.Context) export.Sheet {
			return export.Products(func(write func(reports.ProductSums) error) error {
				return store.WalkProducts(ctx, *u.Tenant, p.productsQuery(), write)
			})
		}, nil
	case "customers":
		return func(ctx context.Context) export.Sheet {
			return export.Customers(func(write func(reports.CustomerSums) error) error {
				return store.WalkCustomers(ctx, *u.Tenant, p.customersQuery(), func(c reports.CustomerSums) error {
					c = u.buyer(c)
					c.CustomerID = *u.inFile(&c.CustomerID)
					return write(c)
				})
			}, true)
		}, nil
	case "shops":
		channels, err := store.Channels(ctx, *u.Tenant, p.channelsQuery())
		return read(export.Channels(channels)), err
	}
	by := map[string]string{"categories": "category", "sellers": "seller", "custom": p.groupBy()}[p.Name]
	custom, err := store.Custom(ctx, *u.Tenant, p.customQuery(by))
	none := noGroup
	if format == "xlsx" {
		none = p.noGroupText(by)
	}
	return read(export.Groups(custom, by, p.fileFigures(), none)), err
}

// fileFigures returns the columns of the figures, and those that say what has no known cost.
func (p *reportPage) fileFigures() (columns []reports.Column) {
	for _, name := range p.Metrics {
		column, _ := reportFigure(name)
		columns = append(columns, column)
	}
	if p.usesCost() {
		for _, name := range []string{"units_without_cost", "revenue_without_cost", "costed_percent"} {
			column, _ := reportFigure(name)
			columns = append(columns, column)
		}
	}
	return columns
}

// noGroupText names the items without a category or a seller.
func (p *reportPage) noGroupText(by string) string {
	if by == "seller" {
		return p.Format.T("Without a seller")
	}
	return p.Format.T("Without a category")
}
