package reports

import "time"

// Presets are the names that Preset accepts.
var Presets = []string{
	"today", "yesterday", "last_7_days", "last_30_days", "last_90_days",
	"this_month", "last_month", "this_quarter", "this_year", "last_year",
}

// Periods are the names of which pages offer a choice, the most common ones first. Preset accepts them too. Weeks begin
// on Monday.
var Periods = []string{
	"today", "this_week", "this_month", "last_month", "this_quarter", "last_quarter", "this_year",
	"yesterday", "last_week", "last_year", "last_7_days", "last_30_days", "last_90_days",
}

// Preset returns the named range of days, seen from today. The last days include today, and a month,
// quarter or year that has not ended ends today.
func Preset(name string, today time.Time) Range {
	month := firstOfMonth(today)
	monday := today.AddDate(0, 0, -(int(today.Weekday())+6)%7)
	quarter := month.AddDate(0, -(int(month.Month())-1)%3, 0)
	year := time.Date(today.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
	switch name {
	case "yesterday":
		yesterday := today.AddDate(0, 0, -1)
		return Range{yesterday, yesterday}
	case "last_7_days":
		return Range{today.AddDate(0, 0, -6), today}
	case "last_30_days":
		return Range{today.AddDate(0, 0, -29), today}
	case "last_90_days":
		return Range{today.AddDate(0, 0, -89), today}
	case "this_month":
		return Range{month, today}
	case "last_month":
		return Range{month.AddDate(0, -1, 0), month.AddDate(0, 0, -1)}
	case "this_quarter":
		return Range{quarter, today}
	case "last_quarter":
		return Range{quarter.AddDate(0, -3, 0), quarter.AddDate(0, 0, -1)}
	case "this_week":
		return Range{monday, today}
	case "last_week":
		return Range{monday.AddDate(0, 0, -7), monday.AddDate(0, 0, -1)}
	case "this_year":
		return Range{year, today}
	case "last_year":
		return Range{year.AddDate(-1, 0, 0), year.AddDate(0, 0, -1)}
	}
	return Range{today, today}
}
