internal import Bus
internal import Kernel
internal import Replicas
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore

/// Notes that a medal was sent or why not (CI-5). What was sent stays sent; its tracking code can be corrected.
struct UpdateMedal: MutationHandler {
    let profiles: ProfileReplica
    let mutations: Mutations

    func handle(_ request: UpdateMedalRequest, _ context: CallContext) async throws -> Once<AdminMedal> {
        let admin = try context.requireAdmin()
        return try await mutations.once(context, request) { [profiles] work in
            guard var medal = try await MedalRepository.lock(request.medalID, work.sql) else {
                throw ServiceError.notFound("medal")
            }
            guard medal.status != .sent || request.status == .sent else { throw ServiceError.medalAlreadySent }
            (medal.status, medal.decidedAt, medal.decidedBy) = (request.status, work.now, admin)
            medal.trackingCode = request.trackingCode ?? medal.trackingCode
            medal.note = request.note
            try await MedalRepository.store(medal, work.sql)
            let words = "\(request.status): \(request.note ?? "")"
            try await AdminReport.emit(.decideMedal, of: [medal.user], by: admin, words, context, work)
            return AdminMedal(medal, try await profiles.known([medal.user], work.sql)[medal.user])
        }
    }

    func problems(of request: UpdateMedalRequest) -> [ServiceError.Detail] {
        [.sent, .declined].contains(request.status) ? [] : [.init(field: "status", message: "must be sent or declined")]
    }
}
