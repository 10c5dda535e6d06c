// The demo: two phones side by side, played by the API and the live events of this installation.
import { clock, people } from "/pages/api.js";
import { h, icon } from "/pages/page.js";
import { Phone } from "/pages/phone.js";
import { Story } from "/pages/story.js";

const names = ["Ada", "Ben"];

const header = h(
    "header",
    { class: "top" },
    h("a", { class: "brand", href: "/demo" }, mark(), "StreakSnap"),
    h("p", { class: "claim quiet" }, "One photo a day. Both of you."),
    h(
        "nav",
        { class: "links", "aria-label": "Pages" },
        h("a", { href: "/docs" }, "API"),
        h("a", { href: "/map" }, "Map"),
        h("button", { class: "button small", id: "restart", onclick: restart }, "Start over"),
    ),
);

function mark() {
    const drawing = icon("flame", { filled: true, size: 26 });
    drawing.classList.add("mark");
    return drawing;
}

function restart() {
    people.clear();
    location.reload();
}

const phones = names.map((name) => new Phone(name));
phones[0].friend = phones[1];
phones[1].friend = phones[0];
const story = new Story(phones);

// On a small screen one phone is shown at a time.
const choice = h(
    "div",
    { class: "choice", role: "group", "aria-label": "Whose phone is shown" },
    phones.map((phone, index) =>
        h("button", { "aria-pressed": String(index === 0), onclick: () => show(index), data: { phone: phone.label } }, `${phone.label}’s phone`),
    ),
);

function show(index) {
    phones.forEach((phone, place) => {
        phone.element.classList.toggle("shown", place === index);
        choice.children[place].setAttribute("aria-pressed", String(place === index));
    });
}

document.body.append(
    header,
    h("main", { class: "stage" }, h("h1", { class: "only-read" }, "StreakSnap demo"), phones[0].element, story.element, choice, phones[1].element),
);
show(0);

for (const phone of phones) phone.onchange = () => story.render();
clock.listeners.add(async () => {
    await Promise.all(phones.map((phone) => phone.timeMoved()));
    story.render();
});

await clock.read();
story.begin();
await Promise.all(phones.map((phone) => phone.start()));
document.body.dataset.ready = "true";
