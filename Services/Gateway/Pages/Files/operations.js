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
    const parts = [part("Replicas", "/api/admin/replicas", replicas), part("Parked events", "/api/admin/parked-events", parked, "events"), part("Backlogs", "/api/admin/backlogs", backlogs)];
    let turn = null;
    let isBusy = false;
    async function load(byItself = false) {
        if (isBusy) return;
        isBusy = true;
        clearTimeout(turn);
        // Many pages are not asked for every few seconds.
        await Promise.all(parts.filter((one) => !byItself || one.pages === 1).map((one) => one.load()));
        isBusy = false;
        said.textContent = `As of ${when(Date.now())}, again every ${pause / 1000} s.`;
        later();
    }
    /// Not while the page is hidden, and not under a question; it ends with the screen.
    function later() {
        turn = setTimeout(() => {
            if (!top.isConnected) return;
            if (document.visibilityState === "visible" && !document.querySelector("dialog[open]")) load(true);
            else later();
        }, pause);
    }
    const act = async (service, { event = null, feature = null } = {}) => {
        const { data } = await ask("POST", "/api/admin/parked-events/redrive", { service, event_id: event, feature });
        done.replaceChildren(h("p", { class: "done" }, `To be tried again at ${service}: ${data.redriven}.`));
        await parts[1].load();
    };
    for (const one of parts) one.act = act;
    load();
    return [h("div", { class: "head" }, top, h("button", { class: "button small", data: { key: "refresh" }, onclick: () => load() }, "Refresh")), said, done, ...parts.flatMap((one) => one.elements)];
}

/// A part of the screen that is made anew with each answer; what has the focus or is open stays so. `list` names the member that comes page by page.
function part(title, path, show, list) {
    const place = h("div", { class: "stack", data: { part: title.toLowerCase().replaceAll(" ", "-") } });
    const one = { elements: [h("h2", {}, title), place], act: null, pages: 1 };
    /// As many pages as are shown, put together.
    async function all() {
        const { data, meta } = await ask("GET", path);
        let next = meta?.next_cursor;
        for (let page = 1; next && page < one.pages; page += 1) {
            const more = await ask("GET", `${path}?${new URLSearchParams({ cursor: next })}`);
            data[list].push(...more.data[list]);
            next = more.meta?.next_cursor;
        }
        return { data, more: list && next ? [h("button", { class: "button", data: { key: "more", focus: "more" }, onclick: () => { one.pages += 1; one.load(); } }, "Show more")] : [] };
    }
    let latest = 0;
    one.load = async () => {
        const own = latest += 1;
        try {
            const { data, more } = await all();
            // An answer that was asked for earlier may come later.
            if (own !== latest) return;
            const focus = place.contains(document.activeElement) ? document.activeElement.dataset.focus : null;
            const isOpen = place.querySelector("details")?.open ?? false;
            const scroll = [...place.querySelectorAll(".frame")].map((frame) => frame.scrollLeft);
            place.replaceChildren(...show(data, one.act), ...more);
            if (isOpen) place.querySelector("details")?.setAttribute("open", "");
            place.querySelectorAll(".frame").forEach((frame, index) => { frame.scrollLeft = scroll[index] ?? 0; });
            if (focus) place.querySelector(`[data-focus="${focus}"]`)?.focus({ preventScroll: true });
        } catch (error) {
            if (own === latest) place.replaceChildren(failure(error));
        }
    };
    return one;
}

function replicas(data) {
    const rows = data.services.flatMap(({ service, replicas }) => replicas.length === 0 ? [away(service, 7, "away")] : replicas.map((one) =>
        h("tr", { data: { service } }, h("th", { scope: "row" }, service, one.is_without_database ? [" ", badge("no database", "bad")] : null), h("td", {}, h("code", { title: one.features.join(", ") }, one.instance)),
            h("td", {}, one.version), h("td", { class: "number" }, when(one.started_at)), number(one.requests), number(one.errors),
            h("td", { class: "number" }, `${(Number(one.mean_microseconds) / 1000).toFixed(1)} ms`))));
    return [table("Replicas", names("Service", "Replica", "Version", "Since", "Requests", "Refused or failed", "Mean time"), rows)];
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
    const features = services.map((service) => [service, [...new Set(data.events.filter((one) => one.service === service).map((one) => one.event.feature))]]);
    const again = (name, key, focus, what, body) => h("button", { class: "button small", data: { key, service: name.split(" ")[0], focus }, onclick: () =>
        question(`Try all of ${name} again?`, `Every parked event of the ${what} gets a fresh start, and what waits behind follows in order.`, [], "Try again", body) }, `Try all of ${name} again`);
    const all = features.flatMap(([service, names]) => [again(service, "redrive-all", `all-${service}`, "service", () => act(service)),
        ...names.map((feature) => again(`${service} ${feature}`, "redrive-feature", `all-${service}-${feature}`, "feature", () => act(service, { feature })))]);
    const rows = data.events.map(({ service, event: one }) => h("li", { class: "card", data: { event: one.event_id, service } },
        h("div", { class: "head" }, h("strong", {}, `${service} ${one.feature}`), badge(`${one.attempts} attempts`, "bad"), h("span", { class: "quiet number" }, `parked ${when(one.parked_at)}`)),
        h("p", {}, h("code", {}, one.subject)), h("p", {}, "About ", h("code", {}, one.aggregate)), h("p", {}, one.last_error),
        h("div", { class: "choices" }, h("button", { class: "button small", data: { key: "redrive", focus: `${one.event_id}-${one.feature}` }, onclick: () =>
            question("Try it again?", "The event gets a fresh start in every feature that parked it, and what waits behind follows in order.", [], "Try again", () => act(service, { event: one.event_id })) }, "Try again"))));
    return [...silent, h("div", { class: "choices" }, all), h("ul", { class: "rows" }, rows)];
}
