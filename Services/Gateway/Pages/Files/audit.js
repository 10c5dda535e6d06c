// The audit log: what administrators did and whose details they read.
import { badge, field, input, pages, person, query, when } from "/pages/console.js";
import { h } from "/pages/page.js";

export function audit({ admin_id = "", user_id = "" }) {
    const form = h("form", { class: "search", onsubmit: (event) => { event.preventDefault(); location.hash = query("audit", Object.fromEntries(new FormData(form))); } },
        field("Administrator’s id", input("admin_id", { value: admin_id, autocomplete: "off" })), field("Person’s id", input("user_id", { value: user_id, autocomplete: "off" })),
        h("button", { class: "button main", type: "submit" }, "Show"));
    return [h("h1", {}, "Audit log"), form,
        ...pages(query("/api/admin/actions", { admin_id, user_id }), (data) => data.actions, (one) =>
            h("li", { class: "row", data: { kind: one.kind } }, h("span", { class: "number quiet" }, when(one.taken_at)), h("span", {}, person(one.admin_id, one.admin_username), " ", badge(one.kind),
                one.user_id ? [" ", person(one.user_id, one.username)] : null), one.detail ? h("span", { class: "wide" }, one.detail) : null, h("code", { class: "wide quiet" }, one.request_id)), "No entries.")];
}
