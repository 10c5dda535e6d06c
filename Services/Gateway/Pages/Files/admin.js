// The console of administrators: sign-in, the frame, and which screen is shown for which place.
import { accounts, account } from "/pages/accounts.js";
import { audit } from "/pages/audit.js";
import { failure, field, input, listeners, me, resume, signIn, signOut } from "/pages/console.js";
import { figures } from "/pages/figures.js";
import { streak } from "/pages/inspector.js";
import { operations } from "/pages/operations.js";
import { outages } from "/pages/outages.js";
import { h, icon } from "/pages/page.js";
import { reports } from "/pages/reports.js";
import { codeField, security } from "/pages/security.js";

const screens = [
    { key: "people", name: "People", show: (id, parameters) => (id ? account(id) : accounts(parameters)) },
    { key: "streaks", show: (id) => streak(id) },
    { key: "reports", name: "Reports", show: (_, parameters) => reports(parameters) },
    { key: "figures", name: "Figures", show: (_, parameters) => figures(parameters) },
    { key: "operations", name: "Operations", show: () => operations() },
    { key: "outages", name: "Outages", show: () => outages() },
    { key: "audit", name: "Audit log", show: (_, parameters) => audit(parameters) },
    { key: "security", name: "Security", show: () => security() },
];

const brand = () => h("a", { class: "brand", href: "#people" }, icon("flame", { filled: true }), "StreakSnap console");

function showSignIn(reason) {
    const problem = h("div", {}, reason ? failure({ message: reason }) : null);
    const place = h("div");
    const button = h("button", { class: "button main", type: "submit" }, "Sign in");
    const form = h("form", {
        class: "sheet",
        onsubmit: async (event) => {
            event.preventDefault();
            const { email, password, code } = Object.fromEntries(new FormData(form));
            button.disabled = true;
            problem.replaceChildren();
            try {
                await signIn(email, password, code);
                showFrame();
            } catch (error) {
                problem.replaceChildren(failure(error));
                if (error.code?.startsWith("SECOND_FACTOR")) {
                    if (!place.firstChild) place.append(codeField());
                    const box = place.querySelector("input");
                    box.value = "";
                    box.focus();
                }
            } finally {
                button.disabled = false;
            }
        },
    },
        h("h1", {}, "Sign in"), h("p", { class: "quiet" }, "For administrators. What you read and do here is in the audit log."),
        field("E-mail", input("email", { type: "email", autocomplete: "username", required: true })),
        field("Password", input("password", { type: "password", autocomplete: "current-password", required: true })), place, problem, button);
    document.body.replaceChildren(h("div", { class: "door", role: "main" }, h("div", { class: "brand" }, icon("flame", { filled: true }), "StreakSnap console"), form));
    form.querySelector("input").focus();
}

const main = h("main", { id: "main", tabindex: "-1" });

function showFrame() {
    const links = screens.filter((screen) => screen.name).map((screen) => h("a", { href: `#${screen.key}`, data: { screen: screen.key } }, screen.name));
    const leave = h("button", { class: "button small", onclick: async () => { await signOut(); showSignIn(""); } }, "Sign out");
    document.body.replaceChildren(
        h("a", { class: "skip", href: "#main", onclick: (event) => { event.preventDefault(); main.focus(); } }, "To the content"),
        h("header", {}, brand(), h("nav", { "aria-label": "Console" }, links), h("div", { class: "who" }, h("span", { class: "quiet" }, me().username), leave)),
        main);
    show();
}

function show() {
    if (!me()) return;
    const [path, search] = location.hash.slice(1).split("?");
    const [key, id] = path.split("/");
    const screen = screens.find((one) => one.key === key) ?? screens[0];
    for (const link of document.querySelectorAll("nav a")) {
        const isCurrent = link.dataset.screen === screen.key;
        if (isCurrent) link.setAttribute("aria-current", "page");
        else link.removeAttribute("aria-current");
        // On a phone not all names fit: the present one is moved to the middle, so that those beside it are seen too.
        if (isCurrent) link.parentElement.scrollLeft = link.offsetLeft + link.offsetWidth / 2 - link.parentElement.offsetWidth / 2;
    }
    main.replaceChildren(...screen.show(id ?? null, Object.fromEntries(new URLSearchParams(search ?? ""))));
    const title = main.querySelector("h1");
    document.title = `${title?.textContent ?? "Console"} – StreakSnap console`;
    scrollTo(0, 0);
}

listeners.ended = (reason) => showSignIn(reason);
listeners.enrol = () => { location.hash = "security"; };
addEventListener("hashchange", () => { show(); main.focus({ preventScroll: true }); });
await resume();
if (me()) showFrame();
else showSignIn("");
document.body.dataset.ready = "";
