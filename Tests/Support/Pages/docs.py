"""Reads the page of the API, searches it and tries calls: docs.py ADDRESS, of an installation where time can be moved."""

import json
import sys
import urllib.request

from browser import DESKTOP, LOOKS, PHONE, browser, fits, picture, tab_to, text


def operations(address):
    """The ids of all operations, as the description has them."""
    with urllib.request.urlopen(f"{address}/openapi.json") as reply:
        paths = json.load(reply)["paths"]
    return [one["operationId"] for path in paths if not path.startswith("/api/testing/") for one in paths[path].values()]


def every_route(it, page):
    """Each has its place in the list, and a page with rules, examples, errors that are explained, and code."""
    ids = operations(it.address)
    assert len(ids) > 200, len(ids)
    listed = page.evaluate("() => [...document.querySelectorAll('#list [data-operation]')].map((one) => one.dataset.operation)")
    assert set(ids) <= set(listed), set(ids) - set(listed)
    bare = page.evaluate(
        """async (ids) => {
            const bare = [];
            for (const id of ids) {
                location.hash = id;
                await new Promise((done) => addEventListener("hashchange", done, { once: true }));
                const blocks = [...document.querySelectorAll(".code pre")].map((one) => one.textContent);
                if (!document.querySelector("h1").textContent || !document.querySelector(".who .tag")) bare.push(`${id}: no title`);
                if (!blocks[0].startsWith("curl ") || !blocks[1].includes(`func ${id}(`)) bare.push(`${id}: no code`);
                if (document.querySelector("main").textContent.includes("undefined")) bare.push(`${id}: says undefined`);
                if (/(least|most|exactly) 1 (characters|entries)/.test(document.querySelector("main").textContent)) bare.push(`${id}: 1 of many`);
                for (const error of document.querySelectorAll(".errors > div")) {
                    if (!error.querySelector("dd").textContent.endsWith(".")) bare.push(`${id}: ${error.id} is not explained`);
                }
            }
            return bare;
        }""",
        ids,
    )
    assert not bare, bare


def search(page):
    for words, wanted in [("nudge", "socialNudge"), ("NO_RECOVERY_TOKENS", "streaksRecover"), ("mood_score", "streaksCheckIn"), ("server-sent events", "notificationsWatch")]:
        page.fill("#search", words)
        page.wait_for_selector(f"#list > [data-operation={wanted}]")
    assert page.locator("#list > .entry").count() < 30, "a search leaves nearly all routes"
    page.fill("#search", "nudge friend")
    page.click("#list > [data-operation=socialNudge]")
    text(page, "h1", "Reminds a friend")
    page.fill("#search", "no such zebra")
    text(page, "#list", "0 routes")
    page.fill("#search", "")


def attempt(page, operation, status):
    page.evaluate("(id) => { location.hash = id; }", operation)
    page.wait_for_selector(f"[data-operation={operation}][aria-current]", state="attached")
    page.click(".try [type=submit]")
    page.wait_for_selector(f".answer [data-status='{status}']")


def calls(page):
    """As Ada, then as Ben, both made by registration; a read, a change, and what is not signed in."""
    attempt(page, "authGetMe", 200)
    text(page, ".reply", '"display_name": "Ada"')
    page.select_option(".try select", "Ben")
    page.click(".try [type=submit]")
    text(page, ".reply", '"display_name": "Ben"')
    page.evaluate("() => { location.hash = 'streaksCreateHabit'; }")
    page.wait_for_selector(".try textarea")
    page.fill(".try textarea", json.dumps({"name": "From the page", "schedule": {"type": "daily"}}))
    page.click(".try [type=submit]")
    page.wait_for_selector(".answer [data-status='201']")
    attempt(page, "streaksGetHabitsToday", 200)
    text(page, ".reply", "From the page")
    picture(page, "docs-tried")


def events(page):
    """The stream is shown as it comes, until it is stopped."""
    page.evaluate("() => { location.hash = 'notificationsWatch'; }")
    page.wait_for_selector("[data-operation=notificationsWatch][aria-current]", state="attached")
    page.click(".try [type=submit]")
    text(page, ".reply", "event: reset")
    text(page, ".try [type=submit]", "Stop")
    page.click(".try [type=submit]")
    text(page, ".try [type=submit]", "Send")


def published(page):
    """Which routes have `details` as an object: in the list of errors, and at each of them."""
    page.evaluate("() => { location.hash = 'errors'; }")
    text(page, "main h1", "Errors")
    text(page, "main", "/api/mobile/streaks/check-in")
    page.evaluate("() => { location.hash = 'streaksCheckIn'; }")
    page.wait_for_selector("[data-operation=streaksCheckIn][aria-current]", state="attached")
    text(page, "main", "is an object of fields and their messages")


def by_keyboard(it):
    for size in (DESKTOP, PHONE):
        page = it.page(size)
        it.open(page, "/docs")
        page.keyboard.press("/")
        page.keyboard.type("prompt of today")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Enter")
        text(page, "h1", "prompt")
        tab_to(page, ".code [role=tab]")
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(".code [role=tab][data-name=Swift][aria-selected=true]")
        it.open(page, "/docs#gatewayHealth")
        tab_to(page, ".try [type=submit]")
        page.keyboard.press("Enter")
        text(page, ".reply", '"status": "ok"')
        page.context.close()


def looks(it):
    for name, size, scheme in LOOKS:
        page = it.page(size, scheme)
        it.open(page, "/docs")
        fits(page)
        picture(page, f"docs-{name}-{scheme}")
        for place in ("socialSendFriendRequest", "mediaUploadSnap", "errors", "changes"):
            page.evaluate("(id) => { location.hash = id; }", place)
            page.wait_for_function("(id) => document.querySelector('main').textContent.length > 200 && location.hash === `#${id}`", arg=place)
            fits(page)
            picture(page, f"docs-{name}-{scheme}-{place}")
        if size is PHONE:
            page.click(".menu")
            page.fill("#search", "streak")
            page.wait_for_selector("#list > .entry")
            fits(page)
            picture(page, f"docs-{name}-{scheme}-search")
        page.context.close()


def main(address):
    with browser(address) as it:
        page = it.page()
        it.open(page, "/docs")
        every_route(it, page)
        search(page)
        calls(page)
        events(page)
        published(page)
        page.context.close()
        by_keyboard(it)
        looks(it)
    print("read")


if __name__ == "__main__":
    main(*sys.argv[1:])
