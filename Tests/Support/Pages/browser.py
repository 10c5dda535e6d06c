"""Headless Chromium for the pages' tests: what a page must never do is watched all along."""

import os
import shutil
import sys
from contextlib import contextmanager
from urllib.parse import urlsplit

from playwright.sync_api import sync_playwright

# For a machine that does many other things. Nothing is timed: each wait ends when its condition holds.
LIMIT = int(os.environ.get("PAGE_LIMIT", 120_000))
DESKTOP, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}
LOOKS = [("desktop", DESKTOP, "light"), ("phone", PHONE, "dark")]
# What fits is a matter of the size: a quick run sees each size and each scheme once.
if os.environ.get("STREAKSNAP_TEST_DEPTH") == "full":
    LOOKS += [("desktop", DESKTOP, "dark"), ("phone", PHONE, "light")]


class Watch:
    """What went wrong in any page: messages of the console, faults, answers that are errors, requests to others."""

    def __init__(self, address):
        self.origin = urlsplit(address).netloc
        self.problems = []

    def look_at(self, page):
        page.on("console", lambda message: self.console(message))
        page.on("pageerror", lambda error: self.problems.append(f"fault: {error}"))
        page.on("request", lambda request: self.request(request))

    def console(self, message):
        if message.type in ("error", "warning"):
            self.problems.append(f"console: {message.text} {message.location.get('url', '')}")

    def request(self, request):
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and parts.netloc != self.origin:
            self.problems.append(f"a request elsewhere: {request.url}")

    def check(self):
        assert not self.problems, "\n".join(self.problems)


class Browser:
    def __init__(self, address, chromium):
        self.address = address
        self.chromium = chromium
        self.watch = Watch(address)

    def page(self, size=DESKTOP, scheme="light", state=None):
        """A page of a new context, as a device of this size shows it."""
        is_phone = size["width"] < 600
        context = self.chromium.new_context(
            viewport=size, color_scheme=scheme, storage_state=state, has_touch=is_phone, is_mobile=is_phone, reduced_motion="reduce"
        )
        context.set_default_timeout(LIMIT)
        context.grant_permissions(["camera"], origin=self.address)
        page = context.new_page()
        self.watch.look_at(page)
        return page

    def open(self, page, path):
        page.goto(self.address + path)
        page.wait_for_selector("body[data-ready]", state="attached")


@contextmanager
def browser(address):
    """Chromium as Debian has it. Its sandbox needs rights that containers lack; the pages are ours. Its camera shows a test picture."""
    options = ["--no-sandbox", "--disable-dev-shm-usage", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=options, timeout=LIMIT)
        try:
            it = Browser(address, chromium)
            yield it
            it.watch.check()
        except BaseException:
            for context in chromium.contexts:
                for number, page in enumerate(context.pages):
                    picture(page, f"failed-{os.path.basename(sys.argv[0])}-{number}")
            raise
        finally:
            chromium.close()


def picture(page, name):
    page.screenshot(path=os.path.join(os.environ.get("ARTEFACTS", "."), f"{name}.png"))


def text(page, selector, wanted):
    """Waits until an element says this."""
    page.wait_for_function(
        "([selector, wanted]) => document.querySelector(selector)?.textContent.includes(wanted)", arg=[selector, wanted]
    )


def tab_to(page, selector, most=400):
    """Presses Tab until an element that fits has the focus, as one without a mouse does; and it must be seen that it has it."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("(selector) => document.activeElement?.matches(selector)", selector):
            outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline != "none", f"nothing shows that {selector} has the focus"
            return
    raise AssertionError(f"{selector} is not reached with {most} presses of Tab")


def fits(page):
    """Nothing is wider than the screen or higher than the bar that it is in, and what is pressed is large enough for a finger."""
    wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1], f"{page.url} is {wide[0]} wide on a screen of {wide[1]}"
    high = page.evaluate(
        """() => [...document.querySelectorAll("header.top")].flatMap((bar) => [...bar.querySelectorAll("*")]
            .filter((one) => one.getBoundingClientRect().height > bar.getBoundingClientRect().height))
            .map((one) => one.outerHTML.slice(0, 120))"""
    )
    assert not high, f"higher than the bar at the top: {high}"
    if page.viewport_size["width"] < 600:
        small = page.evaluate(
            """() => [...document.querySelectorAll("button, select, input:not([type=range])")]
                .filter((one) => one.offsetParent && one.getBoundingClientRect().height < 36)
                .map((one) => one.outerHTML.slice(0, 120))"""
        )
        assert not small, f"too small for a finger: {small}"
