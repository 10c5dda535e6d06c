internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import SocialAPI
internal import SocialDomain

/// Renames and describes a circle.
struct UpdateCircle: MutationHandler {
    let changes: CircleChanges
    let views: CircleViews
    let mutations: Mutations

    func handle(_ request: UpdateCircleRequest, _ context: CallContext) async throws -> Once<Circle> {
        let user = try context.requireUser()
        let texts = try CircleForm(name: request.name, description: request.description)
        return try await mutations.once(context, request) { [changes, views] work in
            let circle = try await changes.change(request.circleID, work) { circle in
                try circle.members.require(.rename, of: user)
                let before = (circle.name, circle.description)
                if let name = texts.name { circle.name = name }
                if let description = texts.description { circle.description = description }
                return before == (circle.name, circle.description) ? nil : CircleChanges.Note(.updated, by: user)
            }
            return try await views.circle(circle, of: user, at: work.now, work.sql)
        }
    }

    func problems(of request: UpdateCircleRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { _ = try CircleForm(name: request.name, description: request.description) }
    }
}
