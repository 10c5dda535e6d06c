// Security: the administrator's own second factor, and where a sign-in asks for a code of it.
import { ask, facts, failure, field, input, leave, question, renew, when } from "/pages/console.js";
import { h } from "/pages/page.js";

const path = "/api/auth/second-factor";
const appCode = { inputmode: "numeric", autocomplete: "one-time-code", maxlength: 64, autocapitalize: "characters", spellcheck: "false" };

/// A field for a code of the app. On a phone its keyboard has digits, until a recovery code is to be typed.
export function codeField() {
    const box = input("code", appCode);
    const label = field("Code of your authenticator app", box);
    const other = h("button", {
        class: "button small", type: "button", data: { key: "recovery" },
        onclick: () => {
            label.firstChild.textContent = "Recovery code";
            box.setAttribute("inputmode", "text");
            box.setAttribute("autocomplete", "off");
            other.hidden = true;
            box.focus();
        },
    }, "Use a recovery code");
    return h("div", { class: "stack", data: { role: "code" } }, label, h("div", {}, other));
}

const passwordField = () => field("Your password", input("password", { type: "password", autocomplete: "current-password", required: true, maxlength: 1024 }));

export function security() {
    const place = h("div", { class: "stack" }, h("p", { class: "quiet", role: "status" }, "Loading …"));
    load(place, "");
    return [h("h1", {}, "Security"), place];
}

async function load(place, message) {
    try {
        const { data } = await ask("GET", path);
        place.replaceChildren(...[message && h("p", { class: "done", role: "status" }, message), data.enrolled_at ? enrolled(place, data) : missing(place, data)].filter(Boolean));
    } catch (error) {
        place.replaceChildren(failure(error));
    }
}

function missing(place, data) {
    const start = () => question("Set up a second factor", "You need an authenticator app, on a phone or in a password manager.", [passwordField()], "Go on",
        async ({ password }) => confirmation(place, (await ask("POST", path, { password })).data));
    return h("section", { class: "card", data: { role: "second-factor" } }, h("h2", {}, "Second factor"),
        h("p", {}, data.required ? "Administrators need a second factor here. Until you have one, you can do nothing else."
            : "With a second factor, your password alone opens nothing."),
        h("div", { class: "choices" }, h("button", { class: "button main", data: { key: "set-up" }, onclick: start }, "Set up")));
}

function enrolled(place, data) {
    const button = (key, text, act) => h("button", { class: "button small", data: { key }, onclick: act }, text);
    const replace = () => question("Replace the second factor", "The old one counts until you have confirmed the new one. Recovery codes are made anew.",
        [passwordField(), codeField()], "Go on", async (proof) => confirmation(place, (await ask("POST", path, proof)).data));
    const remove = () => question("Remove the second factor", "You are signed out everywhere, here too.", [passwordField(), codeField()], "Remove", async (proof) => {
        await ask("DELETE", path, proof);
        leave("Your second factor is removed. Sign in again.");
    });
    return h("section", { class: "card", data: { role: "second-factor" } }, h("h2", {}, "Second factor"),
        facts(["Since", when(data.enrolled_at)], ["Recovery codes left", h("span", { class: "number" }, `${data.recovery_codes_left}`)]),
        h("div", { class: "choices" }, button("replace", "Replace, with new recovery codes", replace), button("remove", "Remove", remove)));
}

/// The secret, which is shown once, and the form for its first code.
function confirmation(place, { secret, otpauth_uri, expires_at }) {
    const problem = h("div");
    const button = h("button", { class: "button main", type: "submit" }, "Confirm");
    const box = input("code", { ...appCode, required: true });
    const form = h("form", {
        class: "card", data: { role: "confirm" },
        onsubmit: async (event) => {
            event.preventDefault();
            button.disabled = true;
            problem.replaceChildren();
            try {
                const { data } = await ask("POST", `${path}/confirm`, { code: box.value.trim() });
                // The next token has the rights of an administrator.
                await renew();
                stored(place, data.recovery_codes);
            } catch (error) {
                problem.replaceChildren(failure(error));
                box.select();
            } finally {
                button.disabled = false;
            }
        },
    },
        h("h2", {}, "Your authenticator app"),
        h("p", {}, "Enter this secret in the app, or ", h("a", { href: otpauth_uri }, "open it there"), `. It is not shown again, and waits until ${when(expires_at)}.`),
        h("p", {}, h("code", { class: "wide", data: { role: "secret" } }, secret.match(/.{1,4}/g).join(" "))),
        field("Code that the app shows", box), problem, h("div", { class: "choices" }, button));
    place.replaceChildren(form);
    // The dialog that asked for the password gives the focus back as it closes.
    setTimeout(() => box.focus());
}

function stored(place, codes) {
    const heading = h("h2", { tabindex: "-1" }, "Recovery codes");
    place.replaceChildren(h("section", { class: "card", data: { role: "recovery" } }, heading,
        h("p", {}, "Each works once, when the phone is lost. Store them where the phone is not: they are not shown again."),
        h("ul", {}, codes.map((code) => h("li", {}, h("code", {}, code)))),
        h("div", { class: "choices" }, h("button", { class: "button main", data: { key: "stored" }, onclick: () => load(place, "You have a second factor.") }, "I have stored them"))));
    heading.focus();
}
