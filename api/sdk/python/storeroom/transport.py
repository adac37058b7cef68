"""Sends requests, and sends them again if that is safe."""

from __future__ import annotations

import email.utils
import http.client
import json
import platform
import random
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from decimal import Decimal
from typing import Any, BinaryIO, Callable, Iterator, Mapping, TypedDict, TypeVar

VERSION = "0.1.0"

# The length of the window of the rate limit, in seconds.
MAX_DELAY = 60

T = TypeVar("T", bound="Object")


class CallOptions(TypedDict, total=False):
    """Options of one call."""

    idempotency_key: str
    """The key of a write, instead of a random one. A request that is repeated with it, also by another process, is
    executed once."""
    headers: Mapping[str, str]
    """Headers such as If-Match."""
    timeout: float
    """Replaces that of the client."""
    on_response: Callable[[Response], None]
    """Is called with the last response."""


class Response:
    """What a result does not show."""

    def __init__(self, status: int, headers: Mapping[str, str], attempts: int):
        self.status = status
        self.headers = headers
        self.request_id = headers.get("X-Request-Id")
        self.replayed = headers.get("Idempotent-Replayed") == "true"
        """Whether this is the stored response to an earlier request with the same Idempotency-Key."""
        self.attempts = attempts


class StoreroomError(Exception):
    """A call that has failed."""

    attempts = 1


class ConnectionFailed(StoreroomError):
    """A request without a complete response."""


class APIError(StoreroomError):
    """A response that is not a success. Each code has a class of its own."""

    def __init__(self, request: str, status: int, headers: Mapping[str, str], body: dict[str, Any]):
        self.status = status
        self.code: str = body.get("code", "")
        """Empty if the response does not come from the service, and for 304."""
        self.message: str = body.get("message", "")
        self.details: dict[str, list[str]] = body.get("details", {})
        """The problems by the name of the field, parameter or header."""
        self.changed: list[dict[str, Any]] = body.get("changed", [])
        """The rows of a plan that something else has changed."""
        self.request_id = headers.get("X-Request-Id")
        """Include it when you report a problem."""
        self.retry_after = _retry_after(headers.get("Retry-After"))
        """The time that the service demands, in seconds."""
        details = "".join(f" {name} {', '.join(texts)}." for name, texts in self.details.items())
        super().__init__(f"{request}: {status} {self.code}: {self.message}{details} (request {self.request_id})")


_error_classes: dict[str, type[APIError]] = {}


def error_class(code: str) -> Callable[[type[APIError]], type[APIError]]:
    """Makes a class that of a code."""

    def add(cls: type[APIError]) -> type[APIError]:
        _error_classes[code] = cls
        return cls

    return add


class Object:
    """An object of a response. `raw` is the JSON, also with fields that this release does not know."""

    _classes: dict[str, str] = {}

    def __init__(self, raw: dict[str, Any]):
        self.raw = raw
        for name, value in raw.items():
            attribute = f"{name}_" if name in ("from", "in", "is", "class") else name
            setattr(self, f"width_{name}" if name[0].isdigit() else attribute, self._read(self._classes.get(name), value))

    def _read(self, name: str | None, value: Any) -> Any:
        if name is None or value is None:
            return value
        if isinstance(value, list):
            return [self._read(name, element) for element in value]
        if name.startswith("{}"):
            return {key: self._read(name[2:], element) for key, element in value.items()}
        return vars(sys.modules[type(self).__module__])[name](value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Object) and self.raw == other.raw

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.raw!r})"


class File:
    """A file that is read while it arrives. Use it with `with`, or close it."""

    def __init__(self, response: Any, request: str):
        self._response = response
        self._request = request
        self.name: str | None = response.headers.get_filename()
        self.content_type: str = response.headers.get("Content-Type", "")

    def read(self, size: int = -1) -> bytes:
        """Returns at most `size` bytes, and none at the end. A file that ends too early is an error."""
        try:
            chunk = self._response.read() if size < 0 else self._response.read(size)
            if not chunk and self._response.length:
                raise http.client.IncompleteRead(b"", self._response.length)
            return chunk
        except (OSError, http.client.HTTPException) as failure:
            raise ConnectionFailed(f"{self._request}: {failure!r}") from failure

    def chunks(self, size: int = 1 << 16) -> Iterator[bytes]:
        """Yields the content."""
        with self:
            while chunk := self.read(size):
                yield chunk

    def lines(self, cls: type[T]) -> Iterator[T]:
        """Decodes the lines of an NDJSON file."""
        rest = b""
        for chunk in self.chunks():
            *complete, rest = (rest + chunk).split(b"\n")
            for line in complete:
                yield cls(json.loads(line))
        if rest:
            yield cls(json.loads(rest))

    def close(self) -> None:
        """Ends the connection."""
        self._response.close()

    def __enter__(self) -> File:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Upload:
    """A file to send."""

    def __init__(self, name: str, content: bytes | BinaryIO):
        self.name = name
        self.content = content if isinstance(content, bytes) else content.read()


class Form:
    """A body with files."""

    def __init__(self, files: list[Upload], **fields: Any):
        self.files = files
        self.fields = {name: value for name, value in fields.items() if value is not None}

    def encode(self) -> tuple[bytes, str]:
        boundary = uuid.uuid4().hex
        parts = [
            (f'form-data; name="{name}"', json.dumps(value, default=_encode).encode()) for name, value in self.fields.items()
        ]
        for file in self.files:
            name = file.name.replace("\\", "\\\\").replace('"', '\\"').replace("\r", "").replace("\n", "")
            parts.append((f'form-data; name="file"; filename="{name}"', file.content))
        content = b"".join(
            f"--{boundary}\r\nContent-Disposition: {disposition}\r\n\r\n".encode() + body + b"\r\n"
            for disposition, body in parts
        )
        return content + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


def _encode(value: Any) -> str:
    """Decimals are sent as text, so that no digit is lost."""
    if isinstance(value, Decimal):
        return format(value, "f")
    raise TypeError(f"{type(value).__name__} cannot be sent")


def path(template: str, *values: object) -> str:
    """A path with encoded values. The path of the number `export` would be that of the list as a file."""
    parts = iter("%65xport" if value == "export" else urllib.parse.quote(str(value), safe="") for value in values)
    return "/".join(next(parts) if part.startswith("{") else part for part in template.split("/"))


def _retry_after(value: str | None) -> float | None:
    """Reads seconds or a date."""
    if value is None:
        return None
    if value.isdigit():
        return float(value)
    try:
        return max(email.utils.parsedate_to_datetime(value).timestamp() - time.time(), 0)
    except ValueError:
        return None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


class Transport:
    """Sends requests of threads."""

    def __init__(self, url: str, key: str, *, timeout: float = 60, retries: int = 4, user_agent: str = ""):
        """`timeout` is how long the service may be silent, in seconds. `retries` is how often a request is sent again.
        `user_agent` is the name of your program, for example "shop-connector/2.1"."""
        self._url = url.rstrip("/")
        self._timeout = timeout
        self._retries = retries
        agent = f"storeroom-python/{VERSION} (python {platform.python_version()}; {platform.system()}/{platform.machine()})"
        self._headers = {"Authorization": f"Bearer {key}", "User-Agent": f"{user_agent} {agent}".strip()}
        self._opener = urllib.request.build_opener(_NoRedirects)

    def _send(self, method: str, path: str, **call: Any) -> None:
        self._repeat(method, path, lambda response: response.read(), **call)

    def _send_for_body(self, cls: type[T], method: str, path: str, **call: Any) -> T:
        return self._repeat(method, path, lambda response: cls(json.loads(response.read())), **call)

    def _send_for_data(self, cls: type[T], method: str, path: str, **call: Any) -> T:
        return self._repeat(method, path, lambda response: cls(json.loads(response.read())["data"]), **call)

    def _send_for_file(self, method: str, path: str, **call: Any) -> File:
        return self._repeat(method, path, lambda response: File(response, f"{method} {path}"), close=False, **call)

    def _pages(self, parameter: str, start: Any, fetch: Callable[..., Any]) -> Iterator[Any]:
        """Yields the elements of pages until there are no more."""
        at = start if start is not None else {"cursor": "", "page": 1}.get(parameter)
        more = True
        while more:
            page = fetch(**{parameter: at})
            yield from page.data
            if parameter == "cursor":
                at = page.meta.next_cursor
                more = at is not None
            elif parameter == "page":
                at, more = at + 1, page.meta.has_next
            elif parameter == "after":
                at, more = page.meta.next_cursor, page.meta.has_more
            else:
                at = page.meta.next_before
                more = at is not None

    def _repeat(
        self, method: str, path: str, read: Callable[[Any], Any], *, query: Mapping[str, Any] | None = None,
        body: Any = None, repeatable: bool = False, keyed: bool = False, close: bool = True,
        idempotency_key: str | None = None, headers: Mapping[str, str] | None = None, timeout: float | None = None,
        on_response: Callable[[Response], None] | None = None,
    ) -> Any:
        """Sends a request until it succeeds, until it must not be sent again, or until the last attempt. A failure to
        read the response is one to send the request."""
        sent = dict(headers or {})
        if key := idempotency_key or (str(uuid.uuid4()) if keyed else None):
            sent["Idempotency-Key"] = key
        content = None
        if isinstance(body, Form):
            content, sent["Content-Type"] = body.encode()
        elif body is not None:
            content, sent["Content-Type"] = json.dumps(body, default=_encode).encode(), "application/json"
        parameters = {name: _parameter(value) for name, value in (query or {}).items() if value is not None}
        url = self._url + path + ("?" + urllib.parse.urlencode(parameters) if parameters else "")
        matched = any(name.lower() == "if-match" for name in sent)
        lost = False  # an earlier attempt may have been executed
        attempt = 1
        while True:
            request = urllib.request.Request(url, data=content, headers={**self._headers, **sent}, method=method)
            failure: StoreroomError
            try:
                response = self._opener.open(request, timeout=timeout or self._timeout)
                try:
                    if on_response:
                        on_response(Response(response.status, response.headers, attempt))
                    return read(response)
                finally:
                    if close:
                        response.close()
            except urllib.error.HTTPError as refused:
                if on_response:
                    on_response(Response(refused.code, refused.headers, attempt))
                failure = _refused(f"{method} {path}", refused)
                if failure.status == 404 and method == "DELETE" and lost:
                    return None
                temporary = failure.status in (429, 502, 503, 504) or failure.code == "IDEMPOTENCY_IN_PROGRESS"
                delay = failure.retry_after
                again = temporary and (delay or 0) <= MAX_DELAY
            except (OSError, http.client.HTTPException, json.JSONDecodeError) as broken:
                failure = ConnectionFailed(f"{method} {path}: {broken!r}")
                failure.__cause__ = broken
                # With a lost response it is not known whether the object still matches.
                lost, delay, again = True, None, method == "GET" or not matched
            failure.attempts = attempt
            if attempt > self._retries or not again or not (repeatable or key):
                raise failure
            # A random half of the time is left out, so that clients do not return together.
            time.sleep(delay if delay is not None else min(0.25 * 2**attempt, 8) * random.uniform(0.5, 1))
            attempt += 1


def _parameter(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _refused(request: str, refused: urllib.error.HTTPError) -> APIError:
    with refused:
        try:
            body = json.loads(refused.read())["error"]
            code = body["code"]
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
            body, code = {"message": refused.reason}, ""  # a proxy has answered
    return _error_classes.get(code, APIError)(request, refused.code, refused.headers, body)
