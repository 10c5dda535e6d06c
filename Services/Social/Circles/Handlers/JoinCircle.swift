internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import SocialAPI
internal import SocialDomain

/// Joins a circle by a code. The user's circles are locked first, then the circle: two who join at the 50th place, and one who joins the 20th
/// circle twice, see each other.
struct JoinCircle: MutationHandler {
    let changes: CircleChanges
    let views: CircleViews
    let mutations: Mutations

    func handle(_ request: JoinCircleRequest, _ context: CallContext) async throws -> Once<Circle> {
        let user = try context.requireUser()
        return try await mutations.once(context, request) { [changes, views] work in
            guard let code = InviteCode.normalized(request.code) else { throw CircleInvite.notValid }
            try await changes.circles.lockUser(user, work.sql)
            guard let found = try await views.invites.find(code: code, work.sql),
                let before = try await changes.circles.lock(found.circle, work.sql),
                // Again, now that nothing else changes it.
                let stored = try await views.invites.find(code: code, work.sql)
            else { throw CircleInvite.notValid }
            if before.members[user] == nil {
                if try await views.invites.isClosed(stored, to: user, work.sql) { throw CircleInvite.notValid }
                var invite = stored.invite
                try invite.use(at: work.now)
                try await changes.requireRoom(for: user, work)
                try await views.invites.storeUses(stored, invite.uses, work.sql)
            }
            let circle = try await changes.change(before, work) { circle in
                try circle.members.join(user, now: work.now) ? CircleChanges.Note(.memberJoined, user: user, by: user) : nil
            }
            return try await views.circle(circle, of: user, at: work.now, work.sql)
        }
    }
}
