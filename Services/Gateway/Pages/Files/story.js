// The middle of the page: the time of the installation, and the story to play with the phones.
import { clock, people } from "/pages/api.js";
import { dayText, h, sinceMidnight, timeText } from "/pages/page.js";
import { made } from "/pages/photo.js";

const hour = 3600000;
const day = 24 * hour;

export class Story {
    constructor(phones) {
        this.phones = phones;
        this.running = null;
        this.reached = new Set(people.load().reached ?? []);
        this.clockText = h("p", { class: "clock number" });
        this.dateText = h("p", { class: "date" });
        this.sky = h("div", { class: "sky", "aria-hidden": "true" }, h("span", { class: "sun" }));
        this.moves = h(
            "div",
            { class: "moves", role: "group", "aria-label": "Move the time" },
            this.move("hour", "+1 hour", () => hour),
            this.move("evening", "To 9 pm", () => this.until(21)),
            this.move("midnight", "Past midnight", () => this.until(24) + 2 * 60000),
            this.move("day", "+1 day", () => day),
        );
        this.steps = h("ol", { class: "steps" });
        this.progress = h("p", { class: "progress quiet", role: "status", "aria-live": "polite" });
        this.element = h(
            "section",
            { class: "story", "aria-label": "Time and story" },
            h("div", { class: "time" }, this.sky, h("div", { class: "time-text" }, this.clockText, this.dateText), this.moves),
            h("div", { class: "tale" }, h("h2", {}, "Play it"), this.progress, this.steps),
        );
    }

    begin() {
        setInterval(() => this.tick(), 1000);
        this.render();
    }

    /// Milliseconds until it is this hour, today or tomorrow.
    until(wanted) {
        const rest = wanted * hour - sinceMidnight(clock.now());
        return rest > 0 ? rest : rest + day;
    }

    move(key, text, amount) {
        return h("button", { class: "button small", data: { move: key }, onclick: () => this.run(() => clock.advance(amount())) }, text);
    }

    /// Does one thing at a time; meanwhile the controls are off.
    async run(task) {
        if (this.running) return;
        this.running = task;
        this.render();
        try {
            await task();
        } catch (error) {
            this.phones[0].fail(error);
        }
        this.running = null;
        this.progress.textContent = "";
        this.render();
    }

    // MARK: What can be done for the player

    async meet() {
        const [ada, ben] = this.phones;
        for (const phone of this.phones) if (!phone.person) await phone.register(phone.label);
        if (this.streak) return;
        await ada.addFriend();
        await ben.refresh("home");
        await ben.accept(ben.state.requests.find((request) => request.direction === "incoming"));
        await ada.refresh("home");
    }

    /// A made photo for today, unless there is one.
    async post(phone) {
        if (!phone.streak.you_posted_today) await this.send(phone, 1080);
    }

    /// A made photo; a smaller one takes less time where many are made.
    async send(phone, size) {
        this.seed = (this.seed ?? Math.floor(Math.random() * 100000)) + 1;
        const captions = ["Morning light", "On the way", "Same place, other sky", "Look at this", "Quiet here", "Before the rain"];
        await phone.post(await made(this.seed, size), captions[this.seed % captions.length]);
    }

    /// Plays days until the streak has this many: both post, the next day begins. Meanwhile the phones read only the streak, once a day.
    async grow(goal) {
        this.stopped = false;
        for (const phone of this.phones) phone.rest(true);
        try {
            for (let isNewDay = false; !this.stopped && this.streak?.status === "active"; isNewDay = true) {
                await Promise.all(this.phones.filter((phone) => isNewDay || !phone.streak.you_posted_today).map((phone) => this.send(phone, 320)));
                await Promise.all(this.phones.map((phone) => phone.refresh("streak")));
                const count = this.streak.current_count;
                this.progress.textContent = `Day ${count} of ${goal}`;
                if (count >= goal) break;
                await clock.advance(this.until(24) + 9 * hour);
            }
        } finally {
            for (const phone of this.phones) phone.rest(false);
            // What the last photos bring takes a moment to be in the inbox.
            for (let turn = 0; turn < 20; turn += 1) {
                await Promise.all(this.phones.map((phone) => phone.refresh("home", "inbox")));
                if ((this.streak?.current_count ?? 0) < goal || this.phones.every((phone) => phone.hasMilestone)) break;
                await new Promise((done) => setTimeout(done, 250));
            }
            for (const phone of this.phones) phone.push(phone.state.inbox.notifications);
        }
    }

    // MARK: The story

    get streak() {
        return this.phones[0].streak;
    }

    /// Remembers what has been seen once, also when the story goes on from there.
    reach(key, isSo) {
        if (!isSo || this.reached.has(key)) return this.reached.has(key);
        this.reached.add(key);
        people.save({ reached: [...this.reached] });
        return true;
    }

    get chapters() {
        const [ada, ben] = this.phones;
        const streak = this.streak;
        const detail = ada.state.detail;
        const isActive = streak?.status === "active";
        const has = (test) => this.phones.some(test);
        return [
            {
                key: "meet",
                title: "Two people meet",
                text: "Create both accounts, ask on one phone, accept on the other.",
                done: Boolean(streak),
                can: true,
                label: "Do it for me",
                run: () => this.meet(),
            },
            {
                key: "post",
                title: "Post, then see",
                text: "Ada posts. Ben’s phone shows at once that she did, but not her photo, until he posts too.",
                done: this.reach("post", (streak?.longest_count ?? 0) > 0),
                can: isActive,
                label: streak?.you_posted_today ? "Ben posts" : "Ada posts",
                run: () => this.post(streak.you_posted_today ? ben : ada),
            },
            {
                key: "grow",
                title: "Thirty days",
                text: "Both post every day. Day 7 gives a card to share, day 30 a recovery token.",
                done: this.reach("grow", (streak?.longest_count ?? 0) >= 30),
                can: isActive,
                label: "Play the days",
                run: () => this.grow(30),
            },
            {
                key: "risk",
                title: "A late evening",
                text: "Only Ada has posted, and it is 9 pm: the streak is at risk.",
                done: this.reach("risk", streak?.at_risk),
                can: isActive && this.reached.has("grow"),
                label: "Wait for the evening",
                run: async () => {
                    await clock.advance(this.until(24) + 9 * hour);
                    await this.post(ada);
                    await clock.advance(this.until(21));
                },
            },
            {
                key: "break",
                title: "Midnight",
                text: "Ben does not post. A minute after midnight the streak breaks.",
                done: this.reach("break", streak?.status === "broken"),
                can: isActive && this.reached.has("risk"),
                label: "Let midnight pass",
                run: () => clock.advance(this.until(24) + 2 * 60000),
            },
            {
                key: "recover",
                title: "Bring it back",
                text: "A recovery token, earned on day 30, restores it within 24 hours.",
                done: this.reach("recover", (detail?.recoveries ?? 0) > 0 && isActive),
                can: Boolean(ben.state.detail?.recovery?.possible && streak?.status === "broken"),
                label: "Ben uses his token",
                run: () => ben.recover(),
            },
            {
                key: "more",
                title: "More of the day",
                text: "Check in, begin a habit, pin a photo to a place: the other tabs of each phone.",
                done: this.reach("more", has((phone) => phone.state.checkin?.checked_in_today) && has((phone) => phone.state.habits?.progress.done > 0) && has((phone) => phone.state.places?.posts.length > 0)),
                can: false,
            },
        ];
    }

    render() {
        this.tick();
        const chapters = this.chapters;
        const next = chapters.find((chapter) => !chapter.done);
        const focused = this.steps.contains(document.activeElement) ? document.activeElement.dataset.step : null;
        this.steps.replaceChildren(
            ...chapters.map((chapter, index) => {
                const isNext = chapter === next;
                return h(
                    "li",
                    { class: `step ${chapter.done ? "done" : ""} ${isNext ? "next" : ""}`, "aria-current": isNext ? "step" : null, data: { chapter: chapter.key } },
                    h("span", { class: "bullet number", "aria-hidden": "true" }, chapter.done ? "✓" : String(index + 1)),
                    h(
                        "div",
                        { class: "grow" },
                        h("h3", {}, chapter.title, chapter.done && h("span", { class: "only-read" }, " (done)")),
                        isNext && h("p", { class: "quiet" }, chapter.text),
                        isNext && chapter.run && h("button", { class: "button small", disabled: Boolean(this.running) || !chapter.can, data: { step: chapter.key }, onclick: () => this.run(chapter.run) }, chapter.label),
                        isNext && chapter.key === "grow" && this.running && h("button", { class: "button small", data: { step: "stop" }, onclick: () => (this.stopped = true) }, "Stop"),
                    ),
                );
            }),
            ...(next ? [] : [h("li", { class: "step end" }, h("p", {}, "That was the story. The phones go on."))]),
        );
        if (focused) (this.steps.querySelector(`[data-step="${focused}"]`) ?? this.steps.querySelector("[data-step]"))?.focus();
        for (const button of this.moves.children) button.disabled = Boolean(this.running);
    }

    /// The time as the installation's clock has it, and the sky of that hour.
    tick() {
        const now = clock.now();
        this.clockText.textContent = timeText(now);
        this.dateText.textContent = dayText(now);
        const part = sinceMidnight(now) / day;
        this.sky.dataset.part = part < 0.22 || part > 0.87 ? "night" : part < 0.33 ? "morning" : part < 0.7 ? "noon" : "evening";
        this.sky.style.setProperty("--way", String((part - 0.25) * 2));
        this.sky.style.setProperty("--height", String(Math.max(0, Math.sin((part - 0.25) * 2 * Math.PI))));
    }
}
