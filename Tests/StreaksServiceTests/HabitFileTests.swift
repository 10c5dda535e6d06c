import BlobStore
import Bus
import CommonAPI
import Database
import Foundation
import Kernel
import Processes
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing
import WorkPool

@testable import ServiceRuntime
@testable import StreaksCore
@testable import StreaksHabitFiles

/// Exports, backups, restores and imports of habits through the database (HA-6).
@Suite(.timeLimit(.minutes(10))) struct HabitFileTests {
    private static let header = "Habit Name,Date,Status,Value,Note\r\n"

    private func withFiles(quotas: Quotas = Quotas(), _ body: (HabitFileWorld) async throws -> Void) async throws {
        try await withWorld(at: "2026-05-04T09:00:00Z") { world in
            let folder = FileManager.default.temporaryDirectory.appending(path: "habit-files-\(UUID())")
            defer { try? FileManager.default.removeItem(at: folder) }
            let blobs = LocalBlobStore(folder: folder.path, logger: testLogger)
            try await blobs.prepare()
            try await body(HabitFileWorld(world: world, blobs: blobs, quotas: quotas))
        }
    }

    @Test func `what was exported is imported by another user, and exported as the same bytes`() async throws {
        try await withFiles { files in
            let (ann, ben) = (try await files.world.person(1), try await files.world.person(2))
            let csv =
                Self.header + "'=SUM(A1),2026-04-30,Partial,1.5,\"a, \"\"b\"\"\"\r\n'=SUM(A1),2026-05-01,Completed,2,\r\n"
                + "'=SUM(A1),2026-05-01,Completed,3,twice\r\nRead,2020-02-29,Completed,,long ago\r\nRead,2026-05-02,Skipped,,\r\n"
                // It got its target after the first date.
                + "Walk,2026-04-29,Completed,,\r\nWalk,2026-04-30,Partial,1,\r\nWalk,2026-05-01,Completed,2,\r\n"
            let reply = try await files.bring(csv, ann, "csv")
            #expect(reply.summary?.habitCount == 3)
            #expect(reply.summary?.completionCount == 7)
            #expect(reply.summary?.skipCount == 1)
            let exported = try await files.export(ann)
            #expect(exported == csv)
            try await files.bring(exported, ben, "csv")
            #expect(try await files.export(ben) == csv)
            // Nothing was notified, and nothing is left of the uploads.
            #expect(try await files.notified() == 0)
            #expect(try await files.blobs.list(prefix: "incoming/", after: nil, limit: 10).isEmpty)
        }
    }

    @Test func `an import adds: equal names get a number, and what exceeds the plan arrives in the archive`() async throws {
        try await withFiles { files in
            let ann = try await files.world.person(1)
            let csv = Self.header + (1...4).map { "Habit \($0),2026-05-01,Completed,,\r\n" }.joined()
            try await files.bring(csv, ann, "csv")
            let dry = try await files.bring(csv, ann, "csv", dryRun: true)
            #expect(dry.summary?.archivedCount == 3)
            #expect(dry.summary?.habits.map(\.newName) == (1...4).map { "Habit \($0) (2)" })
            #expect(try await files.names(ann).count == 4)
            let real = try await files.bring(csv, ann, "csv")
            #expect(real.summary?.habits.map(\.archived) == [false, true, true, true])
            #expect(try await files.names(ann) == (1...4).map { "Habit \($0)" } + (1...4).map { "Habit \($0) (2)" })
            #expect(try await files.active(ann) == 5)
        }
    }

    @Test func `what is beyond the habits of an account is refused, by a dry run too`() async throws {
        try await withFiles { files in
            let ann = try await files.world.person(1)
            let csv = Self.header + (1...1_000).map { "Habit \($0),2026-05-01,Completed,,\r\n" }.joined()
            let one = Self.header + "Read,2026-05-01,Completed,,\r\n"
            try await files.bring(one, ann, "csv")
            for isDry in [true, false] {
                let error = await #expect(throws: ServiceError.self) { try await files.bring(csv, ann, "csv", dryRun: isDry) }
                #expect(error?.reason == "TOO_MANY_HABITS")
                #expect(error?.message.hasPrefix("This brings 1000 habits, and there is room for 999. ") == true)
                #expect(error?.message.hasSuffix("Delete habits, or import fewer.") == true)
            }
            #expect(try await files.names(ann) == ["Read"])
        }
    }

    @Test func `a file that the account has no room for is refused, by a dry run too; a backup takes the place of what is there`()
        async throws
    {
        try await withFiles(quotas: Quotas(["habit_completion": 3])) { files in
            let ann = try await files.world.person(1)
            let two = Self.header + "Read,2026-05-01,Completed,,\r\nRead,2026-05-02,Completed,,\r\n"
            try await files.bring(two, ann, "csv")
            for isDry in [true, false] {
                let error = await #expect(throws: ServiceError.self) { try await files.bring(two, ann, "csv", dryRun: isDry) }
                #expect(error?.reason == "QUOTA_EXCEEDED")
                #expect(
                    error?.message.hasPrefix(
                        "This brings 2 completions of habits, and there is room for 1: one account can have 3. Delete completions, "
                    ) == true
                )
            }
            #expect(try await files.names(ann) == ["Read"])
            let backup = try await files.backup(ann)
            _ = try await files.restore(backup, ann)
            #expect(try await files.names(ann) == ["Read"])
            let ben = try await files.world.person(2)
            try await files.bring(two, ben, "csv")
            let four = Self.header + (1...4).map { "Walk,2026-05-0\($0),Completed,,\r\n" }.joined()
            let error = await #expect(throws: ServiceError.self) { try await files.bring(four, ben, "csv") }
            #expect(error?.reason == "QUOTA_EXCEEDED" && error?.message.contains("brings 4 ") == true)
            #expect(try await files.names(ben) == ["Read"])
            let cem = try await files.world.person(3)
            let large = HabitFileWorld(world: files.world, blobs: files.blobs)
            try await large.bring(four, cem, "csv")
            let whole = try await large.backup(cem)
            let refused = await #expect(throws: ServiceError.self) { _ = try await files.restore(whole, ann) }
            #expect(
                refused?.message.hasPrefix("This brings 4 completions of habits, and there is room for 3: ") == true
                    && refused?.message.hasSuffix("restore a smaller one.") == true
            )
            #expect(try await files.names(ann) == ["Read"])
        }
    }

    @Test func `habits that were deleted within 30 days leave room for fewer, and a dry run says so too`() async throws {
        try await withFiles { files in
            let (ann, now) = (try await files.world.person(1), files.world.clock.now())
            try await files.bring(Self.header + "Read,2026-05-01,Completed,,\r\n", ann, "csv")
            try await files.world.database.execute(
                """
                WITH made AS (INSERT INTO streak (id, kind, started_at, settled_at)
                    SELECT gen_random_uuid(), \(StreakKind.habit.rawValue)::int, now(), now() FROM generate_series(1, 1998) RETURNING id)
                INSERT INTO habit (user_id, id, streak_id, name, name_key, color, icon, position, created_at, updated_at, as_of, sequence,
                    deleted_at)
                SELECT \(ann), id, id, 'Gone', 'gone', '#6366F1', 'book', 9, \(now), \(now), \(day("2026-05-04")), 1, \(now) FROM made
                """
            )
            let two = Self.header + "Walk,2026-05-01,Completed,,\r\nSwim,2026-05-01,Completed,,\r\n"
            for isDry in [true, false] {
                let error = await #expect(throws: ServiceError.self) { try await files.bring(two, ann, "csv", dryRun: isDry) }
                #expect(error?.reason == "QUOTA_EXCEEDED")
                #expect(error?.message.hasPrefix("This brings 2 habits, those deleted within 30 days included, and ") == true)
                #expect(error?.message.contains("there is room for 1: one account can have 2000. Delete ") == true)
            }
            #expect(try await files.names(ann) == ["Read"])
            try await files.bring(Self.header + "Walk,2026-05-01,Completed,,\r\n", ann, "csv")
        }
    }

    @Test func `files bring at most a million dates, each of which is judged`() async throws {
        try await withFiles { files in
            let ann = try await files.world.person(1)
            let csv = Self.header + (1...110).map { "Habit \($0),2000-01-01,Completed,,\r\n" }.joined()
            for isDry in [true, false] {
                let error = await #expect(throws: ServiceError.self) { try await files.bring(csv, ann, "csv", dryRun: isDry) }
                #expect(error?.reason == "QUOTA_EXCEEDED")
                #expect(error?.message.contains(" dates of habits, ") == true)
                #expect(error?.message.contains("room for 1000000: one account can have 1000000. Delete habits") == true)
            }
            #expect(try await files.names(ann).isEmpty)
            try await files.bring(Self.header + "Read,2026-05-01,Completed,,\r\n", ann, "csv")
        }
    }

    @Test func `a file with errors changes nothing and says what is wrong where`() async throws {
        try await withFiles { files in
            let ann = try await files.world.person(1)
            let csv = Self.header + "Read,2026-05-01,Completed,,\r\nRead,2026-05-09,Completed,,\r\n"
            let error = await #expect(throws: ServiceError.self) { try await files.bring(csv, ann, "csv") }
            #expect(error?.reason == "INVALID_FILE")
            #expect(error?.details == [.init(field: "line 3", message: "the date 2026-05-09 is in the future")])
            #expect(try await files.names(ann) == [])
            let dry = try await files.bring(csv, ann, "csv", dryRun: true)
            #expect(dry.summary?.errors == [HabitFileIssue(place: "line 3", message: "the date 2026-05-09 is in the future")])
            let latin = await #expect(throws: ServiceError.self) {
                try await files.bring(Array(Self.header.utf8) + [0x43, 0xE9, 0x2C, 10], ann, "csv")
            }
            #expect(latin?.details.first?.message.contains("Latin-1") == true)
        }
    }

    @Test func `a backup is restored as it was, by its owner with the same ids, by another user with new ones`() async throws {
        try await withFiles { files in
            let (ann, ben) = (try await files.world.person(1), try await files.world.person(2))
            let id = try await files.fill(ann)
            let backup = try await files.backup(ann)
            let before = try await files.export(ann)
            #expect(try await files.account(ann).backedUpAt == files.world.clock.now())
            try await files.bring(Self.header + "Walk,2026-05-01,Completed,,\r\n", ann, "csv")
            try await files.bring(Self.header + "Gone,2026-05-01,Completed,,\r\n", ben, "csv")
            let epoch = try await files.account(ann).epoch
            let own = try await files.restore(backup, ann)
            #expect(own.epoch == Int32(epoch + 1))
            #expect(own.summary?.habits.first?.id == id)
            #expect(try await files.export(ann) == before)
            let again = try await files.backup(ann)
            #expect(String(decoding: again, as: UTF8.self) == String(decoding: backup, as: UTF8.self))
            let other = try await files.restore(backup, ben)
            #expect(other.summary?.habits.first?.id != id)
            #expect(try await files.export(ben) == before)
            #expect(try await files.names(ben) == ["Read"])
            #expect(try await files.account(ben).settings.theme == .dark)
            #expect(try await files.notified() == 0)
        }
    }

    @Test func `a habit in the archive is there since the same date when it was restored`() async throws {
        try await withFiles { files in
            let ann = try await files.world.person(1)
            let id = try await files.fill(ann)
            let archivedOn = try await files.world.work.run(trace: "", requestID: "") { [habits = files.habits] work in
                let book = try await habits.open(ann, work)
                try await book.archive(try await book.lock(id))
                return book.date.today
            }
            files.world.clock.advance(by: .days(5))
            _ = try await files.restore(try await files.backup(ann), ann)
            let record = try #require(try await HabitRepository.records(of: ann, files.world.database).first)
            let clock = try await files.world.work.run(trace: "", requestID: "") { [habits = files.habits] work in
                try await habits.open(ann, work).date
            }
            #expect(clock.today == archivedOn.advanced(by: 5))
            #expect(record.archivedAt.map { clock.zones.date(at: $0) } == archivedOn)
        }
    }

    @Test func `a habit of a backup begins between 2000 and now, whatever it says`() async throws {
        try await withFiles { files in
            let ann = try await files.world.person(1)
            for created in ["0001-01-01T00:00:00Z", "9999-01-01T00:00:00Z"] {
                let habit = """
                    {"id":"\(UUID())","name":"Read","created_at":"\(created)",
                    "versions":[{"from":"2030-03-01","schedule":{"type":"daily"},"first_day_of_week":1}]}
                    """
                let backup = #"{"version":"2.0","kind":"backup","data":{"settings":{},"categories":[],"habits":["# + habit + "]}}"
                _ = try await files.restore(Array(backup.utf8), ann)
                #expect(try await files.names(ann) == ["Read"])
                let begun: Query = "SELECT min(started_at) FROM streak WHERE ended_at IS NULL"
                let began: Instant? = try await files.world.database.query(begun).first?.get(at: 0)
                let expected = created.hasPrefix("0") ? moment("2000-01-01T00:00:00Z") : files.world.clock.now()
                #expect(began == expected, "\(created)")
            }
        }
    }

    @Test func `a backup that is wrong leaves everything as it is`() async throws {
        try await withFiles { files in
            let ann = try await files.world.person(1)
            try await files.fill(ann)
            let epoch = try await files.account(ann).epoch
            for (document, place) in [
                ("{\"version\":\"9\",\"data\":{}}", "version"),
                ("{\"version\":\"2.0\",\"data\":{\"habits\":[{}]}}", "data.habits[0].name"),
                ("no json", ""),
            ] {
                let error = await #expect(throws: ServiceError.self) { try await files.restore(Array(document.utf8), ann) }
                #expect(error?.reason == "INVALID_FILE")
                #expect(error?.details.first?.field == place)
            }
            let backup = try await files.backup(ann)
            let dry = try await files.restore(backup, ann, dryRun: true)
            #expect(dry.epoch == nil)
            #expect(dry.summary?.habitCount == 1)
            #expect(try await files.account(ann).epoch == epoch)
            #expect(try await files.names(ann) == ["Read"])
        }
    }

    @Test func `Loop's ZIP and a table of any app are imported`() async throws {
        try await withFiles { files in
            let ann = try await files.world.person(1)
            let script = """
                import io, sys, zipfile
                out = io.BytesIO()
                with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
                    z.writestr("Habits.csv", "Position,Name,Type,Question,Description,FrequencyNumerator,FrequencyDenominator,Color,Unit,Target Type,Target Value,Archived?\\n001,Wake up,YES_NO,,,2,3,#00897B,,,,false\\n")
                    z.writestr("001 Wake up/Checkmarks.csv", "Date,Value,Notes\\n2026-05-03,YES_MANUAL,early\\n")
                sys.stdout.buffer.write(out.getvalue())
                """
            let result = try await run("python3", ["-c", script])
            try #require(result.status == 0, "\(result.transcript)")
            let loop = try await files.bring(Array(result.output), ann, "loop")
            #expect(loop.summary?.warnings.first?.message.contains("no equivalent") == true)
            let table = "title;kind;when\nWalk;done;3.5.2026\nWalk;missed;2.5.2026\n"
            let columns = HabitColumns(
                separator: "semicolon",
                name: "title",
                date: "when",
                dateFormat: "d.M.yyyy",
                status: "kind",
                completedWords: ["done"]
            )
            try await files.bring(table, ann, "mapping", columns)
            #expect(
                try await files.export(ann) == Self.header
                    + "Wake up,2026-05-03,Completed,,early\r\nWalk,2026-05-03,Completed,,\r\n"
            )
            let error = await #expect(throws: ServiceError.self) { try await files.bring("no zip", ann, "loop") }
            #expect(error?.details.first?.message == "is no ZIP archive, or a damaged one")
        }
    }

    @Test func `a large export is a file, which goes after a day`() async throws {
        try await withFiles { files in
            let ann = try await files.world.person(1)
            let first = day("2000-01-01")
            let note = String(repeating: "n", count: 90)
            let csv =
                Self.header
                + (0..<6_000).map { "Read,\(first.advanced(by: $0)),Completed,,\(note)\r\n" }.joined()
            try await files.bring(csv, ann, "csv")
            let reply = try await files.exported(ann)
            #expect(reply.body.isEmpty)
            let key = try BlobKey(reply.fileKey)
            #expect(try await files.blobs.read(key, limit: 10 << 20) == Array(csv.utf8))
            // Until it is older than the answers to repeats are kept.
            #expect(try await ExpiredHabitFiles(blobs: files.blobs).job.run(files.world.clock.now()) == 0)
            #expect(try await files.blobs.info(of: key) != nil)
            let old = ExpiredHabitFiles(blobs: files.blobs, now: { SystemClock.now() + .hours(26) })
            #expect(try await old.job.run(files.world.clock.now()) == 1)
            #expect(try await files.blobs.info(of: key) == nil)
        }
    }
}
