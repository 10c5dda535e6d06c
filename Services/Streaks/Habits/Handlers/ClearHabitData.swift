internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore

/// Deletes everything of the caller's habits, in two steps.
struct ClearHabitData: MutationHandler {
    let changes: HabitChanges

    /// How long the token of the first step is valid.
    private static let valid = Interval.minutes(10)

    func handle(_ request: ClearHabitDataRequest, _ context: CallContext) async throws -> Once<ClearHabitDataReply> {
        try await changes.once(context, request) { book in
            let sql = book.work.sql
            let amounts = try await HabitReads.amounts(of: book.user, sql)
            var reply = ClearHabitDataReply(habits: Int32(clamping: amounts.habits), completions: amounts.completions)
            guard !request.token.isEmpty else {
                let (token, until): (OperationID, Instant) = (book.work.ids.make(), book.work.now + Self.valid)
                try ClearingRepository.store(token, of: book.user, until: until, sql)
                (reply.token, reply.tokenExpiresAt) = (token.description, until)
                return reply
            }
            guard let token = OperationID(request.token),
                try await ClearingRepository.take(token, of: book.user, at: book.work.now, sql)
            else {
                throw ServiceError(
                    .failedPrecondition,
                    "CONFIRMATION_NOT_VALID",
                    "This confirmation is not valid any more. Ask for another one."
                )
            }
            _ = try await book.clear()
            reply.deleted = true
            return reply
        }
    }
}
