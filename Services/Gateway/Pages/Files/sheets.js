// The dialogs of the app: a photo to post, a habit to begin, a place to pin, a card to share.
import { local } from "/pages/api.js";
import { h, icon } from "/pages/page.js";
import { blob, camera, draw, hasCamera, snap } from "/pages/photo.js";
import { action } from "/pages/screens.js";

let seed = Math.floor(Math.random() * 100000);

/// A preview that holds a made photo, or one of the camera. Gives its canvas, its controls, and what stops the camera.
function studio() {
    const canvas = h("canvas", { width: "1080", height: "1080", class: "preview", role: "img", "aria-label": "The photo that will be posted" });
    const video = h("video", { class: "preview", muted: true, playsinline: true, hidden: true, "aria-label": "Camera" });
    const problem = h("p", { class: "quiet", role: "status", hidden: true });
    let stop = null;
    const another = () => {
        end();
        seed += 1;
        draw(canvas, seed);
    };
    function end() {
        stop?.();
        stop = null;
        video.hidden = true;
        canvas.hidden = false;
        button.lastChild.textContent = "Camera";
    }
    const button = h("button", { class: "button small", type: "button", data: { key: "camera" } }, icon("camera", { size: 18 }), "Camera");
    button.addEventListener("click", async () => {
        if (stop) {
            snap(video, canvas);
            end();
            return;
        }
        try {
            stop = await camera(video);
            video.hidden = false;
            canvas.hidden = true;
            button.lastChild.textContent = "Take it";
        } catch {
            problem.textContent = "There is no camera here that this page may use.";
            problem.hidden = false;
        }
    });
    button.hidden = !hasCamera();
    draw(canvas, seed);
    const controls = h("div", { class: "row" }, h("button", { class: "button small", type: "button", data: { key: "another" }, onclick: another }, icon("shuffle", { size: 18 }), "Another"), button);
    return { parts: [h("div", { class: "frame" }, canvas, video), controls, problem], photo: () => blob(canvas), end };
}

export function photoSheet(phone) {
    phone.sheet("Today’s photo", (close) => {
        const work = studio();
        const caption = h("input", { class: "input", maxlength: "200", placeholder: "Say something", autocomplete: "off", data: { key: "caption" } });
        seed += 1;
        const post = action(phone, "send", "Post", async () => {
            await phone.post(await work.photo(), caption.value.trim());
            close();
        });
        const prompt = phone.state.prompt;
        return { body: [prompt && h("p", { class: "quiet" }, `${prompt.emoji} ${prompt.text}`), ...work.parts, h("label", { class: "field" }, "Caption", caption), post], onclose: work.end };
    });
}

export function cardSheet(phone) {
    phone.sheet("Your milestone", (close) => {
        const body = h("div", { class: "card-body" }, h("p", { class: "quiet" }, "The card is being drawn…"));
        phone.guard(async () => {
            const card = await phone.card();
            body.replaceChildren(
                h("img", { class: "card", src: local(card.image_url), alt: `The card for ${card.milestone} days`, width: card.width, height: card.height }),
                h("a", { class: "button wide", href: local(card.share_url), target: "_blank", rel: "noopener" }, "Open the public page"),
            );
        }).then(() => body.querySelector("img") || close());
        return { body };
    });
}

const offers = [
    { name: "Read", icon: "book", color: "#6366F1", target_value: 20, unit: "pages" },
    { name: "Walk", icon: "walk", color: "#10B981" },
    { name: "Stretch", icon: "leaf", color: "#F59E0B" },
    { name: "No phone in bed", icon: "bed", color: "#06B6D4" },
];

export function habitSheet(phone) {
    phone.sheet("New habit", (close) => {
        const name = h("input", { class: "input", maxlength: "50", autocomplete: "off", value: offers[0].name, data: { key: "habit-name" } });
        let chosen = offers[0];
        const chips = h("div", { class: "chips" });
        const mark = () => [...chips.children].forEach((chip, index) => chip.setAttribute("aria-pressed", String(offers[index] === chosen)));
        const choose = (offer) => {
            chosen = offer;
            name.value = offer.name;
            mark();
        };
        chips.append(...offers.map((offer) => h("button", { class: "chip", type: "button", onclick: () => choose(offer) }, offer.name)));
        const taken = new Set(phone.state.habits?.sections.flatMap((section) => section.habits.map((habit) => habit.name)) ?? []);
        choose(offers.find((offer) => !taken.has(offer.name)) ?? offers[0]);
        const add = action(phone, "add-habit", "Begin today", async () => {
            await phone.addHabit({ ...chosen, name: name.value.trim(), schedule: { type: "daily" } });
            close();
        });
        return { body: [chips, h("label", { class: "field" }, "Name", name), add] };
    });
}

const spots = [
    { name: "Alexanderplatz", latitude: 52.5219, longitude: 13.4132 },
    { name: "Tempelhofer Feld", latitude: 52.4736, longitude: 13.4017 },
    { name: "Grunewald", latitude: 52.4783, longitude: 13.2476 },
    { name: "Müggelsee", latitude: 52.4385, longitude: 13.6505 },
    { name: "Tegeler See", latitude: 52.5764, longitude: 13.2605 },
    { name: "Pankow", latitude: 52.5693, longitude: 13.4019 },
];

export function pinSheet(phone) {
    phone.sheet("Pin a photo", (close) => {
        const work = studio();
        seed += 1;
        const spot = h("select", { class: "input", data: { key: "spot" } }, spots.map((place, index) => h("option", { value: String(index) }, place.name)));
        spot.value = String((phone.state.places?.posts.length ?? 0) % spots.length);
        const caption = h("input", { class: "input", maxlength: "500", placeholder: "What is there?", autocomplete: "off", data: { key: "pin-caption" } });
        const send = action(phone, "send-pin", "Pin it", async () => {
            const place = spots[Number(spot.value)];
            await phone.pin(await work.photo(), place, caption.value.trim() || place.name);
            close();
        });
        return { body: [...work.parts, h("label", { class: "field" }, "Where", spot), h("label", { class: "field" }, "Caption", caption), send], onclose: work.end };
    });
}
