internal import Bus
internal import NotificationsAPI
internal import NotificationsCore
internal import ServiceRuntime

/// NO-4: marks all entries as read.
struct MarkAllRead: MutationHandler {
    let log: NotificationRepository
    let live: LiveEvents
    let mutations: Mutations

    func handle(_ request: MarkAllReadRequest, _ context: CallContext) async throws -> Once<MarkReadReply> {
        let user = try context.requireUser()
        return try await mutations.once(context, request) { work in
            try await live.markRead(nil, of: user, log, work)
        }
    }
}
