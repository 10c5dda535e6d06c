/// What ended with the deletion of an account and has not come back with it (AU-7).
public struct EndedItems: Hashable, Sendable {
    public let friendships: Int32
    public let circles: Int32
    /// Streaks with friends.
    public let streaks: Int32

    public init(friendships: Int32, circles: Int32, streaks: Int32) {
        (self.friendships, self.circles, self.streaks) = (friendships, circles, streaks)
    }

    /// `Your own streaks go on. Not restored: 2 friendships and 1 circle.`
    ///
    /// - Parameter ended: nil when it is not known.
    static func inEnglish(_ ended: EndedItems?) -> String {
        guard let ended else {
            return "Your own streaks go on. Friendships, circles and streaks with friends ended with the deletion."
        }
        let items = ended.list(
            ("friendship", "friendships"),
            ("circle", "circles"),
            ("streak with a friend", "streaks with friends"),
            and: "and"
        )
        return "Your own streaks go on. "
            + (items.map { "Not restored: \($0)." } ?? "No friendship, circle or streak with a friend ended with the deletion.")
    }

    /// The same in German.
    static func inGerman(_ ended: EndedItems?) -> String {
        guard let ended else {
            return
                "Deine eigenen Streaks gehen weiter. Freundschaften, Gruppen und Streaks mit Freunden endeten mit der Löschung."
        }
        let items = ended.list(
            ("Freundschaft", "Freundschaften"),
            ("Gruppe", "Gruppen"),
            ("gemeinsamer Streak", "gemeinsame Streaks"),
            and: "und"
        )
        return "Deine eigenen Streaks gehen weiter. "
            + (items.map { "Nicht wiederhergestellt: \($0)." }
                ?? "Keine Freundschaft, keine Gruppe und kein gemeinsamer Streak endete mit der Löschung.")
    }

    /// What there is any of: `1 circle and 2 streaks with friends`; nil when there is nothing.
    private func list(
        _ friendship: (String, String),
        _ circle: (String, String),
        _ streak: (String, String),
        and word: String
    ) -> String? {
        let items = [(friendships, friendship), (circles, circle), (streaks, streak)].filter { $0.0 > 0 }
            .map { counted($0.0, $0.1.0, $0.1.1) }
        guard let last = items.last else { return nil }
        return items.count == 1 ? last : items.dropLast().joined(separator: ", ") + " \(word) \(last)"
    }
}

extension NotificationValues {
    /// The values of `accountRestored`.
    ///
    /// - Parameter ended: nil when it is not known.
    public init(_ ended: EndedItems?) {
        self.init(
            wording: ended == nil ? Wording.endedUnknown : 0,
            count: ended?.streaks ?? 0,
            others: ended?.friendships ?? 0,
            amount: ended?.circles ?? 0
        )
    }

    /// Of `accountRestored`; nil when it is not known.
    var ended: EndedItems? {
        wording == Wording.endedUnknown ? nil : EndedItems(friendships: others, circles: amount, streaks: count)
    }
}
