package api

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/export"
)

const csvFormat, xlsxFormat, ndjsonFormat = "csv", "xlsx", "ndjson"

var contentTypes = map[string]string{
	csvFormat:    "text/csv; charset=utf-8; header=present",
	xlsxFormat:   "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	ndjsonFormat: "application/x-ndjson",
}

// reportFile is a report as a file.
type reportFile struct {
	reports.Range
	// sheets runs the report, or returns sheets that run it while they are written. A
	// CSV file has the first sheet alone.
	sheets func(ctx context.Context, format string) ([]export.Sheet, error)
}

// reportFiles are the reports that can be exported, by the {type} of the path.
var reportFiles = map[string]func(*Server, *http.Request, *query) (reportFile, error){
	"sales-summary": (*Server).summaryFile,
	"products":      (*Server).productsFile,
	"channels":      (*Server).channelsFile,
	"customers":     (*Server).customersFile,
}

func (s *Server) summaryFile(r *http.Request, params *query) (reportFile, error) {
	q, err := params.summary(r)
	t := principal(r).Tenant
	return reportFile{q.Range, func(ctx context.Context, format string) ([]export.Sheet, error) {
		summary, err := s.reports(r).Summary(ctx, t, q)
		if format == csvFormat {
			return []export.Sheet{export.Days(summary)}, err
		}
		return export.Summary(summary, t.Currency), err
	}}, err
}

func (s *Server) productsFile(r *http.Request, params *query) (reportFile, error) {
	q, err := params.products(r)
	t := principal(r).Tenant
	return reportFile{q.Range, func(ctx context.Context, _ string) ([]export.Sheet, error) {
		return []export.Sheet{export.Products(func(write func(reports.ProductSums) error) error {
			return s.reports(r).WalkProducts(ctx, t, q, write)
		})}, nil
	}}, err
}

func (s *Server) channelsFile(r *http.Request, params *query) (reportFile, error) {
	q, err := params.channels(r)
	t := principal(r).Tenant
	return reportFile{q.Range, func(ctx context.Context, _ string) ([]export.Sheet, error) {
		channels, err := s.reports(r).Channels(ctx, t, q)
		return []export.Sheet{export.Channels(channels)}, err
	}}, err
}

func (s *Server) customersFile(r *http.Request, params *query) (reportFile, error) {
	q, err := params.customers(r)
	t, withNames := principal(r).Tenant, canReadCustomers(r)
	return reportFile{q.Range, func(ctx context.Context, _ string) ([]export.Sheet, error) {
		return []export.Sheet{export.Customers(func(write func(reports.CustomerSums) error) error {
			return s.reports(r).WalkCustomers(ctx, t, q, write)
		}, withNames)}, nil
	}}, err
}

// exportReport handles GET /api/reports/export/{type}.
func (s *Server) exportReport(w http.ResponseWriter, r *http.Request) error {
	name := chi.URLParam(r, "type")
	read, ok := reportFiles[name]
	if !ok {
		return &apiError{code: NotFound}
	}
	params := readQuery(r)
	format := cmp.Or(params.oneOf("format", csvFormat, xlsxFormat), csvFormat)
	report, err := read(s, r, params)
	if err != nil {
		return err
	}
	if err := params.err(); err != nil {
		return err
	}
	if name == "customers" && canReadCustomers(r) {
		if err := s.logExport(r, "report of customers."+format); err != nil {
			return err
		}
	}
	file := s.newDownload(w, fmt.Sprintf("%s_%s_%s", name,
		report.From.Format(time.DateOnly), report.To.Format(time.DateOnly)), format)
	if r.Method == http.MethodHead {
		file.start()
		return nil
	}
	return sendReport(r, file, report, format)
}

func sendReport(r *http.Request, file *download, report reportFile, format string) error {
	if format == csvFormat {
		return file.readAhead(r, func(ctx context.Context, to io.Writer) error {
			sheets, err := report.sheets(ctx, format)
			if err != nil {
				return err
			}
			return export.CSV(to, sheets[0])
		})
	}
	return sendWorkbook(r, file, func(ctx context.Context) ([]export.Sheet, error) { return report.sheets(ctx, format) })
}

func sendWorkbook(
	r *http.Request, file *download, sheets func(context.Context) ([]export.Sheet, error),
) error {
	workbook, err := export.Workbook(r.Context(), sheets)
	if err != nil {
		return err
	}
	defer workbook.Close()
	file.size = workbook.Size()
	return file.stream(stateOf(r), func(to io.Writer) error {
		_, err := io.Copy(to, workbook.Reader())
		return err
	})
}
