"""Checks messages of webhooks."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from typing import Mapping

from .generated import WebhookMessage


class InvalidSignatureError(Exception):
    """A message that does not come from the service, or is older than five minutes."""


def verify_webhook(secret: str, headers: Mapping[str, str], body: bytes) -> WebhookMessage:
    """Checks the signature of a message with the secret of the webhook, and decodes it. The body must be exactly as it
    was received."""
    received = {name.lower(): value for name, value in headers.items()}
    message_id, timestamp = received.get("webhook-id", ""), received.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > 300:
        raise InvalidSignatureError(f"The webhook-timestamp is {timestamp!r}.")
    signed = f"{message_id}.{timestamp}.".encode() + body
    digest = hmac.digest(base64.b64decode(secret.removeprefix("whsec_")), signed, hashlib.sha256)
    want = b"v1," + base64.b64encode(digest)
    for signature in received.get("webhook-signature", "").split():
        if hmac.compare_digest(signature.encode(), want):
            return WebhookMessage(json.loads(body))
    raise InvalidSignatureError("The webhook has no valid signature.")
