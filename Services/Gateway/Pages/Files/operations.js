// Operations: which replicas run, what waits at which service, and events that were given up, with a way to have them tried again.
import { ask, badge, failure, question, when } from "/pages/console.js";
import { h } from "/pages/page.js";

/// How often the numbers are asked for again while the page is seen.
const pause = 5000;

const number = (value) => h("td", { class: "number" }, Number(value ?? 0).toLocaleString("en-GB"));
const names = (...titles) => h("thead", {}, h("tr", {}, titles.map((title) => h("th", { scope: "col" }, title))));
/// A wide table moves inside its frame, by the keyboard too.
const table = (label, head, rows) => h("div", { class: "frame", tabindex: 0, role: "region", "aria-label": label }, h("table", {}, head, h("tbody", {}, rows)));
const away = (service, columns, text) => h("tr", { data: { service } }, h("th", { scope: "row" }, service), h("td", { colspan: columns - 1 }, badge(text, "bad")));

export function operations() {
    const top = h("h1", {}, "Operations");
    const said = h("p", { class: "quiet" }, "Loading …");
    const done = h("div", { role: "status" });
    const parts = [part("Replicas", "/api/admin/replicas", replicas), part("Parked events", "/api/admin/parked-events", parked), part("Backlogs", "/api/admin/backlogs", backlogs)];
    let turn = null;
    let isBusy = false;
    async function load() {
        if (isBusy) return;
        isBusy = true;
        clearTimeout(turn);
        await Promise.all(parts.map((one) => one.load()));
        isBusy = false;
        said.textContent = `As of ${when(Date.now())}, again every ${pause / 1000} s.`;
        later();
    }
    /// Not while the page is hidden, and not under a question; it ends with the screen.
    function later() {
        turn = setTimeout(() => {
            if (!top.isConnected) return;
            if (document.visibilityState === "visible" && !document.querySelector("dialog[open]")) load();
            else later();
        }, pause);
    }
    const act = async (service, event) => {
        const { data } = await ask("POST", "/api/admin/parked-events/redrive", { service, event_id: event ?? null });
        done.replaceChildren(h("p", { class: "done" }, `To be tried again at ${service}: ${data.redriven}.`));
        await parts[1].load();
    };
    for (const one of parts) one.act = act;
    load();
    return [h("div", { class: "head" }, top, h("button", { class: "button small", data: { key: "refresh" }, onclick: load }, "Refresh")), said, done, ...parts.flatMap((one) => one.elements)];
}

/// A part of the screen that is made anew with each answer; what has the focus or is open stays so.
function part(title, path, show) {
    const place = h("div", { class: "stack", data: { part: title.toLowerCase().replaceAll(" ", "-") } });
    const one = { elements: [h("h2", {}, title), place], act: null };
    one.load = async () => {
        try {
            const { data } = await ask("GET", path);
            const focus = place.contains(document.activeElement) ? document.activeElement.dataset.focus : null;
            const isOpen = place.querySelector("details")?.open ?? false;
            const scroll = [...place.querySelectorAll(".frame")].map((frame) => frame.scrollLeft);
            place.replaceChildren(...show(data, one.act));
            if (isOpen) place.querySelector("details")?.setAttribute("open", "");
            place.querySelectorAll(".frame").forEach((frame, index) => { frame.scrollLeft = scroll[index] ?? 0; });
            if (focus) place.querySelector(`[data-focus="${focus}"]`)?.focus({ preventScroll: true });
        } catch (error) {
            place.replaceChildren(failure(error));
        }
    };
    return one;
}

function replicas(data) {
    const rows = data.services.flatMap(({ service, replicas }) => replicas.length === 0 ? [away(service, 7, "away")] : replicas.map((one) =>
        h("tr", { data: { service } }, h("th", { scope: "row" }, service, one.is_without_database ? [" ", badge("no database", "bad")] : null), h("td", {}, h("code", { title: one.features.join(", ") }, one.instance)),
            h("td", {}, one.version), h("td", { class: "number" }, when(one.started_at)), number(one.requests), number(one.errors),
            h("td", { class: "number" }, `${(Number(one.mean_microseconds) / 1000).toFixed(1)} ms`))));
    return [table("Replicas", names("Service", "Replica", "Version", "Since", "Requests", "Errors", "Mean time"), rows)];
}

function backlogs(data) {
    const rows = data.services.flatMap((one) => {
        if (!one.answers) return [away(one.service, 6, "does not answer")];
        const first = h("tr", { data: { service: one.service } }, h("th", { scope: "row" }, one.service), h("td", {}, "to be published"), number(one.unpublished),
            h("td", {}), h("td", {}), h("td", { class: "number" }, one.unpublished_since ? when(one.unpublished_since) : ""));
        return [first, ...one.features.map((feature) => h("tr", { data: { service: one.service, feature: feature.feature } }, h("td", {}), h("td", {}, feature.feature),
            feature.pending === undefined || feature.pending === null ? h("td", {}, "runs nowhere") : number(feature.pending), number(feature.retrying),
            h("td", { class: "number" }, Number(feature.parked) ? badge(`${feature.parked} parked`, "bad") : "0"), h("td", {}))) ];
    });
    const jobs = data.services.flatMap((one) => one.jobs.map((job) => ({ service: one.service, ...job })));
    const bad = jobs.filter((job) => job.last_failure_at && !(Date.parse(job.last_success_at) > Date.parse(job.last_failure_at)));
    const list = (some) => table("Jobs", names("Service", "Job", "Due since", "Last success", "Last failure", "How"), some.map((job) =>
        h("tr", { data: { job: job.job } }, h("th", { scope: "row" }, job.service), h("td", {}, job.job), h("td", { class: "number" }, job.due_since ? when(job.due_since) : "–"), h("td", { class: "number" }, when(job.last_success_at)),
            h("td", { class: "number" }, when(job.last_failure_at)), h("td", {}, job.last_error))));
    return [table("Backlogs", names("Service", "Feature", "Waiting", "Tried again", "Parked", "Since"), rows),
        ...(bad.length ? [h("h3", {}, "Jobs that fail"), list(bad)] : [h("p", { class: "quiet" }, "No job fails.")]),
        h("details", {}, h("summary", { data: { focus: "jobs" } }, `All jobs (${jobs.length})`), list(jobs))];
}

function parked(data, act) {
    const silent = data.unanswered.length ? [h("p", { class: "quiet" }, `Not known of: ${data.unanswered.join(", ")}.`)] : [];
    if (data.events.length === 0) return [...silent, h("p", { class: "quiet" }, "No event is parked.")];
    const services = [...new Set(data.events.map((one) => one.service))];
    const all = services.map((service) => h("button", { class: "button small", data: { key: "redrive-all", service, focus: `all-${service}` }, onclick: () =>
        question(`Try all of ${service} again?`, "Every parked event of the service gets a fresh start, and what waits behind follows in order.", [], "Try again", () => act(service)) }, `Try all of ${service} again`));
    const rows = data.events.map(({ service, event: one }) => h("li", { class: "card", data: { event: one.event_id, service } },
        h("div", { class: "head" }, h("strong", {}, `${service} ${one.feature}`), badge(`${one.attempts} attempts`, "bad"), h("span", { class: "quiet number" }, `parked ${when(one.parked_at)}`)),
        h("p", {}, h("code", {}, one.subject)), h("p", {}, "About ", h("code", {}, one.aggregate)), h("p", {}, one.last_error),
        h("div", { class: "choices" }, h("button", { class: "button small", data: { key: "redrive", focus: `${one.event_id}-${one.feature}` }, onclick: () =>
            question("Try it again?", "The event gets a fresh start in every feature that parked it, and what waits behind follows in order.", [], "Try again", () => act(service, one.event_id)) }, "Try again"))));
    return [...silent, h("div", { class: "choices" }, all), h("ul", { class: "rows" }, rows)];
}
