internal import Bus
internal import Kernel
internal import NotificationsAPI
internal import Outbox
internal import ServiceRuntime

/// Stores a mail once for each operation; a job hands it over. The caller does not wait for the mail server.
struct SendMail: MutationHandler {
    let mutations: Mutations
    /// Wakes the job that hands it over.
    let stored: WakeSignal

    func handle(_ request: SendMailRequest, _ context: CallContext) async throws -> Once<SendMailReply> {
        try Self.check(request)
        return try await mutations.once(operation: request.operationID, of: request.userID, context, request) { [stored] work in
            work.whenEnded { stored.wake() }
            let latest = work.now + MailRepository.kept
            try await MailRepository.insert(
                request,
                uselessAfter: min(request.uselessAfter ?? latest, latest),
                now: work.now,
                work.sql
            )
            return .success(SendMailReply())
        }
    }

    func problems(of request: SendMailRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { try Self.check(request) }
    }

    private static func check(_ request: SendMailRequest) throws(ServiceError) {
        guard request.content != nil else { throw .validation(field: "values", "must hold what a mail of this kind says") }
    }
}
