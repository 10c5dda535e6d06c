import BlobStore
import Bus
import CommonAPI
import Database
import Kernel
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing
import WorkPool

@testable import ServiceRuntime
@testable import StreaksCore
@testable import StreaksHabitFiles

/// The handlers of files on a world.
struct HabitFileWorld {
    let world: World
    let blobs: LocalBlobStore
    let habits: HabitStore
    private let uploads: UploadedHabits
    private let documents: HabitDocuments

    init(
        world: World,
        blobs: LocalBlobStore,
        pool: WorkPool = WorkPool(name: "files-test", threads: 1, queueLimit: 4),
        quotas: Quotas = Quotas()
    ) {
        (self.world, self.blobs) = (world, blobs)
        let core = world.service.core
        habits = HabitStore(writer: core.writer, profiles: core.profiles, work: world.work, quotas: quotas)
        uploads = UploadedHabits(habits: habits, blobs: blobs, pool: pool, logger: testLogger)
        documents = HabitDocuments(habits: habits, blobs: blobs, ids: UUIDv7Source(clock: SystemClock()))
    }

    func upload(_ bytes: [UInt8]) async throws -> CommonAPI.Blob {
        let id: OperationID = UUIDv7Source(clock: SystemClock()).make()
        let stored = try await blobs.put(try BlobKey("incoming/\(id)"), bytes)
        return CommonAPI.Blob(key: stored.info.key.description, size: UInt64(stored.info.size))
    }

    /// Imports a CSV of the app's own with an idempotency key.
    func bring(_ csv: CommonAPI.Blob, _ user: UserID, key: String) async throws -> ImportHabitsReply {
        var context = World.by(user)
        context.idempotencyKey = key
        let request = ImportHabitsRequest(file: csv, format: "csv")
        return try await ImportHabits(uploads: uploads, mutations: world.mutations).handle(request, context).reply
    }

    @discardableResult
    func bring(_ bytes: [UInt8], _ user: UserID, _ format: String, dryRun: Bool = false, _ columns: HabitColumns? = nil)
        async throws
        -> ImportHabitsReply
    {
        let request = ImportHabitsRequest(file: try await upload(bytes), format: format, dryRun: dryRun, columns: columns)
        return try await ImportHabits(uploads: uploads, mutations: world.mutations).handle(request, World.by(user)).reply
    }

    @discardableResult
    func bring(_ text: String, _ user: UserID, _ format: String, dryRun: Bool = false, _ columns: HabitColumns? = nil)
        async throws
        -> ImportHabitsReply
    {
        try await bring(Array(text.utf8), user, format, dryRun: dryRun, columns)
    }

    func restore(_ bytes: [UInt8], _ user: UserID, dryRun: Bool = false) async throws -> RestoreHabitsReply {
        let request = RestoreHabitsRequest(file: try await upload(bytes), dryRun: dryRun)
        return try await RestoreHabits(uploads: uploads, mutations: world.mutations).handle(request, World.by(user)).reply
    }

    func backup(_ user: UserID) async throws -> [UInt8] {
        let handler = BackupHabits(documents: documents, mutations: world.mutations)
        let reply = try await handler.handle(BackupHabitsRequest(), World.by(user)).reply
        return try await blobs.read(try BlobKey(reply.fileKey), limit: 1 << 20)
    }

    func exported(_ user: UserID) async throws -> ExportHabitsReply {
        try await ExportHabits(documents: documents).handle(ExportHabitsRequest(format: "csv"), World.by(user))
    }

    func export(_ user: UserID) async throws -> String { String(decoding: try await exported(user).body, as: UTF8.self) }

    /// Events about habits, besides those for the user's other devices.
    func notified() async throws -> Int {
        let rows = try await world.database.query(
            "SELECT 1 FROM outbox WHERE subject LIKE '%Habit%' AND subject <> \(HabitsChanged.subject)"
        )
        return rows.count
    }

    func names(_ user: UserID) async throws -> [String] {
        try await HabitRepository.records(of: user, world.database).map(\.details.name)
    }

    func active(_ user: UserID) async throws -> Int {
        try await HabitRepository.records(of: user, world.database).count(where: \.isActive)
    }

    func account(_ user: UserID) async throws -> HabitAccount {
        try await HabitAccountRepository.find(user, at: world.clock.now(), world.database)
    }

    /// A habit with everything that a backup has.
    @discardableResult
    func fill(_ user: UserID) async throws -> HabitID {
        try await world.work.run(trace: "", requestID: "") { [habits] work in
            let book = try await habits.open(user, work)
            let category = try await book.categories.add(try HabitCategoryDetails(name: "Mine", color: "#102030", icon: "book"))
            var settings = book.account.settings
            settings.theme = .dark
            try await book.store(settings)
            let details = try HabitDetails(
                name: "Read",
                description: "a\nb",
                color: "#6366F1",
                icon: "book",
                category: category,
                unit: "pages",
                reminder: HabitReminderTime(minute: 480, days: [1, 3])
            )
            let id = try await book.create(.init(details, schedule: .daily, target: Amount(thousandths: 20_000)))
            let today = book.date.today
            var edits = HabitBook.Edits([])
            for (days, amount) in [(-3, 20_000), (-2, 5_000), (0, 12_500)] {
                let completion: CompletionID = work.ids.make()
                edits.edits.append(.complete(completion, on: today.advanced(by: days), Amount(thousandths: Int64(amount))))
                edits.details[completion] = CompletionDetails(
                    note: "note \(days)",
                    mood: .good,
                    doneAt: work.now,
                    minute: book.date.minute(at: work.now)
                )
            }
            // The start has moved back by then.
            edits.edits.append(.skip(today.advanced(by: -1)))
            let outcome = try await book.edit(try await book.lock(id), edits)
            #expect(outcome.refused.isEmpty)
            try await book.pause(try await book.lock(id), from: today.advanced(by: 3), until: today.advanced(by: 9))
            try book.note("a good day", on: today)
            return id
        }
    }
}
