package db

import (
	"context"
	"testing"

	"gorm.io/gorm"

	"breakwater/proxy/control"
)

func batchOf(n int, from int64) []control.Activity {
	rows := make([]control.Activity, n)
	for i := range rows {
		rows[i] = sampleActivity(from + int64(i))
	}
	return rows
}

// BenchmarkActivityRow is the cost of one row in a full batch; GORM's own way
// is measured beside it.
func BenchmarkActivityRow(b *testing.B) {
	ways := map[string]func(*Store, []control.Activity) error{
		"ours": func(s *Store, rows []control.Activity) error {
			_, err := s.writer.log.insert(context.Background(), rows)
			return err
		},
		"gorm": func(s *Store, rows []control.Activity) error {
			list := make([]activityRow, len(rows))
			for i, a := range rows {
				trace, err := traceJSON(&a)
				if err != nil {
					return err
				}
				list[i] = activityRow{ID: a.ID, Timestamp: millis{a.At}, Result: a.Result, Tried: triedList(&a), Trace: trace}
			}
			return s.write.Transaction(func(tx *gorm.DB) error { return tx.CreateInBatches(list, batchRows).Error })
		},
	}
	for name, way := range ways {
		b.Run(name, func(b *testing.B) {
			s := open(b, b.TempDir())
			b.ReportAllocs()
			for id := int64(1); int(id) <= b.N; id += batchRows {
				if err := way(s, batchOf(batchRows, id)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAppend is what a request pays for its row.
func BenchmarkAppend(b *testing.B) {
	s := open(b, b.TempDir())
	a := plainActivity(0)
	for b.Loop() {
		a.ID++
		s.AppendActivity(a)
	}
}

func BenchmarkSaveConnection(b *testing.B) {
	s := open(b, b.TempDir())
	for b.Loop() {
		save(b, s, "a")
	}
}

func BenchmarkOpenClose(b *testing.B) {
	dir := b.TempDir()
	s := open(b, dir)
	for from := int64(1); from < 10_000; from += batchRows {
		if _, err := s.writer.log.insert(context.Background(), batchOf(batchRows, from)); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := Open(context.Background(), testOptions(dir))
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
