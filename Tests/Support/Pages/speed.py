"""How long a page takes until it can be used: speed.py ADDRESS PATH TIMES. Prints the milliseconds of each load, by a browser with an empty cache."""

import sys

from browser import browser


def main(address, path, times):
    with browser(address) as it:
        for _ in range(int(times)):
            page = it.page()
            # From the request of the page on, as the browser has it.
            page.add_init_script(
                """new MutationObserver((_, observer) => {
                    if (!document.body?.dataset.ready) return;
                    window.usable = performance.now();
                    observer.disconnect();
                }).observe(document, { attributes: true, childList: true, subtree: true });"""
            )
            it.open(page, path)
            page.wait_for_function("() => window.usable > 0")
            print(round(page.evaluate("() => window.usable")))
            page.context.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
