package textfill

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// scripts are letters that searches keep. The names are those of Unicode.
var scripts = map[string]string{
	"Latin letters other than a to z": "øłı", "Greek": "λαδι", "Cyrillic": "лампа", "Hebrew": "מנורה", "Arabic": "مصباح",
	"Devanagari": "दीपक", "Thai": "โคมไฟ", "Han": "红色雨伞", "Hiragana": "ひかり", "Katakana": "ランプ", "Hangul": "우산",
}

// Unindexed returns the scripts whose letters PostgreSQL does not count as letters in the locale of the database. The
// index has no trigrams of them, so a search for words of these letters reads all texts of the tenant.
func Unindexed(ctx context.Context, conn *pgx.Conn) ([]string, error) {
	names, samples := []string{}, []string{}
	for name, sample := range scripts {
		names, samples = append(names, name), append(samples, sample)
	}
	rows, err := conn.Query(ctx, `
		select s.name
		  from unnest($1::text[], $2::text[]) s (name, sample)
		 where cardinality(show_trgm(s.sample)) = 0
		 order by s.name`, names, samples)
	if err != nil {
		return nil, fmt.Errorf("find scripts without an index: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
