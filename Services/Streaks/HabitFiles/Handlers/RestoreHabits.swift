internal import Bus
internal import Kernel
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Replaces the user's habits by those of a backup (HA-6): checked first, then in one transaction.
struct RestoreHabits: MutationHandler {
    private static let mostBytes: Int64 = 95 << 20

    let uploads: UploadedHabits
    let mutations: Mutations

    func handle(_ request: RestoreHabitsRequest, _ context: CallContext) async throws -> Once<RestoreHabitsReply> {
        let user = try context.requireUser()
        return try await mutations.alone(
            context,
            request.withoutKeys(of: \.file),
            answered: { await uploads.discard(request.file) },
            { try await replace(by: request, of: user, context) }
        )
    }

    func problems(of request: RestoreHabitsRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { check in check.require(request.file != nil, "file", "is required") }
    }

    private func replace(by request: RestoreHabitsRequest, of user: UserID, _ context: CallContext) async throws
        -> Once<RestoreHabitsReply>
    {
        let read: @Sendable ([UInt8], HabitFileContext) -> HabitImport = { HabitBackupReader.read($0, $1) }
        return try await uploads.use(request.file, of: user, limit: Self.mostBytes, context, read: read) { found in
            let problems = found.problems
            guard problems.errorCount == 0 || request.dryRun else {
                throw ServiceError.invalidFile(problems.errors, count: problems.errorCount)
            }
            let habits = uploads.habits
            return try await habits.knowing(user, context) {
                try await mutations.once(context, request.withoutKeys(of: \.file)) { work in
                    let book = try await habits.open(user, work)
                    var arrivals = HabitArrivals(found, beside: [], limit: book.limits.activeHabits)
                    try await book.requireRoom(for: found, replacing: true)
                    guard !request.dryRun else {
                        return RestoreHabitsReply(dryRun: true, summary: arrivals.summary(isDry: true), epoch: nil)
                    }
                    let epoch = try await book.clear(keepsDefaults: found.categories.isEmpty, keepsPhotos: true)
                    if let settings = found.settings { try await book.store(settings) }
                    // The first version of the app had no accounts: its ids are the user's own.
                    try await arrivals.store(in: book, keepsIDs: found.account == nil || found.account == user)
                    // A photo is not in the file: it stays where its date has a completion again.
                    try await book.dropStrayPhotos()
                    return RestoreHabitsReply(
                        dryRun: false,
                        summary: arrivals.summary(isDry: false),
                        epoch: Int32(clamping: epoch)
                    )
                }
            }
        }
    }
}
