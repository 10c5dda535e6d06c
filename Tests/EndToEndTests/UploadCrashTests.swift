import Foundation
import TestSupport
import Testing

/// A crash of `media` between any two steps of an upload leaves nothing visible or the whole (PH-3, D6).
extension RestartTests {
    /// Where the upload is held up while its process is killed: what the row of its operation is about to become.
    enum Stage: String, CaseIterable {
        /// The renditions lie in the blob store, the operation does not know.
        case made = "OLD.state = 0"
        /// `streaks` has counted, `media` has not recorded.
        case counted = "OLD.state = 1"
    }

    @Test(arguments: Stage.allCases, [nil, "crash"]) func `an upload whose process is killed is one snap when it is repeated`(
        stage: Stage,
        key: String?
    ) async throws {
        let home = try await Installation.separate.value
        let (mia, ned) = (try await register("mia", at: home), try await register("ned", at: home))
        let asked = try await insist("asking") { try await mia.request(ned, key: "ask") }
        let friendship = try #require(asked.data["friendship_id"].string)
        _ = try await insist("accepting") { try await ned.respond(friendship, key: "accept") }
        try await eventually("a streak has begun") { await hasStreak(mia) }

        let (photo, marker) = (try Photos.jpeg(61), "hold_\(mia.id.replacing("-", with: ""))")
        try await hold(mia, at: stage, marker, home)
        // Not awaited: there is no answer.
        Task { try? await mia.upload(photo, key: key) }
        try await eventually("the upload is held up") {
            try await home.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND usename = 'media'") == "1"
        }
        try await killed("media", of: home)
        try await release(marker, home)

        let reply = try await insist("the repeat") { try await mia.upload(photo, key: key) }
        #expect(reply.data["streaks"][0]["accepted"].bool == true)
        let again = try await insist("the repeat of the repeat") { try await mia.upload(photo, key: key) }
        #expect(again.data == reply.data)
        #expect(try await home.sql("SELECT count(*) FROM media.snap WHERE user_id = '\(mia.id)'") == "1")
        #expect(try await mia.sharedContributions() == "1")
        try await eventually("only the snap's bytes are left") {
            Files.all(below: home.data.appending(path: "blobs/snaps/\(mia.id)")).count == 2
        }
    }

    @Test func `a photo that finds no media leaves no bytes behind, however often it is sent`() async throws {
        let home = try await Installation.separate.value
        let mia = try await register("mia", at: home)
        let (photo, before) = (try Photos.jpeg(62), Set(home.incoming))
        var refusals = 0
        try await eventually("five uploads have found no media") {
            if let pid = home.process(of: "media"), kill(pid, SIGKILL) == 0 {
                // One that reaches a dying process has no answer for 30 s.
                try await eventually("media is gone") { home.process(of: "media") != pid }
            }
            for _ in 0..<5 where (try? await mia.upload(photo, key: "refused"))?.status == 503 { refusals += 1 }
            return refusals >= 5
        }
        #expect(Set(home.incoming).subtracting(before).isEmpty, "a refused client sends the bytes again")
        try await eventually("media is there again") { try await mia.get("/api/photos/feed").status == 200 }
    }

    /// Whatever changes the row of an operation of hers at this stage sleeps until it is killed.
    private func hold(_ person: Person, at stage: Stage, _ marker: String, _ home: Installation) async throws {
        _ = try await home.sql(
            """
            CREATE FUNCTION media.\(marker)() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN PERFORM pg_sleep(20); RETURN NEW; END';
            CREATE TRIGGER \(marker) BEFORE UPDATE OF state ON media.snap_operation FOR EACH ROW
                WHEN (\(stage.rawValue) AND OLD.user_id = '\(person.id)') EXECUTE FUNCTION media.\(marker)();
            """
        )
    }

    /// The server would go on with what the killed process had sent.
    private func release(_ marker: String, _ home: Installation) async throws {
        _ = try await home.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND usename = 'media'"
        )
        _ = try await home.sql("DROP FUNCTION media.\(marker)() CASCADE")
    }
}
