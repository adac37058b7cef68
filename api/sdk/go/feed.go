package storeroom

import (
	"context"
	"iter"
	"strings"
)

// Feed follows the changes of the tenant. It is used by one goroutine at a time.
type Feed struct {
	client *Client
	cursor string
	types  string
}

// FollowChanges returns the changes after a cursor: that of an earlier Feed, "" for the oldest change, or "now" for those
// that follow. Without types it has all types that the key may read.
func (c *Client) FollowChanges(cursor string, types ...ChangeType) *Feed {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = string(t)
	}
	return &Feed{client: c, cursor: cursor, types: strings.Join(names, ",")}
}

// Cursor returns the position after the last change that All has yielded. Store it with what you made of the change. A
// new Feed with this cursor continues there, also in another process.
func (f *Feed) Cursor() string { return f.cursor }

// All yields changes, and waits for new ones until the context ends. After an error it can be called again, and
// continues. The error is ErrCursorExpired if changes after the cursor are no longer kept.
func (f *Feed) All(ctx context.Context) iter.Seq2[*Change, error] {
	return func(yield func(*Change, error) bool) {
		for {
			page, err := f.client.ListChanges(ctx, ListChangesParams{After: f.cursor, Types: f.types, Wait: 25})
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range page.Data {
				f.cursor = page.Data[i].Seq
				if !yield(&page.Data[i], nil) {
					return
				}
			}
			f.cursor = page.Meta.NextCursor
		}
	}
}
