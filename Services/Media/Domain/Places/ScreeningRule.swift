/// What a moderator of pictures sees in one (PL-5), as DetectModerationLabels answers.
public struct ModerationLabel: Hashable, Sendable {
    /// In the language of the moderator's model: `Explicit`.
    public let name: String
    /// The category it belongs to; empty for one of the highest level.
    public let parent: String
    /// How sure it is, in percent.
    public let confidence: Double

    /// A label.
    public init(_ name: String, of parent: String = "", _ confidence: Double) {
        (self.name, self.parent, self.confidence) = (name, parent, confidence)
    }
}

/// Which labels keep a picture from being published (PL-5).
public struct ScreeningRule: Sendable {
    /// What is blocked unless a setting says otherwise, by its names in versions 6 and 7 of the model, which no reply mixes.
    public static let standardCategories = [
        "Explicit Nudity", "Explicit", "Non-Explicit Nudity of Intimate parts and Kissing", "Suggestive", "Swimwear or Underwear",
        "Violence", "Visually Disturbing", "Drugs", "Tobacco", "Drugs & Tobacco", "Alcohol", "Gambling", "Hate Symbols",
    ]
    /// From this confidence on a picture is refused.
    public static let standardConfidence = 75.0
    /// Labels below it are not asked for. What is between the two is published, for review.
    public static let leastConfidence = 50.0
    /// Most labels that are kept of a picture.
    private static let mostLabels = 20

    /// What becomes of a picture, with the labels that say so, the surest first.
    public enum Verdict: Hashable, Sendable {
        case harmless
        /// Published, and reviewed by people.
        case doubtful([ModerationLabel])
        /// Not published.
        case rejected([ModerationLabel])
    }

    private let blocked: Set<String>
    private let confidence: Double

    /// A rule.
    ///
    /// - Parameters:
    ///   - categories: names of labels of any level; what is below one of them is blocked too. Upper and lower case are the same.
    ///   - confidence: in percent, from which on a picture is refused.
    public init(categories: [String] = standardCategories, confidence: Double = standardConfidence) {
        blocked = Set(categories.map { $0.lowercased() })
        self.confidence = confidence
    }

    /// What becomes of a picture with these labels.
    public func verdict(_ labels: [ModerationLabel]) -> Verdict {
        let parents = Dictionary(labels.map { ($0.name.lowercased(), $0.parent.lowercased()) }) { first, _ in first }
        let found = labels.filter { $0.confidence >= Self.leastConfidence && isBlocked($0, parents) }.sorted { left, right in
            left.confidence == right.confidence ? left.name < right.name : left.confidence > right.confidence
        }
        guard let surest = found.first else { return .harmless }
        let kept = Array(found.prefix(Self.mostLabels))
        return surest.confidence >= confidence ? .rejected(kept) : .doubtful(kept)
    }

    /// Whether a label, or a category above it, is blocked. A reply may name categories above each other in a circle.
    private func isBlocked(_ label: ModerationLabel, _ parents: [String: String]) -> Bool {
        var (name, seen): (String?, Set<String>) = (label.name.lowercased(), [])
        var above: String? = label.parent.lowercased()
        while let present = name, !present.isEmpty, seen.insert(present).inserted {
            if blocked.contains(present) { return true }
            name = above
            above = name.flatMap { parents[$0] }
        }
        return false
    }
}
