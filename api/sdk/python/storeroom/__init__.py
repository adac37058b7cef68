"""A client of the Storeroom API.

Fields and values that a later release adds are ignored. Money is text, so that no digit is lost.
"""

from __future__ import annotations

import time
from typing import Any, Callable, Iterator, Unpack

from .generated import *  # noqa: F403
from .generated import Change, ChangeType, Image, Import, ImportSettings, Operations, PlanResult
from .transport import (
    VERSION, APIError, CallOptions, ConnectionFailed, File, Form, Object, Response, StoreroomError, Upload, path,
)
from .webhooks import InvalidSignatureError, verify_webhook


class Storeroom(Operations):
    """A client. Threads can share it."""

    def add_image_file(self, id: int, picture: Upload, **options: Unpack[CallOptions]) -> Image:
        """Uploads a picture of a product."""
        return self._send_for_data(
            Image, "POST", path("/api/products/{id}/images/file", id), body=Form([picture]), keyed=True, **options
        )

    def create_import(
        self, files: list[Upload], settings: ImportSettings | None = None, **options: Unpack[CallOptions]
    ) -> Import:
        """Uploads files, and computes in the background what they would change."""
        return self._send_for_data(
            Import, "POST", "/api/imports", body=Form(files, settings=settings), keyed=True, **options
        )

    def wait_for_plan(self, id: int) -> PlanResult:
        """Requests a plan until it is no longer planning, applying or undoing. A program that was started again can
        continue to wait, because the plan is computed in the background."""
        return _wait(lambda: self.show_plan(id), lambda plan: plan.data.state)

    def wait_for_import(self, id: int) -> Import:
        """Does the same for an import."""
        return _wait(lambda: self.show_import(id), lambda shown: shown.state)

    def follow_changes(self, cursor: str, types: list[ChangeType] | None = None) -> Feed:
        """The changes after a cursor: that of an earlier Feed, "" for the oldest change, or "now" for those that follow.
        Without types it has all types that the key may read."""
        return Feed(self, cursor, types)


class Feed:
    """Yields changes, and waits for new ones. After an error it can be iterated again, and continues."""

    def __init__(self, client: Storeroom, cursor: str, types: list[ChangeType] | None = None):
        self._client = client
        self._types = ",".join(types) if types else None
        self.cursor = cursor
        """The position after the last change that was yielded. Store it with what you made of the change. A new Feed
        with this cursor continues there, also in another process."""

    def __iter__(self) -> Iterator[Change]:
        while True:
            page = self._client.list_changes(after=self.cursor, types=self._types, wait=25)
            for change in page.data:
                self.cursor = change.seq
                yield change
            self.cursor = page.meta.next_cursor


def _wait(show: Callable[[], Any], state: Callable[[Any], str]) -> Any:
    pause = 0.1
    while True:
        shown = show()
        if state(shown) not in ("planning", "applying", "undoing"):
            return shown
        time.sleep(pause)
        pause = min(2 * pause, 5)
