package api

import (
	"net/http"

	"github.com/storeroom/storeroom/api/archive"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// exportArchive handles GET /api/archive.
func (s *Server) exportArchive(w http.ResponseWriter, r *http.Request) error {
	return s.sendArchive(w, r, stateOf(r).db, principal(r).Tenant, s.keyActor(r))
}

// sendArchive sends everything that a tenant owns. The rows are read ahead, so that a slow client holds no connection.
// The pictures wait for the client, because they could fill the disk.
func (s *Server) sendArchive(
	w http.ResponseWriter, r *http.Request, d *db.DB, tenant tenants.Tenant, by tenancy.Actor,
) error {
	writer := archive.New(tenant, archive.Options{DB: d, Pictures: s.Media, By: by})
	file := &download{w: w, timeout: s.limits.readerTimeout, contentType: zipType, name: writer.Name()}
	if r.Method == http.MethodHead {
		file.start()
		return nil
	}
	return file.readAhead(r, writer.WriteRows, writer.WritePictures)
}
