internal import Bus
internal import Database
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Pushes a device's changes and pulls what is new to it (HA-7).
struct Sync: MutationHandler {
    let habits: HabitStore
    let mutations: Mutations

    func handle(_ request: SyncRequest, _ context: CallContext) async throws -> Once<SyncReply> {
        let user = try context.requireUser()
        guard request.schemaVersion == SyncProtocol.version else { throw ServiceError.unknownSchema(request.schemaVersion) }
        let device = try Self.device(request)
        let page = try Page<SyncPosition>(following: request, context)
        let date = try await habits.refresh(user, context)
        return try await habits.knowing(user, context) {
            // A pull reads several tables: all as they were at one moment. What pushes locks the account instead.
            let isolation = request.changes.isEmpty ? Isolation.repeatableRead : .readCommitted
            // What a change came to is kept by its own id (HA-7), so that a repeat need not find the whole reply.
            let kept = request.changes.isEmpty ? Mutations.Kept.nothing : .request
            return try await mutations.once(context, request, isolation: isolation, keeping: kept) { work in
                let visit = DeviceVisit(habits: habits, user: user, device: device, request: request, page: page, work: work)
                return try await visit.reply(date)
            }
        }
    }

    func problems(of request: SyncRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { _ = try Self.device(request) } + request.placeProblems
    }

    private static func device(_ request: SyncRequest) throws(ServiceError) -> DeviceID {
        try DeviceID(parsing: request.deviceID, field: "device_id")
    }
}
