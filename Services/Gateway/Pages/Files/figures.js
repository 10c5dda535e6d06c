// Figures about streaks: a chart by date, and the sums.
import { ask, choice, facts, failure, field, input, query, words } from "/pages/console.js";
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

/// The least height of a chart whose half is a number that reads easily too, and whole where all values are.
function height(values) {
    const most = Math.max(...values, 0);
    const isWhole = values.every(Number.isInteger);
    for (let scale = isWhole ? 1 : 0.01; ; scale *= 10) {
        const half = [1, 2, 5].find((one) => one * scale * 2 >= most);
        if (half) return half * scale * 2;
    }
}

const shown = (value) => value.toLocaleString("en-GB", { maximumFractionDigits: 2 });
const dayAndMonth = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

/// Bars by date between a scale and dates. These are no part of the drawing, which is stretched to the width of the screen.
function bars(values, text) {
    const [width, tall, step] = [900, 240, 900 / values.length];
    const top = height(values.map((one) => one.value));
    const all = values.map(({ date, value }, index) => {
        const own = (value / top) * tall;
        return draw("rect", { class: "bar", x: index * step + step * 0.1, y: tall - own, width: step * 0.8, height: own, rx: Math.min(4, step * 0.3) }, draw("title", {}, `${date}: ${shown(value)}`));
    });
    const lines = [0, 0.5, 1].map((part) => draw("line", { class: "line", x1: 0, x2: width, y1: tall * part, y2: tall * part }));
    const svg = draw("svg", { viewBox: `0 0 ${width} ${tall}`, role: "img", "aria-label": text, class: "chart", preserveAspectRatio: "none" }, ...lines, ...all);
    const places = [...new Set([0, 0.25, 0.5, 0.75, 1].map((part) => Math.round(part * (values.length - 1))))];
    const dates = places.map((place) => h("time", { datetime: values[place].date, style: { "--place": `${((place + 0.5) / values.length) * 100}%` } }, dayAndMonth.format(new Date(values[place].date))));
    return h("div", { class: "plot" }, h("div", { class: "scale number", "aria-hidden": "true" }, [top, top / 2, 0].map((one) => h("span", {}, shown(one)))), svg,
        h("div", { class: "dates number", "aria-hidden": "true" }, dates));
}

function chart(data, measure, type) {
    const isOfAll = measure === "people";
    const found = Object.fromEntries((isOfAll ? data.daily_actives : data.days).map((day) => [day.date, day[measure]]));
    const values = [...dates(data.from, data.to)].map((date) => ({ date, value: found[date] ?? 0 }));
    const text = `${isOfAll ? "all types" : words(type)}, ${words(measure)}: ${data.from} to ${data.to}, at most ${shown(Math.max(...values.map((one) => one.value)))} on a date`;
    const rows = values.filter((one) => one.value > 0).reverse().map(({ date, value }) => h("tr", {}, h("td", {}, date), h("td", { class: "number" }, shown(value))));
    return h("figure", { class: "card" }, h("figcaption", {}, text), bars(values, text),
        h("details", {}, h("summary", {}, "As a table"), h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "Date"), h("th", {}, words(measure)))), h("tbody", {}, rows))));
}

/// What the first page says of the last 30 dates: how many people did something each day, and what there is in all.
export function overview() {
    const place = h("section", { class: "card numbers", "aria-label": "The last 30 days" }, h("p", { class: "quiet", role: "status" }, "Loading …"));
    ask("GET", "/api/admin/analytics/streaks").then(({ data }) => {
        const found = Object.fromEntries(data.daily_actives.map((day) => [day.date, day.people]));
        const people = [...dates(data.from, data.to)].map((date) => ({ date, value: found[date] ?? 0 }));
        const week = people.slice(-8, -1);
        const sum = (measure, days = data.days) => days.reduce((total, day) => total + day[measure], 0);
        const today = data.days.filter((day) => day.date === data.to);
        place.replaceChildren(
            h("div", { class: "head" }, h("h2", {}, "The last 30 days"), h("a", { href: "#figures" }, "All figures")),
            facts(["Active today", shown(people.at(-1).value)], ["Active yesterday", shown(people.at(-2)?.value ?? 0)],
                ["Average of the week before", shown(Math.round(week.reduce((total, one) => total + one.value, 0) / Math.max(1, week.length)))],
                ["Running streaks", shown(sum("running", today))], ["Streaks in all", shown(sum("streaks", today))], ["Started", shown(sum("started"))], ["Broken", shown(sum("broken"))], ["Brought back", shown(sum("restored"))]),
            h("h3", {}, "People who did something that counts, by day"), bars(people, `Active people, ${data.from} to ${data.to}`));
    }).catch((error) => place.replaceChildren(failure(error)));
    return place;
}
