/// A version by Semantic Versioning 2.0, ordered by precedence.
struct SemanticVersion: Comparable, Sendable {
    private let numbers: [Int]
    /// Empty for a release.
    private let labels: [Substring]

    /// - Parameter text: `1.4.0-rc.1+build`; anything else is a version below all others.
    init(_ text: String) {
        let core = text.prefix { $0 != "+" }
        let numbers = core.prefix { $0 != "-" }.split(separator: ".", omittingEmptySubsequences: false).map { Int($0) }
        let isValid = numbers.count == 3 && numbers.allSatisfy { ($0 ?? -1) >= 0 }
        self.numbers = isValid ? numbers.compactMap { $0 } : [-1]
        self.labels = isValid ? core.drop { $0 != "-" }.dropFirst().split(separator: ".") : []
    }

    static func < (left: SemanticVersion, right: SemanticVersion) -> Bool {
        if left.numbers != right.numbers { return left.numbers.lexicographicallyPrecedes(right.numbers) }
        // A release comes after what was tried before it.
        if left.labels.isEmpty || right.labels.isEmpty { return !left.labels.isEmpty && right.labels.isEmpty }
        return left.labels.lexicographicallyPrecedes(right.labels, by: precedes)
    }

    /// Numbers by their value and before words.
    private static func precedes(_ left: Substring, _ right: Substring) -> Bool {
        switch (Int(left), Int(right)) {
        case (let left?, let right?): left < right
        case (nil, nil): left < right
        case (let left, _): left != nil
        }
    }
}
