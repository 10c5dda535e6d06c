/// What a milestone card says of a streak's kind (MC-1).
public struct CardSubject: Hashable, Sendable {
    /// Above the count.
    public let emoji: String
    /// What the streak is about; empty for mutual streaks, whose card says it by its two people.
    public let name: String
    /// The background of its cards unless another is asked for: the name of one of `CardParts.styles`.
    public let style: String
    private let kind: StreakKind

    /// - Parameter circle: the name of the circle whose streak it is.
    public init(_ kind: StreakKind, circle: String? = nil) {
        self.kind = kind
        let type = TypedType(kind)
        emoji = type?.icon ?? CardParts.emoji
        name =
            switch kind {
            case .mutual: ""
            case .checkIn: "Daily Check-In"
            case .team: circle ?? ""
            case .habit: "Habit"
            default: type?.displayName ?? ""
            }
        style =
            switch kind {
            case .mutual, .checkIn, .recipeCreation: "orange"
            case .dailySnap, .socialShare: "purple"
            case .healthyEating, .team, .habit: "green"
            case .challengeCompletion: "dark"
            }
    }

    /// The name of a milestone of check-ins or of a typed streak; empty where milestones have none.
    public func title(of count: Int) -> String {
        switch kind {
        case .checkIn: CelebratedCheckIn.of(count)?.title ?? ""
        case .mutual, .team, .habit: ""
        default: TypedReward(days: count)?.title ?? ""
        }
    }

    /// The backgrounds in the order to offer them: its own first.
    public var styles: [CardParts.Style] {
        CardParts.styles.filter { $0.name == style } + CardParts.styles.filter { $0.name != style }
    }

    /// One sentence to share with the card.
    ///
    /// - Parameter friend: the username of the other one of a mutual streak.
    public func share(count: Int, friend: String) -> String {
        switch kind {
        case .mutual: return CardParts.share(count: count, friend: friend)
        case .team:
            return count > 0
                ? "\(emoji) \(count)-day streak with \(name) on StreakSnap!"
                : "\(name) has just started a streak on StreakSnap!"
        default:
            return count > 0
                ? "\(emoji) \(count)-day \(name) streak on StreakSnap!" : "I have just started a \(name) streak on StreakSnap!"
        }
    }
}
