"""Tries a call with a pasted token, where there is no demo: paste.py ADDRESS TOKEN."""

import sys

from browser import browser, text


def main(address, token):
    with browser(address) as it:
        page = it.page()
        it.open(page, "/docs#authGetMe")
        choices = page.locator(".try select option").all_text_contents()
        assert choices == ["A token", "Not signed in"], choices
        assert page.locator("a[href='/demo']").count() == 0
        page.fill(".try input[type=password]", token)
        page.click(".try [type=submit]")
        text(page, ".reply", '"display_name"')
        kept = page.evaluate("() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }])")
        assert token not in kept, "a pasted token is kept"
    print("tried")


if __name__ == "__main__":
    main(*sys.argv[1:])
