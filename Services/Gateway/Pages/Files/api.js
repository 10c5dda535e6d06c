// The API as the pages use it: sign-in that refreshes itself, keys that make repeats safe, live events that resume.
import { isAboutToken, random, zone } from "/pages/page.js";

/// What the API answered instead of success.
export class Refusal extends Error {
    constructor(status, error) {
        super(error?.message ?? `The server answered ${status}.`);
        this.status = status;
        this.code = error?.reason ?? error?.code ?? "";
        this.details = error?.details ?? [];
    }
}

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

async function send(method, path, { token, body, form, headers = {} } = {}) {
    const all = { ...headers };
    if (token) all.Authorization = `Bearer ${token}`;
    if (method !== "GET") all["Idempotency-Key"] ??= random(24);
    if (body !== undefined) all["Content-Type"] = "application/json";
    traffic.running += 1;
    try {
        return await exchange(method, path, all, form, body);
    } finally {
        traffic.running -= 1;
    }
}

/// How many requests are on their way.
const traffic = { running: 0 };

async function exchange(method, path, all, form, body) {
    for (let turn = 0; ; turn += 1) {
        const content = form ?? (body === undefined ? undefined : JSON.stringify(body));
        const reply = await fetch(path, { method, headers: all, body: content }).catch(() => {
            throw new Refusal(0, { code: "UNREACHABLE", message: "The server cannot be reached." });
        });
        // Not in effect everywhere yet, or too many requests: the key makes a repeat safe.
        if ((reply.status === 503 || reply.status === 429) && turn < 6) {
            await pause(1000 * Math.min(Number(reply.headers.get("Retry-After")) || 1, 10));
            continue;
        }
        const json = await reply.json();
        if (!json.success) throw new Refusal(reply.status, json.error);
        return json;
    }
}

/// The system's time, which the development clock may have moved ahead of this machine's.
export const clock = {
    ahead: 0,
    /// Pending while time is moved: a token may end with it, so requests wait for what the clock says then.
    moving: null,
    listeners: new Set(),
    now: () => Date.now() + clock.ahead,
    async read() {
        clock.take(await send("GET", "/api/dev/clock"));
    },
    /// Moves the time of the whole installation; jobs that were due have run when it returns.
    async advance(milliseconds) {
        await clock.quiet();
        const step = { advance_seconds: Math.max(1, Math.ceil(milliseconds / 1000)) };
        clock.moving = send("POST", "/api/dev/clock", { body: step })
            .then(clock.take)
            .finally(() => (clock.moving = null));
        await clock.moving;
        await Promise.all(Array.from(clock.listeners, (listener) => listener()));
    },
    /// Waits until no request and no photo is on its way: what they carry ends with the day.
    async quiet() {
        const isBusy = () => traffic.running > 0 || Array.from(document.images).some((image) => !image.complete);
        for (let turn = 0; turn < 100 && isBusy(); turn += 1) await pause(50);
    },
    take(reply) {
        clock.ahead = Date.parse(reply.data.now) - Date.now();
    },
};

/// A user of the installation who was made by registration, and this page's session of theirs.
export class Person {
    /// `record`: email, password, username, name.
    constructor(record) {
        this.record = record;
        this.session = null;
        this.refreshing = null;
        this.lastEvent = null;
        /// Whether no events are asked for, because days pass quickly: a stream would end with each of them.
        this.isResting = false;
    }

    get name() {
        return this.record.name;
    }

    get id() {
        return this.record.id;
    }

    /// Registers and accepts the terms, so that they may post.
    static async register(name) {
        const username = `${name.toLowerCase().replace(/[^a-z0-9]/g, "") || "user"}_${random(8)}`;
        const record = { name, username, email: `${username}@example.com`, password: random(20) };
        const person = new Person(record);
        const { email, password } = record;
        const body = { email, password, username, display_name: name, time_zone: zone };
        const reply = await send("POST", "/api/auth/register", { body });
        record.id = reply.data.user.id;
        person.keep(reply.data);
        await person.call("POST", "/api/users/me/terms", { version: "2026-01" });
        return person;
    }

    keep(tokens) {
        this.session = {
            access: tokens.access_token,
            refresh: tokens.refresh_token,
            until: clock.now() + tokens.expires_in * 1000,
            refreshUntil: clock.now() + 59 * 86400000,
        };
        sessionStorage.setItem(`streaksnap.${this.record.username}`, JSON.stringify(this.session));
    }

    /// A token that is valid for at least a minute by the system's time. Requests that need a new one at once wait for the same one.
    async token() {
        await clock.moving;
        this.session ??= JSON.parse(sessionStorage.getItem(`streaksnap.${this.record.username}`));
        if (this.session && this.session.until > clock.now() + 60000) return this.session.access;
        this.refreshing ??= this.renew().finally(() => (this.refreshing = null));
        await this.refreshing;
        return this.session.access;
    }

    async renew() {
        if (this.session && this.session.refreshUntil > clock.now()) {
            try {
                const reply = await send("POST", "/api/auth/refresh", { body: { refresh_token: this.session.refresh } });
                return this.keep(reply.data);
            } catch (error) {
                if (!(error instanceof Refusal)) throw error;
            }
        }
        const { email, password } = this.record;
        this.keep((await send("POST", "/api/auth/login", { body: { email, password } })).data);
    }

    async call(method, path, body) {
        return (await this.signed(method, path, { body })).data;
    }

    /// A request with a token; once more when another page has moved the time, so that the token ended.
    async signed(method, path, content) {
        try {
            return await send(method, path, { token: await this.token(), ...content });
        } catch (error) {
            if (!isAboutToken(error)) throw error;
            await clock.read();
            if (this.session) this.session.until = 0;
            return send(method, path, { token: await this.token(), ...content });
        }
    }

    async upload(path, fields) {
        const form = new FormData();
        for (const [name, value] of Object.entries(fields)) {
            if (value instanceof Blob) form.append(name, value, "photo.jpg");
            else if (value !== null && value !== "") form.append(name, value);
        }
        return (await this.signed("POST", path, { form })).data;
    }

    /// Hands over this person's events as they happen, and goes on where it was after every break of the connection. After a rest it begins anew.
    async watch(listener) {
        for (;;) {
            while (this.isResting) {
                this.lastEvent = null;
                await pause(200);
            }
            try {
                await clock.moving;
                await clock.read();
                const headers = { Authorization: `Bearer ${await this.token()}` };
                if (this.lastEvent) headers["Last-Event-ID"] = this.lastEvent;
                const reply = await fetch("/api/events", { headers });
                if (reply.ok) await this.readEvents(reply.body, listener);
            } catch {
                // The connection broke; below it is made again.
            }
            await pause(500);
        }
    }

    async readEvents(body, listener) {
        const reader = body.pipeThrough(new TextDecoderStream()).getReader();
        let text = "";
        for (;;) {
            const { done, value } = await reader.read();
            if (done) return;
            text += value;
            const parts = text.split("\n\n");
            text = parts.pop();
            for (const part of parts) {
                const event = {};
                for (const line of part.split("\n")) {
                    const at = line.indexOf(":");
                    if (at > 0) event[line.slice(0, at)] = line.slice(at + 1).trim();
                }
                if (event.id) this.lastEvent = event.id;
                if (event.event) listener(event.event, event.data ? JSON.parse(event.data) : {});
            }
        }
    }
}

const place = "streaksnap.people";

/// The demo's people as this browser knows them: two at most.
export const people = {
    load() {
        try {
            return JSON.parse(localStorage.getItem(place)) ?? {};
        } catch {
            return {};
        }
    },
    save(change) {
        localStorage.setItem(place, JSON.stringify({ ...people.load(), ...change }));
    },
    clear() {
        localStorage.removeItem(place);
        sessionStorage.clear();
    },
};

/// A link to a stored file, on the origin of this page: links name the address that the installation was started with.
export function local(url) {
    if (!url) return null;
    const parsed = new URL(url, location.href);
    return parsed.pathname + parsed.search;
}
