import Foundation
import Processes
import TestSupport
import Testing

/// `media check-blobs`: every blob has its row, and every row its blobs.
struct BlobCheckTests {
    private func check(_ home: Installation, _ more: [String] = ["--older-than", "0"]) async throws -> FinishedCommand {
        try await run(
            Installation.binaries.appending(path: "media").path,
            ["check-blobs"] + more,
            environment: [
                "STREAKSNAP_BLOB_FOLDER": home.data.appending(path: "blobs").path,
                "STREAKSNAP_DATABASE_URL":
                    "host=127.0.0.1 port=\(home.postgresPort) dbname=streaksnap user=media password=\(try home.secret("postgres-media"))",
            ]
        )
    }

    @Test func `what does not match is reported, and nothing else is`() async throws {
        let home = try await Installation()
        let (ada, ben) = (try await Person.register("ada", at: home), try await Person.register("ben", at: home))
        try await ada.befriend(ben)
        for person in [ada, ben] {
            #expect(try await person.upload(try Photos.jpeg(97)).status == 201)
            #expect(try await person.setAvatar(try Photos.jpeg(98)).status == 200)
        }
        #expect(try await ben.setAvatar(try Photos.jpeg(99)).status == 200)
        #expect(try await ada.setAvatar(Array("no picture".utf8)).status == 400)
        let cem = try await Person.register("cem", at: home)
        #expect(try await ada.post("/api/blocks", "{\"user_id\":\"\(cem.id)\"}", key: "block").status == 201)
        #expect(try await ben.delete().status == 200)
        try await eventually("ben is withheld") { home.blobs(of: ben).contains { $0.contains("/withheld/") } }
        try await eventually("all is noted") {
            let owners = try await home.sql("SELECT count(*) FROM media.photo_owner WHERE due_at IS NOT NULL")
            let pairs = try await home.sql("SELECT count(*) FROM media.hidden_pair")
            return owners == "0" && pairs == "0" && !home.blobs(of: cem).isEmpty
        }
        let clean = try await check(home)
        #expect(clean.status == 0 && clean.text.hasSuffix("4 rows, 0 differences\n"), "\(clean.text)\(clean.errors)")

        let photos = home.blobs(of: ada).filter { $0.contains("/snaps/") }.sorted()
        try FileManager.default.removeItem(atPath: try #require(photos.first))
        let stray = URL(filePath: try #require(photos.last)).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: UUID().uuidString.lowercased())
        try FileManager.default.createDirectory(at: stray, withIntermediateDirectories: true)
        try Data([1]).write(to: stray.appending(path: "display.jpg"))
        let blobs = home.data.appending(path: "blobs")
        try FileManager.default.createDirectory(at: blobs.appending(path: "unheard/of"), withIntermediateDirectories: true)
        try Data([1]).write(to: blobs.appending(path: "unheard/of/it"))
        try FileManager.default.removeItem(at: blobs.appending(path: "withheld/\(ben.id)"))
        try Data([1]).write(to: blobs.appending(path: "withheld/\(ada.id)"))
        try FileManager.default.moveItem(
            at: blobs.appending(path: "hidden/\(ada.id)/\(cem.id)"),
            to: blobs.appending(path: "hidden/\(ada.id)/\(ben.id)")
        )

        let found = try await check(home)
        #expect(found.status == 2, "\(found.text)\(found.errors)")
        let lines = found.text.split(separator: "\n").map(String.init)
        #expect(lines.count == 8 && lines.last?.hasSuffix("4 rows, 7 differences") == true, "\(found.text)")
        for part in [
            "has no blob snaps/\(ada.id)", "no row knows the blob snaps/\(ada.id)", "no row knows the blob unheard/of/it",
            "no row knows the blob withheld/\(ada.id)", "\(ben.id) is withheld",
            "no row knows the blob hidden/\(ada.id)/\(ben.id)", "\(ada.id) is hidden from \(cem.id)",
        ] {
            #expect(lines.filter { $0.contains(part) }.count == 1, "\(part): \(found.text)")
        }
        let young = try await check(home, [])
        #expect(young.status == 2, "blobs of the last minutes are not judged")
        #expect(young.text.hasSuffix(" 3 differences\n"), "\(young.text)")
        #expect(try await check(home, ["--older-than", "soon"]).status == 64)
        #expect(try await check(home, ["--colour", "red"]).status == 64)
        await home.guardian.end()
    }
}
