package matrix

import (
	"testing"

	"maunium.net/go/mautrix"
)

func TestRetryAfter(t *testing.T) {
	limited := mautrix.RespError{ErrCode: "M_LIMIT_EXCEEDED", ExtraData: map[string]any{"retry_after_ms": 1500.0}}
	if got := RetryAfter(limited, 9); got.Milliseconds() != 1500 {
		t.Errorf("RetryAfter = %v", got)
	}
	if got := RetryAfter(mautrix.MForbidden, 9); got != 9 {
		t.Errorf("RetryAfter = %v", got)
	}
}
