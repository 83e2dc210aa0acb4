package gateway

import "context"

// share bounds how much of something one room holds, and all rooms together. A part is the room's own, so that other
// rooms cannot take all of it.
type share struct {
	most   chan struct{} // of the room
	own    chan struct{} // the part of that which no other room can take
	common chan struct{} // the rest, of all rooms together
}

func newShare(own, most int, common chan struct{}) share {
	return share{most: make(chan struct{}, most), own: make(chan struct{}, own), common: common}
}

// take waits for one, until ctx ends. The function gives it back, once.
func (s share) take(ctx context.Context) (give func(), err error) {
	select {
	case s.most <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case s.own <- struct{}{}:
		return func() { <-s.own; <-s.most }, nil
	default:
	}
	select {
	case s.own <- struct{}{}:
		return func() { <-s.own; <-s.most }, nil
	case s.common <- struct{}{}:
		return func() { <-s.common; <-s.most }, nil
	case <-ctx.Done():
		<-s.most
		return nil, ctx.Err()
	}
}
