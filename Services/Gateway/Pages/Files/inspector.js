// The streak inspector: each date of a streak with its verdict, the reason in words, who contributed and what followed.
import { badge, facts, pages, person, when, words } from "/pages/console.js";
import { state } from "/pages/accounts.js";
import { h } from "/pages/page.js";

const tones = {
    completed: "good", filled: "good", open: "ice", grace: "warn", frozen: "ice", missed: "bad", recovered: "warn", repaired: "warn", covered: "warn", protected: "warn",
};
const weekday = new Intl.DateTimeFormat("en-GB", { weekday: "short", timeZone: "UTC" });

export function streak(id) {
    const top = h("div");
    let names = {};
    const list = pages(`/api/admin/streaks/${id}`, (data) => {
        names = Object.fromEntries(data.streak.members.map((one) => [one.user_id, one.username]));
        top.replaceChildren(summary(data));
        return runs(data.days);
    }, (days) => (days.length < 3 ? days.map((day) => row(day, names)) : [fold(days, names)]), "Nothing is known of any date.");
    list[0].classList.add("days");
    return [h("h1", {}, "Streak"), top, h("h2", {}, "Day by day"), ...list];
}

function summary({ streak: one, count_now: now }) {
    const waits = now !== one.current_count ? ` (${one.current_count} when it was settled last)` : "";
    return h("section", { class: "card" },
        h("div", { class: "head" }, h("h2", {}, words(one.type)), state(one.status)),
        facts(["Count", h("span", { data: { role: "count" } }, `${now}${waits}`)], ["Longest", `${one.longest_count}`],
            ["Members", one.members.length ? one.members.map((member, index) => [index ? ", " : "", person(member.user_id, member.username), member.time_zone ? ` (${member.time_zone})` : ""]) : "none"],
            ["Since", when(one.started_at)], ["Open date", one.open_date && `${one.open_date}, until ${when(one.deadline_at)}`], ["Last completed", one.last_completed_date],
            ["Broken", one.broken_at && [when(one.broken_at), one.broken_by ? [" by ", person(one.broken_by, one.members.find((m) => m.user_id === one.broken_by)?.username)] : ""]],
            ["Ended", one.ended_at && when(one.ended_at)], ["Settled", when(one.settled_at)], ["To be settled", when(one.next_due)], ["Id", h("code", {}, one.streak_id)]));
}

/// Days that follow each other and say the same, but for the count, together. What is more than the date's own effect, as a milestone, stands alone.
function runs(days) {
    const found = [];
    for (const day of days) {
        const last = found.at(-1)?.at(-1);
        const isNext = last && Date.parse(last.date) - Date.parse(day.date) === 86400000;
        if (isNext && last.verdict === day.verdict && last.reason === day.reason && Math.max(last.events.length, day.events.length) < 2) found.at(-1).push(day);
        else found.push([day]);
    }
    return found;
}

/// A run of equal days as one, which opens.
function fold(days, names) {
    const [newest, oldest] = [days[0], days.at(-1)];
    return h("li", { class: `day ${tones[newest.verdict] ?? "plain"}`, data: { run: newest.verdict } },
        h("div", { class: "date number" }, h("strong", {}, oldest.date), h("span", { class: "quiet" }, `to ${newest.date}`)),
        h("div", {}, badge(newest.verdict, tones[newest.verdict]), ` ${days.length} days`, h("p", {}, newest.reason),
            h("details", {}, h("summary", {}, "Each day"), h("ul", { class: "rows" }, days.map((day) => row(day, names))))));
}

function row(day, names) {
    const made = day.contributions.map((one) => h("li", {}, person(one.user_id, names[one.user_id]), ` received ${when(one.received_at)}`,
        one.recorded_at !== one.received_at ? `, stored ${when(one.recorded_at)}` : ""));
    const events = day.events.map((one) => h("li", {}, one.text, " ", h("code", {}, one.key)));
    const more = made.length + events.length
        ? h("details", {}, h("summary", {}, `Details: ${made.length} received, ${events.length} followed`), h("ul", {}, made), h("ul", { class: "quiet" }, events))
        : null;
    return h("li", { class: `day ${tones[day.verdict] ?? "plain"}`, data: { date: day.date, verdict: day.verdict } },
        h("div", { class: "date number" }, h("strong", {}, day.date), h("span", { class: "quiet" }, weekday.format(new Date(`${day.date}T00:00:00Z`)))),
        h("div", {}, badge(day.verdict, tones[day.verdict]), h("p", {}, day.reason), more));
}
