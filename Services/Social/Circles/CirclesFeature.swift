internal import Bus
internal import Database
internal import Kernel
internal import Runtime
package import ServiceRuntime
internal import SocialAPI
package import SocialCore
internal import SocialDomain

/// Circles: named groups of users, their invites, members and roles (SO-10).
package enum CirclesFeature {
    /// The feature.
    ///
    /// - Parameter followers: what all features add to a change of a profile.
    package static func feature(_ followers: [any ProfileFollower]) -> ServiceFeature {
        ServiceFeature(
            "circles",
            settings: [LinkSettings.publicURL],
            migrations: [
                MigrationSet(
                    "circles",
                    [
                        Migration(version: 1, name: "circles", sql: PackageResources.V0001_circles_sql),
                        Migration(version: 2, name: "removals", sql: PackageResources.V0002_removals_sql),
                        Migration(version: 3, name: "entries", sql: PackageResources.V0003_entries_sql),
                    ]
                )
            ],
            personalData: [.circles(followers)]
        ) { environment in
            let core = try SocialCore(environment, followers)
            let changes = CircleChanges(core)
            let views = CircleViews(
                invites: InviteRepository(database: core.database),
                links: InviteLinks(base: try environment.settings.get(LinkSettings.publicURL))
            )
            return FeatureParts(
                endpoints: endpoints(core, changes, views, environment),
                consumers: AccountConsumers(changes: changes).handlers,
                jobs: [
                    Job("old_circle_invites", every: .seconds(600)) { now in
                        try await views.invites.deleteExpired(before: now - .days(30))
                    },
                    Job("old_circle_removals", every: .seconds(600)) { now in
                        try await views.invites.deleteRemovals(before: now - .hours(Int64(CircleInvite.longestHours)))
                    },
                ]
            )
        }
    }

    private static func endpoints(
        _ core: SocialCore,
        _ changes: CircleChanges,
        _ views: CircleViews,
        _ environment: ServiceEnvironment
    ) -> [Endpoint] {
        let (circles, invites) = (changes.circles, views.invites)
        let (mutations, clock) = (environment.mutations, environment.clock)
        return CirclesService.endpoints(
            createCircle: CreateCircle(changes: changes, views: views, mutations: mutations),
            listCircles: ListCircles(circles: circles),
            getCircle: GetCircle(circles: circles, views: views, clock: clock),
            updateCircle: UpdateCircle(changes: changes, views: views, mutations: mutations),
            deleteCircle: DeleteCircle(changes: changes, mutations: mutations),
            joinCircle: JoinCircle(changes: changes, views: views, mutations: mutations),
            previewInvite: PreviewInvite(circles: circles, views: views, clock: clock),
            leaveCircle: LeaveCircle(changes: changes, mutations: mutations),
            listMembers: ListMembers(circles: circles, profiles: core.profiles),
            setMemberRole: SetMemberRole(changes: changes, mutations: mutations),
            removeMember: RemoveMember(changes: changes, invites: invites, mutations: mutations),
            transferOwnership: TransferOwnership(changes: changes, views: views, mutations: mutations),
            createInvite: CreateInvite(
                circles: circles,
                friendships: core.friendships,
                views: views,
                mutations: mutations
            ),
            listInvites: ListInvites(circles: circles, views: views, clock: clock),
            revokeInvites: RevokeInvites(circles: circles, invites: invites, mutations: mutations),
            getInvitePage: GetInvitePage(circles: circles, invites: invites, clock: clock),
            listCircleSnapshots: ListCircleSnapshots(circles: circles)
        )
    }
}
