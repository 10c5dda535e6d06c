// People: search, one account with its sessions and streaks, and what an administrator can do to it.
import { local } from "/pages/api.js";
import { ask, badge, choice, facts, failure, field, input, pages, query, question, Refusal, textarea, when, words } from "/pages/console.js";
import { overview } from "/pages/figures.js";
import { h } from "/pages/page.js";

const tones = { active: "good", suspended: "warn", banned: "bad", deleted: "bad", broken: "bad", ended: "plain" };
export const state = (name) => badge(name, tones[name]);

export function accounts({ q = "" }) {
    const box = input("q", { type: "search", value: q, placeholder: "E-mail, name or id", "aria-label": "E-mail, name or id", autocomplete: "off" });
    const form = h("form", { class: "search", role: "search", onsubmit: (event) => { event.preventDefault(); location.hash = query("people", { q: box.value.trim() }); } },
        box, h("button", { class: "button main", type: "submit" }, "Search"));
    const list = pages(query("/api/admin/accounts", { q }), (data) => data.accounts, (one) =>
        h("li", {}, h("a", { class: "row", href: `#people/${one.user_id}` },
            h("strong", {}, one.display_name), h("span", { class: "quiet" }, `@${one.username}`), h("span", { class: "quiet" }, one.email),
            h("span", {}, state(one.status), one.is_admin ? badge("admin", "ice") : null))), "No account was found.");
    return [h("h1", {}, "People"), form, ...(q ? [] : [overview()]), ...list];
}

export function account(id) {
    const place = h("div", { class: "stack" }, h("p", { class: "quiet", role: "status" }, "Loading …"));
    async function load(message) {
        try {
            const { data } = await ask("GET", `/api/admin/accounts/${id}`);
            place.replaceChildren(...[message && h("p", { class: "done", role: "status" }, message), ...details(data, load)].filter(Boolean));
        } catch (error) {
            place.replaceChildren(failure(error));
        }
    }
    load("");
    const streaks = pages(query("/api/admin/streaks", { user_id: id }), (data) => data.streaks, (one) =>
        h("li", {}, h("a", { class: "row", href: `#streaks/${one.streak_id}`, data: { type: one.type } },
            h("strong", {}, words(one.type)), h("span", {}, `count ${one.current_count}, longest ${one.longest_count}`),
            h("span", { class: "quiet" }, `since ${when(one.started_at)}`), h("span", {}, state(one.status)))), "No streaks.");
    const log = h("p", {}, h("a", { href: `#audit?user_id=${id}` }, "What administrators did about this person"));
    return [h("h1", {}, "Person"), place, h("h2", {}, "Wallet"), wallet(id), h("h2", {}, "Streaks"), ...streaks, log];
}

/// What a person has, the newest entries, and a way to give or take.
function wallet(id) {
    const base = `/api/admin/users/${id}/wallet`;
    const place = h("section", { class: "card", data: { role: "wallet" } }, h("p", { class: "quiet", role: "status" }, "Loading …"));
    async function load() {
        try {
            const { data } = await ask("GET", query(base, { limit: 5 }));
            const balances = data.balances.map((one) => [words(one.currency), h("span", { class: "number", data: { currency: one.currency } }, `${one.balance}`)]);
            const entries = data.entries.map((one) => h("li", {}, h("span", { class: "number" }, `${one.amount > 0 ? "+" : ""}${one.amount}`), ` ${words(one.type)}, ${when(one.created_at)} `, h("span", { class: "quiet" }, one.note ?? "")));
            place.replaceChildren(facts(...balances), h("ul", {}, entries), h("div", { class: "choices" }, h("button", { class: "button small", data: { key: "grant" }, onclick: give }, "Give or take")));
        } catch (error) {
            place.replaceChildren(failure(error));
        }
    }
    const give = () => question("Give or take", "The person’s wallet is changed at once.",
        [field("What", choice("currency", [["coins", "coins"], ["recovery_tokens", "recovery tokens"]], "coins")),
            field("How many, negative to take", input("amount", { type: "number", step: 1, min: -1000000, max: 1000000, required: true })),
            field("Reason, for the audit log", textarea("reason", { required: true, minlength: 3, maxlength: 200 }))], "Change", async ({ currency, amount, reason }) => {
            await ask("POST", `${base}/grants`, { currency, amount: Number(amount), reason });
            await load();
        });
    load();
    return place;
}

function details(data, load) {
    const { account: one, standing } = data;
    const top = h("section", { class: "card" },
        h("div", { class: "head" }, h("h2", {}, one.display_name), state(standing.status), one.is_admin ? badge("admin", "ice") : null),
        facts(["Username", `@${one.username}`], ["E-mail", one.email ? `${one.email}${data.email_verified ? " (verified)" : ""}` : "hidden by Apple"],
            ["Id", h("code", {}, one.user_id)], ["Since", when(one.created_at)], ["Changed", when(data.updated_at)],
            ["Time zone", `${data.time_zone}, since ${when(data.time_zone_since)}`], ["Language", data.locale ?? "not chosen"],
            ["Terms", data.terms_version ? `${data.terms_version}, ${when(data.terms_accepted_at)}` : "not accepted"],
            ["Signs in with", data.has_password ? "a password" : "Apple only"],
            ["Suspended until", standing.suspended_until && when(standing.suspended_until)],
            ["Banned", standing.banned_at && when(standing.banned_at)], ["Deleted", standing.deleted_at && when(standing.deleted_at)],
            ["Removed for good", standing.purge_at && when(standing.purge_at)]),
        h("div", { class: "choices" }, choices(data, load)));
    const sessions = data.sessions.map((session) => h("li", { class: "row" }, h("code", {}, session.session_id.slice(-12)),
        h("span", {}, `last used ${when(session.last_used_at)}`), h("span", { class: "quiet" }, `since ${when(session.created_at)}`)));
    return [top, h("h2", {}, `Sessions (${sessions.length})`), sessions.length ? h("ul", { class: "rows" }, sessions) : h("p", { class: "quiet" }, "Signed in nowhere.")];
}

function choices({ account: one, standing, sessions }, load) {
    const base = `/api/admin/accounts/${one.user_id}`;
    const button = (key, text, act) => h("button", { class: "button small", data: { key }, onclick: act }, text);
    const reason = () => field("Reason, for the audit log", textarea("reason", { required: true, maxlength: 500 }));
    const list = [];
    if (standing.status !== "deleted" && standing.status !== "banned") {
        list.push(button("suspend", "Suspend", () => question(`Suspend ${one.username}`, "They are signed out everywhere and cannot sign in until then.",
            [reason(), field("Until, UTC (7 days when empty)", input("until", { type: "datetime-local" }))], "Suspend", async ({ reason, until }) => {
                await ask("POST", `${base}/suspend`, { reason, until: until ? `${until}:00Z` : null });
                await load(`${one.username} is suspended.`);
            })));
    }
    if (standing.suspended_until) {
        list.push(button("lift", "Lift the suspension", () => question(`Lift the suspension of ${one.username}`, "They can sign in again at once.",
            [reason()], "Lift", async ({ reason }) => {
                await ask("DELETE", `${base}/suspension`, { reason });
                await load("The suspension is lifted.");
            })));
    }
    if (standing.status === "deleted") {
        list.push(button("restore", "Restore", () => question(`Restore ${one.username}`, "What they shared with others stays ended.", [], "Restore", async () => {
            const { data } = await ask("POST", `${base}/restore`);
            await load(data.username_changed ? `Restored as ${data.username}.` : "Restored.");
        })));
    }
    if (sessions.length) {
        list.push(button("leave", "Sign out everywhere", () => question(`Sign ${one.username} out`, "Every session ends, on all devices.", [], "Sign out", async () => {
            const { data } = await ask("DELETE", `${base}/sessions`);
            await load(`Sessions ended: ${data.sessions_ended}.`);
        })));
    }
    list.push(button("export", "Export the data", () => question(`Export the data of ${one.username}`, "Everything that the services hold about this person, as they can ask for it themselves. A large export takes a while, and the person is notified when it is there.", [], "Export", async () => {
        download(await collect(base), `streaksnap-${one.username || one.user_id}.json`);
        await load("The data was handed out.");
    })));
    return list;
}

/// The address of the document; asks again while it is being made.
async function collect(base) {
    for (let turn = 0; turn < 30; turn += 1) {
        const { data } = await ask("GET", `${base}/export`);
        if (data.document) return URL.createObjectURL(new Blob([data.document], { type: "application/json" }));
        if (data.url) return local(data.url);
        await new Promise((done) => setTimeout(done, 2000));
    }
    throw new Refusal(0, { message: "It is still being made. Ask again in a few minutes." });
}

function download(href, name) {
    const link = h("a", { href, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    // The browser has begun to read it by then.
    setTimeout(() => URL.revokeObjectURL(href), 60000);
}
