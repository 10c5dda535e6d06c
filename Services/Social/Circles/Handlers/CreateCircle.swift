internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import SocialAPI
internal import SocialDomain

/// Creates a circle with a first invite. The owner's circles are locked before they are counted, so that the limit holds across replicas.
struct CreateCircle: MutationHandler {
    let changes: CircleChanges
    let views: CircleViews
    let mutations: Mutations

    func handle(_ request: CreateCircleRequest, _ context: CallContext) async throws -> Once<Circle> {
        let user = try context.requireUser()
        let texts = try CircleForm(name: request.name, description: request.description)
        return try await mutations.once(context, request) { [changes, views] work in
            try await changes.requireRoom(for: user, work)
            let circle = StoredCircle(
                id: work.ids.make(),
                name: texts.name ?? "",
                description: texts.description ?? nil,
                version: 1,
                createdAt: work.now,
                changedAt: work.now,
                isDeleted: false,
                members: CircleMembers(owner: user, now: work.now)
            )
            try await changes.create(circle, by: user, work)
            _ = try await views.invites.make(for: circle.id, by: user, work)
            return try await views.circle(circle, of: user, at: work.now, work.sql)
        }
    }

    func problems(of request: CreateCircleRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { _ = try CircleForm(name: request.name, description: request.description) }
    }
}
