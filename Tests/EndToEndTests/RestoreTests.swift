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

    /// Two friends whose streak is 1, each with a photo, and nothing under way.
    private func live(at home: Installation) async throws -> Pair {
        let (ann, ben) = (try await Person.register("ann", at: home), try await Person.register("ben", at: home))
        let pair = Pair(home: home, ann: ann, ben: ben, streak: try await ann.befriend(ben))
        #expect(try await ann.upload(try Photos.jpeg(81)).status == 201)
        #expect(try await ben.upload(try Photos.jpeg(82)).data["streaks"][0]["current_count"].int == 1)
        try await eventually("every event left") {
            try await home.sql("SELECT count(*) FROM streaks.outbox WHERE published_at IS NULL") == "0"
        }
        return pair
    }

    /// That both find what they left, and that what is kept of events leaves once more.
    private func check(_ restored: Installation, has pair: Pair) async throws {
        var (ann, ben) = (
            Person(home: restored, username: pair.ann.username), Person(home: restored, username: pair.ben.username)
        )
        try await ann.signIn()
        try await ben.signIn()
        for person in [ann, ben] {
            let streaks = try await person.get("/api/streaks").data["streaks"].list
            #expect(streaks.count == 1 && streaks.first?["current_count"].int == 1)
        }
        #expect(try await restored.http.send("GET", try await ann.photoLink()).status == 200)
        try await eventually("what is kept has left again") {
            try await restored.sql(
                "SELECT count(*) > 0 AND bool_and(published_at IS NOT NULL AND replays = 1) FROM streaks.outbox"
            )
                == "t"
        }
        try await eventually("each notification is there once") { [ben] in
            try await ben.notifications("friend_posted").count == 1
        }
    }

    @Test(.timeLimit(.minutes(5))) func `a restored system has every streak and photo, and its events leave by themselves`()
        async throws
    {
        let home = try await Installation()
        let pair = try await live(at: home)
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
        try await check(restored, has: pair)
        await restored.guardian.end()
    }

    private func streaksnap(_ arguments: String...) async throws -> FinishedCommand {
        try await run(Installation.binaries.appending(path: "streaksnap").path, arguments)
    }

    @Test(.timeLimit(.minutes(5))) func `one command backs a running system up, and one brings it back in another folder`()
        async throws
    {
        let home = try await Installation()
        let pair = try await live(at: home)
        let folder = try Installation.makeFolder()
        try await removeWhenTestsEnd(folder)
        let (file, data) = (folder.appending(path: "backup.tar"), folder.appending(path: "data"))
        // What was there is replaced.
        try Data("older".utf8).write(to: file)
        let saved = try await streaksnap("backup", file.path, "--data", home.data.path)
        try #require(saved.status == 0, "\(saved.transcript)")
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600, "only its owner reads it")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["backup.tar"], "nothing else is left")
        let listed = try await run("tar", ["--list", "--file", file.path])
        let names = listed.text.split(separator: "\n")
        #expect(
            names.first == "database.dump" && names.contains("secrets/refresh-secret")
                && names.contains { $0.hasPrefix("blobs/snaps/") }
        )
        #expect(!names.contains { $0.hasPrefix("blobs/incoming") || $0.hasPrefix("blobs/.temporary") }, "\(listed.text)")
        // What is in use is not written over.
        let refused = try await streaksnap("restore", file.path, "--data", home.data.path)
        #expect(refused.status == 1 && refused.errors.contains("is not empty"), "\(refused.transcript)")
        await home.guardian.end()

        let restored = try await streaksnap("restore", file.path, "--data", data.path)
        try #require(restored.status == 0, "\(restored.transcript)")
        let found = try FileManager.default.contentsOfDirectory(atPath: data.path)
        #expect(Set(found) == ["blobs", "postgres", "secrets"])
        let again = try await Installation(existing: data)
        try await check(again, has: pair)
        await again.guardian.end()
    }

    @Test func `what is no backup, and a system that does not run, are named, and nothing is left of the try`() async throws {
        let folder = try Installation.makeFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let (file, data) = (folder.appending(path: "notes.tar"), folder.appending(path: "data"))
        try Data("notes".utf8).write(to: folder.appending(path: "notes"))
        let packed = try await run("tar", ["--create", "--file", file.path, "--directory", folder.path, "notes"])
        try #require(packed.status == 0)
        for (name, culprit) in [("notes.tar", "is no backup"), ("notes", "tar ended with status 2"), ("missing", "Cannot open")] {
            let restored = try await streaksnap("restore", folder.appending(path: name).path, "--data", data.path)
            #expect(restored.status == 1 && restored.errors.contains(culprit), "\(restored.transcript)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: data.path).isEmpty)
        }
        let backup = folder.appending(path: "backup.tar")
        let saved = try await streaksnap("backup", backup.path, "--data", data.path)
        #expect(saved.status == 1 && saved.errors.contains("PostgreSQL does not run"), "\(saved.transcript)")
        #expect(!FileManager.default.fileExists(atPath: backup.path))
    }
}
