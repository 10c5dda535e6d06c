import Foundation
import StreakSnapClient
import TestSupport
import Testing

/// The year of two friends through the client library only, over a network that loses, repeats and delays: every snap counts
/// once for its date.
@Suite(.timeLimit(.minutes(30))) struct ClientYearTests {
    @Test func `a year over a bad network counts every snap once for its date`() async throws {
        var year = try await ClientYear(days: TestDepth.pick(quick: 14, full: 365), seed: 22)
        for _ in 0..<year.days { try await year.nextDay() }
        try await year.agrees()
        try await year.networkWasBad()
    }
}

/// Ada posts when she wakes; Ben is in a tunnel on some evenings, and his phone sends what it has taken after midnight.
private struct ClientYear {
    let home: Installation
    let network: LossyProxy
    let days: Int
    var ada: Phone
    var ben: Phone
    let streak: StreakID
    var dice: Seeded
    /// From the first day of the year.
    var day = 0
    let start: CalendarDate
    var tunnels = 0

    init(days: Int, seed: UInt64) async throws {
        self.days = days
        home = try await Installation(["--dev-clock"])
        try await home.travel(to: "2030-01-01T07:00:00Z")
        start = try #require(CalendarDate(text: "2030-01-01"))
        network = try LossyProxy(to: home.http.port, seed: seed, loss: 30)
        dice = Seeded(seed)
        let phones = home.data.appending(path: "phones")
        ada = try await Phone.register("ada", port: network.port, folder: phones)
        ben = try await Phone.register("ben", port: network.port, folder: phones)
        streak = try await ada.befriend(ben)
    }

    private var date: CalendarDate { get throws { try #require(start.advanced(by: day)) } }

    /// From 7 o'clock to 7 o'clock.
    mutating func nextDay() async throws {
        let date = try date
        let seed = UInt64(day) * 2 + 100
        let posted = try await ada.streaksnap.snaps.uploadSnap(photo: .file(try ada.photo(seed)), streakIDs: ["all"])
        #expect(posted.streaks.map(\.date) == [date], "\(date)")
        if day % 4 == 1 {
            try await tunnel(date, seed + 1)
        } else {
            let reply = try await ben.streaksnap.snaps.uploadSnap(photo: .file(try ben.photo(seed + 1)), streakIDs: ["all"])
            #expect(reply.streaks.map(\.date) == [date], "\(date)")
            try await home.travel(to: "\(try #require(date.advanced(by: 1)))T07:00:00Z")
        }
        day += 1
        let item = try await ben.streaksnap.mutual.getStreak(streakID: streak).streak
        #expect(item.currentCount == day && item.status == .active, "\(date)")
    }

    /// Ben takes his photo at 23:50 without a network. His phone is restarted, and is back at 2:30.
    private mutating func tunnel(_ date: CalendarDate, _ seed: UInt64) async throws {
        tunnels += 1
        try await home.travel(to: "\(date)T23:50:00Z")
        network.setAway(true)
        let taken = try #require(ISO8601DateFormatter().date(from: "\(date)T23:50:00Z"))
        let photo = try ben.photo(seed)
        try await ben.queue.addSnap(photo: photo, streakIDs: [streak], caption: "Tunnel", capturedAt: taken)
        let early = try await ben.queue.flush(options: CallOptions(retries: RetryPolicy(attempts: 2, base: .milliseconds(1))))
        #expect(early.isEmpty)
        try FileManager.default.removeItem(at: photo)
        try ben.restart()
        let next = try #require(date.advanced(by: 1))
        try await home.travel(to: "\(next)T02:30:00Z")
        network.setAway(false)
        let outcomes = try await ben.queue.flush()
        #expect(outcomes.count == 1)
        guard case .done(let data)? = outcomes.first?.result else {
            Issue.record("\(date): \(outcomes)")
            return
        }
        #expect(String(decoding: data, as: UTF8.self).contains("\"date\":\"\(date)\""), "it counts for the date it was taken on")
        try await home.travel(to: "\(next)T07:00:00Z")
    }

    /// Each has one snap for each date, and the streak has all dates.
    func agrees() async throws {
        for phone in [ada, ben] {
            let item = try await phone.streaksnap.mutual.getStreak(streakID: streak)
            #expect(item.streak.currentCount == days && item.streak.longestCount == days)
            #expect(item.photoCount == 2 * days)
            var dates: [CalendarDate] = []
            for try await entry in phone.streaksnap.snaps.getSnapHistoryAll(streakID: streak, limit: 7) {
                #expect(entry.yourSnap != nil && entry.friendSnap != nil, "\(entry.date)")
                dates.append(entry.date)
            }
            #expect(dates == (0..<days).reversed().compactMap(start.advanced(by:)))
        }
        let stored = try await home.sql("SELECT count(*) FROM media.snap WHERE user_id IN ('\(ada.user)', '\(ben.user)')")
        #expect(stored == "\(2 * days)", "no snap is stored twice")
        let tokens = try await ada.streaksnap.billing.getRecoveryBalance()
        #expect(tokens.balance == days / 30, "no milestone is counted twice")
    }

    func networkWasBad() async throws {
        let counts = network.counts
        #expect(tunnels > 2)
        for fate in LossyProxy.Fate.allCases { #expect(counts[fate, default: 0] > 0, "\(fate)") }
    }
}
