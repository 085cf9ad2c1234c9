"""What the tests in a real browser share. `python -m tests.browser` says which one they take."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Playwright

NAMES = ("chromium", "google-chrome", "chromium-browser", "chrome")
PLACES = (  # macOS and Windows keep programs off the PATH
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Google/Chrome/Application/chrome.exe",
)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def system_browser() -> str | None:
    """The browser that the machine has."""
    named = [shutil.which(name) for name in NAMES]
    return next((path for path in (*named, *map(shutil.which, PLACES)) if path), None)


def browser_path(driver: Playwright) -> str | None:
    """The machine's browser, else the one that `playwright install chromium` brought."""
    own = driver.chromium.executable_path
    return system_browser() or (own if Path(own).exists() else None)


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


def main() -> int:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        found = browser_path(driver)
    sys.stdout.write(f"{found or 'no browser'}\n")
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
