package api

import (
	"net/http"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

type meJSON struct {
	Tenant    tenantJSON `json:"tenant"`
	Key       keyJSON    `json:"key"`
	RateLimit rateLimit  `json:"rate_limit"`
	Quotas    quotasJSON `json:"quotas"`
}

type quotasJSON struct {
	Storage quotaJSON `json:"storage"`
	Records quotaJSON `json:"records"`
}

type quotaJSON struct {
	Used  int64  `json:"used"`
	Limit *int64 `json:"limit"` // null if there is none
}

type tenantJSON struct {
	ID       tenancy.ID   `json:"id"`
	Name     string       `json:"name"`
	Plan     tenants.Plan `json:"plan"`
	Timezone string       `json:"timezone"`
	Currency string       `json:"currency"`
}

type keyJSON struct {
	ID          int64            `json:"id"`
	Name        string           `json:"name"`
	Permissions keys.Permissions `json:"permissions"`
	ExpiresAt   *timestamp       `json:"expires_at"`
}

// me handles GET /api/me: the tenant and the key of the request, the rate limit and the quotas.
func (s *Server) me(w http.ResponseWriter, r *http.Request) error {
	if err := readQuery(r).err(); err != nil {
		return err
	}
	p := principal(r)
	quota, err := tenants.ReadQuota(r.Context(), stateOf(r).db, p.Tenant.ID)
	if err != nil {
		return err
	}
	return writeData(w, http.StatusOK, meJSON{
		Tenant:    tenantJSON{p.Tenant.ID, p.Tenant.Name, p.Tenant.Plan, p.Tenant.Timezone, p.Tenant.Currency},
		Key:       keyJSON{p.KeyID, p.KeyName, p.Permissions, (*timestamp)(p.ExpiresAt)},
		RateLimit: stateOf(r).limit,
		Quotas: quotasJSON{
			Storage: quotaJSON{quota.Storage, quota.StorageLimit}, Records: quotaJSON{quota.Records, quota.RecordsLimit},
		},
	})
}
