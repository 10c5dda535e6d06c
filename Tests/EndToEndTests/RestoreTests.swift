import DevEnvironment
import Foundation
import Logging
import Processes
import TestSupport
import Testing

/// What the operations guide says of backups, done (deploy/README.md).
struct RestoreTests {
    /// The line of the guide that begins like this.
    private func command(_ start: String) throws -> String {
        let guide = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../deploy/README.md").standardized
        let text = try String(contentsOf: guide, encoding: .utf8)
        return String(try #require(text.split(separator: "\n").first { $0.hasPrefix(start + " ") }, "the guide names \(start)"))
    }

    /// Runs a line of the guide in a folder, as an administrator of a database.
    private func perform(_ start: String, in folder: URL, at address: String) async throws {
        let url = try #require(URLComponents(string: address))
        let environment = [
            "PGHOST": url.host ?? "", "PGPORT": "\(url.port ?? 0)", "PGUSER": url.user ?? "", "PGPASSWORD": url.password ?? "",
        ]
        let result = try await run("/bin/sh", ["-c", "cd '\(folder.path)' && \(command(start))"], environment: environment)
        #expect(result.status == 0 && result.transcript.isEmpty, "without any error: \(result.transcript)")
    }

    private func copy(_ name: String, from source: URL, to target: URL) async throws {
        let copied = try await run("cp", ["-a", source.appending(path: name).path, target.path])
        try #require(copied.status == 0, "\(copied.transcript)")
    }

    @Test(.timeLimit(.minutes(5))) func `a restored system has every streak and photo, and its events leave by themselves`()
        async throws
    {
        let home = try await Installation()
        let (ann, ben) = (try await Person.register("ann", at: home), try await Person.register("ben", at: home))
        try await ann.befriend(ben)
        #expect(try await ann.upload(try Photos.jpeg(81)).status == 201)
        #expect(try await ben.upload(try Photos.jpeg(82)).data["streaks"][0]["current_count"].int == 1)
        try await eventually("every event left") {
            try await home.sql("SELECT count(*) FROM streaks.outbox WHERE published_at IS NULL") == "0"
        }
        let folder = try Installation.makeFolder()
        try await removeWhenTestsEnd(folder)
        let admin = "postgresql://postgres:\(try home.secret("postgres-admin").trimmingCharacters(in: .newlines))@127.0.0.1"
        try await perform("pg_dump", in: folder, at: "\(admin):\(home.postgresPort)")
        let data = folder.appending(path: "data")
        try FileManager.default.createDirectory(at: data, withIntermediateDirectories: false)
        for name in ["blobs", "secrets"] { try await copy(name, from: home.data, to: data) }
        await home.guardian.end()

        // Roles and empty schemas, as roles.sql makes them, and a broker with an empty store.
        let environment = DevEnvironment(
            DevEnvironmentConfiguration(dataFolder: data.path),
            logger: Logger(label: "restore") { _ in SwiftLogNoOpLogHandler() }
        )
        let endpoints = try await environment.start()
        try await perform("pg_restore", in: folder, at: endpoints.adminPostgresURL)
        await environment.stop()

        let restored = try await Installation(existing: data)
        var (anna, bent) = (Person(home: restored, username: ann.username), Person(home: restored, username: ben.username))
        try await anna.signIn()
        try await bent.signIn()
        for person in [anna, bent] {
            let streaks = try await person.get("/api/streaks").data["streaks"].list
            #expect(streaks.count == 1 && streaks.first?["current_count"].int == 1)
        }
        #expect(try await restored.http.send("GET", try await anna.photoLink()).status == 200)
        try await eventually("what is kept has left again") {
            try await restored.sql(
                "SELECT count(*) > 0 AND bool_and(published_at IS NOT NULL AND replays = 1) FROM streaks.outbox"
            )
                == "t"
        }
        try await eventually("each notification is there once") {
            try await bent.notifications("friend_posted").count == 1
        }
        await restored.guardian.end()
    }
}
