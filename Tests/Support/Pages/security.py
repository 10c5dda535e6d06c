"""Uses the console's second factor, from setting it up to removing it: security.py ADDRESS EMAIL PASSWORD, of an administrator without one.

The codes are computed here from RFC 6238 with Python's own HMAC.
"""

import base64
import hmac
import struct
import sys
import time

from browser import LOOKS, browser, fits, picture, tab_to, text


def code(secret, ahead=0):
    """What an authenticator app shows so many steps of 30 s from now."""
    step = struct.pack(">Q", int(time.time()) // 30 + ahead)
    digest = hmac.new(base64.b32decode(secret), step, "sha1").digest()
    place = digest[19] & 15
    return f"{(struct.unpack('>I', digest[place:place + 4])[0] & 0x7FFFFFFF) % 10 ** 6:06}"


def wrong_code(secret):
    """Six digits that the app shows neither now nor soon."""
    near = {code(secret, ahead) for ahead in range(-20, 20)}
    return next(word for word in map(str, range(100000, 101000)) if word not in near)


def door(it, page, email, password):
    it.open(page, "/admin")
    page.fill("[name=email]", email)
    page.fill("[name=password]", password)
    page.keyboard.press("Enter")


def is_inside(page):
    page.wait_for_selector("nav a[aria-current]")


def set_up(it, email, password):
    """By keyboard alone. - Returns the secret and the recovery codes."""
    page = it.page()
    door(it, page, email, password)
    is_inside(page)
    tab_to(page, "nav [data-screen=security]")
    page.keyboard.press("Enter")
    text(page, "h1", "Security")
    page.wait_for_selector("[data-key=set-up]")
    tab_to(page, "[data-key=set-up]")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open] [name=password]")
    page.keyboard.type(password)
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-role=secret]")
    secret = page.text_content("[data-role=secret]").replace(" ", "")
    link = page.get_attribute("[data-role=confirm] a", "href")
    assert link.startswith("otpauth://totp/StreakSnap:") and f"secret={secret}&" in link, link
    page.wait_for_function("() => document.activeElement?.name === 'code'")
    picture(page, "admin-second-factor-secret")
    page.keyboard.type(code(secret))
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-role=recovery] li")
    codes = page.locator("[data-role=recovery] li").all_text_contents()
    assert len(set(codes)) == 10, codes
    picture(page, "admin-second-factor-recovery")
    tab_to(page, "[data-key=stored]")
    page.keyboard.press("Enter")
    text(page, ".done", "You have a second factor.")
    text(page, "[data-role=second-factor]", "Recovery codes left10")
    assert secret not in page.content() and codes[0] not in page.content()
    kept = page.evaluate("() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])")
    assert kept == '[{},{},""]', f"kept: {kept}"
    # The session goes on, with its rights.
    page.evaluate("location.hash = 'people'")
    page.wait_for_selector("a.row")
    page.context.close()
    return secret, codes


def sign_in(it, email, password, secret):
    """With a code of the app, by keyboard; wrong ones are refused."""
    page = it.page()
    before = len(it.watch.problems)
    door(it, page, email, password)
    page.wait_for_function("() => document.activeElement?.name === 'code'")
    text(page, "[role=alert]", "Send a code of your authenticator app")
    box = page.locator("[name=code]")
    assert (box.get_attribute("inputmode"), box.get_attribute("autocomplete")) == ("numeric", "one-time-code")
    picture(page, "admin-second-factor-door")
    page.keyboard.type(wrong_code(secret))
    page.keyboard.press("Enter")
    text(page, "[role=alert]", "This code is wrong, or was used before.")
    page.wait_for_function("() => document.activeElement?.name === 'code' && document.activeElement.value === ''")
    page.keyboard.type(code(secret, 1))
    page.keyboard.press("Enter")
    is_inside(page)
    page.context.close()
    # Chromium reports the refusals, which are what is wanted here, as errors.
    it.watch.problems[before:] = [one for one in it.watch.problems[before:] if "Failed to load resource" not in one]


def recover(it, email, password, codes):
    """With recovery codes: one for the sign-in, one for the removal."""
    page = it.page()
    before = len(it.watch.problems)
    door(it, page, email, password)
    page.click("[data-key=recovery]")
    page.wait_for_function("() => document.activeElement?.name === 'code'")
    assert page.get_attribute("[name=code]", "inputmode") == "text"
    page.keyboard.type(codes[0].lower())
    page.keyboard.press("Enter")
    is_inside(page)
    page.click("nav [data-screen=security]")
    text(page, "[data-role=second-factor]", "Recovery codes left9")
    for name, size, scheme in LOOKS:
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme)
        fits(page)
        picture(page, f"admin-{name}-{scheme}-security")
    page.set_viewport_size(LOOKS[0][1])
    page.click("[data-key=remove]")
    page.fill("dialog [name=password]", password)
    page.fill("dialog [name=code]", codes[0])
    page.click("dialog [type=submit]")
    text(page, "dialog [role=alert]", "was used before")
    page.fill("dialog [name=code]", codes[1])
    page.click("dialog [type=submit]")
    text(page, "[role=alert]", "Your second factor is removed.")
    page.fill("[name=email]", email)
    page.fill("[name=password]", password)
    page.keyboard.press("Enter")
    is_inside(page)
    page.context.close()
    it.watch.problems[before:] = [one for one in it.watch.problems[before:] if "Failed to load resource" not in one]


def main(address, email, password):
    with browser(address) as it:
        secret, codes = set_up(it, email, password)
        sign_in(it, email, password, secret)
        recover(it, email, password, codes)
    print("secured")


if __name__ == "__main__":
    main(*sys.argv[1:])
