package storeroom

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ErrInvalidSignature says that a message does not come from the service, or is older than five minutes.
var ErrInvalidSignature = errors.New("the webhook has no valid signature")

// VerifyWebhook checks the signature of a message with the secret of the webhook, and decodes it. The body must be
// exactly as it was received.
func VerifyWebhook(secret string, header http.Header, body []byte) (*WebhookMessage, error) {
	return verifyWebhook(secret, header, body, time.Now())
}

func verifyWebhook(secret string, header http.Header, body []byte, now time.Time) (*WebhookMessage, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 {
		return nil, errors.New("the secret of the webhook is not valid")
	}
	id, timestamp := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if age := now.Sub(time.Unix(seconds, 0)); err != nil || age.Abs() > 5*time.Minute {
		return nil, fmt.Errorf("%w: webhook-timestamp is %q", ErrInvalidSignature, timestamp)
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for _, signature := range strings.Fields(header.Get("Webhook-Signature")) {
		if hmac.Equal([]byte(signature), []byte(want)) {
			message := new(WebhookMessage)
			return message, json.Unmarshal(body, message)
		}
	}
	return nil, ErrInvalidSignature
}
