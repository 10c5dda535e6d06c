import Foundation
import TestSupport
import Testing

/// Exports that are too large for a reply (AU-10). The installations of these tests allow replies of 400 kB.
extension Person {
    /// Gives the user snaps as if they had been posted, without their photos.
    func insertSnaps(_ count: Int) async throws {
        _ = try await home.sql(
            """
            INSERT INTO media.snap (id, user_id, caption, captured_at, posted_at, on_time, display_key, thumbnail_key, width, height)
            SELECT gen_random_uuid(), '\(id)', 'snap number ' || n || ' of many', now(), now(), true,
                'snaps/\(id)/2016-01-01/' || n || '/display.jpg', 'snaps/\(id)/2016-01-01/' || n || '/thumbnail.jpg', 1, 1
            FROM generate_series(1, \(count)) AS n
            """
        )
    }

    /// Waits until the export is a file, and downloads it.
    func downloadedExport() async throws -> (target: String, file: HTTPReply) {
        var location: String?
        try await eventually("the export is ready", within: .seconds(180)) {
            let reply = try await export()
            guard reply.status == 302 else {
                try #require(reply.status == 202 || reply.status >= 500, "\(reply.text.prefix(500))")
                return false
            }
            location = reply.header("Location")
            return true
        }
        let url = try #require(location.flatMap { URL(string: $0) })
        let target = url.path + "?" + (url.query ?? "")
        return (target, try await home.http.send("GET", target))
    }
}

extension ClockTests {
    @Test func `an export too large for a reply is a file for 7 days, and deleted with the account`() async throws {
        let home = try await Installation.timeTravelling.value
        var eva = try await Person.register("eva", at: home)
        let count = TestDepth.pick(quick: 4_000, full: 100_000)
        try await eva.insertSnaps(count)
        let asked = try await eva.export()
        #expect(asked.status == 202, "\(asked.text.prefix(500))")
        #expect(asked.json["status"].string == "preparing")
        #expect(asked.json["requested_at"].string != nil)

        let (target, file) = try await eva.downloadedExport()
        #expect(file.status == 200)
        #expect(file.header("Content-Type")?.hasPrefix("application/json") == true)
        #expect(file.header("Content-Disposition")?.hasPrefix("attachment") == true)
        let document = file.json
        #expect(
            document.names == ["exported_at", "user_id", "auth", "social", "streaks", "media", "notifications", "billing"]
        )
        let snaps = document["media"]["snaps"].list
        #expect(snaps.count == count)
        #expect(Set(snaps.compactMap { $0["id"].string }).count == count, "each once")
        #expect(snaps.allSatisfy { $0["photo_url"].string?.contains("/media/snaps/\(eva.id)/") == true })
        try await eventually("the log says so") {
            try await eva.notifications("export_ready").map { $0["title"].string } == ["📦 Your data is ready"]
        }
        #expect(try await eva.notifications("export_ready").count == 1)
        let forged = target.replacing("exp=", with: "exp=1")
        #expect(try await home.http.send("GET", forged).status == 404)

        // Still too many for a reply.
        _ = try await home.sql(
            "DELETE FROM media.snap WHERE user_id = '\(eva.id)' AND split_part(caption, ' ', 3)::int > 3000"
        )
        try await home.travel(days: 8)
        try await eventually("the file is deleted") { home.blobs(of: eva).isEmpty }
        try await eva.signIn()
        let again = try await eva.downloadedExport()
        #expect(again.file.status == 200, "it can be asked for again")
        #expect(home.blobs(of: eva).count == 1)

        #expect(try await eva.delete().status == 200)
        try await eventually("the link is dead") { try await home.http.send("GET", again.target).status == 404 }
        try await home.travel(days: 31)
        try await eventually("nothing is left of it") {
            let rows = try await home.sql("SELECT 1 FROM auth.data_export WHERE user_id = '\(eva.id)'")
            return rows.isEmpty && home.blobs(of: eva).filter { $0.contains("/exports/") }.isEmpty
        }
    }
}

extension RestartTests {
    @Test func `a large export survives a service that is away and a replica that dies, and is whole`() async throws {
        let home = try await Installation.separate.value
        let ida = try await register("ida", at: home)
        try await ida.insertSnaps(3_000)
        var found: pid_t?
        try await eventually("billing runs") {
            found = home.process(of: "billing")
            return found != nil
        }
        let billing = try #require(found)
        #expect(kill(billing, SIGSTOP) == 0)
        defer { kill(billing, SIGCONT) }
        #expect(try await ida.export().status == 202, "what is too large for a reply need not be whole to be known as too large")
        func attempt() async throws -> String {
            try await home.sql("SELECT coalesce(attempt::text, '') FROM auth.data_export WHERE user_id = '\(ida.id)'")
        }
        var first = ""
        try await eventually("it is begun") {
            first = try await attempt()
            return !first.isEmpty
        }
        try await eventually("it is tried again, because billing does not answer", within: .seconds(60)) {
            try await attempt() != first
        }
        #expect(try await ida.export().status == 202, "never less than everything")
        try await killed("auth", of: home)
        kill(billing, SIGCONT)
        let file = try await ida.downloadedExport().file
        #expect(file.json["media"]["snaps"].list.count == 3_000)
        #expect(
            file.json["billing"].names == [
                "balances", "ledger", "subscriptions", "store_events", "store_names", "plan", "purchases",
            ]
        )
        try await eventually("one notification") { try await ida.notifications("export_ready").count == 1 }
    }
}
