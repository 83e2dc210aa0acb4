package retry

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

func TestPauses(t *testing.T) {
	b := New(time.Second, 10*time.Second)
	for range 2 {
		for _, want := range []time.Duration{1, 2, 4, 8, 10, 10} {
			want *= time.Second
			if got := b.Next(); got < want*8/10 || got > want*12/10+1 {
				t.Errorf("%v, want about %v", got, want)
			}
		}
		b.Reset()
	}
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		b := New(time.Second, time.Minute).Until(begun.Add(10 * time.Second))
		tries := 0
		err := error(nil)
		for ; err == nil; tries++ {
			err = b.Wait(t.Context(), io.ErrUnexpectedEOF)
		}
		if took := time.Since(begun); !errors.Is(err, io.ErrUnexpectedEOF) || tries < 3 || took > 10*time.Second {
			t.Errorf("%d tries in %v: %v", tries, took, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := New(time.Hour, time.Hour).Wait(ctx, io.EOF); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}
