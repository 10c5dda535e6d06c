import Database
import Foundation
import Kernel

/// What must be true when every user has posted on each of the dates so far.
struct Verifier: Sendable {
    /// Counts that are celebrated, as far as any run comes: those of a streak of two (MS-6), and those of each user's `daily_snap`, which
    /// counted snaps extend (TS-1).
    private static let milestones = [7, 14, 30, 50, 100, 200] + [3, 7, 14, 30, 50, 100]

    let system: ChaosSystem
    let people: [Person]
    /// The date of each round.
    let dates: [String]
    /// Snap by round and person.
    let acknowledged: [Int: [Int: String]]

    private var rounds: Int { dates.count }

    /// - Returns: what is not so, also after the time that events and sweepers may take.
    func violations(within limit: Duration) async throws -> [String] {
        try await Self.settled(within: limit) { try await stored() + unsettled() + shown() }
    }

    /// The same for what is looked at once, at the end.
    func finalViolations(within limit: Duration) async throws -> [String] {
        try await Self.settled(within: limit) { try await histories() + profiles() }
    }

    /// Looks until nothing is wrong. - Returns: what still is, in the end.
    static func settled(within limit: Duration, _ look: () async throws -> [String]) async throws -> [String] {
        let deadline = ContinuousClock.now.advanced(by: limit)
        while true {
            let found = try await look()
            if found.isEmpty || ContinuousClock.now >= deadline { return found }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    // In the tables

    /// Every acknowledged snap is there and counted, once, and nothing else.
    private func stored() async throws -> [String] {
        let snaps = Set(acknowledged.values.flatMap(\.values))
        let tables: [(String, Query)] = [
            ("media.snap", "SELECT id::text FROM media.snap"),
            ("media.streak_snap", "SELECT snap_id::text FROM media.streak_snap"),
            (
                "streaks.contribution",
                "SELECT operation_id::text FROM streaks.contribution JOIN streaks.streak s ON s.id = streak_id AND s.kind = 1"
            ),
        ]
        var found: [String] = []
        for (table, query) in tables {
            let rows = try await texts(query)
            found += snaps.subtracting(rows).sorted().map { "\(table) lacks the acknowledged snap \($0)" }
            found += Set(rows).subtracting(snaps).sorted().map { "\(table) has \($0), of which no user was notified" }
            if rows.count > Set(rows).count { found.append("\(table) has a snap twice") }
        }
        found += try await texts(
            """
            SELECT format('streak %s: status %s, count %s, longest %s, %s photos', id, status, current_count, longest_count, contribution_count)
            FROM streaks.streak
            WHERE kind = 1 AND (status, current_count, longest_count, contribution_count) <> (1, \(rounds), \(rounds), \(rounds * 2))
            """
        )
        found += try await texts(
            "SELECT format('%s has %s photos in the totals', user_id, total_photos) FROM streaks.user_stats WHERE total_photos <> \(rounds)"
        )
        let milestones = Self.milestones.count { $0 <= rounds }
        found += try await texts(
            """
            SELECT format('%s was notified of %s snaps, %s milestones, %s breaks', user_id, posted, reached, broken) FROM
                (SELECT user_id, count(*) FILTER (WHERE kind = 3) AS posted, count(*) FILTER (WHERE kind = 4) AS reached,
                    count(*) FILTER (WHERE kind = 5) AS broken FROM notifications.notification GROUP BY user_id) AS notified
            WHERE (posted, reached, broken) <> (\(rounds), \(milestones), 0)
            """
        )
        return found
    }

    /// What is still under way.
    private func unsettled() async throws -> [String] {
        var found = try await texts(
            "SELECT format('operation %s is in state %s', id, state) FROM media.snap_operation WHERE state IN (0, 1)"
        )
        for service in ChaosSystem.services {
            let waiting: Query = """
                SELECT (SELECT count(*) FROM \(identifier: service).outbox WHERE published_at IS NULL)
                    + (SELECT count(*) FROM \(identifier: service).event_retry)
                """
            let count = try await system.database.query(waiting).first?.decode(as: Int64.self) ?? 0
            if count > 0 { found.append("\(count) events of or for \(service) wait") }
        }
        return found
    }

    private func texts(_ query: Query) async throws -> [String] {
        try await system.database.query(query).map { try $0.decode(as: String.self) }
    }

    // In the API

    /// Each person's streak and feed show both snaps of the date, and the count.
    private func shown() async throws -> [String] {
        try await each(people) { person in
            let detail: Detail = try await ask("/api/streaks/\(person.streak)", person)
            let feed: Feed = try await ask("/api/photos/feed", person)
            let snaps = [snap(of: person.number, rounds), snap(of: person.friend, rounds)]
            var found: [String] = []
            func expect(_ isSo: Bool, _ what: String) { if !isSo { found.append("\(person.name): \(what)") } }
            let count = (detail.streak.currentCount, detail.streak.longestCount, detail.photoCount)
            expect(count == (rounds, rounds, rounds * 2), "the streak counts \(count) after \(rounds) dates")
            expect([detail.yourSnap?.id, detail.friendSnap?.id] == snaps, "the streak shows other snaps than \(snaps)")
            let shown = feed.items.map { [$0.yourSnap?.id, $0.friendSnap?.id] }
            expect(shown == [snaps], "the feed shows \(shown), not \(snaps)")
            let complete = detail.calendar.filter { $0.completed == true && $0.partnerCompleted == true }.map(\.date)
            expect(complete == dates.suffix(90), "the calendar has both on \(complete)")
            return found
        }.flatMap { $0 }
    }

    /// Every snap of every date is in the history, once.
    private func histories() async throws -> [String] {
        let expected = (1...rounds).reversed()
        return try await each(people) { person in
            let path = "/api/photos/history/\(person.streak)?limit=100"
            var request = API.Request(path: path, token: person.token)
            var days: [History.Day] = []
            while true {
                let page = try await system.api.askPage(request, as: History.self)
                days += page.data.days
                guard let next = page.next else { break }
                request.path = "\(path)&cursor=\(next)"
            }
            let shown = days.map { [$0.date, $0.yourSnap?.id, $0.friendSnap?.id] }
            let meant = expected.map { [dates[$0 - 1], snap(of: person.number, $0), snap(of: person.friend, $0)] }
            return shown == meant ? nil : "\(person.name): the history shows \(days.count) dates, or other snaps than posted"
        }.compactMap { $0 }
    }

    private func profiles() async throws -> [String] {
        try await each(people) { person in
            let stats = try await ask("/api/users/me", person, as: Profile.self).stats
            let isRight = (stats.totalPhotos, stats.totalActiveStreaks) == (rounds, 1)
            return isRight
                ? nil : "\(person.name): the profile counts \(stats.totalPhotos) photos, \(stats.totalActiveStreaks) streaks"
        }.compactMap { $0 }
    }

    private func ask<Value: Decodable>(_ path: String, _ person: Person, as type: Value.Type = Value.self) async throws -> Value {
        try await system.api.ask(API.Request(path: path, token: person.token))
    }

    private func snap(of person: Int, _ round: Int) -> String? { acknowledged[round]?[person] }
}
