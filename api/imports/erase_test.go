package imports_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/paging"
)

func (j jobs) mustCustomer(t *testing.T, id, name, email string) {
	t.Helper()
	c := sales.Customer{ID: id, Name: &name, Email: &email}
	if _, err := sales.New(j.DB).EnsureCustomers(t.Context(), j.tenant.ID, []sales.Customer{c}); err != nil {
		t.Fatal(err)
	}
}

// refused returns the file of the refused rows of an import.
func (j jobs) refused(t *testing.T, id int64) string {
	t.Helper()
	var file bytes.Buffer
	if err := j.WriteRefused(t.Context(), j.tenant.ID, j.mustGet(t, id), &file); err != nil {
		t.Fatal(err)
	}
	return file.String()
}

func (j jobs) mustCount(t *testing.T, query string) (n int) {
	t.Helper()
	if err := j.MustSuperAt(t, j.tenant.ID).QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// The customer is erased at once, even if its plans are not. The names for them are kept until they are erased too, and
// a former name in a later plan is erased from an earlier one.
func TestAnErasureContinuesLater(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	j.mustCustomer(t, "C-9", "Zorro Quibble", "zorro@example.com")
	first := j.mustImport(t, imports.Settings{}, "customers.csv", "id,name,email\n,Zorro Quibble,\n,Zorro Last,\n,Zorro Former,\n,Kim,\n").ID
	second := j.mustImport(t, imports.Settings{}, "customers.csv", "id,name,email\nC-9,Zorro Former,zorro@example.com\n").ID
	j.mustCustomer(t, "C-9", "Zorro Last", "zorro@example.com")
	busy, err := j.Create(t.Context(), j.tenant, tenancy.Operator, form(t, imports.Settings{}, "customers.csv", "id,name\n1,x\n"))
	if err == nil {
		err = j.worker.Claim(t.Context(), j.tenant.ID, busy, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	erase := func() (done bool) {
		t.Helper()
		done, err := imports.EraseCustomer(t.Context(), j.DB, j.tenant.ID, tenancy.Operator, "C-9", 100*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	for range 2 {
		if erase() {
			t.Error("an erasure is done while an import has the worker of the tenant")
		}
		c, err := sales.New(j.DB).Customer(t.Context(), j.tenant.ID, "C-9")
		if err != nil || c.Name != nil || c.Email != nil || c.ErasedAt == nil {
			t.Errorf("the customer is %+v, %v, want erased", c, err)
		}
	}
	if n := j.mustCount(t, `select count(*) from change_plans where kind = 'erasure'`); n != 1 {
		t.Errorf("two calls made %d plans, want 1", n)
	}
	if j.mustGet(t, busy).State != changeplan.Planning || !strings.Contains(j.refused(t, first), "Zorro Quibble") {
		t.Error("an erasure that waits has changed imports")
	}
	if err := j.worker.Release(t.Context(), j.tenant.ID, busy); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	workers := make(chan struct{})
	go func() {
		j.worker.Worker().Run(ctx, slog.New(slog.DiscardHandler))
		close(workers)
	}()
	for end := time.Now().Add(time.Minute); j.mustCount(t, `select count(*) from change_plans where kind = 'erasure' and state = 'planned'`) == 0; {
		if time.Now().After(end) {
			t.Fatal("no worker continues the erasure")
		}
		time.Sleep(20 * time.Millisecond)
	}
	stop()
	<-workers
	if got := j.refused(t, first); strings.Contains(got, "Zorro") || !strings.Contains(got, "Kim") {
		t.Errorf("the rows of the first import are %s", got)
	}
	rows, err := j.Rows(t.Context(), j.tenant.ID, second, changeplan.RowFilter{Page: paging.Page{Number: 1, PerPage: 100}})
	if err != nil || strings.Contains(fmt.Sprintf("%+v", rows), "Zorro") {
		t.Errorf("the rows of the second import are %+v, %v", rows, err)
	}
	if n := j.mustCount(t, `select count(*) from change_plan_files where name = 'erase.json'`); n != 0 {
		t.Error("the names are still stored")
	}
}

// An erasure that takes longer than its turn continues with the next plan, not from the start.
func TestAnErasureLetsOthersGoFirst(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	j.mustCustomer(t, "C-9", "Zorro Quibble", "zorro@example.com")
	var plans []int64
	for range 3 {
		i := j.mustImport(t, imports.Settings{}, "customers.csv", "id,name,email\n,Zorro Quibble,\nC-9,Zorro Former,\n,Zorro Former,\n")
		if err := j.Apply(t.Context(), j.tenant.ID, tenancy.Operator, i.ID, false); err != nil {
			t.Fatal(err)
		}
		plans = append(plans, j.mustWork(t, i.ID).ID)
	}
	done, err := imports.EraseCustomer(t.Context(), j.DB, j.tenant.ID, tenancy.Operator, "C-9", 0)
	if err != nil || done {
		t.Fatalf("an erasure without a time is done: %t, %v", done, err)
	}
	worker := changeplan.New(j.DB, map[string]changeplan.Kind{imports.EraseKind: imports.Erasure(j.DB, 0)})
	id := int64(j.mustCount(t, `select id from change_plans where kind = 'erasure'`))
	turns := 0
	for err = changeplan.ErrPaused; errors.Is(err, changeplan.ErrPaused) && turns < 20; turns++ {
		if err := worker.Claim(t.Context(), j.tenant.ID, id, nil); err != nil {
			t.Fatal(err)
		}
		err = worker.Work(t.Context(), j.tenant.ID, id, nil)
	}
	// Two passes over three plans, because the first one finds a former name; the last turn finds no further plan.
	if err != nil || turns < 4 || turns > 9 {
		t.Errorf("the erasure took %d turns, %v", turns, err)
	}
	for _, id := range plans {
		if got := j.refused(t, id); strings.Contains(got, "Zorro") {
			t.Errorf("the refused rows of the import %d are %s", id, got)
		}
	}
}

// A name that is part of another name or of a message is not the customer.
func TestAnErasureTouchesNoRowsOfOthers(t *testing.T) {
	t.Parallel()
	for _, of := range []struct{ name, email, file, want string }{
		{"Ed", "ed@example.com",
			",Ed,x@example.com\n,Eduard,ed@example.org\n,Fred,fred@example.com\n,Kim,reed.ed@example.com\n,Kim,ed@example.com.au\nC-2,Ed,none\n",
			",,x@example.com,id is required\n,Eduard,ed@example.org,id is required\n,Fred,fred@example.com,id is required\n" +
				",Kim,reed.ed@example.com,id is required\n,Kim,ed@example.com.au,id is required\nC-2,Ed,none,email must be an e-mail address\n"},
		{"Ann Lee", "ann@example.com",
			",Ann Leeson,\n,Joann Lee,\n,ann  LEE,x@example.com\n,for Ann Lee,\n,Ann Lee-Kim,\n,Kim,ann@example.com\n,Lee,\n",
			",Ann Leeson,,id is required\n,Joann Lee,,id is required\n,,x@example.com,id is required\n,,,id is required\n" +
				",Ann Lee-Kim,,id is required\n,Kim,,id is required\n,Lee,,id is required\n"},
		{"is", "required@example.com", ",Kim,\n,is,\n", ",Kim,,id is required\n,,,id is not valid\n"},
		{"A", "a@example.com", ",Kim,a@example.com.\n,A B,\n,A,\n", ",Kim,,id is required\n,A B,,id is required\n,,,id is required\n"},
	} {
		t.Run(of.name, func(t *testing.T) {
			t.Parallel()
			j := newJobs(t)
			j.mustCustomer(t, "C-9", of.name, of.email)
			j.mustCustomer(t, "C-2", "Ed", "ed@example.com")
			i := j.mustImport(t, imports.Settings{}, "customers.csv", "id,name,email\n"+of.file)
			done, err := imports.EraseCustomer(t.Context(), j.DB, j.tenant.ID, tenancy.Operator, "C-9", time.Minute)
			if err != nil || !done {
				t.Fatalf("EraseCustomer = %t, %v", done, err)
			}
			if got, want := j.refused(t, i.ID), "id,name,email,reason\n"+of.want; got != want {
				t.Errorf("after the erasure of %s the refused rows are\n%s\nwant\n%s", of.name, got, want)
			}
		})
	}
}
