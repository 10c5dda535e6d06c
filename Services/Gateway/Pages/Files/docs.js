// The page of the API: a list of all routes with a search, and beside it the one that is read.
import { h, icon } from "/pages/page.js";
import { errorList, paragraphs, prose, verb, view } from "/pages/operation.js";
import { load } from "/pages/reference.js";
import { Caller, tryOut } from "/pages/try.js";

const search = h("input", { class: "input", type: "search", id: "search", placeholder: "Search routes, fields, errors", autocomplete: "off", spellcheck: "false", "aria-label": "Search", "aria-controls": "list", "aria-keyshortcuts": "/" });
const list = h("nav", { id: "list", "aria-label": "Routes" });
const found = h("p", { class: "only-read", role: "status", "aria-live": "polite" });
const side = h("div", { class: "side", id: "side" }, h("div", { class: "find" }, icon("search", { size: 18 }), search, h("kbd", { "aria-hidden": "true" }, "/")), found, list);
const menu = h("button", { class: "button small menu", "aria-expanded": "false", "aria-controls": "side", onclick: () => open(side.dataset.open !== "true") }, icon("menu", { size: 18 }), "Routes");
const page = h("main", { id: "page", tabindex: "-1" }, h("p", { class: "quiet" }, "Reading the description…"));

function brand() {
    const drawing = icon("flame", { filled: true, size: 26 });
    drawing.classList.add("mark");
    return h("a", { class: "brand", href: "#" }, drawing, "StreakSnap API");
}

const links = h("nav", { class: "links", "aria-label": "Pages" }, h("a", { href: "/openapi.json" }, "OpenAPI"));
document.body.append(h("a", { class: "skip", href: "#page", onclick: (event) => skip(event) }, "To the content"), h("header", { class: "top" }, menu, brand(), links), h("div", { class: "layout" }, side, page));

function skip(event) {
    event.preventDefault();
    page.focus();
}

/// Shows or hides the list where it does not fit beside the page.
function open(isOpen) {
    side.dataset.open = String(isOpen);
    menu.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) search.focus();
}

const reference = await load();
reference.common = common(reference);
const caller = new Caller(reference.isDevelopment);
if (reference.isDevelopment) links.prepend(h("a", { href: "/demo" }, "Demo"), h("a", { href: "/map" }, "Map"));

/// Errors that at least half of all routes may answer.
function common({ operations }) {
    const counts = new Map();
    for (const code of operations.flatMap((operation) => operation.codes)) counts.set(code, (counts.get(code) ?? 0) + 1);
    return new Set([...counts].filter(([, count]) => count >= operations.length * 0.5).map(([code]) => code));
}

// MARK: The list

const entries = new Map();

function entry(operation) {
    if (!entries.has(operation.id)) {
        entries.set(
            operation.id,
            h("a", { class: `entry ${operation.isDeprecated ? "old" : ""}`, href: `#${operation.id}`, data: { operation: operation.id } }, verb(operation.method), h("span", { class: "path" }, operation.path), h("span", { class: "summary" }, prose(operation.summary))),
        );
    }
    return entries.get(operation.id);
}

const guide = [["", "Start"], ["errors", "Errors"], ["changes", "Changes"]].map(([key, text]) => h("a", { class: "entry plain", href: `#${key}` }, text));

function showAll() {
    list.replaceChildren(h("section", {}, guide), ...reference.groups.map((group) => h("section", {}, h("h2", {}, group.name), group.operations.filter((operation) => !operation.isDeprecated).map(entry), old(group))));
    found.textContent = "";
}

function old(group) {
    const operations = group.operations.filter((operation) => operation.isDeprecated);
    return operations.length > 0 && h("details", { class: "more" }, h("summary", {}, `${operations.length} for older clients`), operations.map(entry));
}

function showFound() {
    const text = search.value.trim();
    if (text === "") return showAll();
    const hits = reference.search(text);
    found.textContent = hits.length === 1 ? "1 route" : `${hits.length} routes`;
    list.replaceChildren(h("p", { class: "count quiet", "aria-hidden": "true" }, found.textContent), ...hits.map(entry));
}

search.addEventListener("input", showFound);
search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") list.querySelector(".entry")?.click();
    if (event.key === "ArrowDown") list.querySelector(".entry")?.focus();
    if (event.key === "Escape") {
        search.value = "";
        showFound();
        if (side.dataset.open === "true") open(false);
    }
    if (event.key === "ArrowDown") event.preventDefault();
});
list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const shown = [...list.querySelectorAll(".entry")].filter((link) => link.offsetParent !== null);
    const next = shown.indexOf(document.activeElement) + step;
    (next < 0 ? search : shown[Math.min(next, shown.length - 1)]).focus();
});
document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest("input, textarea, select");
    if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        if (getComputedStyle(menu).display !== "none") open(true);
        search.focus();
        search.select();
    }
});

// MARK: The page

function start() {
    const count = reference.operations.filter((operation) => !operation.isDeprecated).length;
    const step = (title, ...content) => h("section", { class: "card" }, h("h2", {}, title), content);
    return h(
        "article",
        { class: "start" },
        h("h1", { id: "title", tabindex: "-1" }, "The API of this installation"),
        h("p", { class: "lead" }, `${count} routes, made from the same protos as what answers them. Version ${reference.api.info.version}.`),
        h("div", { class: "text" }, paragraphs(reference.api.info.description)),
        h(
            "div",
            { class: "cards" },
            step("Sign in", h("p", {}, "Register or log in, then send the access token in ", h("code", {}, "Authorization: Bearer …"), ". It is valid for 15 minutes; the refresh token gives a new pair, once; after a lost answer send the same one again."), link("authRegister"), link("authLogin"), link("authRefresh")),
            step("Repeat safely", h("p", {}, "Send an ", h("code", {}, "Idempotency-Key"), " with every change. After a lost answer the same request with the same key gets the first answer, for 24 hours."), link("mediaUploadSnap")),
            step("Page through lists", h("p", {}, "A list has ", h("code", {}, "meta.next_cursor"), "; send it as ", h("code", {}, "cursor"), ". At the end it is ", h("code", {}, "null"), "."), link("notificationsList"), link("mediaListPosts")),
            step("Stay up to date", h("p", {}, "One stream of events says what changed. After a reconnect with ", h("code", {}, "Last-Event-ID"), " nothing is missing."), link("notificationsWatch")),
        ),
        h("h2", {}, "Services"),
        h("ul", { class: "services" }, reference.groups.map((group) => h("li", {}, h("h3", {}, group.name), h("p", { class: "quiet" }, prose(group.text)), h("p", {}, h("a", { href: `#${group.operations[0].id}` }, `${group.operations.length} routes`))))),
        h("p", { class: "quiet" }, "Names of cities: GeoNames, CC BY 4.0."),
    );
}

function link(id) {
    const operation = reference.byID.get(id);
    return operation && h("a", { class: "entry boxed", href: `#${id}` }, verb(operation.method), h("span", { class: "path" }, operation.path));
}

function changes() {
    const route = (text) => {
        const operation = reference.byRoute.get(text);
        const [method, path] = text.split(" ");
        return operation ? h("a", { class: "entry", href: `#${operation.id}` }, verb(method), h("span", { class: "path" }, path)) : h("p", { class: "entry" }, verb(method), h("span", { class: "path" }, path));
    };
    const kind = (label, routes) => routes?.length > 0 && [h("h4", {}, label), routes.map(route)];
    return h(
        "article",
        { class: "changes" },
        h("h1", { id: "title", tabindex: "-1" }, "Changes of the API"),
        reference.changes.versions.map((version) => [
            h("h2", {}, version.version, h("span", { class: "tag" }, version.released ?? "not released yet")),
            version.changes.map((change) => h("details", { class: "change", open: change === version.changes[0] }, h("summary", {}, h("time", { class: "quiet number" }, change.date), " ", change.text), kind("Added", change.added), kind("Changed", change.changed), kind("Removed", change.removed))),
        ]),
    );
}

function allErrors() {
    const objects = reference.operations.filter((operation) => operation.hasObjectDetails);
    const used = new Set(reference.operations.flatMap((operation) => operation.codes));
    return h("article", {}, h("h1", { id: "title", tabindex: "-1" }, "Errors"), h("p", { class: "lead" }, "Every ", h("code", {}, "error.code"), ", and what it means. New ones may come: treat those that you do not know by their status."), objects.length > 0 && h("p", {}, "Act on ", h("code", {}, "error.reason"), ": it is the same on every route. Where ", h("code", {}, "error.details"), " is an object, as published, and not a list:"), objects.map((operation) => link(operation.id)), errorList(reference, Object.keys(reference.errors).filter((code) => used.has(code))));
}

function show(isFirst) {
    const id = decodeURIComponent(location.hash.slice(1));
    const operation = reference.byID.get(id);
    const content = operation ? view(reference, operation, tryOut(caller)) : id === "changes" ? changes() : id === "errors" ? allErrors() : start();
    page.replaceChildren(content);
    document.title = `${operation?.summary ?? content.querySelector("h1").textContent} · StreakSnap API`;
    for (const [key, element] of entries) {
        if (key === id) element.setAttribute("aria-current", "page");
        else element.removeAttribute("aria-current");
    }
    if (side.dataset.open === "true") open(false);
    if (isFirst) return;
    scrollTo(0, 0);
    page.querySelector("#title").focus({ preventScroll: true });
}

showAll();
show(true);
addEventListener("hashchange", () => show(false));
document.body.dataset.ready = "true";
