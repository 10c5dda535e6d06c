import Foundation
import TestSupport
import Testing

/// The broker of a running system loses its disk: without an operator nothing is missing (D5).
struct LostDiskTests {
    private func pid(_ name: String, of home: Installation) -> pid_t? {
        ProcessTree.children(of: home.guardian.programID).first { ProcessTree.name(of: $0) == name.prefix(15) }
    }

    /// Everything that was emitted is at the broker.
    private func left(_ services: [String], of home: Installation) async throws {
        for service in services {
            try await eventually("the events of \(service) left") {
                try await home.sql("SELECT count(*) FROM \(service).outbox WHERE published_at IS NULL") == "0"
            }
        }
    }

    private func loseDisk(of home: Installation) async throws {
        let broker = try #require(pid("nats-server", of: home))
        let store = home.data.appending(path: "nats/store")
        // Moved while it runs, so that the one that is started again finds nothing.
        try FileManager.default.moveItem(at: store, to: home.data.appending(path: "nats/lost-\(UUID().uuidString)"))
        #expect(kill(broker, SIGKILL) == 0)
        try await eventually("the broker is started again") { pid("nats-server", of: home).map { $0 != broker } ?? false }
    }

    @Test(.timeLimit(.minutes(5))) func `streaks go on counting, and what no service had consumed yet has its effect, once`()
        async throws
    {
        let home = try await Installation(["--separate", "--dev-clock"])
        var pair = try await Pair.posted(at: home)
        let sleeper = try #require(pid("notifications", of: home))
        #expect(kill(sleeper, SIGSTOP) == 0)
        let (cleo, dan) = (try await Person.register("cleo", at: home), try await Person.register("dan", at: home))
        try await cleo.befriend(dan)
        #expect(try await cleo.upload(try Photos.jpeg(71)).status == 201)
        try await left(["auth", "social", "streaks", "media"], of: home)

        try await loseDisk(of: home)
        #expect(kill(sleeper, SIGCONT) == 0)
        for (person, kind) in [(dan, "friend_request"), (cleo, "friend_accepted"), (dan, "friend_posted")] {
            try await eventually("\(person.username) is notified of \(kind)", within: .seconds(60)) {
                guard let reply = try? await person.get("/api/notifications?limit=100"), reply.status == 200 else { return false }
                return reply.data["notifications"].list.contains { $0["type"].string == kind }
            }
        }
        try await eventually("the clock moves again", within: .seconds(60)) {
            (try? await home.call("POST", "/api/dev/clock", json: "{\"advance_seconds\":86400}"))?.status == 200
        }
        try await pair.signIn()
        try await pair.bothPost()
        #expect(try await pair.item()["current_count"].int == 2)
        try await left(["auth", "social", "streaks", "media"], of: home)
        var (guest, host) = (cleo, dan)
        try await guest.signIn()
        try await host.signIn()
        for (person, kind) in [(host, "friend_request"), (guest, "friend_accepted"), (host, "friend_posted")] {
            #expect(try await person.notifications(kind).count == 1, "\(kind)")
        }
        await home.guardian.end()
    }
}
