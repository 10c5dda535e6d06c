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
        return data.days;
    }, (day) => row(day, names), "Nothing is known of any date.");
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

function row(day, names) {
    const made = day.contributions.map((one) => h("li", {}, person(one.user_id, names[one.user_id]), ` received ${when(one.received_at)}`,
        one.recorded_at !== one.received_at ? `, stored ${when(one.recorded_at)}` : ""));
    const events = day.events.map((one) => h("li", {}, one.text, " ", h("code", {}, one.key)));
    const more = made.length + events.length
        ? h("details", {}, h("summary", {}, `${made.length} contributed, ${events.length} followed`), h("ul", {}, made), h("ul", { class: "quiet" }, events))
        : null;
    return h("li", { class: `day ${tones[day.verdict] ?? "plain"}`, data: { date: day.date, verdict: day.verdict } },
        h("div", { class: "date number" }, h("strong", {}, day.date), h("span", { class: "quiet" }, weekday.format(new Date(`${day.date}T00:00:00Z`)))),
        h("div", {}, badge(day.verdict, tones[day.verdict]), h("p", {}, day.reason), more));
}
