// The map: posts and clusters (PL-4) on the outlines of countries, for people who develop. It reads as a guest does.
import { local } from "/pages/api.js";
import { down, draw as drawLand, latitude, limit, load as loadLand } from "/pages/land.js";
import { h, icon } from "/pages/page.js";

const most = 20;
/// From here on outlines would be wrong by more than a finger's width: they are right to some 5 km.
const lastLand = 10;
/// Below it the API leaves out what is no circle, so the page asks for this zoom and joins what would overlap.
const firstWhole = 8;
/// Pixels between the middles of what is joined.
const reach = 30;

const canvas = h("canvas", { tabindex: "0", role: "application", "aria-label": "Map of posts: arrow keys move it, plus and minus zoom" });
const state = h("p", { class: "state number", role: "status" });
const panel = h("aside", { class: "post", "aria-label": "Post", hidden: true });
const pen = canvas.getContext("2d");
const mark = icon("flame", { filled: true, size: 26 });
mark.classList.add("mark");
document.body.append(
    h(
        "header",
        { class: "top" },
        h("a", { class: "brand", href: "/map" }, mark, "StreakSnap map"),
        h("nav", { class: "links", "aria-label": "Pages" }, h("a", { href: "/demo" }, "Demo"), h("a", { href: "/docs" }, "API")),
    ),
    h(
        "main",
        {},
        h("h1", { class: "only-read" }, "StreakSnap map"),
        canvas,
        state,
        h("div", { class: "zoom" }, zoomButton("+", "Zoom in", 1), zoomButton("−", "Zoom out", -1)),
        panel,
    ),
);

function zoomButton(sign, text, steps) {
    return h("button", { class: "button", "aria-label": text, onclick: () => zoomBy(steps, size().w / 2, size().h / 2) }, sign);
}

const style = getComputedStyle(document.body);
const colors = () => Object.fromEntries(["sea", "land", "coast", "border", "grid", "soft", "ink", "paper", "good", "accent"].map((name) => [name, style.getPropertyValue(`--${name}`)]));

/// `1 post`, `2,500 posts`.
const amount = (count, word) => `${count.toLocaleString("en-GB")} ${word}${count === 1 ? "" : "s"}`;

// MARK: What is seen

// The middle of the map in units of the world's width, from the north-west, and the zoom. The address may say them: #zoom/lat/lon
const view = { x: 0.5, y: 0.5, zoom: 2 };
let land = null;
let shown = [];
let token = null;
let asked = 0;
let timer = null;
let chosen = null;

const wrap = (x) => x - Math.floor(x);
const scale = () => 256 * 2 ** view.zoom;
const size = () => ({ w: canvas.clientWidth, h: canvas.clientHeight });

function start() {
    const parts = location.hash.slice(1).split("/").map(Number);
    if (parts.length === 3 && parts.every(Number.isFinite)) {
        view.zoom = Math.max(0, Math.min(most, parts[0]));
        view.y = down(parts[1]);
        view.x = wrap(parts[2] / 360 + 0.5);
    } else {
        view.zoom = Math.max(2, Math.log2(size().w / 256));
    }
}

/// Keeps the view on the map, and in the address.
function keep() {
    const half = size().h / 2 / scale();
    view.x = wrap(view.x);
    view.y = half >= 0.5 ? 0.5 : Math.max(half, Math.min(1 - half, view.y));
    history.replaceState(null, "", `#${view.zoom.toFixed(2)}/${latitude(view.y).toFixed(5)}/${((view.x - 0.5) * 360).toFixed(5)}`);
}

/// Where a point is on the canvas: the world is drawn once, as far east of the middle as west of it.
function at({ latitude: north, longitude: east }) {
    const { w, h } = size();
    let x = east / 360 + 0.5 - view.x;
    x -= Math.round(x);
    return { x: w / 2 + x * scale(), y: h / 2 + (down(north) - view.y) * scale() };
}

// MARK: Drawing

/// Without the outlines the map does as well.
async function showLand() {
    land = await loadLand().catch(() => null);
    draw();
}

function draw() {
    const [{ w, h }, ratio, paint] = [size(), devicePixelRatio || 1, colors()];
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
        canvas.width = Math.round(w * ratio);
        canvas.height = Math.round(h * ratio);
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = paint.paper;
    pen.fillRect(0, 0, w, h);
    const frame = {
        width: w,
        height: h,
        x: (x) => w / 2 + (x - view.x) * scale(),
        y: (y) => h / 2 + (y - view.y) * scale(),
    };
    pen.save();
    pen.beginPath();
    pen.rect(w / 2 - scale() / 2, frame.y(0), scale(), scale());
    pen.clip();
    if (land && view.zoom <= lastLand) {
        pen.fillStyle = paint.sea;
        pen.fillRect(0, 0, w, h);
        drawLand(pen, land, frame, paint);
    }
    grid(frame, paint);
    pen.restore();
    for (const one of shown) cluster(one, paint);
}

/// Meridians and parallels with their degrees; each once, also where the whole world is seen.
function grid(frame, paint) {
    const { width: w, height: h } = frame;
    const span = Math.min(360, (360 * w) / scale());
    const step = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45].find((one) => span / one < 9) || 90;
    const digits = Math.max(0, -Math.floor(Math.log10(step)));
    const words = (degrees, plus, minus) => {
        const text = Math.abs(degrees).toFixed(digits);
        return `${text}°${Number(text) === 0 || Number(text) === 180 ? "" : degrees > 0 ? ` ${plus}` : ` ${minus}`}`;
    };
    pen.strokeStyle = paint.grid;
    pen.fillStyle = paint.soft;
    pen.lineWidth = 1;
    pen.font = `12px ${style.fontFamily}`;
    pen.textAlign = "left";
    const stroke = (x1, y1, x2, y2) => {
        pen.beginPath();
        pen.moveTo(x1, y1);
        pen.lineTo(x2, y2);
        pen.stroke();
    };
    const [middle, bottom] = [(view.x - 0.5) * 360, Math.min(h, frame.y(1))];
    for (let n = Math.ceil((middle - span / 2) / step); n * step < middle + span / 2; n += 1) {
        const [x, degrees] = [w / 2 + ((n * step - middle) / 360) * scale(), n * step - 360 * Math.round((n * step) / 360)];
        stroke(x, 0, x, h);
        pen.fillText(words(degrees, "E", "W"), x + 4, bottom - 8);
    }
    const [north, south] = [latitude(view.y - h / 2 / scale()), latitude(view.y + h / 2 / scale())];
    const left = Math.max(0, w / 2 - scale() / 2);
    for (let n = Math.ceil(south / step); n * step <= north; n += 1) {
        if (Math.abs(n * step) > limit) continue;
        const y = frame.y(down(n * step));
        stroke(0, y, w, y);
        // The corner is the meridians'.
        if (y < bottom - 26) pen.fillText(words(n * step, "N", "S"), left + 4, y - 4);
    }
}

/// The radius that something is drawn with, in pixels.
function radius({ kind, count, center, radius: metres }) {
    if (kind === "single") return 7;
    const least = 9 + 4 * String(count).length;
    // A metre is longer on the map the nearer it is to a pole.
    const own = (metres / (40030173 * Math.cos((center.latitude * Math.PI) / 180))) * scale();
    return kind === "small" || kind === "joined" ? least : Math.max(least, own);
}

function cluster(one, paint) {
    const [{ x, y }, r] = [at(one.center), radius(one) + (one === chosen ? 3 : 0)];
    const looks = {
        large: ["#e0312b45", "#e0312b", paint.ink],
        tile: ["#2f6fed40", "#2f6fed", paint.ink],
        joined: ["#c93b00", "#ffffff", "#ffffff"],
        small: ["#f08c1a", "#f08c1a", "#2a0d00"],
        single: ["#137a53", "#ffffff", null],
    };
    const [fill, edge, text] = looks[one.kind];
    pen.beginPath();
    pen.arc(x, y, r, 0, 7);
    pen.fillStyle = fill;
    pen.fill();
    pen.strokeStyle = edge;
    pen.lineWidth = one.kind === "single" || one.kind === "joined" ? 2 : 1.5;
    pen.stroke();
    if (!text) return;
    pen.fillStyle = text;
    pen.font = `600 13px ${style.fontFamily}`;
    pen.textAlign = "center";
    pen.fillText(String(one.count), x, y + 4.5);
}

// MARK: What is there

function box() {
    const [{ w, h }, edge] = [size(), (x) => (wrap(x) - 0.5) * 360];
    const half = w / 2 / scale();
    const [west, east] = half >= 0.5 ? [-180, 180] : [edge(view.x - half), edge(view.x + half)];
    // The map ends at 85°, posts do not.
    const [top, bottom] = [view.y - h / 2 / scale(), view.y + h / 2 / scale()];
    const [north, south] = [top <= 0 ? 90 : latitude(top), bottom >= 1 ? -90 : latitude(bottom)];
    return [west, south, east, north].map((degrees) => degrees.toFixed(7)).join(",");
}

async function call(path, options = {}) {
    const headers = { "Content-Type": "application/json", ...(token ? { Authorization: `Bearer ${token}` } : {}) };
    const reply = await fetch(path, { ...options, headers });
    const body = await reply.json();
    if (!reply.ok) throw Object.assign(new Error(body.error ? body.error.message : reply.status), { status: reply.status });
    return body.data;
}

async function signIn() {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    const id = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    const device = id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
    token = (await call("/api/auth/guest", { method: "POST", body: JSON.stringify({ device_id: device }) })).access_token;
}

async function load(isFirst = true) {
    asked += 1;
    const [mine, begin] = [asked, performance.now()];
    try {
        if (!token) await signIn();
        const zoom = Math.max(firstWhole, view.zoom).toFixed(2);
        const found = await call(`/api/posts/clusters?bbox=${box()}&zoom=${zoom}`);
        if (mine !== asked) return;
        state.textContent = `zoom ${view.zoom.toFixed(1)} · ${words(found)} · ${Math.round(performance.now() - begin)} ms`;
        const order = ["tile", "large", "small", "single"];
        const clusters = (found.clusters ?? []).sort((one, two) => order.indexOf(one.kind) - order.indexOf(two.kind));
        shown = view.zoom < firstWhole && found.form === "clusters" ? joined(clusters) : clusters;
    } catch (error) {
        if (error.status === 401 && isFirst) {
            token = null;
            return load(false);
        }
        if (mine === asked) state.textContent = `Not loaded: ${error.message}`;
    }
    draw();
}

function words({ form, clusters = [] }) {
    const of = (kind) => clusters.filter((one) => one.kind === kind);
    const sum = (list) => list.reduce((all, one) => all + one.count, 0);
    const isWhole = scale() <= size().w + 1;
    if (clusters.length === 0) return isWhole ? "no posts yet" : "no posts in this part of the world";
    if (form === "tiles") return `${amount(sum(clusters), "post")} in ${amount(clusters.length, "tile")}`;
    // From zoom 11 on each post is there by itself too.
    const total = sum(view.zoom < 11 ? clusters : of("single"));
    if (view.zoom < firstWhole) return amount(total, "post");
    const parts = [["large", "circle"], ["small", "small group"], ["single", "pin"]].map(([kind, word]) => [of(kind).length, word]);
    return `${amount(total, "post")}: ${parts.filter(([count]) => count > 0).map(([count, word]) => amount(count, word)).join(", ")}`;
}

/// What would lie on each other at this zoom is one circle with the number of all.
function joined(clusters) {
    const groups = [];
    for (const one of clusters) {
        const place = at(one.center);
        const near = groups.find((group) => Math.hypot(group.place.x - place.x, group.place.y - place.y) < reach);
        if (near) near.parts.push(one);
        else groups.push({ place, parts: [one] });
    }
    return groups.map(({ parts }) => (parts.length === 1 ? parts[0] : { kind: "joined", center: parts[0].center, count: parts.reduce((sum, one) => sum + one.count, 0) }));
}

// MARK: Moving

function moved() {
    keep();
    draw();
    clearTimeout(timer);
    timer = setTimeout(load, 150);
}

/// What is below a point of the screen stays there.
function zoomBy(steps, x, y) {
    const [{ w, h }, before] = [size(), scale()];
    view.zoom = Math.max(0, Math.min(most, view.zoom + steps));
    view.x += (x - w / 2) * (1 / before - 1 / scale());
    view.y += (y - h / 2) * (1 / before - 1 / scale());
    moved();
}

function choose(x, y) {
    const near = shown
        .map((one) => ({ one, place: at(one.center) }))
        .map(({ one, place }) => ({ one, distance: Math.hypot(place.x - x, place.y - y) }))
        .sort((first, second) => first.distance - second.distance);
    const pin = near.find(({ one, distance }) => one.kind === "single" && distance < 20);
    const other = near.find(({ one, distance }) => one.kind !== "single" && distance < 24);
    chosen = pin?.one ?? null;
    show();
    if (!pin && other) zoomBy(2, x, y);
    draw();
}

function show() {
    panel.hidden = !chosen;
    if (!chosen) return;
    const post = chosen.post;
    const rows = post
        ? [
              post.caption,
              [post.city, post.country].filter(Boolean).join(", "),
              `${post.author ? post.author.display_name : ""} · ▲ ${post.up} ▼ ${post.down}`,
              new Date(post.captured_at).toLocaleString("en-GB"),
          ]
        : [chosen.members[0]];
    const leave = () => {
        chosen = null;
        show();
        draw();
    };
    panel.replaceChildren(
        ...(post ? [h("img", { src: local(post.thumbnail_url), alt: "" })] : []),
        ...rows.filter(Boolean).map((row) => h("p", {}, row)),
        h("button", { class: "button small", "aria-label": "Close", onclick: leave }, icon("close", { size: 18 })),
    );
}

const fingers = new Map();
let [travelled, gap] = [0, 0];
const place = (event) => ({ x: event.offsetX, y: event.offsetY });
canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, place(event));
    if (fingers.size === 1) travelled = 0;
    gap = 0;
});
canvas.addEventListener("pointermove", (event) => {
    const last = fingers.get(event.pointerId);
    if (!last) return;
    const now = place(event);
    fingers.set(event.pointerId, now);
    const all = [...fingers.values()];
    view.x -= (now.x - last.x) / all.length / scale();
    view.y -= (now.y - last.y) / all.length / scale();
    travelled += Math.hypot(now.x - last.x, now.y - last.y);
    if (all.length === 2) {
        const wide = Math.hypot(all[0].x - all[1].x, all[0].y - all[1].y);
        if (gap > 0 && wide > 0) zoomBy(Math.log2(wide / gap), (all[0].x + all[1].x) / 2, (all[0].y + all[1].y) / 2);
        gap = wide;
    }
    moved();
});
const release = (event) => {
    const isAlone = fingers.size === 1;
    if (fingers.delete(event.pointerId) && isAlone && event.type === "pointerup" && travelled < 6) choose(event.offsetX, event.offsetY);
    gap = 0;
};
canvas.addEventListener("pointerup", release);
canvas.addEventListener("pointercancel", release);
canvas.addEventListener(
    "wheel",
    (event) => {
        event.preventDefault();
        zoomBy(Math.max(-1, Math.min(1, -event.deltaY / 200)), event.offsetX, event.offsetY);
    },
    { passive: false },
);
canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowLeft: [-80, 0], ArrowRight: [80, 0], ArrowUp: [0, -80], ArrowDown: [0, 80] }[event.key];
    const zoom = { "+": 1, "=": 1, "-": -1 }[event.key];
    if (!step && !zoom) return;
    event.preventDefault();
    if (zoom) {
        zoomBy(zoom, size().w / 2, size().h / 2);
        return;
    }
    view.x += step[0] / scale();
    view.y += step[1] / scale();
    moved();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
addEventListener("resize", moved);
addEventListener("hashchange", () => {
    start();
    moved();
});

start();
keep();
draw();
await Promise.all([showLand(), load()]);
document.body.dataset.ready = "true";
