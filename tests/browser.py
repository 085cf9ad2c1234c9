"""What the tests in a real browser share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@dataclass
class Opened:
    """A page, and everything it asked for or complained about."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def word(self, text: str) -> Locator:
        return self.page.locator("#text .w", has_text=text).first

    def lit(self, kind: str) -> list[str]:
        found: list[str] = self.page.eval_on_selector_all(
            f"{kind}.on", "all => all.map(e => e.getAttribute('aria-label') || e.textContent)"
        )
        return found
