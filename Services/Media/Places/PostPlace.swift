internal import Kernel
internal import ServiceRuntime

/// A post in a list, and where.
struct ListedPost: Sendable {
    let post: ShownPost
    let place: PostPlace
    /// Whether its author's posts are withheld: it is not to be shown then.
    let isWithheld: Bool
}

/// A place in a list of posts: that of the last one that was sent.
struct PostPlace: CursorPosition {
    /// The score that the list has it by.
    let score: Double
    let postedAt: Instant
    /// When the first page was read, by the database's clock: the list goes on as it was ranked then.
    let rankedAt: Instant
    let id: PostID

    init(score: Double, postedAt: Instant, rankedAt: Instant, id: PostID) {
        (self.score, self.postedAt, self.rankedAt, self.id) = (score, postedAt, rankedAt, id)
    }

    /// nil unless the score is a number and the instants lie in the years 1 to 9999, which PostgreSQL holds.
    init?(bytes: ArraySlice<UInt8>) {
        guard bytes.count == 40 else { return nil }
        let words = (0..<5).map { word in bytes.dropFirst(word * 8).prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }
        score = Double(bitPattern: words[0])
        postedAt = Instant(microseconds: Int64(bitPattern: words[1]))
        rankedAt = Instant(microseconds: Int64(bitPattern: words[2]))
        id = PostID(high: words[3], low: words[4])
        guard score.isFinite, Instant.writable.contains(postedAt), Instant.writable.contains(rankedAt) else { return nil }
    }

    var bytes: [UInt8] {
        let words = [
            score.bitPattern, UInt64(bitPattern: postedAt.microseconds), UInt64(bitPattern: rankedAt.microseconds), id.high,
            id.low,
        ]
        return words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * $0)) } }
    }
}
