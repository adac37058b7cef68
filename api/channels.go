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
}

func channelShape(c sales.Channel) channelJSON {
	return channelJSON{c.Identifier, c.Label, timestamp(c.CreatedAt), timestamp(c.UpdatedAt)}
}

// listChannels handles GET /api/channels.
func (s *Server) listChannels(w http.ResponseWriter, r *http.Request) error {
	q := readQuery(r)
	page := q.page()
	if err := q.err(); err != nil {
		return err
	}
	channels, err := s.Sales.Channels(r.Context(), tenant(r), page)
	if err != nil {
		return err
	}
	return writePage(w, r, page, channels, channelShape)
}

// showChannel handles GET /api/channels/{identifier}.
func (s *Server) showChannel(w http.ResponseWriter, r *http.Request, identifier string) error {
	c, err := s.Sales.Channel(r.Context(), tenant(r), identifier)
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
	body.ignore("created_at", "updated_at")
	body.rejectUnknown()
	c, err := s.Sales.CreateChannel(r.Context(), tenant(r), sent, body.errs)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/api/channels/"+c.Identifier)
	return writeData(w, http.StatusCreated, channelShape(c))
}

// relabelChannel handles PATCH /api/channels/{identifier}. The body may contain the
// identifier, but cannot change it, because orders refer to it.
func (s *Server) relabelChannel(w http.ResponseWriter, r *http.Request, identifier string) error {
	body, err := readBody(r)
	if err != nil {
		return err
	}
	label := body.text("label")
	if label.Null {
		body.addError("label", "must not be null")
	}
	if sent := body.text("identifier"); sent.Set && sent.Value != identifier {
		body.addError("identifier", "cannot be changed")
	}
	body.ignore("created_at", "updated_at")
	body.rejectUnknown()
	var text *string
	if label.Set {
		text = &label.Value
	}
	c, err := s.Sales.RelabelChannel(r.Context(), tenant(r), identifier, text, body.errs)
	if err != nil {
		return err
	}
	return writeData(w, http.StatusOK, channelShape(c))
}

// deleteChannel handles DELETE /api/channels/{identifier}.
func (s *Server) deleteChannel(w http.ResponseWriter, r *http.Request, identifier string) error {
	if err := s.Sales.DeleteChannel(r.Context(), tenant(r), identifier); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
