// One route as the page shows it: what it does, its fields, examples, errors, code, and a form to try it.
import { h, icon } from "/pages/page.js";
import { curl, example, needsToken, swift } from "/pages/snippets.js";

/// Text with `code` in it, as elements.
export function prose(text) {
    return text.split(/(`[^`]+`)/).map((part) => (part.length > 2 && part.startsWith("`") ? h("code", {}, part.slice(1, -1)) : part));
}

export const paragraphs = (text) => text.split(/\n\s*\n/).map((part) => h("p", {}, prose(part.replaceAll("\n", " "))));

/// JSON with colours for what is a name, a text, a number.
export function coloured(value) {
    const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
    const pattern = /("(?:\\.|[^"\\])*")(\s*:)?|\b(true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\b/g;
    const parts = [];
    let at = 0;
    for (const match of text.matchAll(pattern)) {
        parts.push(text.slice(at, match.index));
        const kind = match[2] ? "name" : match[1] ? "text" : "value";
        parts.push(h("span", { class: kind }, match[1] ?? match[3]), match[2] ?? "");
        at = match.index + match[0].length;
    }
    return [...parts, text.slice(at)];
}

/// A block of code with a button that copies it.
export function block(label, text, { isJSON = false } = {}) {
    const button = h("button", { class: "copy", "aria-label": `Copy: ${label}` }, icon("copy", { size: 16 }));
    button.addEventListener("click", async () => {
        await navigator.clipboard?.writeText(text).catch(() => {});
        button.classList.add("done");
        setTimeout(() => button.classList.remove("done"), 1200);
    });
    return h("div", { class: "block" }, h("pre", { tabindex: "0", role: "region", "aria-label": label }, h("code", {}, isJSON ? coloured(text) : text)), button);
}

export const verb = (method) => h("span", { class: `verb ${method.toLowerCase()}` }, method);

export function view(reference, operation, tryOut) {
    const call = example(operation);
    return h(
        "article",
        { class: "operation", "aria-labelledby": "title" },
        h("p", { class: "crumb quiet" }, operation.tag, operation.isDeprecated && h("span", { class: "tag warn" }, "for older clients")),
        h("h1", { id: "title", tabindex: "-1" }, operation.summary),
        h("p", { class: "route" }, verb(operation.method), h("code", {}, breakable(operation.path))),
        h("p", { class: "who" }, h("span", { class: "tag" }, operation.who), operation.parameters.some((parameter) => parameter.name === "Idempotency-Key") && h("span", { class: "tag" }, "safe to repeat with a key")),
        h("div", { class: "text" }, paragraphs(operation.description)),
        h(
            "div",
            { class: "columns" },
            h("div", { class: "left" }, request(reference, operation), reply(reference, operation), errors(reference, operation)),
            h("div", { class: "right" }, tryOut(operation, call), code(call), examples(operation)),
        ),
    );
}

const breakable = (path) => path.split(/(?=\/)/).flatMap((part) => [part, h("wbr")]);

function section(title, ...content) {
    return h("section", {}, h("h2", {}, title), content);
}

function request(reference, operation) {
    const places = { path: "in the path", query: "in the query", header: "a header" };
    const parameters = operation.parameters.map((parameter) => {
        const schema = reference.whole(parameter.schema ?? {});
        const items = schema.items ? reference.whole(schema.items) : null;
        return { name: parameter.name, depth: 0, type: reference.type(schema, items), place: places[parameter.in], isRequired: parameter.required, rules: reference.rules(schema, items), text: parameter.description ?? "" };
    });
    const body = operation.body ? reference.fields(operation.body) : [];
    if (parameters.length + body.length === 0 && !operation.bodyType) return section("Request", h("p", { class: "quiet" }, "Nothing but the path."));
    return section(
        "Request",
        parameters.length > 0 && table(parameters),
        operation.bodyType && h("h3", {}, "Body ", h("code", {}, operation.bodyType)),
        body.length > 0 ? table(body) : operation.body?.description && h("p", { class: "quiet" }, operation.body.description),
    );
}

function reply(reference, operation) {
    const fields = operation.reply ? reference.fields(operation.reply) : [];
    const types = operation.replyTypes.filter((type) => type !== "application/json");
    return section(
        "Reply",
        h("p", { class: "quiet" }, "Status ", h("code", {}, operation.status ?? "200"), types.length > 0 && [" · ", types.map((type) => h("code", {}, type))]),
        fields.length > 0 && table(fields, { isReply: true }),
        operation.events.map((event) => {
            const data = reference.fields(event.data);
            return [h("h3", {}, "Event ", h("code", {}, event.name)), event.text && h("p", {}, prose(event.text.replaceAll("\n", " "))), data.length > 0 && table(data, { isReply: true })];
        }),
    );
}

function table(fields, { isReply = false } = {}) {
    return h(
        "ul",
        { class: "fields" },
        fields.map((field) =>
            h(
                "li",
                { class: `field-row depth-${Math.min(field.depth, 6)}` },
                h(
                    "p",
                    {},
                    h("code", { class: "field-name" }, field.name),
                    h("span", { class: "quiet" }, ` ${[field.type, field.place].filter(Boolean).join(", ")}`),
                    field.isRequired && !isReply && h("span", { class: "tag must" }, "required"),
                    isReply && !field.isRequired && h("span", { class: "tag" }, "may be null"),
                    field.isDeprecated && h("span", { class: "tag warn" }, "old"),
                ),
                field.rules.length > 0 && h("p", { class: "rule" }, prose(field.rules.join("; "))),
                field.text && h("p", {}, prose(field.text.replaceAll("\n", " "))),
            ),
        ),
    );
}

/// Its own errors first; those that nearly every route may answer are folded.
function errors(reference, operation) {
    const own = operation.codes.filter((code) => !reference.common.has(code));
    const common = operation.codes.filter((code) => reference.common.has(code));
    return section(
        "Errors",
        operation.hasObjectDetails && h("p", {}, prose("As published: `error.details` is an object of fields and their messages, not a list, and the code of each 401 is `UNAUTHORIZED`. `error.reason` is the same word as on every other route.")),
        own.length > 0 ? errorList(reference, own) : h("p", { class: "quiet" }, "None of its own."),
        common.length > 0 && h("details", { class: "more" }, h("summary", {}, `${common.length} that nearly every route may answer`), errorList(reference, common)),
    );
}

export function errorList(reference, codes) {
    return h(
        "dl",
        { class: "errors" },
        codes.map((code) => {
            const { status, meaning } = reference.meaning(code);
            return h("div", { id: `error-${code}` }, h("dt", {}, h("code", {}, code), status && h("span", { class: "status number" }, String(status))), h("dd", {}, prose(meaning)));
        }),
    );
}

/// Tabs that arrow keys move between.
function tabs(label, entries) {
    const panels = entries.map(([, panel]) => panel);
    const buttons = entries.map(([name], index) => h("button", { role: "tab", id: `tab-${label}-${name}`, "aria-selected": String(index === 0), tabindex: index === 0 ? "0" : "-1", onclick: () => choose(index), data: { name } }, name));
    const choose = (chosen) => {
        buttons.forEach((button, index) => {
            button.setAttribute("aria-selected", String(index === chosen));
            button.tabIndex = index === chosen ? 0 : -1;
            panels[index].hidden = index !== chosen;
        });
    };
    panels.forEach((panel, index) => {
        panel.setAttribute("role", "tabpanel");
        panel.setAttribute("aria-labelledby", buttons[index].id);
        panel.hidden = index !== 0;
    });
    const list = h("div", { role: "tablist", class: "tablist", "aria-label": label }, buttons);
    list.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        const next = (buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length;
        choose(next);
        buttons[next].focus();
    });
    return h("div", { class: "tabbed" }, list, panels);
}

function code(call) {
    const origin = location.origin;
    return h(
        "section",
        { class: "code" },
        h("h2", {}, "Code"),
        tabs("Code", [
            ["curl", block("curl", curl(call, origin))],
            ["Swift", block("Swift", swift(call, origin))],
        ]),
    );
}

function examples(operation) {
    const isJSON = operation.bodyType === "application/json";
    const entries = [
        operation.example !== undefined && ["Request", block("Example of a request", isJSON ? JSON.stringify(operation.example, null, 2) : form(operation.example), { isJSON })],
        operation.replyExample !== undefined && ["Reply", block("Example of a reply", JSON.stringify(operation.replyExample, null, 2), { isJSON: true })],
        ["Failure", block("Example of a failure", JSON.stringify(failure(operation), null, 2), { isJSON: true })],
    ].filter(Boolean);
    return h("section", { class: "example" }, h("h2", {}, "Examples"), tabs("Examples", entries));
}

const form = (fields) => Object.entries(fields).map(([name, value]) => `${name}: ${value}`).join("\n");

function failure(operation) {
    const code = operation.codes.find((known) => !["DEADLINE_EXCEEDED", "INTERNAL"].includes(known)) ?? "UNAVAILABLE";
    const details = operation.hasObjectDetails ? {} : [];
    return { success: false, error: { code, reason: code, message: "One sentence that is safe to show.", details }, meta: { request_id: "01900000-0000-7000-8000-77e85598b6ba" } };
}

export { example, needsToken };
