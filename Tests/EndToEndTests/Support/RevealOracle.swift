import Foundation
import Kernel
import TestSupport
import Testing

/// Two friends whose clocks travel, on an installation whose clock moves, and what each may see of the other's photos by PH-4: of a date they
/// have posted for themselves, or that is over because each clock has been seen to show a later one. It knows nothing of how the services
/// find that out.
struct RevealOracle {
    /// A photo as it was credited.
    private struct Posted: Hashable {
        let streak: String
        let date: CalendarDate
        let author: Int
    }

    /// What identifies a photo in a reply.
    private struct Words {
        let caption: String
        let id: String
        /// The folder of its files, as links name it.
        let folder: String
    }

    let home: Installation
    var people: [Person]
    var streaks: [String]
    private var zones: [Zone]
    /// The newest date each clock has been seen to show.
    private var shown: [CalendarDate]
    private var photos: [Posted: Words] = [:]
    /// The newest dates the clocks had shown when the friendship ended: nothing is opened by time after that.
    private var last: [CalendarDate]?
    /// What each has seen of the other's.
    private var seen: [Set<Posted>] = [[], []]
    private(set) var trace: [String] = []
    private let walk: GetWalk

    init(_ home: Installation, zones names: [String]) async throws {
        self.home = home
        people = [
            try await Person.register("ann", at: home, zone: names[0]),
            try await Person.register("ben", at: home, zone: names[1]),
        ]
        zones = try names.map { try #require(Zone($0)) }
        streaks = [try await people[0].befriend(people[1])]
        let now = try await home.productTime()
        shown = zones.map { $0.date(at: now) }
        walk = try await GetWalk(home)
        trace.append("\(now) \(names)")
    }

    /// Moves the clock.
    mutating func pass(_ seconds: Int) async throws {
        try await home.travel(days: 0, seconds: seconds)
        for index in people.indices { try await people[index].signIn() }
        try await note("\(seconds) s pass")
    }

    /// Moves the clock to the next time it shows this, like 23:30, in a member's zone.
    mutating func go(to hour: Int, _ minute: Int = 0, of index: Int) async throws {
        let passed = zones[index].secondOfDay(at: try await home.productTime())
        try await pass(Int((Int64(hour * 3_600 + minute * 60) - passed + 86_400) % 86_400))
    }

    /// A member changes zone.
    mutating func travel(_ index: Int, to name: String) async throws {
        let zone = try #require(Zone(name))
        guard zone != zones[index] else { return }
        try await note("")
        let reply = try await home.call(
            "PUT",
            "/api/users/me",
            token: people[index].token,
            json: "{\"time_zone\":\(quoted(name))}"
        )
        try #require(reply.status == 200, "\(reply.text)")
        let user = people[index].id
        try await eventually("streaks has the zone") {
            let newest = "SELECT zone FROM streaks.zone_change WHERE user_id = '\(user)' ORDER BY since DESC LIMIT 1"
            return try await home.sql(newest) == name
        }
        zones[index] = zone
        try await note("\(index) is in \(name)")
    }

    /// A member posts to the newest streak. - Returns: the date it was credited to; nil when it was refused.
    @discardableResult
    mutating func post(_ index: Int) async throws -> CalendarDate? {
        let (streak, number) = (streaks[streaks.count - 1], photos.count)
        let caption = "words.\(number).of.\(people[index].username)"
        let photo = try Photos.jpeg(UInt64(2_000 + number), width: 64, height: 48)
        let reply = try await people[index].upload(photo, to: streak, caption: caption)
        guard reply.status == 201 else {
            try await note("\(index) posts → \(reply.code ?? "")")
            return nil
        }
        let date = try #require(reply.data["streaks"][0]["date"].string.flatMap { CalendarDate($0) }, "\(reply.text)")
        let url = try #require(reply.data["snap"]["photo_url"].string.flatMap { URL(string: $0) })
        photos[Posted(streak: streak, date: date, author: index)] = Words(
            caption: caption,
            id: try #require(reply.data["snap"]["id"].string),
            folder: url.deletingLastPathComponent().lastPathComponent
        )
        try await note("\(index) posts for \(date)")
        return date
    }

    /// A new streak of the two, when the one before has broken.
    mutating func startAnew() async throws {
        let reply = try await people[0].post("/api/streaks", "{\"friend_id\":\"\(people[1].id)\"}")
        guard reply.status == 201 else { return }
        streaks.append(try #require(reply.data["streak"]["id"].string, "\(reply.text)"))
        try await note("a new streak")
    }

    /// The friendship ends.
    mutating func part() async throws {
        try await note("")
        last = shown
        let friendship = try #require(try await people[1].get("/api/friends").data["friends"][0]["friendship_id"].string)
        let removed = try await home.call("DELETE", "/api/friends/\(friendship)", token: people[1].token)
        try #require(removed.status == 200, "\(removed.text)")
        try await note("they part")
    }

    private mutating func note(_ what: String) async throws {
        let now = try await home.productTime()
        for index in people.indices { shown[index] = max(shown[index], zones[index].date(at: now)) }
        if !what.isEmpty { trace.append("\(now) \(what)") }
    }

    /// What one may see of the other's now.
    private func allowed(_ reader: Int) -> Set<Posted> {
        Set(
            photos.keys.filter { photo in
                guard photo.author != reader else { return false }
                let own = Posted(streak: photo.streak, date: photo.date, author: reader)
                return photos[own] != nil || (last ?? shown).allSatisfy { $0 > photo.date }
            }
        )
    }

    /// Looks at everything as both, and compares. - Returns: what is wrong; empty when nothing is.
    mutating func look() async throws -> [String] {
        var problems: [String] = []
        for reader in people.indices {
            try await note("")
            let before = allowed(reader)
            let (found, texts) = try await found(reader)
            try await note("")
            // A date may have ended while the routes were walked.
            let after = allowed(reader)
            for photo in found.keys where !after.contains(photo) {
                problems.append("\(reader) finds the photo of \(photo.date) at \(found[photo] ?? [])")
            }
            let history = Set(found.filter { $0.value.contains("/api/photos/history/{streak_id}") }.keys)
            for photo in before.subtracting(history) {
                let any = seen[reader].contains(photo) ? " any more" : ""
                problems.append("\(reader) does not find the photo of \(photo.date)\(any)")
            }
            seen[reader].formUnion(found.keys)
            problems += Self.links(to: people[1 - reader], in: texts, known: Set(found.keys.compactMap { photos[$0]?.folder }))
        }
        return problems.isEmpty ? [] : problems + trace
    }

    /// The other's photos that a reader finds, with the routes, and every text.
    private func found(_ reader: Int) async throws -> ([Posted: [String]], [String]) {
        let other = people[1 - reader]
        let ids = [
            "bbox": ["13,52,14,53"], "zoom": ["12"],
            "streak_id": streaks, "user_id": [other.id], "username": [other.username], "token": ["none"], "q": [other.username],
            "notification_id": ["0190a0b0-0000-7000-8000-000000000001"], "circle_id": ["0190a0b0-0000-7000-8000-000000000001"],
            "code": ["0000000000"], "type": ["daily_snap"], "format": ["csv"],
            "habit_id": ["0190a0b0-0000-7000-8000-000000000001"], "category_id": ["0190a0b0-0000-7000-8000-000000000001"],
            "post_id": ["0190a0b0-0000-7000-8000-000000000001"], "author": people.map(\.id), "date": ["2026-01-02"],
        ]
        var found: [Posted: [String]] = [:]
        var texts: [String] = []
        for (target, reply) in try await walk.look(people[reader], ids) {
            let text = reply.text.replacing("\\/", with: "/")
            texts.append(text)
            for (photo, words) in photos where photo.author != reader {
                if text.contains(words.caption) || text.contains(words.id) { found[photo, default: []].append(target.route) }
            }
        }
        return (found, texts)
    }

    /// Links to photos of a user that none of the photos explains that were found by their words.
    private static func links(to person: Person, in texts: [String], known: Set<String>) -> [String] {
        texts.flatMap { text in
            text.matches(of: /\/media\/snaps\/([^\/"]+)\/[^\/"]+\/([^\/"]+)\//).compactMap { match in
                guard match.1 == person.id, !known.contains(String(match.2)) else { return nil }
                return "a link to \(match.2)"
            }
        }
    }
}
