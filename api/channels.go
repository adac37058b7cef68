package api

import (
	"net/http"

	"github.com/storeroom/storeroom/reports/sales"
)

// channelJSON is a channel in a response.
type channelJSON struct {
	Identifier string    `json:"identifier"`
	Label      string    `json:"label"`
	CreatedAt  timestamp `json:"created_at"`
	UpdatedAt  timestamp `json:"updated_at"`
	TakesStock bool      `json:"takes_stock"`
	WhenShort  string    `json:"when_short"`
	Warehouse  *named    `json:"warehouse"` // null is that of each product
}

func channelShape(c sales.Channel) channelJSON {
	return channelJSON{
		c.Identifier, c.Label, timestamp(c.CreatedAt), timestamp(c.UpdatedAt),
		c.TakesStock, c.WhenShort, optionalNamed(c.WarehouseID, c.WarehouseName),
	}
}

// listChannels handles GET /api/channels.
func (s *Server) listChannels(w http.ResponseWriter, r *http.Request) error {
	q := readQuery(r)
	page := q.page()
	if err := q.err(); err != nil {
		return err
	}
	channels, err := s.sales(r).Channels(r.Context(), tenant(r), page)
	if err != nil {
		return err
	}
	return writePage(w, r, page, channels, channelShape)
}

// showChannel handles GET /api/channels/{identifier}.
func (s *Server) showChannel(w http.ResponseWriter, r *http.Request, identifier string) error {
	c, err := s.sales(r).Channel(r.Context(), tenant(r), identifier)
	if err != nil {
		return err
	}
	return writeData(w, http.StatusOK, channelShape(c))
}

// createChannel handles POST /api/channels.
func (s *Server) createChannel(w http.ResponseWriter, r *http.Request) error {
	body, err := readBody(r)
	if err != nil {
		return err
	}
	sent := sales.Channel{Identifier: required(body, "identifier", parseText), Label: required(body, "label", parseText)}
	stock := body.channelUpdate()
	if stock.TakesStock != nil {
		sent.TakesStock = *stock.TakesStock
	}
	if stock.WhenShort != nil {
		sent.WhenShort = *stock.WhenShort
	}
	if stock.WarehouseID != nil && *stock.WarehouseID != 0 {
		sent.WarehouseID = stock.WarehouseID
	}
	body.ignore("created_at", "updated_at")
	body.rejectUnknown()
	c, err := s.sales(r).CreateChannel(r.Context(), tenant(r), sent, body.errs)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/api/channels/"+c.Identifier)
	return writeData(w, http.StatusCreated, channelShape(c))
}

// channelUpdate takes the settings of a channel that concern stock.
func (o *object) channelUpdate() sales.ChannelUpdate {
	u := sales.ChannelUpdate{
		TakesStock: notNull(o, "takes_stock", parseBool),
		WhenShort:  notNull(o, "when_short", parseOneOf(sales.Refuse, sales.Accept)),
	}
	warehouse := o.reference("warehouse")
	if warehouse.Set {
		u.WarehouseID = new(warehouse.Value) // 0 if it is null
	}
	if warehouse.Set && !warehouse.Null && warehouse.Value < 1 {
		o.addError("warehouse_id", "does not exist")
	}
	return u
}

// notNull takes an optional field that must not be null.
func notNull[T any](o *object, name string, parse parser[T]) *T {
	f := field(o, name, parse)
	switch {
	case f.Null:
		o.addError(name, "must not be null")
		return nil
	case !f.Set:
		return nil
	}
	return &f.Value
}

// updateChannel handles PATCH /api/channels/{identifier}. The body may contain the
// identifier, but cannot change it, because orders refer to it.
func (s *Server) updateChannel(w http.ResponseWriter, r *http.Request, identifier string) error {
	body, err := readBody(r)
	if err != nil {
		return err
	}
	update := body.channelUpdate()
	update.Label = notNull(body, "label", parseText)
	if sent := body.text("identifier"); sent.Set && sent.Value != identifier {
		body.addError("identifier", "cannot be changed")
	}
	body.ignore("created_at", "updated_at")
	body.rejectUnknown()
	c, err := s.sales(r).UpdateChannel(r.Context(), tenant(r), identifier, update, body.errs)
	if err != nil {
		return err
	}
	return writeData(w, http.StatusOK, channelShape(c))
}

// deleteChannel handles DELETE /api/channels/{identifier}.
func (s *Server) deleteChannel(w http.ResponseWriter, r *http.Request, identifier string) error {
	if err := s.sales(r).DeleteChannel(r.Context(), tenant(r), identifier); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
