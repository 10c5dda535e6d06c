"""Reads the map where the only post is Berlin's: map.py ADDRESS CAPTION."""

import sys

from browser import DESKTOP, LOOKS, PHONE, browser, fits, picture, text

BERLIN = (52.5163, 13.3777)
PIN = [19, 122, 83]
# What the page writes on its canvas since it last began anew: degrees and numbers of posts, and the fonts.
WATCH = """() => {
    const { fillText, clip } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.clip = function (...all) { window.written = []; return clip.apply(this, all); };
    CanvasRenderingContext2D.prototype.fillText = function (text, ...all) {
        (window.written ??= []).push({ text, font: this.font });
        return fillText.call(this, text, ...all);
    };
}"""


def show(it, page, place):
    """Opens the page anew at a place, and waits for what is there."""
    page.goto("about:blank")
    it.open(page, f"/map{place}")


def color(page, latitude, longitude):
    """What the canvas shows at a place. The address says where its middle is."""
    return page.evaluate(
        """([latitude, longitude]) => {
            const [zoom, north, east] = location.hash.slice(1).split("/").map(Number);
            const down = (degrees) => -Math.asinh(Math.tan(degrees * Math.PI / 180)) / (2 * Math.PI);
            const canvas = document.querySelector("canvas");
            const scale = 256 * 2 ** zoom;
            const x = canvas.clientWidth / 2 + (longitude - east) / 360 * scale;
            const y = canvas.clientHeight / 2 + (down(latitude) - down(north)) * scale;
            const copy = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
            copy.drawImage(canvas, Math.round(x * devicePixelRatio), Math.round(y * devicePixelRatio), 1, 1, 0, 0, 1, 1);
            return [...copy.getImageData(0, 0, 1, 1).data.slice(0, 3)];
        }""",
        [latitude, longitude],
    )


def every_zoom(it, page):
    """The post is counted and seen whatever the zoom, and the words are right for one."""
    for zoom, words in ((2, "1 post"), (6, "1 post"), (9, "1 post: 1 pin"), (12, "1 post: 1 pin")):
        show(it, page, f"#{zoom}/{BERLIN[0]}/{BERLIN[1]}")
        text(page, ".state", f"zoom {zoom}.0 · {words} · ")
        assert color(page, *BERLIN) == PIN, f"zoom {zoom}: {color(page, *BERLIN)}"
        if zoom in (2, 6):
            picture(page, f"map-zoom-{zoom}")
    show(it, page, "#6/-20/-120")
    text(page, ".state", "no posts in this part of the world")


def world(it, page):
    """Land and sea differ, no meridian is there twice, and all is written in the font of the other pages."""
    for place in ("", "#0/0/0", "#2.0/10/0", "#2.0/10/-170"):
        show(it, page, place)
        written = page.evaluate("window.written")
        degrees = [one["text"] for one in written if one["text"].endswith((" E", " W", "180°"))]
        assert len(degrees) > 2 and len(set(degrees)) == len(degrees), f"{place}: {degrees}"
        assert not [one for one in written if one["text"].startswith(("-", "−"))], f"{place}: {written}"
        family = page.evaluate("getComputedStyle(document.body).fontFamily")
        assert all(family in one["font"] for one in written), f"{written} in {family}"
    show(it, page, "#2.0/10/0")
    land, sea = color(page, 24.5, 5.5), color(page, 25.5, -39.5)
    assert color(page, -25.5, 130.5) == land and color(page, -34.5, 80.5) == sea and land != sea, f"{land} {sea}"


def the_post(page):
    """It is opened by a click on its pin."""
    page.evaluate("(place) => { location.hash = place; }", f"#10/{BERLIN[0]}/{BERLIN[1]}")
    text(page, ".state", "zoom 10.0 · 1 post: 1 pin · ")
    canvas = page.locator("canvas").bounding_box()
    page.mouse.click(canvas["x"] + canvas["width"] / 2, canvas["y"] + canvas["height"] / 2)
    text(page, "aside", sys.argv[2])
    page.wait_for_function("() => document.querySelector('aside img')?.naturalWidth > 0")
    page.click("aside [aria-label=Close]")
    page.wait_for_selector("aside", state="hidden")


def main(address, _):
    with browser(address) as it:
        page = it.page(DESKTOP)
        page.add_init_script(f"({WATCH})()")
        every_zoom(it, page)
        world(it, page)
        the_post(page)
        assert page.locator(".links a").evaluate_all("(all) => all.map((one) => one.getAttribute('href'))") == ["/demo", "/docs"]
        page.context.close()
        for name, size, scheme in LOOKS:
            page = it.page(size, scheme)
            show(it, page, "")
            fits(page)
            picture(page, f"map-world-{name}-{scheme}")
            if size is PHONE:
                show(it, page, "#5/51/10")
                picture(page, f"map-country-{name}-{scheme}")
            page.context.close()
    print("read")


if __name__ == "__main__":
    main(*sys.argv[1:])
