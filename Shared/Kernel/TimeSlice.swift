/// The time that a loop may compute before it lets other tasks run.
///
/// Swift's tasks share a thread for each core and are never interrupted: a loop over hundreds of ledgers that does not suspend holds up
/// every request of the process. Such a loop asks after each step:
///
///     var slice = TimeSlice()
///     for ledger in ledgers {
///         states.append(fold(ledger, policy, at: now))
///         await slice.yieldIfOver()
///     }
///
/// Time is measured, since steps differ a hundredfold: a look at the clock costs some 50 ns, a suspension puts the loop behind every task
/// that waits. What nobody waits for is bounded by the slice and one step.
public struct TimeSlice: Sendable {
    /// How long a slice is: 1 ms. Tests make it zero, so that every step is the last one.
    @TaskLocal public static var length = Duration.milliseconds(1)

    private let length: Duration
    private var end: ContinuousClock.Instant

    /// A slice that begins now.
    public init() {
        length = Self.length
        end = .now + length
    }

    /// Lets other tasks run and begins a new slice when this one is used up; else returns at once.
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
            // A look at the clock costs something too.
            if results.count & 15 == 0 { await slice.yieldIfOver() }
        }
        return results
    }
}
