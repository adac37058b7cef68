package tenancy

import (
	"fmt"
	"sync"
	"time"
)

var zones sync.Map // of *time.Location by name

// LoadZone is time.LoadLocation, which reads a file each time, with a memory.
func LoadZone(name string) (*time.Location, error) {
	if zone, known := zones.Load(name); known {
		return zone.(*time.Location), nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("time zone %q: %w", name, err)
	}
	zones.Store(name, zone)
	return zone, nil
}

// DayOf is the calendar day of a moment in a time zone, as midnight in UTC. Where
// clocks go back over midnight, what the calendar shows twice belongs to the day
// that has begun: days follow each other without a gap or an overlap.
func DayOf(at time.Time, zone *time.Location) time.Time {
	year, month, date := at.In(zone).Date()
	day := time.Date(year, month, date, 0, 0, 0, 0, time.UTC)
	if next := day.AddDate(0, 0, 1); !at.Before(StartOfDay(next, zone)) {
		return next
	}
	return day
}

// StartOfDay is the first moment of a calendar day in a time zone, also where the
// clocks change at midnight: where midnight is skipped the day begins at the
// change, where it happens twice it begins at the first.
func StartOfDay(day time.Time, zone *time.Location) time.Time {
	at := time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, zone)
	begin, end := at.ZoneBounds()
	if at.Day() != day.Day() {
		return end
	}
	if begin.IsZero() {
		return at
	}
	_, before := begin.Add(-1).Zone()
	_, after := at.Zone()
	if first := at.Add(time.Duration(after-before) * time.Second); before > after && first.Before(begin) {
		return first
	}
	return at
}
