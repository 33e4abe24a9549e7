package db

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// slowQuery is the time above which a statement is worth a line in the log.
const slowQuery = time.Second

// gormLog hands GORM's messages to slog. Errors of statements are the callers'
// to report, so that they show at debug level only, and without values.
type gormLog struct{ log *slog.Logger }

// LogMode keeps the level: slog has its own.
func (l gormLog) LogMode(logger.LogLevel) logger.Interface { return l }

// Info passes a message on.
func (l gormLog) Info(ctx context.Context, msg string, args ...any) {
	l.log.DebugContext(ctx, "gorm", "message", fmt.Sprintf(msg, args...))
}

// Warn passes a message on.
func (l gormLog) Warn(ctx context.Context, msg string, args ...any) {
	l.log.WarnContext(ctx, "gorm", "message", fmt.Sprintf(msg, args...))
}

// Error passes a message on.
func (l gormLog) Error(ctx context.Context, msg string, args ...any) {
	l.log.ErrorContext(ctx, "gorm", "message", fmt.Sprintf(msg, args...))
}

// Trace tells of slow statements and, at debug level, of failed ones; a row
// that was not found is no failure.
func (l gormLog) Trace(ctx context.Context, begin time.Time, stmt func() (string, int64), err error) {
	took := time.Since(begin)
	switch {
	case err != nil && !errors.Is(err, gorm.ErrRecordNotFound):
		if l.log.Enabled(ctx, slog.LevelDebug) {
			query, _ := stmt()
			l.log.DebugContext(ctx, "statement failed", "sql", query, "error", err)
		}
	case took >= slowQuery:
		query, rows := stmt()
		l.log.WarnContext(ctx, "slow statement", "sql", query, "rows", rows, "took", took)
	}
}

// ParamsFilter keeps values out of every message.
func (l gormLog) ParamsFilter(_ context.Context, query string, _ ...any) (string, []any) {
	return query, nil
}
