package tenancy

import (
	"fmt"
	"sync"
	"time"
	_ "time/tzdata" // time zones must not depend on the machine
)

var zones sync.Map // of *time.Location by name

// LoadZone is time.LoadLocation with a cache: time.LoadLocation reads a file each time.
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

// DayOf returns the calendar day of a time in a time zone, as midnight in UTC. If the
// clocks go back over midnight, the repeated hour belongs to the new day, so that days
// have no gaps and do not overlap.
func DayOf(at time.Time, zone *time.Location) time.Time {
	year, month, date := at.In(zone).Date()
	day := time.Date(year, month, date, 0, 0, 0, 0, time.UTC)
	if next := day.AddDate(0, 0, 1); !at.Before(StartOfDay(next, zone)) {
		return next
	}
	return day
}

// StartOfDay returns the first moment of a calendar day in a time zone. If a clock change
// skips midnight, the day begins at the change; if midnight occurs twice, it begins at
// the first.
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

// MomentOf returns the moment at which the clocks in a time zone show a local time, which is given as a time in UTC like
// a day. If they skip it, that is the next time that they show; if they show it twice, the first.
func MomentOf(local time.Time, zone *time.Location) time.Time {
	day := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, time.UTC)
	begin, next := StartOfDay(day, zone), StartOfDay(day.AddDate(0, 0, 1), zone)
	for begin.Before(next) {
		_, offset := begin.In(zone).Zone()
		at := local.Add(-time.Duration(offset) * time.Second)
		if at.Before(begin) {
			at = begin // the clocks show a later time
		}
		_, change := begin.In(zone).ZoneBounds()
		if change.IsZero() || change.After(next) {
			change = next
		}
		if at.Before(change) {
			return at
		}
		begin = change
	}
	return next
}
