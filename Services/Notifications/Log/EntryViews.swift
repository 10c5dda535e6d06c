internal import Bus
internal import Kernel
internal import NotificationsAPI
internal import NotificationsCore
internal import NotificationsDomain
internal import Replicas
internal import SocialAPI

/// Entries as their reader sees them: in their language, with the present name and picture of the actor, and what has become of a request.
struct EntryViews: Sendable {
    let core: NotificationsCore
    let social: FriendsClient

    /// The language of the texts.
    ///
    /// - Parameter locale: what the request asks for; empty or unknown: that of the session's device, else of the user's newest.
    func language(_ locale: String, of user: UserID, _ context: CallContext) async throws -> Language {
        if let language = Language(locale: locale) { return language }
        let device = try await DeviceRepository.locale(of: user, session: context.principal?.sessionID, core.log.database)
        return device.flatMap { Language(locale: $0) } ?? .english
    }

    /// The entries, in their order.
    func items(_ entries: [StoredNotification], of user: UserID, in language: Language, _ context: CallContext) async throws
        -> [NotificationItem]
    {
        let people = try await core.writer.profiles.profiles(entries.compactMap(\.actor), context: context)
        let requests = entries.filter { $0.kind == .friendRequest }.compactMap(\.friendship)
        let states = await requestStates(requests, of: user, context)
        let now = core.clock.now()
        return entries.map { entry in
            let entry = entry.read(at: now)
            let actor = entry.actor.flatMap { people[$0] }
            let text = entry.text(name: actor?.shownName, in: language)
            return NotificationItem(
                id: entry.id,
                type: Kind(rawValue: entry.kind.rawValue),
                title: text.title,
                body: text.body,
                actorID: entry.actor,
                streakID: entry.streak,
                friendshipID: entry.friendship,
                createdAt: entry.createdAt,
                readAt: entry.readAt,
                actor: actor.flatMap { $0.isVisible ? $0.summary : nil },
                deepLink: core.link(entry.linkPath),
                requestState: state(of: entry, states),
                circleID: entry.circle,
                habitID: entry.habit,
                date: entry.date
            )
        }
    }

    private func state(of entry: StoredNotification, _ states: [FriendshipID: RequestState]?) -> RequestState? {
        guard entry.kind == .friendRequest, let friendship = entry.friendship, let states else { return nil }
        // Social knows only the newest request of two users.
        return states[friendship] ?? .ended
    }

    /// nil while `social` is away: the log is shown without them.
    private func requestStates(_ requests: [FriendshipID], of user: UserID, _ context: CallContext) async
        -> [FriendshipID: RequestState]?
    {
        guard !requests.isEmpty else { return [:] }
        let request = GetRequestStatesRequest(userID: user, friendshipIDs: Array(Set(requests)))
        guard let reply = try? await social.getRequestStates(request, context: context) else { return nil }
        // The numbers of the two are the same.
        return Dictionary(
            reply.friendships.map { ($0.friendshipID, RequestState(rawValue: $0.status.rawValue)) },
            uniquingKeysWith: { first, _ in first }
        )
    }
}
