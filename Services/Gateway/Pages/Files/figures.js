// Figures about streaks: a chart by date, and the sums.
import { ask, choice, failure, field, input, query, words } from "/pages/console.js";
import { h } from "/pages/page.js";

const types = ["mutual", "check_in", "daily_snap", "recipe_creation", "challenge_completion", "social_share", "healthy_eating", "team"];
// `people` is about all types together: who did anything that counts for the date.
const measures = ["active", "started", "extended", "broken", "restored", "freezes_used", "tokens_used", "cards_shared", "running", "average_streak", "share_at_7", "people"];

export function figures({ type = "check_in", measure = "active", from = "", to = "" }) {
    const form = h("form", { class: "search", onsubmit: (event) => { event.preventDefault(); location.hash = query("figures", Object.fromEntries(new FormData(form))); } },
        field("Type", choice("type", types.map((name) => [name, words(name)]), type)), field("What", choice("measure", measures.map((name) => [name, words(name)]), measure)),
        field("From", input("from", { type: "date", value: from })), field("To", input("to", { type: "date", value: to })),
        h("button", { class: "button main", type: "submit" }, "Show"));
    const place = h("div", { class: "stack" }, h("p", { class: "quiet", role: "status" }, "Loading …"));
    ask("GET", query("/api/admin/analytics/streaks", { type, from, to })).then(({ data }) => {
        place.replaceChildren(chart(data, measure, type));
    }).catch((error) => place.replaceChildren(failure(error)));
    return [h("h1", {}, "Figures"), form, place];
}

const draw = (name, properties, ...children) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(properties)) element.setAttribute(key, value);
    element.append(...children);
    return element;
};

function* dates(from, to) {
    for (let time = Date.parse(`${from}T00:00:00Z`); time <= Date.parse(`${to}T00:00:00Z`); time += 86400000) yield new Date(time).toISOString().slice(0, 10);
}

function chart(data, measure, type) {
    const isOfAll = measure === "people";
    const found = Object.fromEntries((isOfAll ? data.daily_actives : data.days).map((day) => [day.date, day[measure]]));
    const values = [...dates(data.from, data.to)].map((date) => ({ date, value: found[date] ?? 0 }));
    const most = Math.max(1, ...values.map((one) => one.value));
    const [width, height, step] = [900, 240, 900 / values.length];
    const bars = values.map(({ date, value }, index) => {
        const tall = (value / most) * (height - 20);
        const title = draw("title", {}, `${date}: ${value}`);
        return draw("rect", { class: "bar", x: index * step + step * 0.1, y: height - tall, width: step * 0.8, height: tall, rx: Math.min(4, step * 0.3) }, title);
    });
    const lines = [0, 0.5, 1].map((part) => draw("line", { class: "line", x1: 0, x2: width, y1: height - part * (height - 20), y2: height - part * (height - 20) }));
    const sum = values.reduce((total, one) => total + one.value, 0);
    const text = `${isOfAll ? "all types" : words(type)}, ${words(measure)}: ${data.from} to ${data.to}, at most ${most === 1 && sum === 0 ? 0 : most} on a date`;
    const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": text, class: "chart", preserveAspectRatio: "none" }, ...lines, ...bars);
    const rows = values.filter((one) => one.value > 0).reverse().map(({ date, value }) => h("tr", {}, h("td", {}, date), h("td", { class: "number" }, value)));
    return h("figure", { class: "card" }, h("figcaption", {}, text), svg,
        h("details", {}, h("summary", {}, "As a table"), h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "Date"), h("th", {}, words(measure)))), h("tbody", {}, rows))));
}
