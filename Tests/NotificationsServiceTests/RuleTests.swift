import Kernel
import NotificationsDomain
import StreaksDomain
import TestSupport
import Testing

/// Whether and when pushes leave (NO-5, NO-6).
struct RuleTests {
    private static let zones = [
        "UTC", "Europe/Berlin", "America/St_Johns", "Pacific/Chatham", "Australia/Lord_Howe", "Asia/Kathmandu",
    ]

    private func instant(_ text: String) throws -> Instant { try #require(Instant(rfc3339: text)) }

    // MARK: - Quiet hours

    @Test(arguments: 0..<300) func `quiet hours end at the first minute that is not quiet`(seed: UInt64) throws {
        var dice = Seeded(seed)
        let zone = try #require(Zone(dice.pick(Self.zones)))
        let start = Int.random(in: 0...23, using: &dice)
        let quiet = try #require(QuietHours(start: start, end: (start + Int.random(in: 1...23, using: &dice)) % 24))
        // Changes of the clock included.
        let now = Instant(seconds: Int64.random(in: 1_760_000_000...1_800_000_000, using: &dice))
        let end = quiet.end(from: now, in: zone)
        #expect(!quiet.contains(end, in: zone))
        guard quiet.contains(now, in: zone) else {
            #expect(end == now)
            return
        }
        #expect(end > now && end - now <= .hours(25))
        var minute = now
        while minute < end {
            #expect(quiet.contains(minute, in: zone), "\(zone) \(minute)")
            minute = minute + .minutes(1)
        }
    }

    @Test func `quiet hours go over midnight, and are those of the clock on the wall`() throws {
        let berlin = try #require(Zone("Europe/Berlin"))
        let quiet = QuietHours.standard
        #expect(!quiet.contains(try instant("2026-05-04T21:59:59+02:00"), in: berlin))
        #expect(quiet.contains(try instant("2026-05-04T22:00:00+02:00"), in: berlin))
        #expect(quiet.contains(try instant("2026-05-05T06:59:59+02:00"), in: berlin))
        #expect(
            quiet.end(from: try instant("2026-05-04T22:30:00+02:00"), in: berlin) == (try instant("2026-05-05T07:00:00+02:00"))
        )
        // The night of the change to summer time is an hour shorter, and an end hour that is skipped is the first after it.
        #expect(
            quiet.end(from: try instant("2026-03-28T23:00:00+01:00"), in: berlin) == (try instant("2026-03-29T07:00:00+02:00"))
        )
        let early = try #require(QuietHours(start: 22, end: 2))
        #expect(
            early.end(from: try instant("2026-03-29T01:30:00+01:00"), in: berlin) == (try instant("2026-03-29T03:00:00+02:00"))
        )
        #expect(
            QuietHours(start: 7, end: 7) == nil && QuietHours(start: 24, end: 1) == nil && QuietHours(start: 1, end: -1) == nil
        )
    }

    @Test(arguments: 0..<300) func `in quiet hours only a streak at risk leaves, and nothing leaves when it is of no use`(
        seed: UInt64
    ) throws {
        var dice = Seeded(seed)
        let zone = try #require(Zone(dice.pick(Self.zones)))
        let preferences = PushPreferences(off: Set(PushSwitch.allCases.filter { _ in dice.chance(20) }))
        let now = Instant(seconds: Int64.random(in: 1_770_000_000...1_790_000_000, using: &dice))
        let uselessAt = now + .minutes(Int64.random(in: -60...1_500, using: &dice))
        for kind in NotificationKind.allCases {
            let decision = PushRule.decide(kind, preferences, in: zone, at: now, uselessAt: uselessAt)
            let isAllowed = kind.pushSwitch.map { preferences.off.isDisjoint(with: [$0, .enabled]) } ?? true
            switch decision {
            case .send(let at):
                #expect(isAllowed && now <= at && at < uselessAt)
                let isQuiet = QuietHours.standard.contains(at, in: zone)
                #expect(!isQuiet || kind == .streakAtRisk || kind == .test, "\(kind)")
                // What may leave now does not wait.
                #expect(at == now || QuietHours.standard.contains(now, in: zone))
            case .drop(let reason):
                switch reason {
                case .switchedOff: #expect(!isAllowed)
                case .useless: #expect(uselessAt <= now)
                case .quietHours: #expect(QuietHours.standard.contains(now, in: zone) && kind != .streakAtRisk)
                default: Issue.record("\(reason)")
                }
            }
        }
    }

    @Test func `a window whose hour the user has chosen is pushed in quiet hours, another is not`() throws {
        let now = try instant("2026-05-04T22:20:00Z")
        for kind in [NotificationKind.dailyWindow, .windowClosing] {
            func decide(_ wording: Int16, off: Set<PushSwitch> = []) -> PushRule.Decision {
                let preferences = PushPreferences(off: off)
                return PushRule.decide(kind, wording: wording, preferences, in: .utc, at: now, uselessAt: now + .minutes(100))
            }
            #expect(decide(Wording.hourIsChosen) == .send(at: now))
            #expect(decide(0) == .drop(.quietHours))
            #expect(decide(Wording.hourIsChosen, off: [.windowAlerts, .windowClosing]) == .drop(.switchedOff))
        }
    }

    @Test func `moderation, receipts, exports and restored accounts cannot be switched off, everything else can`() {
        let always = NotificationKind.allCases.filter { $0.pushSwitch == nil }
        #expect(Set(always) == [.moderationWarning, .reportUpdate, .exportReady, .purchaseReceipt, .accountRestored, .test])
        #expect(Set(NotificationKind.allCases.compactMap(\.pushSwitch) + [.enabled]) == Set(PushSwitch.allCases))
        #expect(NotificationKind.streakRecovered.pushSwitch == .streakBroken)
        #expect(NotificationKind.friendAccepted.pushSwitch == .friendRequests)
    }

    // MARK: - The day's places

    @Test func `eight friends who post do not swallow a streak at risk`() {
        var places = DayPlaces()
        let posted = (0..<8).map { _ in places.take(for: .friendPosted) }
        #expect(posted.filter { $0 }.count == DayPlaces.open)
        let kinds: [NotificationKind] = [
            .streakAtRisk, .dailyWindow, .streakBroken, .moderationWarning, .friendRequest, .nudge, .streakAtRisk,
        ]
        let taken = kinds.map { places.take(for: $0) }
        #expect(taken == [true, true, true, true, true, true, false], "one place is kept, not more")
    }

    @Test(arguments: 0..<300) func `a date has at most 8 pushes that count, however they come, also when they are stored between`(
        seed: UInt64
    ) {
        var dice = Seeded(seed)
        var (places, counted, firsts) = (DayPlaces(), 0, Set<KeptPlace>())
        for _ in 0..<60 {
            let kind = dice.pick(NotificationKind.allCases)
            places = DayPlaces(openTaken: places.openTaken, keptBits: places.keptBits)
            let isTaken = places.take(for: kind)
            if kind.isUncounted {
                #expect(isTaken)
                continue
            }
            if let place = kind.keptPlace, firsts.insert(place).inserted { #expect(isTaken, "\(kind) has a place of its own") }
            if isTaken { counted += 1 }
            #expect(places.taken == counted && counted <= DayPlaces.most)
        }
    }

    // MARK: - Retries

    @Test(arguments: 0..<200) func `a retry waits at random up to a limit that doubles, and never less than the server asks`(
        seed: UInt64
    ) {
        var dice = Seeded(seed)
        let attempt = Int.random(in: 1...40, using: &dice)
        let random = Double.random(in: 0..<1, using: &dice)
        let delay = RetryDelay.after(attempt: attempt, random: random)
        let ceiling = attempt > 20 ? Interval.minutes(5) : min(.minutes(5), .seconds(Int64(1) << Int64(attempt)))
        #expect(delay >= .zero && delay <= ceiling)
        let asked = Interval.seconds(Int64.random(in: 1...10_000, using: &dice))
        let later = RetryDelay.after(attempt: attempt, random: random, asked: asked)
        #expect(later >= min(asked, .hours(1)) && later <= .hours(1) + ceiling)
    }

    @Test func `Retry-After is a number or a date`() throws {
        let now = try instant("2026-05-04T12:00:00Z")
        #expect(RetryDelay.asked("120", at: now) == .seconds(120))
        #expect(RetryDelay.asked("Mon, 04 May 2026 12:02:00 GMT", at: now) == .minutes(2))
        #expect(RetryDelay.asked("Mon, 04 May 2026 11:02:00 GMT", at: now) == .zero)
        for text in [
            "", "-1", "soon", "Mon, 04 May 2026", "Mon, 04 Mai 2026 12:02:00 GMT", "Mon, 31 Feb 2026 12:02:00 GMT", "1.5",
        ] {
            #expect(RetryDelay.asked(text, at: now) == nil, "\(text)")
        }
    }

    // MARK: - The life of a push

    @Test(arguments: 0..<500) func `a push is never taken three times, and one that was refused each time is not given up`(
        seed: UInt64
    ) {
        var dice = Seeded(seed)
        var (life, taken) = (DeliveryLife(), 0)
        for _ in 0..<50 {
            guard life.handOver() else { break }
            // What the provider did, and what is seen of it: a crash sees nothing.
            let isTaken = dice.chance(50)
            if isTaken { taken += 1 }
            if dice.chance(40) {
                life.note(.unanswered)
            } else if isTaken {
                life.note(.accepted)
            } else {
                life.note(.notAccepted)
            }
            if life.state != .queued { break }
        }
        #expect(taken <= DeliveryLife.mostUnanswered)
        if life.state == .failed { #expect(life.unanswered == DeliveryLife.mostUnanswered) }
        var refused = DeliveryLife()
        for _ in 0..<100 {
            let isHandedOver = refused.handOver()
            #expect(isHandedOver)
            refused.note(.notAccepted)
        }
        #expect(refused.state == .queued && refused.unanswered == 0)
    }

    @Test func `receipts end a push, or queue it again`() {
        func sent() -> DeliveryLife {
            var life = DeliveryLife()
            _ = life.handOver()
            life.note(.accepted)
            return life
        }
        var (received, failed, again) = (sent(), sent(), sent())
        received.note(receipt: .accepted)
        failed.note(receipt: .refused)
        again.note(receipt: .notAccepted)
        #expect([received.state, failed.state, again.state] == [.received, .failed, .queued])
        received.expire()
        #expect(received.state == .received)
        again.expire()
        #expect(again.state == .expired)
    }

    @Test func `receipts are asked for until the provider deletes them, ever more rarely`() {
        let sent = Instant(seconds: 1_000_000)
        var (now, times) = (sent + ReceiptRule.first, 1)
        while let next = ReceiptRule.next(sentAt: sent, now: now) {
            #expect(next > now)
            now = next
            times += 1
        }
        #expect(now >= sent + .minutes(23 * 60 + 55) && now <= sent + .hours(24))
        #expect((5...10).contains(times), "\(times)")
    }

    // MARK: - Spread

    /// Chi-squared of counts that should be equal, per degree of freedom.
    private func unevenness(_ counts: [Int]) -> Double {
        let expected = Double(counts.reduce(0, +)) / Double(counts.count)
        let sum = counts.reduce(0.0) { $0 + (Double($1) - expected) * (Double($1) - expected) / expected }
        return sum / Double(counts.count - 1)
    }

    /// Ids as `UUIDv7Source` makes them: of users who registered one after the other.
    private func users(_ count: Int) -> [UserID] {
        let source = UUIDv7Source(clock: ManualClock(Instant(seconds: 1_777_896_000)))
        return (0..<count).map { _ in source.make() }
    }

    @Test func `the minutes of the daily push are spread evenly over all users, and anew each date`() throws {
        let users = users(60_000)
        let dates = [20_577, 20_578].map { CalendarDate(dayNumber: $0) }
        var minutes: [[Int]] = []
        for date in dates {
            let window = SnapWindow(startHour: 10, on: date, in: .utc)
            minutes.append(users.map { Int((window.pushAt(user: $0, on: date) - window.opensAt).seconds) / 60 })
        }
        for all in minutes {
            var counts = [Int](repeating: 0, count: 60)
            for minute in all { counts[minute] += 1 }
            // 59 degrees of freedom: one in a million is above 2.1.
            #expect(unevenness(counts) < 2.1, "\(unevenness(counts))")
        }
        let same = zip(minutes[0], minutes[1]).filter { $0 == $1 }.count
        #expect((800...1_200).contains(same), "as many as by chance have the same minute: \(same)")
    }

    @Test func `reminders of one minute are spread evenly over its seconds, and other pushes leave at once`() {
        var counts = [Int](repeating: 0, count: PushRule.mostSpread)
        for user in users(30_000) {
            let delay = PushRule.spread(.windowClosing, of: user, over: PushRule.mostSpread)
            counts[Int(delay.seconds)] += 1
            #expect(PushRule.spread(.streakAtRisk, of: user, over: PushRule.mostSpread) == delay)
            #expect(PushRule.spread(.streakAtRisk, of: user, over: 0) == .zero)
            #expect(PushRule.spread(.friendPosted, of: user, over: PushRule.mostSpread) == .zero)
        }
        // 44 degrees of freedom: one in a million is above 2.2.
        #expect(unevenness(counts) < 2.2, "\(unevenness(counts))")
    }

    // MARK: - Form

    @Test func `only tokens of Expo are well-formed`() {
        let good = [
            "ExponentPushToken[xxxxxxxxxxxxxxxxxxxxxx]", "ExpoPushToken[a-_9]", "0190a0b0-0000-7000-8000-00000000000a",
        ]
        let bad = [
            "", "ExponentPushToken[]", "ExponentPushToken[a b]", "ExponentPushToken[a", "ExponentPushToken[a]]",
            "expoPushToken[a]",
            "ExponentPushToken[ä]", "ExponentPushToken[\(String(repeating: "a", count: 129))]", "fcm:abc", "ExpoPushToken[a]\n",
            "0190a0b0-0000-7000-8000-00000000000", "0190a0b00000-7000-8000-00000000000a-",
        ]
        #expect(good.allSatisfy(PushToken.isWellFormed))
        #expect(bad.filter(PushToken.isWellFormed).isEmpty)
    }

    @Test func `a collapse id names kind and streak, within 64 bytes`() {
        let id = "\(StreakID(high: .max, low: .max))"
        for kind in NotificationKind.allCases {
            let texts = [kind.collapseID(subject: id, entry: id), kind.collapseID(subject: nil, entry: id)]
            #expect(texts.allSatisfy { $0.utf8.count <= PushFormat.mostCollapseBytes && $0.hasPrefix(kind.name) })
        }
        let friends = NotificationKind.friendPosted
        #expect(friends.collapseID(subject: "a", entry: "1") == friends.collapseID(subject: "a", entry: "2"))
        let warning = NotificationKind.moderationWarning
        #expect(warning.collapseID(subject: "a", entry: "1") != warning.collapseID(subject: "a", entry: "2"))
    }
}
