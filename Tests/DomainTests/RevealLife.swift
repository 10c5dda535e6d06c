import Kernel
import MediaDomain
import StreaksDomain
import TestSupport

/// A random life of two friends who post, travel and look, on the real ledger and zone histories. After every step what each could see
/// is compared with an oracle that knows nothing but which dates the two clocks have been seen to show, and who has posted for what.
struct RevealLife {
    /// What decides on a reveal.
    enum Rule: CaseIterable {
        /// The one there is.
        case real
        /// A feed that goes by what both clocks call today: the reader's snap of their today opens the friend's of the friend's today.
        case presentDates
        /// A history that goes by the reader's clock alone: locked is what the reader could still post for, and nothing once the streak
        /// has ended.
        case readersClock
    }

    static let zones = [
        "UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Pacific/Auckland",
        "Pacific/Honolulu", "Pacific/Chatham", "America/Santiago", "Australia/Lord_Howe", "+14:00", "-12:00",
    ].compactMap { Zone($0) }

    let users = [UserID(high: 7, low: 1), UserID(high: 7, low: 2)]
    let rule: Rule
    private var random: Seeded
    private var now: Instant
    private var ledger: StreakLedger
    /// The newest date each clock has been seen to show.
    private var shown: [CalendarDate]
    /// What each of the two has seen of the other's.
    private var seen: [Set<CalendarDate>] = [[], []]
    private(set) var trace: [String] = []
    private(set) var violation: String?

    init(seed: UInt64, rule: Rule) {
        var random = Seeded(seed)
        let now = Instant(seconds: 1_767_225_600 + Int64.random(in: 0..<(365 * 86_400), using: &random))
        let zones = [random.pick(Self.zones), random.pick(Self.zones)]
        self.rule = rule
        self.now = now
        shown = zones.map { $0.date(at: now) }
        ledger = StreakLedger(start: now, participants: zip(users, zones).map { StreakLedger.Participant($0, zone: $1) })
        trace = ["\(now): \(zones[0]) and \(zones[1])"]
        self.random = random
    }

    /// Lives until so many steps are done or something is wrong.
    mutating func live(steps: Int) {
        for _ in 0..<steps where violation == nil {
            pass()
            let index = random.pick([0, 1])
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<45: post(index)
            case 45..<48: post(index, captured: now - .hours(random.pick([1, 5, 9])))
            case 48..<70: travel(index)
            case 70: end()
            default: break
            }
            for reader in [0, 1] where violation == nil { check(reader) }
        }
    }

    /// Time passes: often to the very instant at which a member's date ends, or just before.
    private mutating func pass() {
        if random.chance(35) {
            let clock = clock(random.pick([0, 1]))
            let end = clock.end(of: clock.date(at: now))
            let instant = random.chance(50) ? end : end - .seconds(1)
            if instant > now { now = instant }
        } else {
            now = now + .minutes(random.pick([1, 30, 60, 240, 600]))
        }
        for index in [0, 1] { shown[index] = max(shown[index], clock(index).date(at: now)) }
    }

    private func clock(_ index: Int) -> ZoneHistory { ledger.participants[index].zones }

    private mutating func post(_ index: Int, captured: Instant? = nil) {
        act("posts", index, .contribute(users[index], receivedAt: now, capturedAt: captured))
    }

    private mutating func travel(_ index: Int) {
        let zone = random.pick(Self.zones)
        act("goes to \(zone)", index, .changeZone(users[index], zone))
        shown[index] = max(shown[index], clock(index).date(at: now))
    }

    private mutating func end() {
        act("ends it", 0, .end)
        for reader in [0, 1] where violation == nil { check(reader) }
        // The two begin anew, with the clocks they have.
        ledger = StreakLedger(start: now, participants: ledger.participants)
        seen = [[], []]
    }

    private mutating func act(_ what: String, _ index: Int, _ command: StreakCommand) {
        var outcome = ""
        if fold(ledger, .mutual, at: now).status == .broken {
            // A broken streak takes nothing: the two begin anew, with the clocks they have.
            ledger = StreakLedger(start: now, participants: ledger.participants)
            seen = [[], []]
            outcome = " in a new streak"
        }
        do throws(ServiceError) {
            let change = try ledger.applying(command, .mutual, at: now)
            ledger = change.ledger
            if let date = change.creditedTo { outcome += " for \(date)" }
        } catch { outcome += " → \(error.reason)" }
        trace.append("\(now) \(index) \(what)\(outcome)")
    }

    private func posted(_ index: Int) -> Set<CalendarDate> {
        Set(ledger.contributions.filter { $0.value.contains { $0.user == users[index] } }.keys)
    }

    private mutating func check(_ reader: Int) {
        let (own, friends) = (posted(reader), posted(1 - reader))
        // PH-4 and SD-4 in one line: posted for the same date, or each clock has been seen to show a later one.
        let allowed = friends.filter { date in own.contains(date) || shown.allSatisfy { $0 > date } }
        let (visible, slot) = look(reader, own, friends)
        if let date = visible.subtracting(allowed).min() { violation = "\(reader) sees \(date) and may not" }
        guard rule == .real else { return }
        if let date = seen[reader].subtracting(visible).min() { violation = "\(reader) saw \(date) and does not any more" }
        seen[reader] = visible
        if let date = allowed.subtracting(visible).min() { violation = "\(reader) may see \(date) and does not" }
        let today = today(reader)
        let recent = friends.filter(today.friendDates.contains)
        let isRight =
            switch slot {
            case .empty: recent.isEmpty
            case .locked(let date): recent.contains(date) && allowed.isDisjoint(with: recent)
            case .shown(let date): date == allowed.intersection(recent).max()
            }
        if !isRight { violation = "\(reader) finds \(slot) of \(recent.sorted())" }
        if !today.friendDates.contains(clock(1 - reader).date(at: now)) { violation = "the friend's today is not today" }
    }

    private func today(_ reader: Int) -> StreakToday {
        StreakToday(
            yourDate: clock(reader).date(at: now),
            friendDate: clock(1 - reader).date(at: now),
            openFrom: ledger.openFrom(at: now),
            friendNewest: clock(1 - reader).openFrom(at: now)
        )
    }

    /// The dates of which the reader could see the friend's snap on any route, and what the feed shows.
    private func look(_ reader: Int, _ own: Set<CalendarDate>, _ friends: Set<CalendarDate>) -> (
        Set<CalendarDate>, StreakToday.FriendSlot
    ) {
        let (mine, theirs) = (clock(reader).date(at: now), clock(1 - reader).date(at: now))
        switch rule {
        case .real:
            let openFrom = ledger.openFrom(at: now)
            let history = friends.filter {
                !MutualReveal.isLocked($0, youPosted: own.contains($0), openFrom: openFrom)
            }
            let slot = today(reader).friendSlot(posted: friends, own: own)
            if case .shown(let date) = slot { return (history.union([date]), slot) }
            return (history, slot)
        case .presentDates:
            return (friends.contains(theirs) && own.contains(mine) ? [theirs] : [], .empty)
        case .readersClock:
            guard ledger.endedAt == nil else { return (friends, .empty) }
            let yesterday = mine.advanced(by: -1)
            let isYesterdayOpen = now <= clock(reader).end(of: yesterday) + .hours(6)
            return (friends.filter { own.contains($0) || $0 < (isYesterdayOpen ? yesterday : mine) }, .empty)
        }
    }
}
