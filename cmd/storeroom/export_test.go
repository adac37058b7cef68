package main

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExportWritesAnArchive(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	var acme tenantJSON
	p.mustRun(t, &acme, "tenant", "create", "--slug", "acme", "--name", "Acme")
	p.mustRun(t, &importJSON{}, "import", "--tenant", "acme", "../../reports/testdata/shop")
	dir := t.TempDir()
	path := filepath.Join(dir, "acme.zip")
	if err := os.WriteFile(path, []byte("the file of yesterday"), 0o644); err != nil {
		t.Fatal(err)
	}
	var result exported
	p.mustRun(t, &result, "export", "--tenant", "acme", path)
	if result.Tenant != "acme" || len(result.Files) != 13 || result.Files[10].Name != "orders.csv" || result.Files[10].Rows != 14 {
		t.Errorf("export = %+v", result)
	}
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v, %v", info.Mode(), err)
	}
	streamed := p.run(t, "export", "--tenant", "acme", "-")
	if streamed.code != 0 || !strings.Contains(joinColumns(streamed.stderr), "orders.csv 14") {
		t.Errorf("export to standard output = %d, %s", streamed.code, streamed.stderr)
	}
	for name, file := range map[string][]byte{"file": written, "standard output": []byte(streamed.stdout)} {
		if z, err := zip.NewReader(bytes.NewReader(file), int64(len(file))); err != nil || len(z.File) != 14 {
			t.Errorf("the archive in the %s: %v", name, err)
		}
	}

	p.mustRun(t, &tenantJSON{}, "tenant", "create", "--slug", "rome", "--name", "Rome", "--timezone", "Europe/Rome")
	const note = "note: the archive is of a tenant in the time zone UTC: the days of reports differ (1 row)\n"
	for _, args := range [][]string{{"--dry-run", path}, {path}} {
		o := p.run(t, append([]string{"import", "--tenant", "rome"}, args...)...)
		if o.code != 0 || !strings.Contains(o.stderr, note) {
			t.Errorf("import %q = %d %q, want %q", args, o.code, o.stderr, note)
		}
	}

	// A picture that the storage does not have, and then a storage that fails.
	super := p.MustSuperAt(t, acme.ID)
	for _, statement := range []string{
		`select set_config('app.tenant_id', id::text, false) from tenants where slug = 'acme'`,
		`insert into old_media (tenant_id, file) select id, repeat('A', 26) || '.jpg' from tenants where slug = 'acme'`,
		`insert into unused_media (tenant_id, due, file) select tenant_id, now(), file from old_media`,
	} {
		if _, err := super.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := super.Exec(t.Context(), `
		update products set images = '[{"id":1,"position":1,"file":"AAAAAAAAAAAAAAAAAAAAAAAAAA.jpg","bytes":1}]'
		 where id = (select min(id) from products)`); err != nil {
		t.Fatal(err)
	}
	const missing = "1 picture is not in STOREROOM_MEDIA_URL and not in the archive"
	if o := p.run(t, "export", "--tenant", "acme", path); o.code != 2 || !strings.Contains(o.stderr, missing) {
		t.Errorf("without a picture: %+v, want %s", o, missing)
	}
	complete, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, want string
		p          program
		args       []string
	}{
		{"a storage that fails", "the media storage failed", p.with("STOREROOM_MEDIA_URL=file://" + path), []string{path}},
		{"a folder", "FILE: " + dir + " exists and is not a regular file", p, []string{dir}},
		{"no such folder", "FILE: ", p, []string{filepath.Join(dir, "absent", "acme.zip")}},
		{"two files", "expected one argument: FILE", p, []string{path, path}},
		{"no file", "expected one argument: FILE", p, nil},
	} {
		o := c.p.run(t, append([]string{"export", "--tenant", "acme"}, c.args...)...)
		if o.code != 1 || !strings.Contains(o.stderr, c.want) {
			t.Errorf("%s: %d, %q, want 1 and %q", c.name, o.code, o.stderr, c.want)
		}
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(after, complete) {
		t.Errorf("a failed export changed the file: %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("the folder has %v, want acme.zip alone", entries)
	}
}
