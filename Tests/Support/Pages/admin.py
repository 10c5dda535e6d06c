"""Uses the console of administrators: admin.py ADDRESS EMAIL OTHER_EMAIL PASSWORD USERNAME USER STREAK REPORT EVENT."""

import json
import sys

from browser import LOOKS, browser, fits, picture, tab_to, text


def sign_in(it, page, email, password):
    it.open(page, "/admin")
    page.fill("[name=email]", email)
    page.fill("[name=password]", password)
    page.keyboard.press("Enter")
    page.wait_for_selector("nav a[aria-current]")


def refusals(it, email, other, password):
    """What is refused is said; Chromium reports such answers as errors of its own, which are what is wanted here."""
    page = it.page()
    it.open(page, "/admin")
    picture(page, "admin-door")
    before = len(it.watch.problems)
    for name, word, said in ((email, "not-the-password", "E-mail or password is wrong"), (other, password, "no administrator")):
        page.fill("[name=email]", name)
        page.fill("[name=password]", word)
        page.click("[type=submit]")
        text(page, "[role=alert]", said)
    page.fill("[name=email]", email)
    page.click("[type=submit]")
    page.wait_for_selector("nav a[aria-current]")
    page.evaluate("location.hash = 'people/00000000-0000-7000-8000-000000000000'")
    text(page, "main [role=alert]", "no such account")
    others = [one for one in it.watch.problems[before:] if "Failed to load resource" not in one]
    it.watch.problems[before:] = others
    page.context.close()


def reload(it, email, password):
    """A reload does not sign out; what is kept for it no script sees, and it ends with the sign-out."""
    page = it.page()
    sign_in(it, page, email, password)
    page.reload()
    page.wait_for_selector("nav a[aria-current]")
    page.wait_for_selector("a.row")
    kept = page.context.cookies(f"{it.address}/admin/session")
    assert len(kept) == 1 and kept[0]["httpOnly"] and kept[0]["sameSite"] == "Strict" and kept[0]["path"] == "/admin/session", kept
    assert kept[0]["expires"] == -1 and not page.context.cookies(f"{it.address}/api/admin/accounts"), kept
    assert page.evaluate("document.cookie") == ""
    page.click("header button")
    page.wait_for_selector("[name=password]")
    assert not page.context.cookies(f"{it.address}/admin/session")
    page.reload()
    page.wait_for_selector("[name=password]")
    page.context.close()


def people(page, username, user):
    page.fill("[type=search]", username)
    page.keyboard.press("Enter")
    # The list of all goes first.
    page.wait_for_function("() => document.querySelectorAll('a.row').length === 1")
    page.wait_for_selector(f"a.row[href='#people/{user}']")
    page.click("a.row")
    text(page, ".facts", username)
    page.wait_for_selector("a.row[data-type=mutual]")
    picture(page, "admin-person")


def wallet(page):
    page.click("[data-key=grant]")
    page.fill("dialog [name=amount]", "5")
    page.fill("dialog [name=reason]", "A gift")
    page.click("dialog [type=submit]")
    text(page, "[data-currency=coins]", "5")
    text(page, "[data-role=wallet]", "A gift")


def suspension(page):
    page.click("[data-key=suspend]")
    # Without a reason nothing is sent.
    page.click("dialog [type=submit]")
    assert page.locator("dialog[open]").count() == 1
    page.fill("dialog [name=reason]", "Threatened another user")
    picture(page, "admin-question")
    page.click("dialog [type=submit]")
    text(page, ".done", "is suspended")
    text(page, ".head .badge", "suspended")
    page.wait_for_selector("dialog", state="detached")
    page.click("[data-key=lift]")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    page.click("[data-key=lift]")
    page.fill("dialog [name=reason]", "It was another account")
    page.click("dialog [type=submit]")
    text(page, ".done", "lifted")
    text(page, ".head .badge", "active")


def inspector(page, streak):
    page.click(f"a.row[href='#streaks/{streak}']")
    page.wait_for_selector(".day[data-verdict=completed]")
    text(page, ".day[data-verdict=completed]", "Both posted.")
    text(page, "[data-role=count]", "1")
    page.click(".day[data-verdict=completed] summary")
    text(page, ".day[data-verdict=completed]", "The date was completed; the count is 1.")
    picture(page, "admin-streak")


def folded(page, streak):
    """Of twelve equal days and one with a milestone the equal ones are one entry, which opens."""
    def longer(route):
        reply = route.fetch()
        content = reply.json()
        day = next(one for one in content["data"]["days"] if one["verdict"] == "completed")
        effect = day["events"][0]
        days = [{**day, "date": f"2026-03-{number:02}", "events": [effect] * (2 if number == 7 else 1)} for number in range(12, 0, -1)]
        content["data"]["days"] = days
        route.fulfill(response=reply, json=content)

    address = f"**/api/admin/streaks/{streak}"
    page.route(address, longer)
    page.evaluate("location.hash = 'people'")
    text(page, "h1", "People")
    page.evaluate("(streak) => { location.hash = `streaks/${streak}`; }", streak)
    page.wait_for_selector(".days > .day[data-date='2026-03-07']")
    runs = page.locator(".days > [data-run=completed]")
    assert runs.count() == 2 and page.locator(".days > li").count() == 3, page.locator(".days > li").all_text_contents()
    text(page, ".days > [data-run=completed]", "5 days")
    text(page, ".days > [data-run=completed] .date", "2026-03-08to 2026-03-12")
    page.click(".days > [data-run=completed] summary >> nth=0")
    page.wait_for_selector(".days > [data-run] .day[data-date='2026-03-10']")
    picture(page, "admin-streak-folded")
    page.unroute(address)


def first_page(page):
    """How many people were active, by day, with a scale and dates, and what there is in all."""
    page.evaluate("location.hash = 'people'")
    page.wait_for_selector("main .facts dt:text-is('Active today')")
    assert page.locator("main rect.bar").count() == 30
    found = dict(zip(page.locator("main .facts dt").all_text_contents(), page.locator("main .facts dd").all_text_contents()))
    assert int(found["Streaks in all"].replace(",", "")) > 0, found
    axes(page)
    picture(page, "admin-people")


def axes(page):
    """The scale goes from 0 to what is at least the highest, and the dates from the first to the last."""
    top, half, none = [float(one.replace(",", "")) for one in page.locator("main .scale span").all_text_contents()]
    assert none == 0 and top == 2 * half > 0, (top, half, none)
    bars = page.locator("main rect.bar title").all_text_contents()
    days, values = zip(*(one.split(": ") for one in bars))
    assert max(float(one.replace(",", "")) for one in values) <= top, (values, top)
    shown = page.locator("main .dates time").evaluate_all("(all) => all.map((one) => one.dateTime)")
    assert shown[0] == days[0] and shown[-1] == days[-1] and shown == sorted(shown), (shown, days)


def find(page, place):
    """Goes on through a list until it shows this."""
    while True:
        page.wait_for_selector(f"{place}, .end button")
        if page.locator(place).count():
            return
        page.click(".end button")


def reports(page, report):
    page.click("nav [data-screen=reports]")
    place = f"[data-report='{report}']"
    find(page, place)
    text(page, place, "Again and again.")
    page.click(f"{place} [data-key=dismiss]")
    page.fill("dialog [name=note]", "Nothing wrong")
    page.click("dialog [type=submit]")
    text(page, f"{place} .badge", "dismissed")
    text(page, place, "Nothing wrong")
    picture(page, "admin-reports")


def figures(page):
    page.click("nav [data-screen=figures]")
    page.select_option("[name=measure]", "running")
    page.click("[type=submit]")
    text(page, "figcaption", "check in, running")
    page.wait_for_selector("svg.chart rect.bar", state="attached")
    assert page.locator("rect.bar").count() == 30
    page.select_option("[name=type]", "mutual")
    page.select_option("[name=measure]", "tokens_used")
    page.click("[type=submit]")
    text(page, "figcaption", "mutual, tokens used")
    page.select_option("[name=measure]", "people")
    page.click("[type=submit]")
    text(page, "figcaption", "all types, people")
    axes(page)
    picture(page, "admin-figures")


def operations(page, event):
    page.click("nav [data-screen=operations]")
    page.wait_for_selector("[data-part=replicas] tr[data-service=streaks] code")
    text(page, "[data-part=backlogs] tr[data-service=streaks]", "to be published")
    page.wait_for_selector("[data-part=backlogs] tr[data-service=notifications][data-feature=log]")
    page.click("[data-part=backlogs] summary")
    page.wait_for_selector("tr[data-job=settlement]")
    page.click("[data-key=refresh]")
    # The event is behind the first page of parked ones.
    page.wait_for_selector("[data-part=parked-events] [data-key=more]")
    place = f"[data-event='{event}']"
    assert page.locator(place).count() == 0
    page.click("[data-part=parked-events] [data-key=more]")
    text(page, place, "why it failed")
    picture(page, "admin-operations")
    page.click(f"{place} [data-key=redrive]")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    assert page.locator(place).count() == 1, "nothing is done without a confirmation"
    page.click(f"{place} [data-key=redrive]")
    page.click("dialog [type=submit]")
    text(page, ".done", "To be tried again at social: 1.")
    page.wait_for_selector(place, state="detached")
    # The others of its feature.
    feature = "[data-key=redrive-feature][data-focus=all-social-console]"
    page.click(feature)
    page.click("dialog [type=submit]")
    text(page, ".done", "To be tried again at social: 50.")
    page.wait_for_selector(feature, state="detached")


def outages(page):
    page.click("nav [data-screen=outages]")
    page.click("[data-key=declare]")
    page.fill("dialog [name=from]", "2021-03-04T20:00")
    page.fill("dialog [name=until]", "2021-03-04T23:30")
    page.fill("dialog [name=reason]", "The cellar was flooded")
    picture(page, "admin-outage")
    page.click("dialog [type=submit]")
    text(page, ".done", "declared")
    # Other tests of the same system declare outages too.
    page.wait_for_selector("[data-outage]:has-text('The cellar was flooded')")
    picture(page, "admin-outages")


def export(page, user):
    page.click("[data-key=export]")
    with page.expect_download() as waiting:
        page.click("dialog [type=submit]")
    with open(waiting.value.path(), encoding="utf-8") as file:
        assert json.load(file)["user_id"] == user
    text(page, ".done", "handed out")


def log(page, user):
    page.click("nav [data-screen=audit]")
    page.fill("[name=user_id]", user)
    page.click("[type=submit]")
    page.wait_for_selector("[data-kind=suspend_account]")
    text(page, "[data-kind=suspend_account]", "Threatened another user")
    for kind in ("lift_suspension", "sign_out_account", "read_account", "export_account"):
        page.wait_for_selector(f"[data-kind={kind}]")
    picture(page, "admin-log")


def by_keyboard(it, email, password, username, user):
    page = it.page()
    sign_in(it, page, email, password)
    tab_to(page, "nav [data-screen=audit]")
    page.keyboard.press("Enter")
    text(page, "h1", "Audit log")
    it_is_kept = page.evaluate("() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])")
    assert it_is_kept == '[{},{},""]', f"kept: {it_is_kept}"
    page.evaluate("location.hash = 'people'")
    text(page, "h1", "People")
    tab_to(page, "[type=search]")
    page.keyboard.type(username)
    page.keyboard.press("Enter")
    page.wait_for_selector(f"a.row[href='#people/{user}']")
    tab_to(page, f"a.row[href='#people/{user}']")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-key=suspend]")
    tab_to(page, "[data-key=suspend]")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("Escape")
    page.evaluate("location.hash = 'operations'")
    page.wait_for_selector("tr[data-job]", state="attached")
    tab_to(page, "[data-part=replicas] .frame")
    tab_to(page, "[data-part=backlogs] summary")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-part=backlogs] details[open]")
    page.evaluate("location.hash = 'outages'")
    tab_to(page, "[data-key=declare]")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("Escape")
    tab_to(page, "header button")
    page.keyboard.press("Enter")
    page.wait_for_selector("[name=password]")
    page.context.close()


def looks(it, email, password, user, streak):
    for name, size, scheme in LOOKS:
        page = it.page(size, scheme)
        sign_in(it, page, email, password)
        for key, place, wanted in (
            ("people", "people", "a.row"),
            ("person", f"people/{user}", ".facts"),
            ("streak", f"streaks/{streak}", ".day"),
            ("reports", "reports?status=dismissed", ".card"),
            ("figures", "figures", "svg.chart"),
            ("operations", "operations", "tr[data-job]"),
            ("outages", "outages", "[data-outage]"),
            ("log", "audit", "[data-kind]"),
        ):
            page.evaluate("(place) => { location.hash = place; }", place)
            page.wait_for_selector(f"main {wanted}", state="attached")
            fits(page)
            seen = page.evaluate(
                """() => [...document.querySelectorAll("nav a[aria-current]")].every((link) => {
                    const box = link.getBoundingClientRect();
                    return box.left >= 0 && box.right <= innerWidth;
                })"""
            )
            assert seen, f"the name of the screen {key} is out of sight"
            picture(page, f"admin-{name}-{scheme}-{key}")
        page.context.close()


def main(address, email, other, password, username, user, streak, report, event):
    with browser(address) as it:
        refusals(it, email, other, password)
        reload(it, email, password)
        page = it.page()
        sign_in(it, page, email, password)
        people(page, username, user)
        wallet(page)
        export(page, user)
        suspension(page)
        # Signed in again elsewhere, so that there is a session to end.
        reply = page.request.post(f"{address}/api/auth/login", data={"email": f"{username}@example.com", "password": password})
        assert reply.status == 200, reply.text()
        page.evaluate("location.hash = 'people'")
        text(page, "h1", "People")
        page.evaluate("(user) => { location.hash = `people/${user}`; }", user)
        page.click("[data-key=leave]")
        page.click("dialog [type=submit]")
        text(page, ".done", "Sessions ended: 1")
        inspector(page, streak)
        folded(page, streak)
        first_page(page)
        reports(page, report)
        figures(page)
        operations(page, event)
        outages(page)
        log(page, user)
        page.context.close()
        by_keyboard(it, email, password, username, user)
        looks(it, email, password, user, streak)
    print("administered")


if __name__ == "__main__":
    main(*sys.argv[1:])
