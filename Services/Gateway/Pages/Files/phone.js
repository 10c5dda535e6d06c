// One of the two phones: who is signed in on it, what it knows, and what it shows.
import { clock, people, Person, Refusal } from "/pages/api.js";
import { h, icon, random, timeText } from "/pages/page.js";
import { moments, screens } from "/pages/screens.js";

const tabs = [
    ["home", "flame", "Streak"],
    ["checkin", "check", "Check-in"],
    ["habits", "list", "Habits"],
    ["places", "pin", "Places"],
    ["inbox", "bell", "Inbox"],
];

/// The lists that each kind of live event says to read again.
const affected = {
    streak: ["home"],
    notification: ["inbox", "home"],
    unread_count: ["inbox"],
    reset: ["home", "inbox"],
};

export class Phone {
    constructor(label) {
        this.label = label;
        this.key = label.toLowerCase();
        this.person = null;
        this.friend = null;
        this.tab = "home";
        this.state = {};
        this.pictures = new Map();
        this.onchange = () => {};
        this.waiting = new Set();
        this.arrived = [];
        /// Whether events and photos are left aside, because days pass quickly.
        this.isQuiet = false;
        this.build();
    }

    build() {
        this.time = h("span", { class: "number" });
        this.bar = h("div", { class: "statusbar" }, this.time, h("span", { class: "owner" }, this.label), h("span", { class: "battery", "aria-hidden": "true" }));
        this.content = h("div", { class: "content", tabindex: "-1" });
        this.tabs = h(
            "nav",
            { class: "tabs", "aria-label": `${this.label}’s app` },
            tabs.map(([key, drawing, text]) =>
                h(
                    "button",
                    { data: { tab: key }, onclick: () => this.open(key) },
                    icon(drawing, { size: 22 }),
                    h("span", {}, text),
                    key === "inbox" && h("span", { class: "badge number", hidden: true }),
                ),
            ),
        );
        this.banner = h("div", { class: "banner", role: "status", "aria-live": "polite" });
        this.app = h("div", { class: "app" }, this.content, this.tabs);
        this.overlay = h("div", { class: "overlay", hidden: true });
        this.screen = h("div", { class: "screen" }, this.bar, this.banner, this.app, this.overlay);
        this.element = h("section", { class: "phone", "aria-label": `${this.label}’s phone`, data: { phone: this.key } }, this.screen);
        this.render();
        setInterval(() => this.tick(), 1000);
    }

    // MARK: Who

    /// Signs in who was made before, or offers to register.
    async start() {
        const record = people.load()[this.key];
        if (record) {
            const person = new Person(record);
            try {
                await person.token();
                await this.signedIn(person);
            } catch (error) {
                // Of an installation whose data is gone.
                if (!(error instanceof Refusal) || error.status === 0) throw error;
                people.save({ [this.key]: null, streak: null });
            }
        }
        this.render();
    }

    async register(name) {
        const person = await Person.register(name);
        people.save({ [this.key]: person.record });
        await this.signedIn(person);
        if (this.friend.person) await this.friend.refresh("home");
    }

    async signedIn(person) {
        this.person = person;
        person.watch((kind, data) => this.live(kind, data));
        await this.refresh("home", "inbox");
    }

    get name() {
        return this.person?.name ?? this.label;
    }

    get streak() {
        return this.state.detail?.streak ?? null;
    }

    /// Whether the inbox has a milestone of the two that is new.
    get hasMilestone() {
        const isNew = (note) => clock.now() - Date.parse(note.created_at) < 60000;
        return this.state.inbox.notifications.some((note) => note.type === "milestone" && note.streak_id === this.streakID && isNew(note));
    }

    /// The streak of the two, once there is one.
    get streakID() {
        return people.load().streak ?? null;
    }

    // MARK: What it knows

    /// Begins or ends a time in which days pass quickly.
    rest(isQuiet) {
        this.isQuiet = isQuiet;
        this.person.isResting = isQuiet;
    }

    /// Reads again what these screens show, and shows it.
    async refresh(...names) {
        if (!this.person) return;
        await Promise.all(names.map((name) => this.read(name)));
        this.render();
        this.onchange();
    }

    async read(name) {
        const { person, state } = this;
        if (name === "streak") {
            state.detail = await person.call("GET", `/api/streaks/${this.streakID}`);
        } else if (name === "home") {
            if (!this.streakID) {
                const [requests, streaks] = [await person.call("GET", "/api/friends/requests"), await person.call("GET", "/api/streaks")];
                state.requests = requests.requests;
                if (streaks.streaks[0]) people.save({ streak: streaks.streaks[0].id });
            }
            state.prompt = await person.call("GET", "/api/prompts/today");
            if (this.streakID) {
                [state.detail, state.balance] = await Promise.all([
                    person.call("GET", `/api/streaks/${this.streakID}`),
                    person.call("GET", "/api/recovery/balance"),
                ]);
            }
        } else if (name === "inbox") {
            state.inbox = await person.call("GET", "/api/notifications?limit=30");
        } else if (name === "checkin") {
            [state.checkin, state.xp] = await Promise.all([person.call("GET", "/api/mobile/streaks/status"), person.call("GET", "/api/mobile/xp")]);
        } else if (name === "habits") {
            state.habits = await person.call("GET", "/api/habits/today");
        } else if (name === "places") {
            state.places = await person.call("GET", "/api/posts?bbox=13.0,52.3,13.8,52.7&limit=30&sort=newest");
        }
    }

    /// What an open app is sent at once. Several events that arrive together cause one reading.
    live(kind, data) {
        if (this.isQuiet) return;
        for (const name of affected[kind] ?? []) this.waiting.add(name);
        if (kind === "notification" && this.arrived.push(data.notification_id) === 1) setTimeout(() => this.announce(this.arrived.splice(0)), 400);
        clearTimeout(this.timer);
        this.timer = setTimeout(() => {
            const names = [...this.waiting];
            this.waiting.clear();
            this.guard(() => this.refresh(...names));
        }, 60);
    }

    /// Shows the newest of these notifications as a push at the top of the screen.
    async announce(ids) {
        const notes = await Promise.all(ids.map((id) => this.person.call("GET", `/api/notifications/${id}`).catch(() => null)));
        this.push(notes.filter(Boolean).reverse());
    }

    /// Shows the first moment of these entries as a push. What comes late of the moment that was shown last does not take its place.
    push(notes) {
        if (notes.length === 0) return;
        const note = moments([...notes, this.pushed].filter(Boolean), this.streakID)[0];
        this.pushed = note;
        this.banner.replaceChildren(h("strong", {}, note.title), h("span", {}, note.body));
        this.banner.classList.add("shown");
        clearTimeout(this.bannerTimer);
        this.bannerTimer = setTimeout(() => this.banner.classList.remove("shown"), 4500);
    }

    async timeMoved() {
        if (this.isQuiet) return;
        const lists = [...new Set(["home", "inbox", this.tab])];
        await this.guard(() => this.refresh(...lists));
    }

    // MARK: What it does

    /// Runs an action; a refusal is shown on the phone.
    async guard(action) {
        try {
            return await action();
        } catch (error) {
            this.fail(error);
            return null;
        }
    }

    fail(error) {
        if (!(error instanceof Refusal)) console.error(error);
        const text = error instanceof Refusal ? error.message : "The page has a fault; its console says which.";
        this.banner.replaceChildren(h("strong", {}, "That did not work"), h("span", {}, text));
        this.banner.classList.add("shown");
        clearTimeout(this.bannerTimer);
        this.bannerTimer = setTimeout(() => this.banner.classList.remove("shown"), 6000);
    }

    async addFriend() {
        await this.person.call("POST", "/api/friends/request", { username: this.friend.person.record.username });
        await this.refresh("home");
    }

    async accept(request) {
        const reply = await this.person.call("PUT", `/api/friends/${request.friendship_id}/respond`, { action: "accept" });
        if (reply.streak) people.save({ streak: reply.streak.streak_id });
        await this.refresh("home");
    }

    async post(photo, caption) {
        await this.person.upload("/api/photos/upload", { photo, streak_ids: "all", caption });
        if (!this.isQuiet) await this.refresh("home");
    }

    async recover() {
        await this.person.call("POST", `/api/streaks/${this.streakID}/recover`);
        await this.refresh("home");
    }

    async card() {
        return this.person.call("POST", `/api/milestones/${this.streakID}/generate`, {});
    }

    async checkIn(mood, energy, notes) {
        const body = { mood_score: mood, energy_level: energy, check_in_time: new Date(clock.now()).toISOString() };
        if (notes) body.notes = notes;
        const reply = await this.person.call("POST", "/api/mobile/streaks/check-in", body);
        await this.refresh("checkin");
        return reply;
    }

    async addHabit(habit) {
        await this.person.call("POST", "/api/habits", habit);
        await this.refresh("habits");
    }

    async complete(habit) {
        await this.person.call("POST", `/api/habits/${habit.habit_id}/completions`, {});
        await this.refresh("habits");
    }

    async pin(photo, place, caption) {
        await this.person.upload("/api/posts", { photo, latitude: place.latitude, longitude: place.longitude, caption, precision: "exact" });
        await this.refresh("places");
        if (this.friend.tab === "places") await this.friend.refresh("places");
    }

    async vote(post) {
        const path = `/api/posts/${post.id}/vote`;
        await (post.my_vote === "up" ? this.person.call("DELETE", path) : this.person.call("PUT", path, { vote: "up" }));
        await this.refresh("places");
    }

    // MARK: What it shows

    async open(tab) {
        this.tab = tab;
        this.content.scrollTop = 0;
        this.render();
        if (!this.person) return;
        await this.guard(() => this.refresh(tab));
        if (tab === "inbox" && this.state.inbox?.unread_count > 0) {
            await this.guard(async () => {
                await this.person.call("PUT", "/api/notifications/read-all");
                await this.refresh("inbox");
            });
        }
    }

    render() {
        const focused = this.content.contains(document.activeElement) ? document.activeElement.dataset.key : null;
        const typed = this.content.querySelector("input")?.value;
        this.content.replaceChildren(...[screens[this.tab](this)].flat(Infinity).filter(Boolean));
        if (typed !== undefined && this.content.querySelector("input")) this.content.querySelector("input").value = typed;
        if (focused) this.content.querySelector(`[data-key="${focused}"]`)?.focus({ preventScroll: true });
        for (const button of this.tabs.children) {
            const isOpen = button.dataset.tab === this.tab;
            if (isOpen) button.setAttribute("aria-current", "page");
            else button.removeAttribute("aria-current");
            button.disabled = !this.person;
        }
        const unread = this.state.inbox?.unread_count ?? 0;
        const badge = this.tabs.querySelector(".badge");
        badge.hidden = unread === 0;
        badge.textContent = unread > 99 ? "99+" : String(unread);
        this.tick();
    }

    tick() {
        this.time.textContent = timeText(clock.now());
        for (const countdown of this.content.querySelectorAll("[data-until]")) {
            countdown.textContent = screens.left(countdown.dataset.until);
        }
    }

    /// An image element of a link, the same one for the same file, so that nothing flickers.
    picture(url, text) {
        const key = url.split("?")[0];
        let image = this.pictures.get(key);
        if (!image) {
            if (this.pictures.size > 60) this.pictures.clear();
            image = h("img", { class: "fresh", src: url, alt: text, decoding: "async", onanimationend: (event) => event.target.classList.remove("fresh") });
            this.pictures.set(key, image);
        }
        image.alt = text;
        return image;
    }

    /// A dialog over the app, inside the phone. `make` gets a function that closes it.
    sheet(title, make) {
        const before = document.activeElement;
        const name = `sheet-${random(6)}`;
        let cleanUp = null;
        const close = () => {
            cleanUp?.();
            this.overlay.hidden = true;
            this.overlay.replaceChildren();
            this.app.inert = false;
            document.removeEventListener("keydown", escape);
            const key = before?.dataset?.key;
            (before?.isConnected ? before : key && this.content.querySelector(`[data-key="${key}"]`))?.focus?.({ preventScroll: true });
        };
        const escape = (event) => event.key === "Escape" && close();
        const { body, onclose } = make(close);
        cleanUp = onclose;
        const panel = h(
            "div",
            { class: "sheet", role: "dialog", "aria-modal": "true", "aria-labelledby": name, tabindex: "-1" },
            h("header", {}, h("h3", { id: name }, title), h("button", { class: "round", "aria-label": "Close", onclick: close }, icon("close", { size: 20 }))),
            body,
        );
        this.overlay.replaceChildren(panel);
        this.overlay.hidden = false;
        this.app.inert = true;
        document.addEventListener("keydown", escape);
        panel.focus({ preventScroll: true });
    }
}
