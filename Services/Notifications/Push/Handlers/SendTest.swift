internal import Bus
internal import Kernel
internal import NotificationsAPI
internal import NotificationsCore
internal import ServiceRuntime

/// Shows the caller whether pushes arrive, five times an hour at most: it passes every other limit of pushes.
struct SendTest: MutationHandler {
    let writer: NotificationWriter
    let mutations: Mutations

    func handle(_ request: SendTestRequest, _ context: CallContext) async throws -> Once<SendTestReply> {
        let user = try context.requireUser()
        // The profile must be known here before the transaction.
        _ = try await writer.profiles.profile(user, context: context)
        return try await mutations.once(context, request) { work in
            try await TestPushRepository.count(for: user, now: work.now, work.sql)
            guard let written = try await writer.write(NewNotification(user: user, kind: .test), work) else {
                throw ServiceError.unavailable()
            }
            return SendTestReply(notificationID: written.id, devices: Int32(clamping: written.devices))
        }
    }
}
