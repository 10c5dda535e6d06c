internal import Kernel

/// The running requests of a service. Events in, actions out, no I/O.
///
/// A request holds its slot until its handler has returned, also after its deadline. Only this bounds the number of running
/// handlers.
struct WorkTable<Handle: Sendable>: TimedValue {
    /// What to do with a new request.
    enum Admission: Sendable, Equatable {
        /// Run it under this number.
        case run(UInt64)
        /// Refuse it: the limit is reached.
        case overloaded
    }

    private struct Entry: Sendable {
        var deadline: Tick
        var handle: Handle?
        var isCancelled = false
    }

    let mostInFlight: Int
    private var entries: [UInt64: Entry] = [:]
    private var nextToken: UInt64 = 1
    /// Never later than any deadline.
    private var earliest = Tick.never

    init(mostInFlight: Int) { self.mostInFlight = mostInFlight }

    /// How many requests are running.
    var count: Int { entries.count }

    /// When the owner must call `expire` at the latest; nil when no deadline is known.
    var wakeAt: Tick? { earliest == .never ? nil : earliest }

    /// A request arrived.
    mutating func admit(deadline: Tick) -> Admission {
        guard entries.count < mostInFlight else { return .overloaded }
        let token = nextToken
        nextToken += 1
        entries[token] = Entry(deadline: deadline)
        earliest = min(earliest, deadline)
        return .run(token)
    }

    /// The request is running, and this handle cancels it.
    ///
    /// - Returns: Whether it was cancelled before there was a handle; the owner then cancels it.
    mutating func attach(_ token: UInt64, _ handle: Handle) -> Bool {
        // A quick handler may have returned already.
        guard let entry = entries[token] else { return false }
        entries[token]?.handle = handle
        return entry.isCancelled
    }

    /// The handler has returned.
    mutating func finish(_ token: UInt64) { entries[token] = nil }

    /// Checks for deadlines that have passed.
    ///
    /// - Returns: What to cancel.
    mutating func expire(now: Tick) -> [Handle] {
        var handles: [Handle] = []
        earliest = .never
        for (token, entry) in entries where !entry.isCancelled {
            if entry.deadline > now {
                earliest = min(earliest, entry.deadline)
            } else {
                entries[token]?.isCancelled = true
                if let handle = entry.handle { handles.append(handle) }
            }
        }
        return handles
    }

    /// Cancels all running requests.
    ///
    /// - Returns: What to cancel.
    mutating func cancelAll() -> [Handle] {
        var handles: [Handle] = []
        for (token, entry) in entries where !entry.isCancelled {
            entries[token]?.isCancelled = true
            if let handle = entry.handle { handles.append(handle) }
        }
        return handles
    }
}
