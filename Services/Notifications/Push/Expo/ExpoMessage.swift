internal import Kernel
internal import NotificationsCore
internal import NotificationsDomain

/// One push as Expo's service takes it (https://docs.expo.dev/push-notifications/sending-notifications/#message-request-format).
struct ExpoMessage: Encodable, Sendable {
    /// What the app gets with it. Names in camel case are those that apps read already.
    struct Content: Encodable, Sendable {
        let type: String
        let notification_id: String
        let deep_link: String
        let streak_id: String?
        let streakType: String?
        let currentStreak: Int32?
        let hoursRemaining: Int32?
        let milestone: Int32?
        let habit_id: String?
        /// The date of a reminder of a habit, and which one of it: for the app's call when a button is tapped.
        let date: String?
        let reminder_number: Int32?
        let icon: String?
    }

    let to: String
    let title: String
    let body: String
    let data: Content
    /// nil: none.
    let sound: String?
    let badge: Int32
    /// Seconds for which it may be kept for a device that is off.
    let ttl: Int64
    let priority: String
    let channelId: String
    /// Which buttons it has.
    let categoryId: String?
    /// What replaces an earlier push on the screen: on iOS and on Android.
    let collapseId: String
    let tag: String

    /// Most seconds that Google keeps a push.
    private static let mostSeconds: Int64 = 2_419_200

    /// The push of an entry to a device.
    ///
    /// - Parameters:
    ///   - name: of the entry's actor; nil: who may not be named.
    ///   - unread: the user's unread entries, for the badge.
    ///   - now: by the product clock, as `uselessAt`.
    init(
        _ entry: StoredNotification,
        to device: DeviceAddress,
        name: String?,
        unread: Int32,
        link: String,
        uselessAt: Instant,
        now: Instant
    ) {
        let text = entry.text(name: name, in: Language(locale: device.locale) ?? .english)
        let kind = entry.kind
        to = device.token
        title = text.title
        body = text.body
        let isConfirmation = kind.isConfirmation(entry.values.wording)
        sound = isConfirmation ? nil : "default"
        badge = unread
        ttl = min(max((uselessAt - now).seconds, 1), Self.mostSeconds)
        priority = kind.isUrgent(entry.values.wording) ? "high" : isConfirmation ? "normal" : "default"
        channelId = kind.channel.rawValue
        categoryId = kind.category(entry.values)?.rawValue
        // A circle or habit before its streak: all of one circle is about it.
        let subjects = [
            entry.circle?.description, entry.habit?.description, entry.streak?.description, entry.friendship?.description,
        ]
        // What is at risk with friends and of one's own are two pushes, also when each is about several streaks.
        let wording = entry.values.wording
        let other = kind.isReward(wording) ? "\(entry.id)" : kind.isSolo(wording) ? "own" : nil
        let subject = subjects.lazy.compactMap { $0 }.first ?? other
        collapseId = kind.collapseID(subject: subject, entry: "\(entry.id)")
        tag = collapseId
        data = Content(
            type: kind.name,
            notification_id: "\(entry.id)",
            deep_link: link,
            streak_id: entry.streak?.description,
            streakType: kind.streakType(entry.values, isOfCircle: entry.circle != nil, isOfHabit: entry.habit != nil),
            currentStreak: kind.channel == .streaks && entry.values.count > 0 ? entry.values.count : nil,
            hoursRemaining: kind == .streakAtRisk ? entry.values.amount : nil,
            milestone: kind == .milestone && !kind.isReward(wording) ? entry.values.count : nil,
            habit_id: entry.habit?.description,
            date: entry.date?.description,
            reminder_number: categoryId == nil ? nil : entry.values.count,
            icon: entry.habit != nil && !entry.values.emoji.isEmpty ? entry.values.emoji : nil
        )
    }
}
