internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

internal import Replicas

/// Check-ins of the members of a circle that the caller is in, the newest first (SO-7).
struct ListCircleFeed: QueryHandler {
    let circles: CircleReplica
    let feed: FeedRepository
    let profiles: ProfileReplica

    func handle(_ request: ListCircleFeedRequest, _ context: CallContext) async throws -> ListCircleFeedReply {
        let user = try context.requireUser()
        let page = try Page<PageCursor>(request, context)
        let circle = try await circles.circle(request.circleID, of: user, context)
        let found = try await feed.page(of: circle.id, seenBy: user, before: page.position, limit: page.limit + 1)
        let (shown, meta) = page.entries(found) { PageCursor(after: $0.at, $0.id) }
        let people = try await profiles.profiles(shown.map(\.user), context: context)
        return ListCircleFeedReply(
            entries: shown.compactMap { entry in
                guard let person = people[entry.user], person.isVisible else { return nil }
                return CircleFeedEntry(
                    user: person.summary,
                    date: entry.date,
                    checkedInAt: entry.at,
                    toCircle: entry.isToCircle,
                    streakCount: entry.streakCount
                )
            },
            meta: meta
        )
    }
}
