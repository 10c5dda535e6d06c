internal import Bus
internal import Kernel
internal import NotificationsAPI
internal import NotificationsCore
internal import NotificationsDomain
internal import ServiceRuntime

/// The device of this session gets the caller's pushes (NO-3). A token has one owner: it leaves the user who had it before.
struct RegisterDevice: MutationHandler {
    let mutations: Mutations

    func handle(_ request: RegisterDeviceRequest, _ context: CallContext) async throws -> Once<RegisterDeviceReply> {
        let user = try context.requireUser()
        let session = context.principal?.sessionID
        guard PushToken.isWellFormed(request.pushToken) else {
            throw ServiceError(
                .invalidArgument,
                "INVALID_PUSH_TOKEN",
                "This is not an Expo push token.",
                details: [.init(field: "push_token", message: "must be like ExponentPushToken[…]")]
            )
        }
        return try await mutations.once(context, request) { work in
            if let session {
                try await EndedSessionRepository.lock(session, work.sql)
                guard try await !EndedSessionRepository.contains(session, work.sql) else { throw ServiceError.sessionRevoked }
            }
            let device = Device(
                id: work.ids.make(),
                token: request.pushToken,
                user: user,
                session: session,
                platform: request.platform.rawValue,
                appVersion: request.appVersion,
                locale: request.locale
            )
            try await DeviceRepository.register(device, now: work.now, work.sql)
            return RegisterDeviceReply(devices: try await DeviceRepository.trim(of: user, work.sql))
        }
    }
}
