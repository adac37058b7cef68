package api

import (
	"cmp"
	"context"
	"io"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/export"
)

// workbooksPerTenant bounds the XLSX files that are made for a tenant at a time
// on an instance; they count as exports too.
const workbooksPerTenant = 1

var errTooManyWorkbooks = &apiError{code: ServiceUnavailable, message: "An XLSX export of this account is running; wait until it has ended, or ask for csv."}

const csvFormat, xlsxFormat = "csv", "xlsx"

// reportFile is a report that was asked for as a file.
type reportFile struct {
	reports.Range
	// sheets reads the report, or makes sheets that read it as they are written. A
	// CSV file is the first of them.
	sheets func(ctx context.Context, format string) ([]export.Sheet, error)
}

// reportFiles are the reports that can be exported, by the {type} of the path.
var reportFiles = map[string]func(*Server, *http.Request, *query) (reportFile, error){
	"sales-summary": (*Server).summaryFile,
	"products":      (*Server).productsFile,
	"channels":      (*Server).channelsFile,
	"customers":     (*Server).customersFile,
}

func (s *Server) summaryFile(r *http.Request, q *query) (reportFile, error) {
	asked, err := q.summary(r)
	t := principal(r).Tenant
	return reportFile{asked.Range, func(ctx context.Context, format string) ([]export.Sheet, error) {
		got, err := s.Reports.Summary(ctx, t, asked)
		if format == csvFormat {
			return []export.Sheet{export.Days(got)}, err
		}
		return export.Summary(got, asked, t.Currency), err
	}}, err
}

func (s *Server) productsFile(r *http.Request, q *query) (reportFile, error) {
	asked, err := q.products(r)
	t := principal(r).Tenant
	return reportFile{asked.Range, func(ctx context.Context, _ string) ([]export.Sheet, error) {
		return []export.Sheet{export.Products(func(write func(reports.ProductSums) error) error {
			return s.Reports.WalkProducts(ctx, t, asked, write)
		})}, nil
	}}, err
}

func (s *Server) channelsFile(r *http.Request, q *query) (reportFile, error) {
	asked, err := q.channels(r)
	t := principal(r).Tenant
	return reportFile{asked.Range, func(ctx context.Context, _ string) ([]export.Sheet, error) {
		got, err := s.Reports.Channels(ctx, t, asked)
		return []export.Sheet{export.Channels(got)}, err
	}}, err
}

func (s *Server) customersFile(r *http.Request, q *query) (reportFile, error) {
	asked, err := q.customers(r)
	t, named := principal(r).Tenant, canReadCustomers(r)
	return reportFile{asked.Range, func(ctx context.Context, _ string) ([]export.Sheet, error) {
		return []export.Sheet{export.Customers(func(write func(reports.CustomerSums) error) error {
			return s.Reports.WalkCustomers(ctx, t, asked, write)
		}, named)}, nil
	}}, err
}

// exportReport answers GET /api/reports/export/{type}.
func (s *Server) exportReport(w http.ResponseWriter, r *http.Request) error {
	kind := chi.URLParam(r, "type")
	read, known := reportFiles[kind]
	if !known {
		return &apiError{code: NotFound}
	}
	q := readQuery(r)
	format := cmp.Or(q.oneOf("format", csvFormat, xlsxFormat), csvFormat)
	report, err := read(s, r, q)
	if err != nil {
		return err
	}
	if err := q.err(); err != nil {
		return err
	}
	days := periodShape(report.Range)
	file := &download{w: w, timeout: s.limits.readerTimeout, contentType: "text/csv; charset=utf-8; header=present", name: kind + "_" + days.From + "_" + days.To + "." + format}
	if format == xlsxFormat {
		file.contentType = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	}
	if r.Method == http.MethodHead {
		file.start()
		return nil
	}
	return s.sendReport(r, file, report, format)
}

func (s *Server) sendReport(r *http.Request, file *download, report reportFile, format string) error {
	id := tenant(r)
	if !s.exports.acquire(id) {
		return errTooManyExports
	}
	defer s.exports.release(id)
	if format == xlsxFormat {
		if !s.workbooks.acquire(id) {
			return errTooManyWorkbooks
		}
		defer s.workbooks.release(id)
	}
	sheets, err := report.sheets(r.Context(), format)
	if err != nil {
		return err
	}
	if format == csvFormat {
		return file.stream(stateOf(r), func(to io.Writer) error { return export.CSV(to, sheets[0]) })
	}
	book, err := export.XLSX(sheets...)
	if err != nil {
		return err
	}
	defer book.Close()
	file.size = book.Size
	return file.stream(stateOf(r), func(to io.Writer) error {
		_, err := io.Copy(to, book)
		return err
	})
}
