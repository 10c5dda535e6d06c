// What the screens of the console share: the session, calls, words for times, lists that go on, questions before a change.
import { h, isAboutToken, random } from "/pages/page.js";

/// What the API answered instead of success.
export class Refusal extends Error {
    constructor(status, error) {
        const details = (error?.details ?? []).map((one) => [one.field, one.message].filter(Boolean).join(": ")).filter(Boolean);
        super([error?.message ?? `The server answered ${status}.`, ...details].join(" "));
        this.status = status;
        this.code = error?.reason ?? error?.code ?? "";
    }
}

/// Tokens are in memory only. The browser keeps the refresh token too, in a cookie that no script sees and that goes to `/admin/session` only:
/// so a reload does not sign out.
let session = null;
let refreshing = null;

/// Called when the session has ended, with the reason, and when nothing is allowed before there is a second factor.
export const listeners = { ended: () => {}, enrol: () => {} };

export const me = () => session?.user ?? null;

async function send(method, path, body, token) {
    const headers = {};
    if (token) headers.Authorization = `Bearer ${token}`;
    if (method !== "GET") headers["Idempotency-Key"] = random(24);
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const content = body === undefined ? undefined : JSON.stringify(body);
    for (let turn = 0; ; turn += 1) {
        const reply = await fetch(path, { method, headers, body: content }).catch(() => {
            throw new Refusal(0, { code: "UNREACHABLE", message: "The server cannot be reached." });
        });
        // Too many at once, or not in effect everywhere yet: the key makes a repeat safe. A long wait is shown instead.
        const wait = Number(reply.headers.get("Retry-After")) || 1;
        if ((reply.status === 503 || reply.status === 429) && wait <= 2 && turn < 6) {
            await new Promise((done) => setTimeout(done, wait * 1000));
            continue;
        }
        const json = await reply.json().catch(() => null);
        if (!json?.success) throw new Refusal(reply.status, json?.error);
        return json;
    }
}

const place = "/admin/session";
/// Changes of what the browser keeps, one after the other. Without it all goes on, but for a reload.
let kept = Promise.resolve();

function change(method, body) {
    kept = kept.then(() => send(method, place, body)).catch(() => {});
    return kept;
}

function keep(data) {
    session = { access: data.access_token, refresh: data.refresh_token, user: data.user };
    return change("PUT", { refresh_token: data.refresh_token });
}

/// Takes up the session that the browser keeps; without one there is none.
export async function resume() {
    try {
        await renew();
        if (!session.user.is_admin) await signOut();
    } catch (error) {
        session = null;
        if (error.status === 401) await change("DELETE");
    }
}

/// Signs an administrator in; who is none is signed out again. `code` is of the second factor, empty when none was asked for.
export async function signIn(email, password, code) {
    const { data } = await send("POST", "/api/auth/login", { email, password, code: code || null });
    if (!data.user.is_admin) {
        await send("POST", "/api/auth/logout", undefined, data.access_token);
        throw new Refusal(403, { message: "This account is no administrator’s." });
    }
    await keep(data);
}

export async function signOut() {
    const token = session?.access;
    session = null;
    await change("DELETE");
    if (token) await send("POST", "/api/auth/logout", undefined, token).catch(() => {});
}

/// The server has ended the session: the console asks for a sign-in, and says why.
export function leave(reason) {
    session = null;
    change("DELETE");
    listeners.ended(reason);
}

/// New tokens, with the rights that the account has by now. What the browser keeps is newer when another page of it has renewed them.
export async function renew() {
    const newest = await send("POST", place).catch(() => null);
    const refresh = newest?.data.refresh_token ?? session?.refresh;
    if (!refresh) throw new Refusal(404, { message: "There is no session." });
    const before = session?.user.id;
    const { data } = await send("POST", "/api/auth/refresh", { refresh_token: refresh });
    await keep(data);
    if (!before || before === data.user.id) return;
    session = null;
    listeners.ended("Another account has signed in, in another page.");
    throw new Refusal(403, { message: "Another account has signed in, in another page." });
}

/// A request of the signed-in administrator, with new tokens when the old ones have ended. The reply with its `data` and `meta`.
export async function ask(method, path, body) {
    const token = session?.access;
    try {
        return await send(method, path, body, token);
    } catch (error) {
        if (error.code === "SECOND_FACTOR_ENROLMENT_REQUIRED") listeners.enrol();
        if (!isAboutToken(error) || !session) throw error;
    }
    try {
        // Requests that need new tokens at once wait for the same ones.
        if (session.access === token) await (refreshing ??= renew().finally(() => (refreshing = null)));
        return await send(method, path, body, session.access);
    } catch (error) {
        if (error.status !== 401) throw error;
        leave("Your session has ended. Sign in again.");
        throw error;
    }
}

/// `/api/x?a=1`: without the parameters that are empty.
export function query(path, parameters) {
    const some = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
    return some.length ? `${path}?${new URLSearchParams(some)}` : path;
}

/// `2026-11-26 20:15:03 UTC`; a dash for none.
export const when = (time) => (time ? `${new Date(time).toISOString().slice(0, 19).replace("T", " ")} UTC` : "–");

/// `check_in` in words.
export const words = (name) => (name ?? "").replaceAll("_", " ");

export const failure = (error) => h("p", { class: "failure", role: "alert" }, error.message);

/// A small coloured word.
export const badge = (text, tone = "plain") => h("span", { class: `badge ${tone}` }, words(text));

/// Pairs of a name and what it is.
export const facts = (...pairs) =>
    h("dl", { class: "facts" }, pairs.filter(([, value]) => value !== null && value !== undefined).map(([name, value]) =>
        h("div", {}, h("dt", {}, name), h("dd", {}, value))));

export const person = (id, name) => h("a", { href: `#people/${id}` }, name || id);

/// A list that is loaded page by page. `row` makes an entry of the list, `entries` takes them out of the reply's data.
export function pages(path, entries, row, empty) {
    const list = h("ul", { class: "rows" });
    const place = h("div", { class: "end" });
    async function load(cursor) {
        place.replaceChildren(h("p", { class: "quiet", role: "status" }, "Loading …"));
        try {
            const { data, meta } = await ask("GET", cursor ? `${path}${path.includes("?") ? "&" : "?"}${new URLSearchParams({ cursor })}` : path);
            const rows = entries(data).map(row).flat();
            list.append(...rows);
            const next = meta?.next_cursor;
            const button = next && h("button", { class: "button", onclick: () => load(next) }, "Show more");
            place.replaceChildren(...(button ? [button] : list.children.length ? [] : [h("p", { class: "quiet", role: "status" }, empty)]));
            if (cursor) rows[0]?.querySelector("a, button, summary")?.focus();
        } catch (error) {
            place.replaceChildren(failure(error), h("button", { class: "button", onclick: () => load(cursor) }, "Try again"));
        }
    }
    load(null);
    list.dataset.role = "list";
    return [list, place];
}

/// Asks before a change. `fields` are elements with a `name`; `act` gets their values, and what it throws is shown in the question.
export function question(title, text, fields, label, act) {
    const problem = h("div");
    const button = h("button", { class: "button main", type: "submit" }, label);
    const dialog = h("dialog", { class: "question", "aria-label": title },
        h("form", {
            onsubmit: async (event) => {
                event.preventDefault();
                button.disabled = true;
                problem.replaceChildren();
                try {
                    await act(Object.fromEntries(new FormData(event.target)));
                    dialog.close();
                } catch (error) {
                    problem.replaceChildren(failure(error));
                } finally {
                    button.disabled = false;
                }
            },
        },
            h("h2", {}, title), h("p", {}, text), fields, problem,
            h("div", { class: "choices" }, h("button", { class: "button", type: "button", onclick: () => dialog.close() }, "Cancel"), button)));
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
}

export const field = (label, input) => h("label", { class: "field" }, label, input);

export const input = (name, properties = {}) => h("input", { class: "input", name, ...properties });

export const textarea = (name, properties = {}) => h("textarea", { class: "input", name, rows: 3, ...properties });

export const choice = (name, options, value, properties = {}) =>
    h("select", { class: "input", name, ...properties }, options.map(([key, text]) => h("option", { value: key, selected: key === value }, text)));
