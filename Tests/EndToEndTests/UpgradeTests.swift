import Bus
import DevEnvironment
import Foundation
import Kernel
import Logging
import Processes
import TestSupport
import Testing

/// The present code on what an earlier release left behind. `Fixtures/releases/make.py` makes such a fixture.
struct UpgradeTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/releases")

    /// The releases that can be upgraded from.
    static var releases: [String] {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return files.filter { $0.hasSuffix(".tar.xz") }.map { String($0.dropLast(7)) }.sorted()
    }

    @Test func `there is a fixture of each release`() throws {
        let changelog = Self.folder.appending(path: "../../../../deploy/docs/CHANGELOG.md").standardized
        let text = try String(contentsOf: changelog, encoding: .utf8)
        let released = text.matches(of: #/## (\d+\.\d+\.\d+) \(\d/#).map { String($0.1) }
        #expect(!released.isEmpty && Set(released).isSubset(of: Self.releases), "released: \(released)")
    }

    @Test(.timeLimit(.minutes(5)), arguments: releases)
    func `every user is answered as before, and what was under way goes on`(release: String) async throws {
        let (data, world, replies) = try await unpacked(release)
        let home = try await Installation(
            ["--dev-clock"],
            environment: [
                "STREAKSNAP_AUTH_ADMIN_SECOND_FACTOR": "enrolled", "STREAKSNAP_BILLING_WEBHOOK_SECRET": "release-fixture-secret",
            ],
            existing: data
        )
        let underWay = world["under_way"]
        try await goesOn(underWay, at: home, password: try #require(world["password"].string))
        for name in world["people"].names.sorted() {
            let person = try await signedIn(world["people"][name]["email"].string, world, at: home)
            #expect(!replies[name].names.isEmpty)
            for path in replies[name].names.sorted() {
                let reply = try await home.call("GET", path, token: person)
                let known = path == Self.figures ? try withoutFriends(reply.data) : reply.data
                let lost = Difference.lost(replies[name][path], in: known).filter { !isMeant($0, of: path) }
                #expect(reply.status == 200 && lost.isEmpty, "\(name) \(path): \(lost.prefix(5)) \(reply.text.prefix(300))")
            }
        }
        await home.guardian.end()
    }

    private static let figures = "/api/admin/analytics/streaks"

    /// Figures without those of friends' streaks, which 0.1.0 did not count: its two that run and the one that was broken are among them at
    /// once.
    private func withoutFriends(_ figures: JSON) throws -> JSON {
        guard case .object(var members) = figures else { return figures }
        func isOfFriends(_ entry: JSON) -> Bool { entry["type"].string == "mutual" }
        let friends = try #require(figures["days"].list.last(where: isOfFriends))
        #expect(friends["running"].int == 2 && friends["average_streak"].int == 31 && friends["share_at_30"].int == 100)
        for name in ["days", "totals", "cohorts"] {
            members[name] = .array(figures[name].list.filter { !isOfFriends($0) })
        }
        return .object(members)
    }

    /// What is answered otherwise on purpose since 0.1.0; the changelog says it to users.
    private func isMeant(_ difference: String, of path: String) -> Bool {
        switch path {
        // The 365 days until today; it was the calendar year.
        case "/api/users/me/calendar": difference.hasPrefix(".days[")
        // A token is offered only while it undoes the break.
        case "/api/notifications?limit=100":
            difference.contains(" recovery token to save it!\") became") || difference.contains("streaksnap://paywall\") became")
        // A milestone that was paid is not promised again.
        case "/api/streaks/typed": difference.contains(".next_milestone.")
        // A bought shield protects without being used.
        case "/api/streaks/power-ups":
            difference.contains("Covers the next break of your check-in streak.")
                // A streak can be insured once in 7 days, instead of all of a user's together.
                || difference.contains("; a streak can be insured once in 7 days.")
        // All that premium gives, instead of three things; insurance and restore as above: one for each streak can be bought.
        case "/api/store/catalog":
            difference.contains(".perks: ") || difference.contains(".remaining: ")
                || difference.contains("; a streak can be insured once in 7 days.")
        // No rate is above 100.
        case Self.figures:
            difference.wholeMatch(of: /.*\.completion_rate: number\((\d+\.\d+)\) became number\(100\.0\)/)
                .flatMap { Double($0.1) }.map { $0 > 100 } ?? false
        default: false
        }
    }

    /// A friend request whose event no one had consumed reaches its receiver, and a change of zone the streaks.
    private func goesOn(_ underWay: JSON, at home: Installation, password: String) async throws {
        let tom = try #require(underWay["people"]["tom"].string)
        let sam = try #require(underWay["people"]["sam"].string)
        try await eventually("who was asked is notified", within: .seconds(60)) {
            try await home.sql("SELECT count(*) FROM notifications.notification WHERE user_id = '\(tom)'") == "1"
        }
        try await eventually("streaks knows the new zone", within: .seconds(60)) {
            try await home.sql("SELECT time_zone FROM streaks.profile_replica WHERE user_id = '\(sam)'") == "Asia/Kathmandu"
        }
        try await eventually("every event has left", within: .seconds(60)) {
            let services = ["auth", "social", "streaks", "media", "notifications", "billing"]
            let counts = services.map { "(SELECT count(*) FROM \($0).outbox WHERE published_at IS NULL)" }
            return try await home.sql("SELECT \(counts.joined(separator: " + "))") == "0"
        }
    }

    private func signedIn(_ email: String?, _ world: JSON, at home: Installation) async throws -> String {
        let login = "{\"email\":\(quoted(email ?? "")),\"password\":\(quoted(world["password"].string ?? ""))}"
        let reply = try await Person.patiently { try await home.call("POST", "/api/auth/login", json: login) }
        return try #require(reply.data["access_token"].string, "\(reply.text)")
    }

    /// A data folder with the release's database, blobs and secrets, whose clock shows the instant at which everything ended.
    private func unpacked(_ release: String) async throws -> (data: URL, world: JSON, replies: JSON) {
        let folder = try Installation.makeFolder()
        try await removeWhenTestsEnd(folder)
        let data = folder.appending(path: "data")
        let archive = Self.folder.appending(path: "\(release).tar.xz")
        let result = try await run("python3", ["-m", "tarfile", "-e", archive.path, data.path])
        try #require(result.status == 0, "\(result.transcript)")
        let world = try JSON(Array(Data(contentsOf: data.appending(path: "world.json"))))
        let replies = try JSON(Array(Data(contentsOf: data.appending(path: "replies.json"))))
        let environment = DevEnvironment(DevEnvironmentConfiguration(dataFolder: data.path), logger: Self.silent)
        let endpoints = try await environment.start()
        let script = data.appending(path: "database.sql").path
        let loaded = try await run("psql", ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", script, endpoints.adminPostgresURL])
        try #require(loaded.status == 0, "\(loaded.transcript)")
        try await moveClock(to: try #require(world["now"].string), endpoints)
        await environment.stop()
        return (data, world, replies)
    }

    /// Stores the offset of the development clock, as its coordinator does. A world of the past needs a negative one.
    private func moveClock(to text: String, _ endpoints: Endpoints) async throws {
        let then = try Date(text, strategy: .iso8601.year().month().day().time(includingFractionalSeconds: true))
        let offset = Int((then.timeIntervalSince1970 - Date().timeIntervalSince1970) * 1_000_000)
        let bus = try await BusConnection.connect(
            BusConfiguration(
                url: endpoints.natsURL,
                name: "upgrade",
                user: "operator",
                password: endpoints.natsPassword(of: "operator") ?? "",
                inboxPrefix: "_INBOX.operator"
            ),
            logger: Self.silent
        )
        let stream = JetStream(connection: bus)
        try await stream.ensureStream(StreamConfiguration(name: "DEV_CLOCK", subjects: ["dev.clock.state"], maxMessages: 1))
        _ = try await stream.publish(
            subject: "dev.clock.state",
            messageID: nil,
            headers: [:],
            body: Array("\(offset)".utf8),
            deadline: SystemClock.now() + .seconds(5)
        )
        await bus.close()
    }

    private static let silent = Logger(label: "upgrade") { _ in SwiftLogNoOpLogHandler() }
}

/// How a reply differs from one that was recorded.
private enum Difference {
    /// Where what was recorded is not there any more. What is new is no difference.
    static func lost(_ recorded: JSON, in present: JSON, at path: String = "") -> [String] {
        switch (recorded, present) {
        case (.object(let members), .object):
            return members.sorted { $0.key < $1.key }.flatMap { lost($0.value, in: present[$0.key], at: "\(path).\($0.key)") }
        case (.array(let values), .array(let others)) where values.count == others.count:
            return zip(values, others).enumerated().flatMap { lost($1.0, in: $1.1, at: "\(path)[\($0)]") }
        case (.null, _): return []
        case (.string(let text), .string(let other)) where place(other).hasPrefix(place(text) + "?"): return []
        default: return recorded == present ? [] : ["\(path): \(recorded) became \(present)"]
        }
    }

    /// A link without the server, which listens on another port.
    private static func place(_ link: String) -> String { link.replacing(#/^http://127\.0\.0\.1:\d+/#, with: "") }
}
