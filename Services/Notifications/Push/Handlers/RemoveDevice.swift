internal import Bus
internal import Kernel
internal import NotificationsAPI
internal import NotificationsCore
internal import ServiceRuntime

/// Ends pushes to one device of the caller, or to those of this session (NO-3). What is not there counts as 0.
struct RemoveDevice: MutationHandler {
    let mutations: Mutations

    func handle(_ request: RemoveDeviceRequest, _ context: CallContext) async throws -> Once<RemoveDeviceReply> {
        let user = try context.requireUser()
        let session = context.principal?.sessionID
        return try await mutations.once(context, request) { work in
            let removed =
                if let token = request.pushToken {
                    try await DeviceRepository.remove(token: token, of: user, work.sql)
                } else {
                    try await DeviceRepository.remove(sessions: [session].compactMap { $0 }, of: user, work.sql)
                }
            return RemoveDeviceReply(removed: Int32(clamping: removed))
        }
    }
}
