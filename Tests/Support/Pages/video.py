"""Plays a video in headless Chromium: video.py ADDRESS PATH NAME. First its third quarter, then its beginning: so a browser must ask for a part
in its middle. Prints as JSON {"width", "height", "seconds", "frames": [{"at", "red", "green", "blue"}, …], "parts": ["206 bytes …", …]}; a
frame has the mean of its pixels. What it looked like is kept as NAME.png."""

import json
import sys

from browser import browser, picture

# The pixels can be read because the page comes from where the video does.
PLAY = """async ([path]) => {
    const video = document.querySelector("video");
    const happens = (name) => new Promise((resolve, reject) => {
        video.addEventListener(name, resolve, { once: true });
        video.addEventListener("error", () => reject(new Error(`no video: ${video.error.message}`)), { once: true });
    });
    const known = happens("loadedmetadata");
    video.src = path;
    await known;
    window.from = async (seconds) => {
        const there = happens("seeked");
        video.currentTime = seconds;
        await there;
        await video.play();
        // It moves on: more than the one frame was read.
        while (video.currentTime < seconds + 0.3) await new Promise((resolve) => requestAnimationFrame(resolve));
        video.pause();
        const canvas = new OffscreenCanvas(32, 24).getContext("2d");
        canvas.drawImage(video, 0, 0, 32, 24);
        const pixels = canvas.getImageData(0, 0, 32, 24).data;
        const mean = (band) => Math.round(pixels.filter((_, at) => at % 4 === band).reduce((sum, one) => sum + one, 0) / (32 * 24));
        return { at: video.currentTime, red: mean(0), green: mean(1), blue: mean(2) };
    };
    return { width: video.videoWidth, height: video.videoHeight, seconds: video.duration };
}"""


def main(address, path, name):
    parts = []
    with browser(address) as it:
        page = it.page()
        page.on("response", lambda reply: reply.url == address + path and parts.append(
            f"{reply.status} {reply.headers.get('content-range', '')}"))
        page.goto(address + "/healthz")
        page.set_content('<body style="margin:0;background:#888"><video muted preload="metadata" width="640" height="480"></video>')
        facts = page.evaluate(PLAY, [path])
        frames = [page.evaluate("(seconds) => window.from(seconds)", facts["seconds"] * share) for share in (0.75, 0)]
        picture(page, name)
        # The page that was opened is a text without an icon.
        it.watch.problems = [problem for problem in it.watch.problems if not problem.endswith("/favicon.ico")]
    print(json.dumps(facts | {"frames": frames, "parts": parts}))


if __name__ == "__main__":
    main(*sys.argv[1:])
