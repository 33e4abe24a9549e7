package control

import "context"

// switchOffBanned switches banned connections off until Close, as
// autoDisableBannedAccounts asks.
func (s *Service) switchOffBanned(ctx context.Context) {
	for {
		select {
		case <-s.stop:
			return
		case <-s.banned.filled:
		}
		for _, id := range s.banned.take() {
			off := false
			if _, err := s.EditConnection(ctx, id, ConnectionPatch{Active: &off}); err != nil {
				s.cfg.Log.Warn("a banned connection is not switched off", "connection", id, "error", err)
			}
		}
	}
}
