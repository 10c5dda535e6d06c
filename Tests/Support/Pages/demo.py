"""Plays the demo by clicking through it: demo.py ADDRESS FILE. Writes its people into the file."""

import sys

from browser import LOOKS, PHONE, browser, fits, picture, tab_to, text

ADA, BEN = "[data-phone=ada]", "[data-phone=ben]"


def count(page, phone, wanted):
    page.wait_for_function(
        "([phone, wanted]) => document.querySelector(`${phone} [data-role=count]`)?.textContent === wanted", arg=[phone, str(wanted)]
    )


def shown(page, phone, role):
    """Waits until a photo has been loaded."""
    page.wait_for_function(
        "([phone, role]) => document.querySelector(`${phone} [data-role=${role}] img`)?.naturalWidth > 0", arg=[phone, role]
    )


def pushed(page, phone, words):
    """Waits until a push says this. It must not lie over the number."""
    text(page, f"{phone} .banner", words)
    covered = page.evaluate(
        """(phone) => {
            const find = (part) => document.querySelector(`${phone} ${part}`);
            const [screen, banner, count] = [find(".screen"), find(".banner"), find("[data-role=count]")];
            const [top, number] = [screen.getBoundingClientRect().top + banner.offsetTop, count.getBoundingClientRect()];
            return top < number.bottom && top + banner.offsetHeight > number.top;
        }""",
        phone,
    )
    assert not covered, f"the push of {phone} covers the number"


def chapter(page, key):
    """Has the story do its next chapter, and waits until it is done."""
    page.click(f"[data-step={key}]:not([disabled])")
    page.wait_for_selector(f".step.done[data-chapter={key}]", timeout=600_000)
    page.wait_for_selector("[data-move=hour]:not([disabled])")


def meet(page):
    page.fill(f"{ADA} [data-key=name]", "Ada")
    page.click(f"{ADA} [data-key=register]")
    page.click(f"{BEN} [data-key=register]")
    page.click(f"{ADA} [data-key=befriend]")
    # Nothing but the live event brings the request to the other phone.
    page.click(f"{BEN} [data-key=accept]")
    for phone in (ADA, BEN):
        page.wait_for_selector(f"{phone} [data-key=post]")
        count(page, phone, 0)


def post(page):
    page.click(f"{ADA} [data-key=post]")
    page.click(f"{ADA} [data-key=another]")
    page.fill(f"{ADA} [data-key=caption]", "Good morning")
    page.click(f"{ADA} [data-key=send]")
    shown(page, ADA, "yours")
    # Ben's phone shows that there is one, and not the photo (PH-4).
    page.wait_for_selector(f"{BEN} [data-role=locked]")
    assert page.locator(f"{BEN} [data-role=theirs]").count() == 0
    text(page, f"{ADA} [data-role=pill]", "Waiting for Ben")
    picture(page, "demo-locked")
    page.click(f"{BEN} [data-key=post]")
    page.click(f"{BEN} [data-key=send]")
    for phone in (ADA, BEN):
        shown(page, phone, "theirs")
        count(page, phone, 1)
    text(page, f"{BEN} [data-role=theirs]", "Good morning")
    pushed(page, ADA, "today counts for both of you")
    picture(page, "demo-revealed")


def grow_and_break(page):
    chapter(page, "grow")
    for phone in (ADA, BEN):
        count(page, phone, 30)
        pushed(page, phone, "You earned a recovery token.")
    picture(page, "demo-thirty")
    # The photo, the streak of the two and that of one's own photos reach it at once: that is one entry.
    page.click(f"{ADA} [data-tab=inbox]")
    text(page, f"{ADA} .list li", "You earned a recovery token.")
    today = page.locator(f"{ADA} .list li:has(time:text-is('now'))").all_text_contents()
    assert len(today) == 1, today
    page.click(f"{ADA} [data-tab=home]")
    page.click(f"{ADA} [data-key=card]")
    page.wait_for_function("() => document.querySelector('.card')?.naturalWidth === 1080")
    picture(page, "demo-card")
    link = page.get_attribute(f"{ADA} .sheet a", "href")
    assert page.request.get(page.url.split("/demo")[0] + link).status == 200, link
    page.keyboard.press("Escape")
    chapter(page, "risk")
    for phone in (ADA, BEN):
        text(page, f"{phone} [data-role=pill]", "At risk")
    picture(page, "demo-at-risk")
    chapter(page, "break")
    for phone in (ADA, BEN):
        text(page, f"{phone} [data-role=pill]", "Broken")
    picture(page, "demo-broken")
    page.click(f"{BEN} [data-key=recover]")
    for phone in (ADA, BEN):
        text(page, f"{phone} [data-role=pill]", "Your turn")
        count(page, phone, 30)
        pushed(page, phone, "used a recovery token: your 30-day streak")
    page.wait_for_selector(".step.done[data-chapter=recover]")
    page.wait_for_selector(f"{BEN} .day.recovered")
    assert page.locator(f"{BEN} .day.recovered").count() == 1


def rest_of_the_day(page):
    page.click(f"{ADA} [data-tab=checkin]")
    page.click(f"{ADA} [data-key=checkin]")
    count(page, ADA, 1)
    page.click(f"{BEN} [data-tab=habits]")
    page.click(f"{BEN} [data-key=habit]")
    page.fill(f"{BEN} [data-key=habit-name]", "Read a book")
    page.click(f"{BEN} [data-key=add-habit]")
    page.click(f"{BEN} [aria-label='Complete Read a book']")
    text(page, f"{BEN} .ring", "1/1")
    picture(page, "demo-check-in-habits")
    page.click(f"{ADA} [data-tab=places]")
    page.click(f"{BEN} [data-tab=places]")
    page.click(f"{ADA} [data-key=pin]")
    page.fill(f"{ADA} [data-key=pin-caption]", "The tower")
    page.click(f"{ADA} [data-key=send-pin]")
    for phone in (ADA, BEN):
        page.wait_for_selector(f"{phone} .marker")
    page.click(f"{BEN} [aria-label='Vote for The tower']")
    page.wait_for_selector(f"{BEN} .vote.on")
    page.wait_for_selector(".step.end")
    picture(page, "demo-places")
    page.click(f"{ADA} [data-tab=inbox]")
    text(page, f"{ADA} .list", "Streak saved")
    # The break is undone: its entry offers no token any more, neither to use nor to get.
    page.click(f"{BEN} [data-tab=inbox]")
    text(page, f"{BEN} .list", "Streak saved")
    assert "recovery token to save it" not in page.text_content(f"{BEN} .list")
    page.wait_for_selector(f"{ADA} .badge", state="hidden")


def again(it, page):
    """After a reload everything is as it was; a photo of the camera; a day that is moved by hand."""
    it.open(page, "/demo")
    count(page, ADA, 30)
    page.click("[data-move=day]")
    page.wait_for_selector("[data-move=day]:not([disabled])")
    page.click(f"{ADA} [data-tab=home]")
    page.click(f"{ADA} [data-key=post]")
    page.click(f"{ADA} [data-key=camera]")
    page.wait_for_function("() => document.querySelector('video.preview')?.videoWidth > 0")
    page.click(f"{ADA} [data-key=camera]")
    page.wait_for_selector(f"{ADA} canvas.preview", state="visible")
    page.click(f"{ADA} [data-key=send]")
    shown(page, ADA, "yours")


def by_keyboard(it, state):
    """The same without a mouse, on a small screen: the other phone, a photo, a dialog that is left."""
    page = it.page(PHONE, "dark", state)
    it.open(page, "/demo")
    tab_to(page, ".choice [data-phone=Ben]")
    page.keyboard.press("Enter")
    tab_to(page, f"{BEN} [data-key=post]")
    page.keyboard.press("Enter")
    tab_to(page, f"{BEN} [data-key=caption]")
    page.keyboard.type("By keyboard")
    page.keyboard.press("Escape")
    page.wait_for_function("() => document.activeElement.dataset.key === 'post'")
    page.keyboard.press("Enter")
    tab_to(page, f"{BEN} [data-key=caption]")
    page.keyboard.type("By keyboard")
    tab_to(page, f"{BEN} [data-key=send]")
    page.keyboard.press("Enter")
    text(page, f"{BEN} [data-role=yours]", "By keyboard")
    shown(page, BEN, "theirs")
    tab_to(page, f"{BEN} [data-tab=habits]")
    page.keyboard.press("Enter")
    text(page, f"{BEN} .list", "Read a book")
    page.context.close()


def looks(it, state):
    for name, size, scheme in LOOKS:
        page = it.page(size, scheme, state)
        it.open(page, "/demo")
        for phone in ("ada", "ben"):
            if size is PHONE:
                page.click(f".choice button >> nth={['ada', 'ben'].index(phone)}")
            shown(page, f"[data-phone={phone}]", "yours")
        fits(page)
        picture(page, f"demo-{name}-{scheme}")
        for tab in ("checkin", "habits", "places", "inbox"):
            page.click(f"{BEN} [data-tab={tab}]")
            page.wait_for_selector(f"{BEN} [data-tab={tab}][aria-current]")
            page.wait_for_selector(f"{BEN} .content .panel")
            fits(page)
            if size is PHONE:
                page.locator(BEN).scroll_into_view_if_needed()
                picture(page, f"demo-{name}-{scheme}-{tab}")
        page.context.close()


def main(address, file):
    with browser(address) as it:
        page = it.page()
        it.open(page, "/demo")
        picture(page, "demo-begin")
        meet(page)
        post(page)
        grow_and_break(page)
        rest_of_the_day(page)
        again(it, page)
        state = page.context.storage_state()
        with open(file, "w", encoding="utf-8") as out:
            out.write(page.evaluate("localStorage.getItem('streaksnap.people')"))
        page.context.close()
        by_keyboard(it, state)
        looks(it, state)
    print("played")


if __name__ == "__main__":
    main(*sys.argv[1:])
