internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import SocialAPI
internal import SocialDomain

internal import Replicas

/// The members whom the caller may see, in the order of joining (SO-7).
struct ListMembers: QueryHandler {
    let circles: CircleRepository
    let profiles: ProfileReplica

    func handle(_ request: ListMembersRequest, _ context: CallContext) async throws -> ListMembersReply {
        let user = try context.requireUser()
        let page = try Page<PageCursor>(request, context)
        guard let circle = try await circles.find(request.circleID) else { throw ServiceError.notFound("circle") }
        try circle.members.require(.read, of: user)
        let found = try await circles.members(of: circle.id, seenBy: user, after: page.position, limit: page.limit + 1)
        let (shown, meta) = page.entries(found) { PageCursor(after: $0.joinedAt, $0.user) }
        let people = try await profiles.profiles(shown.map(\.user), context: context)
        return ListMembersReply(
            members: shown.compactMap { member in
                guard let person = people[member.user], person.isVisible else { return nil }
                return CircleMember(
                    user: person.summary,
                    role: CircleRole(rawValue: member.role.rawValue),
                    joinedAt: member.joinedAt
                )
            },
            meta: meta
        )
    }
}
