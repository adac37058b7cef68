"""Sends requests that fail as their header X-Fault says."""

import base64
import itertools
import json
import os
from datetime import datetime, timezone
from decimal import Decimal

import storeroom

client = storeroom.Storeroom(os.environ["STOREROOM_URL"], os.environ["STOREROOM_KEY"], user_agent="faults/1")
calls = itertools.count()
DOT = base64.b64decode(  # a picture of one pixel
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def fails(fault):
    """Lets the first attempt of a request fail."""
    return {"headers": {"X-Fault": f"{fault}.{next(calls)}"}}


def raises(cls, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except cls as error:
        return error
    raise AssertionError(f"no {cls.__name__}")


# Each request has its effect once.
for fault in ["limited", "busy", "refused", "lost", "cut", "twice"]:
    name = f"F-{fault}"
    responses = []
    product = client.create_product(
        {"sku": name, "name": name, "price": Decimal("10.10"), "quantity": 5}, on_response=responses.append, **fails(fault)
    )
    assert (product.price, product.quantity) == ("10.10", 5)
    assert responses[-1].replayed == (fault in ("lost", "cut")), fault
    assert client.adjust_inventory(product.id, {"type": "remove", "quantity": 2}, **fails(fault)).quantity == 3
    assert client.patch_product(product.id, {"description": None}, **fails(fault)).quantity == 3
    assert client.add_image_file(product.id, storeroom.Upload("dot.png", DOT), **fails(fault)).position == 1
    assert [p.sku for p in client.all_products(search=name, per_page=1, **fails(fault))] == [name]
    order = client.create_order(
        {
            "number": name, "channel": "pos", "placed_at": datetime.now(timezone.utc).isoformat(),
            "items": [{"sku": name, "quantity": 2, "unit_price": "10.10"}],
        },
        **fails(fault),
    )
    assert (order.revenue, order.items[0].sku) == ("20.20", name)
    assert client.refund_order(name, {"amount": "0.10"}, **fails(fault)).amount == "0.10"
    category = client.create_category({"name": name}, **fails(fault))
    client.delete_category(category.id, **fails(fault))
    report = client.custom_report({"period": "today", "metrics": ["orders"]}, **fails(fault))
    assert report.data.totals.orders > 0

# What is not sent again.
limited = raises(storeroom.RateLimitExceededError, client.show_me, **fails("later"))
assert (limited.retry_after, limited.attempts) == (3600, 1)
hook = client.create_webhook({"url": "https://example.com/hook"})
lost = raises(storeroom.ConnectionFailed, client.test_webhook, hook.id, **fails("refused"))
assert lost.attempts == 1  # a POST without an Idempotency-Key
product = client.show_product_by_sku("F-lost")
matched = {"headers": {**fails("lost")["headers"], "If-Match": "*"}}
raises(storeroom.ConnectionFailed, client.patch_product, product.id, {"name": "Changed"}, **matched)
assert raises(storeroom.NotFoundError, client.show_product, 2**40).request_id
raises(TypeError, client.create_product, {"sku": "X", "name": "X", "price": object()})
file = client.export_products(format="ndjson", **fails("cut"))
raises(storeroom.ConnectionFailed, lambda: list(file.lines(storeroom.Product)))

# The feed continues at a cursor.
feed, seen = client.follow_changes("", ["order"]), []
for change in feed:
    seen.append(change.id)
    if len(seen) == 2:
        break
for change in client.follow_changes(feed.cursor, ["order"]):
    seen.append(storeroom.Order(change.data).number)
    if seen[-1] == "F-twice":
        break
assert {"F-limited", "F-cut"} <= set(seen), seen

# Webhooks.
message = json.loads(os.environ["WEBHOOK"])
secret, headers, body = message["secret"], message["headers"], message["body"].encode()
assert storeroom.verify_webhook(secret, headers, body).type == "changes"
raises(storeroom.InvalidSignatureError, storeroom.verify_webhook, secret, headers, body + b" ")
raises(storeroom.InvalidSignatureError, storeroom.verify_webhook, secret, {**headers, "webhook-timestamp": "1614265330"}, body)
