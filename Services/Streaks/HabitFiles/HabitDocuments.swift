internal import BlobStore
internal import Bus
internal import Database
internal import Kernel
internal import StreaksCore
internal import StreaksDomain

/// Makes the files that users take away.
struct HabitDocuments: Sendable {
    /// Habits that are read at once: with ten years each they have some 70,000 completions.
    private static let batch = 20
    /// The largest document that is the reply itself.
    static let mostBytes = 512 << 10
    /// Where files are stored until they expire.
    static let folder = "habit-files/"

    let habits: HabitStore
    let blobs: any BlobStore
    let ids: any IDSource

    /// A document, or the key of the file that has it.
    enum Made: Sendable {
        case bytes([UInt8])
        case file(BlobKey)
    }

    /// CSV of all habits that are not deleted, or of one.
    ///
    /// - Throws: `HABIT_NOT_FOUND`.
    func csv(of user: UserID, only id: HabitID?, _ range: HabitExportRange) async throws -> Made {
        let database = habits.database
        let records = try await records(of: user, only: id) { try await HabitRepository.records(of: user, where: $0, database) }
        var export = HabitCSVExport(range)
        var pieces: [[UInt8]] = []
        for batch in records.batches(of: Self.batch) {
            for habit in try await HabitFileRepository.habits(batch, categories: [], database) { export.add(habit) }
            pieces.append(export.drain())
        }
        pieces.append(export.drain())
        return try await made(pieces, ending: "csv")
    }

    /// The same as JSON.
    ///
    /// - Throws: `HABIT_NOT_FOUND`.
    func json(of user: UserID, only id: HabitID?, _ range: HabitExportRange, at now: Instant) async throws -> Made {
        let pieces = try await habits.database.transaction(isolation: .repeatableRead) { sql in
            try await write(.export, of: user, only: id, range, at: now, sql)
        }
        return try await made(pieces, ending: "json")
    }

    /// Everything, as it is at one moment.
    func backup(of user: UserID, at now: Instant) async throws -> BlobKey {
        let pieces = try await habits.database.transaction(isolation: .repeatableRead) { sql in
            try await write(.backup, of: user, only: nil, HabitExportRange(), at: now, sql)
        }
        return try await store(pieces, ending: "json")
    }

    private func write(
        _ kind: HabitBackupWriter.Kind,
        of user: UserID,
        only id: HabitID?,
        _ range: HabitExportRange,
        at now: Instant,
        _ sql: Transaction
    ) async throws -> [[UInt8]] {
        let records = try await records(of: user, only: id) { try await HabitRepository.records(of: user, where: $0, sql) }
        let categories = try await HabitAccountRepository.categories(of: user, sql)
        let all = CalendarDate(dayNumber: -1_000_000)...CalendarDate(dayNumber: 1_000_000)
        var writer = HabitBackupWriter(
            kind,
            of: user,
            at: now,
            settings: kind == .backup ? try await HabitAccountRepository.find(user, at: now, sql).settings : nil,
            categories: categories.map {
                FileCategory(
                    id: $0.id.description,
                    name: $0.details.name,
                    color: $0.details.color,
                    icon: $0.details.icon,
                    isCustom: $0.isCustom
                )
            },
            dayNotes: id == nil ? try await HabitAccountRepository.dayNotes(of: user, in: all, sql) : [:],
            range: range
        )
        var pieces: [[UInt8]] = []
        for batch in records.batches(of: Self.batch) {
            for habit in try await HabitFileRepository.habits(batch, categories: categories.map(\.id), sql) { writer.add(habit) }
            pieces.append(writer.drain())
        }
        writer.finish()
        pieces.append(writer.drain())
        return pieces
    }

    /// - Parameter read: the habits that meet a condition.
    private func records(of user: UserID, only id: HabitID?, _ read: (Query) async throws -> [HabitRecord]) async throws
        -> [HabitRecord]
    {
        guard let id else { return try await read("h.deleted_at IS NULL") }
        let found = try await read("h.id = \(id) AND h.deleted_at IS NULL")
        if found.isEmpty { throw ServiceError.habitNotFound }
        return found
    }

    private func made(_ pieces: [[UInt8]], ending: String) async throws -> Made {
        guard pieces.reduce(0, { $0 + $1.count }) > Self.mostBytes else { return .bytes(Array(pieces.joined())) }
        return .file(try await store(pieces, ending: ending))
    }

    private func store(_ pieces: [[UInt8]], ending: String) async throws -> BlobKey {
        let id: OperationID = ids.make()
        let key = try BlobKey("\(Self.folder)\(id).\(ending)")
        let chunks = AsyncStream<[UInt8]> { continuation in
            for piece in pieces { continuation.yield(piece) }
            continuation.finish()
        }
        _ = try await blobs.put(key, from: chunks, limit: Int64(pieces.reduce(0) { $0 + $1.count }))
        return key
    }
}

extension Array {
    /// Slices of so many elements.
    fileprivate func batches(of size: Int) -> [[Element]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
    }
}
