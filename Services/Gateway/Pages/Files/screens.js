// The five screens of the app: each gives the elements that show what a phone knows.
import { clock, local } from "/pages/api.js";
import { h, icon, span, timeText } from "/pages/page.js";
import { habitSheet, pinSheet, photoSheet, cardSheet } from "/pages/sheets.js";

const habitSigns = { book: "📖", walk: "🚶", heart: "❤️", barbell: "🏋️", leaf: "🌿", cafe: "☕", bed: "😴", water: "💧", checkmark: "✅", musical: "🎵" };

export const screens = { home, checkin, habits, places, inbox, left };

/// What is left of the time until then.
function left(until) {
    const rest = Date.parse(until) - clock.now();
    return rest > 0 ? `${span(rest)} left` : "Time is up";
}

/// A button that runs an action of a phone, once at a time.
export function action(phone, key, text, run, kind = "main") {
    const button = h("button", { class: `button ${kind}`, data: { key } }, text);
    button.addEventListener("click", async () => {
        button.disabled = true;
        await phone.guard(run);
        button.disabled = false;
    });
    return button;
}

const amount = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

const tier = (count) => (count >= 100 ? "diamond" : count >= 30 ? "gold" : count > 0 ? "orange" : "grey");

function flame(count, size = 64) {
    const drawing = icon("flame", { filled: true, size });
    drawing.classList.add("flame", tier(count));
    return drawing;
}

// MARK: Streak

function home(phone) {
    if (!phone.person) return welcome(phone);
    const detail = phone.state.detail;
    if (!detail) return phone.streakID ? loading() : lonely(phone);
    return [hero(phone, detail), notice(phone, detail), prompt(phone), today(phone, detail), progress(phone, detail), calendar(detail)];
}

const loading = () => h("div", { class: "empty" }, h("p", { class: "quiet" }, "Loading…"));

function welcome(phone) {
    const input = h("input", { class: "input", value: phone.label, maxlength: "30", autocomplete: "off", data: { key: "name" } });
    return h(
        "div",
        { class: "welcome" },
        flame(7, 88),
        h("h2", {}, "StreakSnap"),
        h("p", { class: "quiet" }, "One photo a day, with one friend. You see theirs when you have posted yours."),
        h("label", { class: "field" }, "Your name", input),
        action(phone, "register", "Create account", () => phone.register(input.value.trim() || phone.label)),
    );
}

function lonely(phone) {
    const friend = phone.friend;
    const incoming = phone.state.requests?.find((request) => request.direction === "incoming");
    const outgoing = phone.state.requests?.find((request) => request.direction === "outgoing");
    const head = [flame(0, 72), h("h2", {}, `Hello, ${phone.name}`)];
    if (incoming) {
        return h(
            "div",
            { class: "welcome" },
            head,
            h("p", {}, h("strong", {}, incoming.user.display_name), " would like to keep a streak with you."),
            action(phone, "accept", "Accept", () => phone.accept(incoming)),
        );
    }
    if (outgoing) return h("div", { class: "welcome" }, head, h("p", { class: "quiet" }, `Your request is on ${outgoing.user.display_name}’s phone.`));
    if (!friend.person) return h("div", { class: "welcome" }, head, h("p", { class: "quiet" }, `Create ${friend.label}’s account on the other phone.`));
    return h(
        "div",
        { class: "welcome" },
        head,
        h("p", { class: "quiet" }, "A streak starts when a friend accepts."),
        action(phone, "befriend", `Ask ${friend.name}`, () => phone.addFriend()),
    );
}

const pills = {
    both_posted: ["Both posted", "good"],
    waiting_on_you: ["Your turn", "plain"],
    waiting_on_friend: ["Waiting for {}", "plain"],
    at_risk: ["At risk", "warn"],
};

function hero(phone, { streak }) {
    const isBroken = streak.status === "broken";
    const [text, kind] = isBroken ? ["Broken", "bad"] : pills[streak.status_pill] ?? ["", "plain"];
    const count = streak.current_count;
    return h(
        "section",
        { class: `hero ${isBroken ? "broken" : tier(count)}`, "aria-label": "Streak" },
        h("div", { class: "faces" }, face(phone.name, streak.you_posted_today), face(streak.friend.display_name, streak.friend_posted_today)),
        h(
            "div",
            { class: "count" },
            flame(isBroken ? 0 : count, 56),
            h("span", { class: "number", data: { role: "count" } }, String(count)),
        ),
        h("p", { class: "unit" }, count === 1 ? "day with " : "days with ", streak.friend.display_name),
        h(
            "p",
            { class: "standing" },
            h("span", { class: `pill ${kind}`, data: { role: "pill" } }, text.replace("{}", streak.friend.display_name)),
            !isBroken && streak.status_pill !== "both_posted" && h("span", { class: "number", data: { until: streak.deadline_at } }),
        ),
    );
}

function face(name, hasPosted) {
    return h(
        "span",
        { class: `face ${hasPosted ? "posted" : ""}`, title: `${name} ${hasPosted ? "has posted today" : "has not posted yet"}` },
        h("span", { "aria-hidden": "true" }, name.slice(0, 1).toUpperCase()),
        h("span", { class: "only-read" }, `${name} ${hasPosted ? "has posted today" : "has not posted yet"}`),
    );
}

/// What needs an answer: a streak that is broken, or may break today.
function notice(phone, { streak, recovery }) {
    const text = amount(phone.state.balance?.balance ?? 0, "recovery token");
    if (streak.status === "broken") {
        return h(
            "section",
            { class: "notice bad" },
            h("h3", {}, "A day was missed"),
            h("p", {}, recovery?.until ? "A recovery token brings the streak back within 24 hours. " : "", `You have ${text}.`),
            recovery?.possible && action(phone, "recover", "Bring it back", () => phone.recover()),
        );
    }
    if (!streak.at_risk) return null;
    return h(
        "section",
        { class: "notice warn" },
        h("h3", {}, "This streak is at risk"),
        h("p", {}, streak.you_posted_today ? `${streak.friend.display_name} has until midnight to post.` : "Post before midnight to keep it."),
    );
}

function prompt(phone) {
    const prompt = phone.state.prompt;
    if (!prompt) return null;
    return h(
        "section",
        { class: "prompt" },
        h("span", { class: "sign", "aria-hidden": "true" }, prompt.emoji),
        h("div", {}, h("p", { class: "quiet" }, "Today’s prompt"), h("p", { class: "strong" }, prompt.text)),
    );
}

function today(phone, detail) {
    const { streak } = detail;
    const friend = streak.friend.display_name;
    if (streak.status === "broken") return null;
    return h(
        "section",
        { class: "today", "aria-label": "Today" },
        h("div", { class: "snaps" }, snap(phone, detail.your_snap, "You", "Not posted yet"), friendSnap(phone, detail, friend)),
        !streak.you_posted_today &&
            h("button", { class: "button main wide", data: { key: "post" }, onclick: () => photoSheet(phone) }, icon("camera", { size: 20 }), "Take today’s photo"),
    );
}

function snap(phone, value, name, text) {
    if (value && phone.isQuiet) return h("figure", { class: "snap none" }, h("span", {}, "Posted"), h("figcaption", {}, name));
    if (!value) return h("figure", { class: "snap none" }, h("span", {}, text), h("figcaption", {}, name));
    return h(
        "figure",
        { class: "snap", data: { role: name === "You" ? "yours" : "theirs" } },
        phone.picture(local(value.thumbnail_url), value.caption || `The photo of ${name}`),
        h("figcaption", {}, name, value.caption && h("span", {}, value.caption)),
    );
}

/// The friend's photo: shown to who has posted too (PH-4).
function friendSnap(phone, detail, friend) {
    if (detail.friend_snap) return snap(phone, detail.friend_snap, friend, "");
    if (!detail.streak.friend_posted_today) return snap(phone, null, friend, "Not posted yet");
    return h(
        "figure",
        { class: "snap locked", data: { role: "locked" } },
        h("span", { class: "blur", "aria-hidden": "true" }),
        h("span", { class: "why" }, icon("lock", { size: 22 }), "Post yours to see it"),
        h("figcaption", {}, friend),
    );
}

function progress(phone, detail) {
    const count = detail.streak.current_count;
    const next = detail.next_milestone;
    return h(
        "section",
        { class: "panel" },
        h("div", { class: "row" }, h("h3", {}, "Next milestone"), h("span", { class: "quiet number" }, `${count} of ${next}`)),
        h("div", { class: "track", role: "img", "aria-label": `${count} of ${next} days` }, h("span", { style: { width: `${Math.min(100, (count / next) * 100)}%` } })),
        h(
            "div",
            { class: "row" },
            h("span", { class: "quiet number" }, `${amount(detail.photo_count, "photo")} · longest ${detail.streak.longest_count} · ${amount(phone.state.balance?.balance ?? 0, "token")}`),
            detail.streak.longest_count >= 7 &&
                detail.streak.status === "active" &&
                h("button", { class: "button small", data: { key: "card" }, onclick: () => cardSheet(phone) }, "Milestone card"),
        ),
    );
}

const markText = { none: "no photo", you: "only you", friend: "only your friend", both: "both posted", broken: "missed", recovered: "recovered" };

function calendar(detail) {
    const dates = detail.calendar ?? [];
    const today = dates.at(-1)?.date;
    if (!today) return null;
    // Five weeks from a Monday, up to this week.
    const weekday = (new Date(`${today}T12:00:00Z`).getUTCDay() + 6) % 7;
    const shown = dates.slice(-(28 + weekday + 1));
    return h(
        "section",
        { class: "panel" },
        h("h3", {}, "Five weeks"),
        h(
            "ol",
            { class: "days" },
            shown.map(({ date, mark }) =>
                h(
                    "li",
                    { class: `day ${mark} ${date === today ? "now" : ""}`, title: `${date}: ${markText[mark] ?? mark}` },
                    h("span", { class: "number" }, String(Number(date.slice(8)))),
                    h("span", { class: "only-read" }, markText[mark] ?? mark),
                ),
            ),
        ),
    );
}

// MARK: Check-in

function checkin(phone) {
    const { checkin: status, xp } = phone.state;
    if (!status) return loading();
    const mood = scale(phone, "mood", "Mood", status.today?.mood_score ?? 7);
    const energy = scale(phone, "energy", "Energy", status.today?.energy_level ?? 6);
    const within = xp ? (xp.lifetime - xp.level_from) / Math.max(1, xp.next_level_at - xp.level_from) : 0;
    return [
        h(
            "section",
            { class: `hero ${tier(status.current_streak)}`, "aria-label": "Check-in streak" },
            h("div", { class: "count" }, flame(status.current_streak, 56), h("span", { class: "number", data: { role: "count" } }, String(status.current_streak))),
            h("p", { class: "unit" }, status.current_streak === 1 ? "day checked in" : "days checked in"),
            h(
                "p",
                { class: "standing" },
                h("span", { class: `pill ${status.checked_in_today ? "good" : "plain"}` }, status.checked_in_today ? "Done for today" : "Open today"),
                h("span", { class: "pill ice" }, `❄️ ${amount(status.freezes_available, "freeze")}`),
            ),
        ),
        h(
            "section",
            { class: "panel" },
            h("h3", {}, "How is today?"),
            mood.element,
            energy.element,
            action(phone, "checkin", status.checked_in_today ? "Update" : "Check in", () => phone.checkIn(mood.value(), energy.value())),
        ),
        xp &&
            h(
                "section",
                { class: "panel" },
                h("div", { class: "row" }, h("h3", {}, `Level ${xp.level}`), h("span", { class: "quiet number" }, `${xp.lifetime} of ${xp.next_level_at} XP`)),
                h("div", { class: "track", role: "img", "aria-label": `${xp.lifetime} of ${xp.next_level_at} XP` }, h("span", { style: { width: `${Math.min(100, within * 100)}%` } })),
                status.next_milestone &&
                    h("p", { class: "quiet" }, `${status.next_milestone.title} in ${status.next_milestone.days_until} days: ${status.next_milestone.preview_reward}`),
            ),
    ];
}

function scale(phone, key, text, value) {
    const shown = h("output", { class: "number" }, String(value));
    const input = h("input", { type: "range", min: "1", max: "10", value: String(value), data: { key }, "aria-label": text, oninput: () => (shown.textContent = input.value) });
    return { element: h("label", { class: "scale" }, h("span", {}, text), input, shown), value: () => Number(input.value) };
}

// MARK: Habits

function habits(phone) {
    const today = phone.state.habits;
    if (!today) return loading();
    const list = today.sections.flatMap((section) => section.habits);
    const add = h("button", { class: "button wide", data: { key: "habit" }, onclick: () => habitSheet(phone) }, "New habit");
    if (list.length === 0) {
        return [h("div", { class: "empty" }, h("span", { class: "sign" }, "🌱"), h("h3", {}, "Begin with one"), h("p", { class: "quiet" }, "Something small that you want to do every day.")), add];
    }
    const { done, total, percent, text } = today.progress;
    return [
        h(
            "section",
            { class: "panel ring-row" },
            h("div", { class: "ring", style: { "--part": `${percent}%` }, role: "img", "aria-label": `${done} of ${total} habits` }, h("span", { class: "number" }, `${done}/${total}`)),
            h("div", {}, h("h3", {}, "Today"), h("p", { class: "quiet" }, text)),
        ),
        h("ul", { class: "panel list" }, list.map((habit) => habitRow(phone, habit))),
        add,
    ];
}

function habitRow(phone, habit) {
    const isDone = habit.status === "done";
    const target = habit.target_value ? `${habit.value} of ${habit.target_value} ${habit.unit ?? ""}` : habit.schedule_text;
    const button = h(
        "button",
        { class: `tick ${isDone ? "done" : ""}`, data: { key: `habit-${habit.habit_id}` }, "aria-label": isDone ? `${habit.name} is done` : `Complete ${habit.name}`, disabled: isDone },
        icon("check", { size: 18 }),
    );
    button.addEventListener("click", () => phone.guard(() => phone.complete(habit)));
    return h(
        "li",
        { style: { "--colour": habit.color } },
        h("span", { class: "sign" }, habitSigns[habit.icon] ?? "⭐"),
        h("div", { class: "grow" }, h("p", { class: "strong" }, habit.name), h("p", { class: "quiet number" }, target)),
        habit.current_streak > 0 && h("span", { class: "pill plain number" }, `🔥 ${habit.current_streak}`),
        button,
    );
}

// MARK: Places

const edge = { west: 13.05, east: 13.75, south: 52.36, north: 52.68 };

function places(phone) {
    const list = phone.state.places?.posts;
    if (!list) return loading();
    const add = h("button", { class: "button main wide", data: { key: "pin" }, onclick: () => pinSheet(phone) }, icon("pin", { size: 20 }), "Pin a photo");
    return [
        h("section", { class: "map", role: "group", "aria-label": `Map with ${list.length} photos` }, grid(), list.slice(0, 20).reverse().map((post) => marker(phone, post))),
        add,
        list.length === 0
            ? h("div", { class: "empty" }, h("p", { class: "quiet" }, "Nothing here yet. Photos that are pinned to a place show up for people near it."))
            : h("ul", { class: "panel list" }, list.map((post) => postRow(phone, post))),
    ];
}

const x = (longitude) => `${((longitude - edge.west) / (edge.east - edge.west)) * 100}%`;
const y = (latitude) => `${((edge.north - latitude) / (edge.north - edge.south)) * 100}%`;

/// Lines of whole tenths of a degree.
function grid() {
    const across = [13.2, 13.4, 13.6].map((longitude) => h("span", { class: "meridian number", style: { left: x(longitude) } }, h("i", {}, `${longitude}° E`)));
    const down = [52.4, 52.5, 52.6].map((latitude) => h("span", { class: "parallel number", style: { top: y(latitude) } }, h("i", {}, `${latitude}° N`)));
    return h("div", { class: "grid", "aria-hidden": "true" }, across, down);
}

function marker(phone, post) {
    return h("span", { class: "marker", style: { left: x(post.longitude), top: y(post.latitude) }, title: post.caption }, h("img", { src: local(post.thumbnail_url), alt: post.caption || "A pinned photo" }));
}

function postRow(phone, post) {
    const isOwn = post.author.user_id === phone.person.id;
    return h(
        "li",
        {},
        h("span", { class: "thumb" }, phone.picture(local(post.thumbnail_url), post.caption || "A pinned photo")),
        h("div", { class: "grow" }, h("p", { class: "strong" }, post.caption || "A photo"), h("p", { class: "quiet number" }, `${post.author.display_name} · ${post.latitude.toFixed(3)}, ${post.longitude.toFixed(3)}`)),
        h(
            "button",
            { class: `vote number ${post.my_vote === "up" ? "on" : ""}`, disabled: isOwn, data: { key: `vote-${post.id}` }, "aria-pressed": String(post.my_vote === "up"), "aria-label": `Vote for ${post.caption || "this photo"}`, onclick: () => phone.guard(() => phone.vote(post)) },
            icon("up", { size: 16 }),
            String(post.vote_count),
        ),
    );
}

// MARK: Inbox

/// Entries of the log, of each moment one. What one photo brings is one moment: that it came, and that a streak of the two, and the streak of
/// one's own photos, reached a milestone. Of these the streak of the two says most. So is a recovery, with what it earns.
export function moments(notes, streakID) {
    const isOfMoment = (note) => ["milestone", "friend_posted", "streak_recovered"].includes(note.type);
    const weight = (note) => (note.type === "streak_recovered" ? 3 : note.type !== "milestone" ? 0 : note.streak_id === streakID ? 2 : 1);
    const belongs = (one, other) => isOfMoment(one) && isOfMoment(other) && weight(one) + weight(other) > 0 && Math.abs(Date.parse(one.created_at) - Date.parse(other.created_at)) < 60000;
    const found = [];
    for (const note of notes) {
        const place = found.findIndex((other) => belongs(note, other));
        if (place < 0) found.push(note);
        else if (weight(note) > weight(found[place])) found[place] = note;
    }
    return found;
}

function inbox(phone) {
    if (!phone.state.inbox) return loading();
    const list = moments(phone.state.inbox.notifications, phone.streakID);
    if (list.length === 0) return h("div", { class: "empty" }, h("span", { class: "sign" }, "🔔"), h("p", { class: "quiet" }, "What happens to your streaks shows up here."));
    return h(
        "ul",
        { class: "panel list" },
        list.map((note) =>
            h(
                "li",
                { class: note.read_at ? "" : "unread" },
                h("div", { class: "grow" }, h("p", { class: "strong" }, note.title), h("p", { class: "quiet" }, note.body)),
                h("time", { class: "quiet number", datetime: note.created_at }, ago(note.created_at)),
            ),
        ),
    );
}

function ago(time) {
    const past = clock.now() - Date.parse(time);
    if (past < 60000) return "now";
    const days = Math.floor(past / 86400000);
    return days < 1 ? timeText(time) : amount(days, "day");
}
