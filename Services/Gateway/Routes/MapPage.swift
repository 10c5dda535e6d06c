/// The page of `MapRoute`.
enum MapPage {
    static let html = """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>StreakSnap map</title>
        <link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'%3E%3Cpath \
        fill='%23ff5a00' d='M12 2c.6 3.2-.6 4.9-2.2 6.7C8 10.700 6 12.800 6 15.800 6 19.300 8.700 22 12 22s6-2.700 6-6.200c0-2.300\
        -1-4.300-2.200-5.800-.2 1.400-.8 2.400-1.800 3C14.500 9 14.200 4.800 12 2z'/%3E%3C/svg%3E">
        <style>\(style)</style>
        </head>
        <body>
        <main>
        <h1>StreakSnap map</h1>
        <canvas id="map" tabindex="0" role="application" aria-label="Map of posts: arrow keys move it, plus and minus zoom"></canvas>
        <p id="state" role="status"></p>
        <div id="zoom"><button id="in" aria-label="Zoom in">+</button><button id="out" aria-label="Zoom out">−</button></div>
        <aside id="post" hidden><button id="close" aria-label="Close">×</button><img id="photo" alt=""><div id="text"></div></aside>
        </main>
        <script>\(script)</script>
        </body>
        </html>

        """

    static let style = """
        *{box-sizing:border-box;margin:0}
        html,body{height:100%;overflow:hidden;background:#eef1f4;color:#1d2530;font:14px/1.4 system-ui,sans-serif}
        h1{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
        canvas{position:absolute;inset:0;width:100%;height:100%;touch-action:none;cursor:grab}
        #state{position:absolute;left:12px;top:12px;right:12px;width:fit-content;max-width:calc(100% - 24px);padding:6px 10px;\
        border-radius:8px;background:#fffe;box-shadow:0 1px 4px #0003;pointer-events:none}
        #zoom{position:absolute;right:12px;bottom:24px;display:grid;gap:8px}
        button{width:44px;height:44px;border:0;border-radius:10px;background:#fff;color:inherit;font-size:22px;box-shadow:0 1px 4px #0004}
        aside{position:absolute;left:12px;bottom:24px;width:min(300px,calc(100% - 92px));padding:10px;border-radius:12px;background:#fff;\
        box-shadow:0 2px 12px #0004}
        aside[hidden]{display:none}
        aside img{display:block;width:100%;max-height:220px;object-fit:cover;border-radius:8px;margin-bottom:8px}
        #close{position:absolute;right:14px;top:14px;width:32px;height:32px;font-size:18px}
        @media (prefers-color-scheme:dark){html,body{background:#14181d;color:#e8edf2}#state{background:#222a33ee}\
        button,aside{background:#222a33}}
        """

    static let script = #"""
        "use strict";
        const canvas = document.getElementById("map"), pen = canvas.getContext("2d");
        const state = document.getElementById("state"), panel = document.getElementById("post");
        const most = 20, limit = 85.05, dark = matchMedia("(prefers-color-scheme: dark)");
        const colors = () => dark.matches ? { line: "#2a323b", text: "#93a0ad", ink: "#e8edf2" }
            : { line: "#d3dae2", text: "#5d6875", ink: "#1d2530" };
        // The middle of the map in units of the world's width, from the north-west, and the zoom. The address may say them: #zoom/lat/lon
        const view = { x: 0.5, y: 0.5, zoom: 2 };
        let shown = { form: "", clusters: [] }, token = null, asked = 0, timer = null, chosen = null;

        const down = lat => {
            const s = Math.sin(Math.max(-limit, Math.min(limit, lat)) * Math.PI / 180);
            return 0.5 - Math.log((1 + s) / (1 - s)) / (4 * Math.PI);
        };
        const latitude = y => Math.atan(Math.sinh(Math.PI * (1 - 2 * y))) * 180 / Math.PI;
        const wrap = x => x - Math.floor(x);
        const scale = () => 256 * 2 ** view.zoom;
        const size = () => ({ w: canvas.clientWidth, h: canvas.clientHeight });

        function start() {
            const parts = location.hash.slice(1).split("/").map(Number);
            if (parts.length === 3 && parts.every(Number.isFinite)) {
                view.zoom = Math.max(0, Math.min(most, parts[0]));
                view.y = down(parts[1]);
                view.x = wrap(parts[2] / 360 + 0.5);
            }
        }

        function keep() {
            const { h } = size(), half = h / 2 / scale();
            view.x = wrap(view.x);
            view.y = half >= 0.5 ? 0.5 : Math.max(half, Math.min(1 - half, view.y));
        }

        // Where a point is on the canvas, the copy of the world that is nearest to the middle.
        function at(lat, lon) {
            const { w, h } = size();
            let x = lon / 360 + 0.5 - view.x;
            x -= Math.round(x);
            return { x: w / 2 + x * scale(), y: h / 2 + (down(lat) - view.y) * scale() };
        }

        function lines() {
            const { w, h } = size(), span = 360 * w / scale();
            const step = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45].find(s => span / s < 7) || 90;
            const digits = Math.max(0, -Math.floor(Math.log10(step)));
            pen.strokeStyle = colors().line; pen.fillStyle = colors().text; pen.lineWidth = 1; pen.font = "11px system-ui,sans-serif";
            pen.textAlign = "left";
            const middle = (view.x - 0.5) * 360;
            for (let n = Math.floor((middle - span / 2) / step); n <= Math.ceil((middle + span / 2) / step); n++) {
                const x = w / 2 + (n * step - middle) / 360 * scale();
                pen.beginPath(); pen.moveTo(x, 0); pen.lineTo(x, h); pen.stroke();
                let degrees = n * step;
                degrees -= 360 * Math.round(degrees / 360);
                pen.fillText(degrees.toFixed(digits) + "°", x + 3, h - 6);
            }
            const north = latitude(view.y - h / 2 / scale()), south = latitude(view.y + h / 2 / scale());
            for (let n = Math.floor(south / step); n <= Math.ceil(north / step); n++) {
                if (Math.abs(n * step) > limit) continue;
                const y = h / 2 + (down(n * step) - view.y) * scale();
                pen.beginPath(); pen.moveTo(0, y); pen.lineTo(w, y); pen.stroke();
                pen.fillText((n * step).toFixed(digits) + "°", 3, y - 3);
            }
        }

        function label(text, x, y, color) {
            pen.fillStyle = color; pen.font = "600 13px system-ui,sans-serif"; pen.textAlign = "center";
            pen.fillText(text, x, y + 4.5);
        }

        function draw() {
            const { w, h } = size(), ratio = devicePixelRatio || 1;
            if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
                canvas.width = Math.round(w * ratio); canvas.height = Math.round(h * ratio);
            }
            pen.setTransform(ratio, 0, 0, ratio, 0, 0);
            pen.clearRect(0, 0, w, h);
            lines();
            const order = { large: 0, tile: 0, small: 1, single: 2 };
            for (const c of [...shown.clusters].sort((a, b) => order[a.kind] - order[b.kind])) {
                const { latitude: lat, longitude: lon } = c.center, p = at(lat, lon);
                // A metre is longer on the map the nearer it is to a pole.
                const r = c.radius / (40030173 * Math.cos(lat * Math.PI / 180)) * scale();
                pen.beginPath();
                if (c.kind === "large" || c.kind === "tile") {
                    pen.arc(p.x, p.y, Math.max(c.kind === "tile" ? 14 : 10, r), 0, 7);
                    pen.fillStyle = c.kind === "tile" ? "#2f6fed40" : "#e0312b45"; pen.fill();
                    pen.strokeStyle = c.kind === "tile" ? "#2f6fed" : "#e0312b"; pen.lineWidth = 1.5; pen.stroke();
                    label(String(c.count), p.x, p.y, colors().ink);
                } else if (c.kind === "small") {
                    pen.arc(p.x, p.y, 13, 0, 7); pen.fillStyle = "#f08c1a"; pen.fill();
                    label(String(c.count), p.x, p.y, "#fff");
                } else {
                    pen.arc(p.x, p.y, c === chosen ? 9 : 6, 0, 7); pen.fillStyle = "#137a53"; pen.fill();
                    pen.strokeStyle = "#fff"; pen.lineWidth = 2; pen.stroke();
                }
            }
        }

        function box() {
            const { w, h } = size(), half = w / 2 / scale();
            const edge = x => (wrap(x) - 0.5) * 360;
            const west = half >= 0.5 ? -180 : edge(view.x - half), east = half >= 0.5 ? 180 : edge(view.x + half);
            // The map ends at 85°, posts do not.
            const top = view.y - h / 2 / scale(), bottom = view.y + h / 2 / scale();
            const north = top <= 0 ? 90 : latitude(top), south = bottom >= 1 ? -90 : latitude(bottom);
            return [west, south, east, north].map(n => n.toFixed(7)).join(",");
        }

        async function call(path, options = {}) {
            const reply = await fetch(path, { ...options, headers: { "Content-Type": "application/json",
                ...(token ? { Authorization: "Bearer " + token } : {}) } });
            const body = await reply.json();
            if (!reply.ok) throw Object.assign(new Error(body.error ? body.error.message : reply.status), { status: reply.status });
            return body.data;
        }

        async function signIn() {
            const bytes = crypto.getRandomValues(new Uint8Array(16));
            const id = [...bytes].map(b => b.toString(16).padStart(2, "0")).join("");
            const device = id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
            token = (await call("/api/auth/guest", { method: "POST", body: JSON.stringify({ device_id: device }) })).access_token;
        }

        async function load(again = true) {
            const mine = ++asked, begin = performance.now();
            try {
                if (!token) await signIn();
                const found = await call(`/api/posts/clusters?bbox=${box()}&zoom=${view.zoom.toFixed(2)}`);
                if (mine !== asked) return;
                shown = { form: found.form, clusters: found.clusters || [] };
                const count = kind => shown.clusters.filter(c => c.kind === kind).length;
                const parts = found.form === "tiles" ? [`${count("tile")} tiles`]
                    : shown.clusters.length === 0 ? ["no posts here yet"] : [`${count("large")} circles`, `${count("small")} small`, `${count("single")} pins`];
                state.textContent = `zoom ${view.zoom.toFixed(1)} · ${parts.join(" · ")} · ${Math.round(performance.now() - begin)} ms`;
                state.dataset.ready = "yes";
            } catch (error) {
                if (error.status === 401 && again) { token = null; return load(false); }
                if (mine === asked) state.textContent = "Not loaded: " + error.message;
            }
            draw();
        }

        function moved() {
            keep(); draw();
            const { zoom } = view;
            history.replaceState(null, "", `#${zoom.toFixed(2)}/${latitude(view.y).toFixed(5)}/${((view.x - 0.5) * 360).toFixed(5)}`);
            clearTimeout(timer);
            timer = setTimeout(load, 150);
        }

        // What is below a point of the screen stays there.
        function zoomBy(steps, x, y) {
            const { w, h } = size(), before = scale();
            view.zoom = Math.max(0, Math.min(most, view.zoom + steps));
            view.x += (x - w / 2) * (1 / before - 1 / scale());
            view.y += (y - h / 2) * (1 / before - 1 / scale());
            moved();
        }

        function choose(x, y) {
            const near = shown.clusters.map(c => ({ c, p: at(c.center.latitude, c.center.longitude) }))
                .map(({ c, p }) => ({ c, d: Math.hypot(p.x - x, p.y - y) })).sort((a, b) => a.d - b.d);
            const pin = near.find(n => n.c.kind === "single" && n.d < 20), other = near.find(n => n.c.kind !== "single" && n.d < 24);
            chosen = pin ? pin.c : null;
            panel.hidden = !pin;
            if (pin) show(pin.c);
            else if (other) zoomBy(2, x, y);
            draw();
        }

        function show(cluster) {
            const post = cluster.post, photo = document.getElementById("photo"), text = document.getElementById("text");
            photo.hidden = !post;
            if (post) photo.src = new URL(post.thumbnail_url, location.href).pathname + new URL(post.thumbnail_url, location.href).search;
            const rows = post ? [post.caption, [post.city, post.country].filter(Boolean).join(", "),
                `${post.author ? post.author.display_name : ""} · ▲ ${post.up} ▼ ${post.down}`, new Date(post.captured_at).toLocaleString()]
                : [`${cluster.members[0]}`];
            text.replaceChildren(...rows.filter(Boolean).map(row => Object.assign(document.createElement("div"), { textContent: row })));
        }

        const fingers = new Map();
        let travelled = 0, gap = 0;
        canvas.addEventListener("pointerdown", e => {
            canvas.setPointerCapture(e.pointerId);
            fingers.set(e.pointerId, { x: e.clientX, y: e.clientY });
            if (fingers.size === 1) travelled = 0;
            gap = 0;
        });
        canvas.addEventListener("pointermove", e => {
            const last = fingers.get(e.pointerId);
            if (!last) return;
            const now = { x: e.clientX, y: e.clientY };
            fingers.set(e.pointerId, now);
            const all = [...fingers.values()], share = 1 / all.length;
            view.x -= (now.x - last.x) * share / scale();
            view.y -= (now.y - last.y) * share / scale();
            travelled += Math.hypot(now.x - last.x, now.y - last.y);
            if (all.length === 2) {
                const wide = Math.hypot(all[0].x - all[1].x, all[0].y - all[1].y);
                if (gap > 0 && wide > 0) zoomBy(Math.log2(wide / gap), (all[0].x + all[1].x) / 2, (all[0].y + all[1].y) / 2);
                gap = wide;
            }
            moved();
        });
        const release = e => {
            const alone = fingers.size === 1;
            if (fingers.delete(e.pointerId) && alone && e.type === "pointerup" && travelled < 6) choose(e.clientX, e.clientY);
            gap = 0;
        };
        canvas.addEventListener("pointerup", release);
        canvas.addEventListener("pointercancel", release);
        canvas.addEventListener("wheel", e => {
            e.preventDefault();
            zoomBy(Math.max(-1, Math.min(1, -e.deltaY / 200)), e.clientX, e.clientY);
        }, { passive: false });
        const steps = { ArrowLeft: [-80, 0], ArrowRight: [80, 0], ArrowUp: [0, -80], ArrowDown: [0, 80] };
        canvas.addEventListener("keydown", e => {
            if (e.ctrlKey || e.metaKey || e.altKey) return;
            const step = steps[e.key], zoom = { "+": 1, "=": 1, "-": -1 }[e.key];
            if (!step && !zoom) return;
            e.preventDefault();
            if (zoom) return zoomBy(zoom, size().w / 2, size().h / 2);
            view.x += step[0] / scale();
            view.y += step[1] / scale();
            moved();
        });
        dark.addEventListener("change", draw);
        const middle = steps => () => zoomBy(steps, size().w / 2, size().h / 2);
        document.getElementById("in").addEventListener("click", middle(1));
        document.getElementById("out").addEventListener("click", middle(-1));
        document.getElementById("close").addEventListener("click", () => { panel.hidden = true; chosen = null; draw(); });
        addEventListener("resize", moved);
        start(); keep(); draw(); load();
        """#
}
