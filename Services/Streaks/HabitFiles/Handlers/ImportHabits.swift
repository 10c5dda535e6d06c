internal import Bus
internal import Kernel
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Adds the habits of a file to those of the user (HA-6).
struct ImportHabits: MutationHandler {
    private static let mostBytes: Int64 = 32 << 20

    let uploads: UploadedHabits
    let mutations: Mutations

    func handle(_ request: ImportHabitsRequest, _ context: CallContext) async throws -> Once<ImportHabitsReply> {
        let user = try context.requireUser()
        let read = try reader(request)
        // Around the reading of the file: a repeat must neither read it nor delete it meanwhile.
        return try await mutations.alone(
            context,
            request.withoutKeys(of: \.file),
            answered: { await uploads.discard(request.file) },
            { try await add(request, to: user, read: read, context) }
        )
    }

    private func add(
        _ request: ImportHabitsRequest,
        to user: UserID,
        read: @escaping @Sendable ([UInt8], HabitFileContext) -> HabitImport,
        _ context: CallContext
    ) async throws -> Once<ImportHabitsReply> {
        try await uploads.use(request.file, of: user, limit: Self.mostBytes, context, read: read) { found in
            let problems = found.problems
            guard problems.errorCount == 0 || request.dryRun else {
                throw ServiceError.invalidFile(problems.errors, count: problems.errorCount)
            }
            let habits = uploads.habits
            return try await habits.knowing(user, context) {
                try await mutations.once(context, request.withoutKeys(of: \.file)) { work in
                    let book = try await habits.open(user, work)
                    let present = try await HabitRepository.records(of: user, work.sql)
                    // A dry run says it too.
                    try await book.requireRoom(for: found)
                    var arrivals = HabitArrivals(found, beside: present, limit: book.limits.activeHabits)
                    if !request.dryRun { try await arrivals.store(in: book, keepsIDs: false) }
                    return ImportHabitsReply(dryRun: request.dryRun, summary: arrivals.summary(isDry: request.dryRun))
                }
            }
        }
    }

    func problems(of request: ImportHabitsRequest) -> [ServiceError.Detail] { FieldCheck.problems { _ = try reader(request) } }

    /// - Throws: `VALIDATION_ERROR` with an entry for each bad field.
    private func reader(_ request: ImportHabitsRequest) throws
        -> @Sendable ([UInt8], HabitFileContext) -> HabitImport
    {
        var check = FieldCheck()
        check.require(request.file != nil, "file", "is required")
        let isMapping = request.format == "mapping"
        check.require(!isMapping || request.columns != nil, "columns", "is needed for the format mapping")
        check.require(!isMapping || !(request.columns?.date.isEmpty ?? false), "columns.date", "is required")
        try check.finish()
        switch request.format {
        case "loop": return { UploadedHabits.loop($0, $1) }
        case "mapping":
            let mapping = HabitMapping(request.columns ?? HabitColumns())
            return { bytes, context in
                var reader = HabitMappingImport(mapping, context)
                reader.read(bytes)
                return reader.finish()
            }
        default:
            return { bytes, context in
                var reader = HabitCSVImport(context)
                reader.read(bytes)
                return reader.finish()
            }
        }
    }
}

extension HabitMapping {
    init(_ columns: HabitColumns) {
        self.init(date: columns.date)
        separator = Separator(rawValue: columns.separator ?? "") ?? .comma
        name = columns.name.isEmpty ? nil : columns.name
        habitName = columns.habitName
        if !columns.dateFormat.isEmpty { dateFormat = columns.dateFormat }
        status = columns.status.isEmpty ? nil : columns.status
        (completedWords, skippedWords) = (columns.completedWords, columns.skippedWords)
        value = columns.value.isEmpty ? nil : columns.value
        note = columns.note.isEmpty ? nil : columns.note
    }
}
