import Foundation
import Kernel
import StreaksDomain
import TestSupport
import Testing

/// A month of two friends: every push and mail that they get, in order (NO-1 to NO-6). `Fixtures/month.txt` is to be read by people; with
/// `STREAKSNAP_RENDER=1` and `--depth full` this test writes it.
@Suite(.timeLimit(.minutes(20))) struct MonthTests {
    /// What happens on a date besides both posting in the morning.
    private struct Plan {
        /// Who posts then.
        var posts: [(WritableKeyPath<Month, Person>, String)] = [(\.ann, "08:50"), (\.ben, "09:00")]
        var deeds: [(time: String, name: String, deed: (inout Month) async throws -> Void)] = []
        /// Whose reminders may come.
        var awake: [WritableKeyPath<Month, Person>] = []
    }

    private static let ann = \Month.ann
    private static let ben = \Month.ben

    private static func plan(_ day: Int) -> Plan {
        var plan = Plan()
        switch day {
        case 3:
            plan.posts = [(ann, "08:50"), (ben, "21:30")]
            plan.awake = [ben]
        case 8:
            plan.posts = []
            plan.awake = [ann, ben]
        case 9:
            plan.deeds = [("08:40", "ann begins a new streak", { try await $0.restart() })]
        case 12:
            plan.posts = [(ann, "08:50"), (ben, "19:30")]
            plan.awake = [ben]
            plan.deeds = [("19:00", "ann nudges ben", { try await $0.nudge() })]
        case 20:
            plan.deeds = [("08:00", "ben wants no push when ann posts", { try await $0.prefer("{\"friend_posted\":false}") })]
        case 25:
            plan.posts = [(ben, "08:50"), (ann, "23:00")]
            plan.awake = [ann]
        default: break
        }
        return plan
    }

    /// Dates on which a reminder is to come, by person: their push must leave room for the one at the end of the window.
    private static func remindedDays(_ person: WritableKeyPath<Month, Person>) -> [Int] {
        (0..<31).filter { plan($0).awake.contains(person) }
    }

    private struct Month {
        let home: Installation
        let expo: ExpoServer
        var ann: Person
        var ben: Person
        let first: CalendarDate
        var lines: [String] = []
        private var seenPushes = 0
        private var seenMails: [String: Int] = [:]
        private var photo: UInt64 = 9_000

        init(home: Installation, expo: ExpoServer, ann: Person, ben: Person, first: CalendarDate) {
            (self.home, self.expo, self.ann, self.ben, self.first) = (home, expo, ann, ben, first)
        }

        private var names: [String: String] { [ann.id: "ann", ben.id: "ben"] }

        /// Moves the clock to a time of a day of the month, and on by a minute after the deed, in which reminders are spread.
        mutating func step(_ day: Int, _ time: Instant, _ label: String, _ deed: (inout Month) async throws -> Void) async throws
        {
            try await set(time)
            try await ann.signIn()
            try await ben.signIn()
            try await deed(&self)
            try await set(time + .seconds(59))
            try await eventually("no push waits") {
                try await home.sql(
                    "SELECT count(*) FROM notifications.delivery WHERE state = 0 AND due_at <= '\(time + .seconds(59))'"
                ) == "0"
            }
            try await eventually("no mail waits") {
                let asked = try await home.sql("SELECT count(*) FROM auth.pending_mail")
                let queued = try await home.sql(
                    "SELECT count(*) FROM notifications.mail WHERE due_at <= '\(time + .seconds(59))'"
                )
                return asked == "0" && queued == "0"
            }
            try collect(String(format: "day %02d %@", day, label))
        }

        /// Unless a busy machine has taken until then already.
        private func set(_ time: Instant) async throws {
            guard try await home.productTime() < time else { return }
            try await home.travel(to: "\(time)")
        }

        private mutating func collect(_ moment: String) throws {
            let pushes = try expo.pushes
            var new = pushes[seenPushes...].map { push in
                "\(moment)  push to \(push.to.contains("ann") ? "ann" : "ben"): \(push.data.type): \(push.title) | \(push.body)"
            }
            seenPushes = pushes.count
            for person in [ann, ben] {
                let mails = Mails(home: home).all(to: person.email)
                new += mails[seenMails[person.id, default: 0]...].map { mail in
                    "\(moment)  mail to \(names[person.id] ?? ""): \(mail.subject)"
                }
                seenMails[person.id] = mails.count
            }
            // Those of one minute have no order.
            lines += new.sorted().map { line in
                (0..<32).reduce(line) { line, day in
                    let prompt = DailyPrompt.of(first.advanced(by: day))
                    return line.replacing("\(prompt.emoji) \(prompt.text)", with: "{the day's prompt}")
                }
            }
        }

        mutating func post(_ person: WritableKeyPath<Month, Person>) async throws {
            photo += 1
            let reply = try await self[keyPath: person].upload(try Photos.jpeg(photo))
            try #require(reply.status == 201, "\(reply.text)")
        }

        mutating func restart() async throws {
            let reply = try await ann.post("/api/streaks", "{\"friend_id\":\"\(ben.id)\"}")
            try #require((200...201).contains(reply.status), "\(reply.text)")
        }

        mutating func nudge() async throws {
            let reply = try await ann.post("/api/friends/nudge/\(ben.id)")
            try #require((200...201).contains(reply.status), "\(reply.text)")
        }

        mutating func prefer(_ json: String) async throws {
            let reply = try await home.call("PUT", "/api/users/me/notification-preferences", token: ben.token, json: json)
            try #require(reply.status == 200, "\(reply.text)")
        }
    }

    /// The push of the day of a person.
    private static func push(of person: Person, on day: Int, from first: CalendarDate) throws -> Instant {
        let date = first.advanced(by: day)
        let window = SnapWindow(startHour: SnapWindow.defaultStartHour, on: date, in: .utc)
        return window.pushAt(user: try #require(UserID(person.id)), on: date)
    }

    /// A new user whose push of each of these days leaves room for the reminder at the end of the window, and comes minutes after that of another
    /// user, so that their order is the same in each run.
    private func person(
        _ name: String,
        reminded days: [Int],
        after other: Person? = nil,
        from first: CalendarDate,
        at home: Installation
    ) async throws -> Person {
        for _ in 0..<200 {
            let person = try await Person.register(name, at: home)
            let fits = try days.allSatisfy { day in
                let push = try Self.push(of: person, on: day, from: first)
                let isShared = Self.plan(day).awake.count > 1
                // The first of two leaves room for the other.
                let latest = Zone.utc.start(of: first.advanced(by: day)) + .minutes(isShared && other == nil ? 630 : 659)
                guard push <= latest, let other, isShared else { return push <= latest }
                return try Self.push(of: other, on: day, from: first) + .minutes(5) < push
            }
            if fits { return person }
        }
        throw Guardian.Failure(description: "no user is early")
    }

    @Test func `two friends get every push and mail that is promised, at its minute and in their language, and no other`()
        async throws
    {
        let days = TestDepth.pick(quick: 10, full: 31)
        let expo = try await ExpoServer.start()
        let home = try await Installation(["--dev-clock"], environment: ["STREAKSNAP_NOTIFICATIONS_PUSH_URL": expo.url])
        let text = try #require(try await home.call("GET", "/api/dev/clock").data["now"].string)
        let now = try #require(Instant(rfc3339: text))
        // The next midnight but one: the people are registered on the day before the first.
        let first = Zone.utc.date(at: now).advanced(by: 2)
        let eve = Zone.utc.start(of: first) - .hours(12)
        try await home.travel(to: "\(eve)")
        let ann = try await person("ann", reminded: Self.remindedDays(Self.ann), from: first, at: home)
        let ben = try await person("ben", reminded: Self.remindedDays(Self.ben), after: ann, from: first, at: home)
        var month = Month(home: home, expo: expo, ann: ann, ben: ben, first: first)
        try await month.step(0, eve + .minutes(5), "eve: they register and are friends") { month in
            for (person, json) in [
                (month.ann, #"{"push_token":"ExponentPushToken[ann]","platform":"ios","locale":"en-GB"}"#),
                (month.ben, #"{"push_token":"ExponentPushToken[ben]","platform":"android","locale":"de-DE"}"#),
            ] {
                let reply = try await month.home.call("PUT", "/api/users/me/push-token", token: person.token, json: json)
                try #require(reply.status == 200, "\(reply.text)")
            }
            try await month.ann.befriend(month.ben)
        }
        for day in 0..<days { try await live(day, &month) }
        try check(month.lines, days: days)
        await home.guardian.end()
    }

    private func live(_ day: Int, _ month: inout Month) async throws {
        let (plan, date) = (Self.plan(day), month.first.advanced(by: day))
        func at(_ time: String) -> Instant {
            Instant(rfc3339: "\(date)T\(time):00Z") ?? Zone.utc.start(of: date)
        }
        var steps = plan.deeds.map { (at($0.time), "\($0.time): \($0.name)", $0.deed) }
        for (person, time) in plan.posts {
            let name = person == Self.ann ? "ann" : "ben"
            steps.append((at(time), "\(time): \(name) posts", { try await $0.post(person) }))
        }
        for person in plan.awake {
            let push = try Self.push(of: month[keyPath: person], on: day, from: month.first)
            steps.append((push, "the minute of \(person == Self.ann ? "ann" : "ben")'s window", { _ in }))
        }
        if !plan.awake.isEmpty { steps.append((at("11:30"), "11:30", { _ in })) }
        steps += ["07:00", "21:00"].map { (at($0), $0, { _ in }) }
        for (time, label, deed) in steps.sorted(by: { $0.0 < $1.0 }) { try await month.step(day, time, label, deed) }
        try await month.step(day, Zone.utc.end(of: date) + .minutes(1), "the minute after it", { _ in })
    }

    private func check(_ lines: [String], days: Int) throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/month.txt")
        if ProcessInfo.processInfo.environment["STREAKSNAP_RENDER"] == "1", days == 31 {
            try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: file)
        }
        let golden = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init)
        // `day 07 …`
        let expected = golden.filter { line in Int(line.dropFirst(4).prefix(2)).map { $0 < days } ?? false }
        #expect(lines == expected, "\(lines.joined(separator: "\n"))")
    }
}
