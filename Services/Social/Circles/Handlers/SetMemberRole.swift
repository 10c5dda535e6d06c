internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import SocialAPI
internal import SocialDomain

/// Makes a member an admin, or an admin a member.
struct SetMemberRole: MutationHandler {
    let changes: CircleChanges
    let mutations: Mutations

    func handle(_ request: SetMemberRoleRequest, _ context: CallContext) async throws -> Once<MemberReply> {
        let (user, other) = (try context.requireUser(), request.userID)
        let role = try Self.role(request)
        return try await mutations.once(context, request) { [changes] work in
            let known = try await changes.known(other, to: user, work)
            _ = try await changes.change(request.circleID, work) { circle in
                try circle.members.setRole(role, of: known, by: user)
                    ? CircleChanges.Note(.roleChanged, user: other, by: user) : nil
            }
            return MemberReply(circleID: request.circleID, userID: other, role: request.role)
        }
    }

    func problems(of request: SetMemberRoleRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { _ = try Self.role(request) }
    }

    /// - Throws: `VALIDATION_ERROR` naming `role`.
    private static func role(_ request: SetMemberRoleRequest) throws(ServiceError) -> CircleMembers.Role {
        guard let role = CircleMembers.Role(rawValue: request.role.rawValue), role != .owner else { throw .roleToTransfer }
        return role
    }
}
