package db

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// rowPlan maps the columns of a row to the fields of a struct by name, like pgx.RowToStructByName. pgx would make a
// plan for each query: 27 of the 219 allocations for a product by its id.
type rowPlan struct {
	columns []pgconn.FieldDescription
	fields  [][]int // as in reflect.StructField
	scans   []pgtype.ScanPlan
}

// rowPlansKey is the key of the plans of a connection in its data. Each type of row has one plan.
const rowPlansKey = "row plans"

// rowPlanOf returns the plan for rows of a type. It makes a new one if the columns are not those of the last query.
func rowPlanOf(conn *pgx.Conn, columns []pgconn.FieldDescription, row reflect.Type) (*rowPlan, error) {
	data := conn.PgConn().CustomData()
	plans, _ := data[rowPlansKey].(map[reflect.Type]*rowPlan)
	if plans == nil {
		plans = map[reflect.Type]*rowPlan{}
		data[rowPlansKey] = plans
	}
	if p := plans[row]; p != nil && slices.EqualFunc(p.columns, columns, sameColumn) {
		return p, nil
	}
	fields := slices.DeleteFunc(reflect.VisibleFields(row), func(f reflect.StructField) bool {
		return f.Anonymous || !f.IsExported() || f.Tag.Get("db") == "-"
	})
	if len(fields) != len(columns) {
		return nil, fmt.Errorf("%v has %d fields for %d columns", row, len(fields), len(columns))
	}
	p := &rowPlan{columns: slices.Clone(columns)}
	for _, c := range columns {
		name := strings.ReplaceAll(c.Name, "_", "")
		i := slices.IndexFunc(fields, func(f reflect.StructField) bool { return strings.EqualFold(f.Name, name) })
		if i < 0 {
			return nil, fmt.Errorf("%q has no field for the column %q", row, c.Name)
		}
		p.fields = append(p.fields, fields[i].Index)
		target := reflect.New(fields[i].Type).Interface()
		p.scans = append(p.scans, conn.TypeMap().PlanScan(c.DataTypeOID, c.Format, target))
	}
	plans[row] = p
	return p, nil
}

func sameColumn(a, b pgconn.FieldDescription) bool {
	return a.Name == b.Name && a.DataTypeOID == b.DataTypeOID && a.Format == b.Format
}

// readEach reads each row into the one that next returns, and then calls f with its size.
func readEach[T any](rows pgx.Rows, next func() *T, f func(size int) error) error {
	defer rows.Close()
	var plan *rowPlan
	for rows.Next() {
		if plan == nil {
			var err error
			if plan, err = rowPlanOf(rows.Conn(), rows.FieldDescriptions(), reflect.TypeFor[T]()); err != nil {
				return err
			}
		}
		values, size := rows.RawValues(), 0
		for _, value := range values {
			size += len(value)
		}
		if err := plan.read(values, reflect.ValueOf(next()).Elem()); err != nil {
			return err
		}
		if err := f(size); err != nil {
			return err
		}
	}
	return rows.Err()
}

// read reads the values of a row into the struct.
func (p *rowPlan) read(values [][]byte, row reflect.Value) error {
	for i, field := range p.fields {
		if err := p.scans[i].Scan(values[i], row.FieldByIndex(field).Addr().Interface()); err != nil {
			return fmt.Errorf("read the column %q: %w", p.columns[i].Name, err)
		}
	}
	return nil
}

// Distinct returns values sorted and without duplicates, for a parameter that is an array.
func Distinct[T cmp.Ordered](values []T) []T {
	values = slices.Clone(values)
	slices.Sort(values)
	return slices.Compact(values)
}
