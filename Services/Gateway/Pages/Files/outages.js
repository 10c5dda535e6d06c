// Outages: times in which nothing could be posted, which break no streak, and a way to declare one.
import { ask, badge, field, input, pages, question, textarea, when } from "/pages/console.js";
import { h } from "/pages/page.js";

const tones = { waiting: "warn", under_way: "warn", done: "good" };
/// The value of an `input` for a time, taken as UTC.
const instant = (text) => (text.length === 16 ? `${text}:00Z` : `${text}Z`);

export function outages() {
    const place = h("div", { class: "stack" });
    const done = h("div", { role: "status" });
    const show = () => place.replaceChildren(...pages("/api/admin/outages", (data) => data.outages, (one) =>
        h("li", { class: "row", data: { outage: one.outage_id } }, h("strong", { class: "number" }, when(one.from)), h("span", { class: "number" }, `until ${when(one.until)}`),
            h("span", {}, one.reason), h("span", {}, badge(one.status, tones[one.status]), ` streaks settled: ${one.settled_streaks}`)), "No outage is declared."));
    const declare = () => question("Declare an outage", "A date of which a participant lost more than two hours to it breaks no streak, and what it broke is undone. It cannot be taken back.",
        [field("From, UTC", input("from", { type: "datetime-local", required: true })), field("Until, UTC", input("until", { type: "datetime-local", required: true })),
            field("Reason", textarea("reason", { required: true, maxlength: 500 }))], "Declare", async ({ from, until, reason }) => {
            const { data } = await ask("POST", "/api/admin/outages", { from: instant(from), until: instant(until), reason });
            done.replaceChildren(h("p", { class: "done" }, data.is_new ? "The outage is declared; it counts within seconds." : "This outage was declared before."));
            show();
        });
    show();
    return [h("h1", {}, "Outages"), h("p", { class: "quiet" }, "Times in which no user could be expected to post."),
        h("div", { class: "choices" }, h("button", { class: "button main", data: { key: "declare" }, onclick: declare }, "Declare an outage"), h("button", { class: "button", data: { key: "refresh" }, onclick: show }, "Refresh")), done, place];
}
