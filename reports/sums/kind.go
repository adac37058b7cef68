package sums

import "strconv"

// RollupKind is the column kind of sales_rollups: the groups that a row sums up,
// and the meaning of its key.
type RollupKind int16

// The kinds of rollups.
const (
	ByDay      RollupKind = 1 // day and channel; the key is 0
	ByCategory RollupKind = 2 // day, channel and category; the key is 0 for items without one
	BySeller   RollupKind = 3 // day, channel and seller; the key is 0 for items without one
	ByProduct  RollupKind = 4 // month and sold product; the channel is ''
)

// RollupKinds lists all kinds.
var RollupKinds = []RollupKind{ByDay, ByCategory, BySeller, ByProduct}

// SQL returns the kind as an SQL literal.
func (k RollupKind) SQL() string { return strconv.Itoa(int(k)) }
