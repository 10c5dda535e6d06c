// What the pages share: making elements, icons, and words for times.

/// An element. `props` holds attributes; `on…` is a listener, `class` a class list, `data` a dataset; false and null leave one out.
export function h(tag, props = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(props)) {
        if (value === null || value === undefined || value === false) continue;
        if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
        else if (name === "data") Object.assign(element.dataset, value);
        else if (name === "style") for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
        else if (name === "value" || name === "checked") element[name] = value;
        else element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
    return element;
}

/// Reasons of a 401 (`error.reason`) for which new tokens are worth asking for.
const tokenReasons = new Set(["TOKEN_EXPIRED", "INVALID_TOKEN", "SESSION_REVOKED", "AUTHENTICATION_REQUIRED", "UNAUTHENTICATED"]);

/// Whether a refusal of the API is about the access token, not about what was asked for.
export const isAboutToken = (refusal) => refusal.status === 401 && tokenReasons.has(refusal.code);

const drawings = {
    flame: "M12 2c.6 3.2-.6 4.9-2.2 6.7C8 10.700 6 12.800 6 15.800 6 19.300 8.700 22 12 22s6-2.700 6-6.200c0-2.300-1-4.300-2.200-5.800-.2 1.400-.8 2.400-1.800 3C14.500 9 14.200 4.800 12 2z",
    check: "M5 13l4.500 4.500L19 7.500",
    list: "M4 7l1.500 1.500L8 6M4 13l1.500 1.500L8 12M4 19l1.500 1.500L8 18M12 7.500h8M12 13.500h8M12 19.500h8",
    pin: "M12 21c4-4.600 6.500-8 6.500-11.300A6.500 6.500 0 0 0 5.500 9.700C5.500 13 8 16.400 12 21zM12 12.200a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5z",
    bell: "M6 16.500V11a6 6 0 1 1 12 0v5.500l1.500 2h-15zM10 21h4",
    camera: "M4 8h3.500L9 5.500h6L16.500 8H20v11H4zM12 16.500a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7z",
    lock: "M7 11V8a5 5 0 0 1 10 0v3M5.500 11h13v9.500h-13z",
    close: "M6 6l12 12M18 6L6 18",
    up: "M12 19V6M6.500 11.500L12 6l5.500 5.500",
    down: "M12 5v13M6.500 12.500L12 18l5.500-5.500",
    copy: "M9 9h11v11H9zM5 15H4V4h11v1",
    search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16.200 16.200L21 21",
    menu: "M4 7h16M4 12h16M4 17h16",
    shuffle: "M4 7h3.500l9 10H20M4 17h3.500l2.500-2.800M14 9.800L16.500 7H20M17.500 4.500L20 7l-2.500 2.500M17.500 14.500L20 17l-2.500 2.500",
};

/// A drawing of one of the names above; `filled` without an outline.
export function icon(name, { size = 24, filled = false } = {}) {
    const space = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(space, "svg");
    for (const [key, value] of Object.entries({ viewBox: "0 0 24 24", width: size, height: size, "aria-hidden": "true" })) {
        svg.setAttribute(key, value);
    }
    const path = document.createElementNS(space, "path");
    path.setAttribute("d", drawings[name]);
    const paint = filled
        ? { fill: "currentColor" }
        : { fill: "none", stroke: "currentColor", "stroke-width": 2, "stroke-linecap": "round", "stroke-linejoin": "round" };
    for (const [key, value] of Object.entries(paint)) path.setAttribute(key, value);
    svg.append(path);
    return svg;
}

/// Random text for keys and names: also where the page has no secure origin.
export function random(length = 16) {
    const bytes = crypto.getRandomValues(new Uint8Array(length));
    return Array.from(bytes, (byte) => "abcdefghijkmnpqrstuvwxyz23456789"[byte % 32]).join("");
}

/// `6 h 12 min`, `3 min`: at most two units.
export function span(milliseconds) {
    const minutes = Math.max(0, Math.floor(milliseconds / 60000));
    const hours = Math.floor(minutes / 60);
    if (hours >= 48) return `${Math.floor(hours / 24)} days`;
    if (hours > 0) return `${hours} h ${minutes % 60} min`;
    return `${minutes} min`;
}

export const zone = (() => {
    const name = Intl.DateTimeFormat().resolvedOptions().timeZone;
    return !name || name === "Etc/Unknown" ? "UTC" : name;
})();

const format = (options) => new Intl.DateTimeFormat("en-GB", { timeZone: zone, ...options });
const clockFormat = format({ hour: "2-digit", minute: "2-digit" });
const dayFormat = format({ weekday: "long", day: "numeric", month: "long" });
const hourFormat = format({ hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

export const timeText = (time) => clockFormat.format(new Date(time));
export const dayText = (time) => dayFormat.format(new Date(time));

/// Milliseconds since the local midnight.
export function sinceMidnight(time) {
    const parts = Object.fromEntries(hourFormat.formatToParts(new Date(time)).map((part) => [part.type, Number(part.value)]));
    return ((parts.hour * 60 + parts.minute) * 60 + parts.second) * 1000;
}
