// Reports of users, and what is decided about them.
import { local } from "/pages/api.js";
import { ask, badge, choice, facts, field, pages, person, query, question, textarea, when, words } from "/pages/console.js";
import { h } from "/pages/page.js";

const statuses = [["pending", "Waiting"], ["actioned", "Acted upon"], ["dismissed", "Dismissed"]];
const decisions = [
    ["dismiss", "Dismiss", "Nothing is done about the user; a hidden post is shown again."],
    ["warn", "Warn", "The user is warned."],
    ["suspend", "Suspend", "The user is signed out everywhere and cannot sign in for 7 days."],
    ["ban", "Ban", "The user is shut out for good."],
    ["remove", "Remove", "The post is deleted."],
];

export function reports({ status = "pending" }) {
    const select = choice("status", statuses, status, { "aria-label": "Which reports", onchange: () => { location.hash = query("reports", { status: select.value }); } });
    return [h("h1", {}, "Reports"), h("div", { class: "search" }, select),
        ...pages(query("/api/admin/moderation/reports", { status }), (data) => data.reports, report, "No reports.")];
}

function report(one) {
    const item = h("li", { class: "card", data: { report: one.report_id } });
    const show = (one) => {
        const owner = person(one.owner.user_id, one.owner.username);
        const who = one.reporter_id ? person(one.reporter_id) : words(one.source);
        const post = one.post && h("figure", { class: "post" }, h("img", { src: local(one.post.thumbnail_url), alt: "The reported picture", width: 150, height: 150 }), h("figcaption", {}, one.post.caption ?? ""));
        item.replaceChildren(...[
            h("div", { class: "head" }, h("h2", {}, `${words(one.subject_type)}: ${words(one.reason)}`), badge(one.status, one.status === "pending" ? "warn" : "plain")),
            one.description && h("p", {}, one.description), post,
            facts(["About", owner], ["Reported by", who], ["Reporters", `${one.reporters}`], ["At", when(one.created_at)],
                ["Seen by a machine", one.labels.length ? one.labels.map((label) => `${label.name} ${label.confidence} %`).join(", ") : null],
                ["Decision", one.action && `${words(one.action.action)}, ${when(one.action.taken_at)}${one.action.note ? `: ${one.action.note}` : ""}`]),
            one.status === "pending" && h("div", { class: "choices" }, buttons(one, show)),
        ].filter(Boolean));
    };
    show(one);
    return item;
}

function buttons(one, show) {
    return decisions.filter(([key]) => key !== "remove" || one.subject_type === "post").map(([key, name, text]) =>
        h("button", { class: "button small", data: { key }, onclick: () => question(`${name}?`, text, [field("Note, for the audit log", textarea("note", { maxlength: 500 }))], name, async ({ note }) => {
            const { data } = await ask("PUT", `/api/admin/moderation/reports/${one.report_id}`, { action: key, note: note || null });
            show(data);
        }) }, name));
}
