internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore

/// An administrator declares an outage, as an operator does by `streaks declare-outage`.
struct DeclareOutage: MutationHandler {
    let mutations: Mutations

    func handle(_ request: DeclareOutageRequest, _ context: CallContext) async throws -> Once<DeclareOutageReply> {
        let admin = try context.requireAdmin()
        let declaration = try Self.declaration(request)
        return try await mutations.once(context, request) { work in
            let (outage, isNew) = try await declaration.declare(as: work.ids.make(), work.sql)
            if isNew {
                try await work.emit(
                    OutageDeclared(
                        outageID: outage.id,
                        from: outage.from,
                        until: outage.until,
                        reason: outage.reason,
                        actionID: work.ids.make(),
                        adminID: admin,
                        declaredAt: work.now,
                        requestID: context.requestID
                    )
                )
            }
            return DeclareOutageReply(outage: Outage(outage), isNew: isNew)
        }
    }

    func problems(of request: DeclareOutageRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { _ = try Self.declaration(request) }
    }

    /// - Throws: `VALIDATION_ERROR` with an entry for each bad field.
    private static func declaration(_ request: DeclareOutageRequest) throws -> OutageDeclaration {
        var check = FieldCheck()
        check.require(request.from != nil, "from", "is required")
        check.require(request.until != nil, "until", "is required")
        try check.finish()
        guard let from = request.from, let until = request.until else { throw ServiceError.internal }
        do throws(OutageDeclaration.Mistake) {
            return try OutageDeclaration(from: from, until: until, reason: request.reason)
        } catch {
            switch error {
            case .isEmpty: throw ServiceError.validation(field: "until", "must be later than from")
            case .isTooLong: throw ServiceError.validation(field: "until", "must be at most 14 days after from")
            }
        }
    }
}
