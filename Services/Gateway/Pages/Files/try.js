// Trying a call from the page: signed in as one of the demo's people, or with a token.
import { clock, people, Person, Refusal } from "/pages/api.js";
import { h, random } from "/pages/page.js";
import { coloured, needsToken } from "/pages/operation.js";

const names = ["Ada", "Ben"];

/// Who calls, remembered from route to route for as long as the page is open. A pasted token is kept nowhere.
export class Caller {
    constructor(isDevelopment) {
        this.isDevelopment = isDevelopment;
        this.who = isDevelopment ? "Ada" : "token";
        this.pasted = "";
        this.persons = new Map();
    }

    /// Who can be chosen: the demo's people only where there is a demo.
    get choices() {
        const demo = this.isDevelopment ? names.map((name) => [name, `${name}, of the demo`]) : [];
        return [...demo, ["token", "A token"], ["none", "Not signed in"]];
    }

    /// The token to send; null without one. Makes the person when there is none yet.
    async token() {
        if (this.who === "none") return null;
        if (this.who === "token") return this.pasted.trim() || null;
        if (!this.persons.has(this.who)) {
            await clock.read();
            const key = this.who.toLowerCase();
            const record = people.load()[key];
            const person = record ? new Person(record) : await Person.register(this.who);
            if (!record) people.save({ [key]: person.record });
            this.persons.set(this.who, person);
        }
        return this.persons.get(this.who).token();
    }

    /// A value for a parameter that exists in the demo, so that a call finds something.
    known(name) {
        const { ada, ben, streak } = people.load();
        if (!this.isDevelopment) return null;
        return { streak_id: streak, user_id: ben?.id, friend_id: this.who === "Ben" ? ada?.id : ben?.id }[name] ?? null;
    }
}

export function tryOut(caller) {
    return (operation, call) => new Attempt(caller, operation, call).element;
}

class Attempt {
    constructor(caller, operation, call) {
        this.caller = caller;
        this.operation = operation;
        this.inputs = new Map();
        this.answer = h("div", { class: "answer", role: "status", "aria-live": "polite" });
        this.send = h("button", { class: "button main", type: "submit" }, "Send");
        this.element = h(
            "section",
            { class: "try" },
            h("h2", {}, "Try it"),
            h("form", { onsubmit: (event) => this.submit(event), novalidate: true }, this.signIn(), this.fields(), this.body(call), this.send),
            this.answer,
        );
    }

    signIn() {
        if (!needsToken(this.operation)) return null;
        const token = h("input", { class: "input mono", type: "password", autocomplete: "off", placeholder: "Access token", "aria-label": "Access token", value: this.caller.pasted, oninput: () => (this.caller.pasted = token.value) });
        const select = h("select", { class: "input", name: "who" }, this.caller.choices.map(([key, text]) => h("option", { value: key }, text)));
        const show = () => {
            this.caller.who = select.value;
            token.hidden = select.value !== "token";
        };
        select.value = this.caller.who;
        select.addEventListener("change", show);
        show();
        return [h("label", { class: "field" }, "Signed in as", select), token];
    }

    fields() {
        return this.operation.parameters
            .filter((parameter) => parameter.in !== "header")
            .map((parameter) => {
                const isPath = parameter.in === "path";
                const example = [parameter.example ?? ""].flat().join(",");
                const value = this.caller.known(parameter.name) ?? (isPath || parameter.required ? example : "");
                const input = h("input", { class: "input mono", name: parameter.name, value, placeholder: String(example), autocomplete: "off", spellcheck: "false" });
                this.inputs.set(parameter, input);
                return h("label", { class: "field" }, h("span", { class: "mono" }, parameter.name), parameter.required ? "" : h("span", { class: "quiet" }, " optional"), input);
            });
    }

    body(call) {
        const { operation } = this;
        if (operation.isUpload) {
            this.parts = Object.entries(operation.example ?? {}).map(([name, value]) => {
                const isFile = typeof value === "string" && value.startsWith("(the bytes");
                const input = isFile
                    ? h("input", { class: "input", type: "file", name, accept: "image/*" })
                    : h("input", { class: "input mono", name, placeholder: String(value), autocomplete: "off" });
                return { name, input, isFile, label: h("label", { class: "field" }, h("span", { class: "mono" }, name), input) };
            });
            return this.parts.map((part) => part.label);
        }
        if (operation.bodyType !== "application/json") return null;
        this.text = h("textarea", { class: "input mono", rows: String(Math.min(14, JSON.stringify(call.body ?? {}, null, 2).split("\n").length)), name: "body", spellcheck: "false" });
        this.text.value = JSON.stringify(call.body ?? {}, null, 2);
        return h("label", { class: "field" }, "Body", this.text);
    }

    address() {
        let path = this.operation.path;
        const query = new URLSearchParams();
        for (const [parameter, input] of this.inputs) {
            if (parameter.in === "path") path = path.replace(`{${parameter.name}}`, input.value.split("/").map(encodeURIComponent).join("/"));
            else if (input.value !== "") query.append(parameter.name, input.value);
        }
        return path + (query.size > 0 ? `?${query}` : "");
    }

    content(headers) {
        if (this.parts) {
            const form = new FormData();
            for (const { name, input, isFile } of this.parts) {
                if (isFile && input.files[0]) form.append(name, input.files[0]);
                if (!isFile && input.value !== "") form.append(name, input.value);
            }
            return form;
        }
        if (!this.text) return undefined;
        headers["Content-Type"] = "application/json";
        return this.text.value;
    }

    async submit(event) {
        event.preventDefault();
        if (this.stop) {
            this.stop.abort();
            return;
        }
        this.send.disabled = true;
        this.answer.replaceChildren(h("p", { class: "quiet" }, "Waiting for the answer…"));
        try {
            await this.exchange();
        } catch (error) {
            const text = error instanceof Refusal ? `${error.code}: ${error.message}` : "The server cannot be reached.";
            if (error.name !== "AbortError") this.answer.replaceChildren(h("p", { class: "bad" }, text));
        }
        this.stop = null;
        this.send.textContent = "Send";
        this.send.disabled = false;
    }

    async exchange() {
        const { method } = this.operation;
        const headers = {};
        const token = needsToken(this.operation) ? await this.caller.token() : null;
        if (token) headers.Authorization = `Bearer ${token}`;
        if (method !== "GET") headers["Idempotency-Key"] = random(24);
        const body = this.content(headers);
        const address = this.address();
        const began = performance.now();
        this.stop = this.operation.isStream ? new AbortController() : null;
        const reply = await fetch(address, { method, headers, body, redirect: "follow", signal: this.stop?.signal });
        const head = this.head(reply, performance.now() - began, `${method} ${address}`);
        if (this.stop && reply.ok) return this.follow(reply, head);
        const type = reply.headers.get("Content-Type") ?? "";
        if (type.startsWith("image/")) {
            this.answer.replaceChildren(head, h("img", { src: URL.createObjectURL(await reply.blob()), alt: "The image that was answered" }));
            return;
        }
        const text = await reply.text();
        const isJSON = type.includes("json");
        const shown = isJSON ? JSON.stringify(JSON.parse(text), null, 2) : text;
        const most = 40000;
        this.answer.replaceChildren(
            head,
            h("pre", { class: "reply", tabindex: "0", role: "region", "aria-label": "The reply" }, h("code", {}, isJSON && shown.length < most ? coloured(shown) : shown.slice(0, most))),
            shown.length > most && h("p", { class: "quiet" }, `The first ${most.toLocaleString("en")} of ${shown.length.toLocaleString("en")} characters.`),
        );
    }

    head(reply, took, line) {
        const kind = reply.ok ? "good" : "bad";
        const length = reply.headers.get("Content-Length");
        return h(
            "div",
            { class: "head" },
            h("p", {}, h("span", { class: `state number ${kind}`, data: { status: String(reply.status) } }, String(reply.status)), h("span", { class: "quiet number" }, ` ${Math.round(took)} ms${length ? ` · ${Number(length).toLocaleString("en")} bytes` : ""}`)),
            h("p", { class: "quiet mono line" }, line),
        );
    }

    /// Shows events as they come, until Stop.
    async follow(reply, head) {
        const text = h("code", {});
        this.answer.replaceChildren(head, h("pre", { class: "reply", tabindex: "0", role: "log", "aria-label": "Events" }, text));
        this.send.textContent = "Stop";
        this.send.disabled = false;
        const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
        for (let part = await reader.read(); !part.done; part = await reader.read()) text.append(part.value);
    }
}
