/// How long a loop may compute before it lets other tasks run.
///
/// Swift's tasks share one thread for each core and are never interrupted. A loop over hundreds of ledgers that does not suspend
/// delays every request of the process. Such a loop checks after each step:
///
///     var slice = TimeSlice()
///     for ledger in ledgers {
///         states.append(fold(ledger, policy, at: now))
///         await slice.yieldIfOver()
///     }
///
/// Time is measured because steps differ a hundredfold. Reading the clock costs about 50 ns; a suspension puts the loop behind
/// every waiting task. Other tasks wait for at most one slice and one step.
public struct TimeSlice: Sendable {
    /// The length of a slice: 1 ms. Tests set it to zero, so that every step ends the slice.
    @TaskLocal public static var length = Duration.milliseconds(1)

    private let length: Duration
    private var end: ContinuousClock.Instant

    /// A slice that begins now.
    public init() {
        length = Self.length
        end = .now + length
    }

    /// If this slice is used up, lets other tasks run and begins a new slice; else returns at once.
    public mutating func yieldIfOver() async {
        guard ContinuousClock.now >= end else { return }
        await Task.yield()
        end = .now + length
    }
}

extension Sequence {
    /// What `map` gives, computed in time slices: for thousands of elements that cost a microsecond each, such as rows to decode.
    ///
    /// - Throws: what `transform` throws.
    public func mapInSlices<Transformed>(_ transform: (Element) throws -> Transformed) async rethrows -> [Transformed] {
        var slice = TimeSlice()
        var results: [Transformed] = []
        results.reserveCapacity(underestimatedCount)
        for element in self {
            results.append(try transform(element))
            // Reading the clock has a cost too.
            if results.count & 15 == 0 { await slice.yieldIfOver() }
        }
        return results
    }
}
