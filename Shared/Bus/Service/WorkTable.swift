internal import Kernel

/// The requests that a service runs at this moment: events in, actions out, no I/O.
///
/// A request holds its place until its handler has returned, also after its deadline: only so is the number of running handlers bounded.
struct WorkTable<Handle: Sendable>: Sendable {
    /// What to do with a request that came.
    enum Admission: Sendable, Equatable {
        /// Run it under this number; call `expire` at `wakeAt` unless an earlier time is set already.
        case run(UInt64, wakeAt: Tick?)
        /// Refuse it: as much runs as may.
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
    private var wakeAt = Tick.never

    init(mostInFlight: Int) { self.mostInFlight = mostInFlight }

    /// How many requests run.
    var count: Int { entries.count }

    /// A request came.
    mutating func admit(deadline: Tick) -> Admission {
        guard entries.count < mostInFlight else { return .overloaded }
        let token = nextToken
        nextToken += 1
        entries[token] = Entry(deadline: deadline)
        guard deadline < wakeAt else { return .run(token, wakeAt: nil) }
        wakeAt = deadline
        return .run(token, wakeAt: deadline)
    }

    /// The request runs, and can be cancelled by this handle.
    ///
    /// - Returns: Whether it was cancelled before there was a handle; the owner then cancels it.
    mutating func attach(_ token: UInt64, _ handle: Handle) -> Bool {
        // A quick handler has returned by now.
        guard let entry = entries[token] else { return false }
        entries[token]?.handle = handle
        return entry.isCancelled
    }

    /// The handler has returned.
    mutating func finish(_ token: UInt64) { entries[token] = nil }

    /// The time has come to look for deadlines that have passed.
    ///
    /// - Returns: What to cancel, and when to call again; nil when nothing needs it.
    mutating func expire(now: Tick) -> (handles: [Handle], wakeAt: Tick?) {
        var handles: [Handle] = []
        wakeAt = .never
        for (token, entry) in entries where !entry.isCancelled {
            if entry.deadline > now {
                wakeAt = min(wakeAt, entry.deadline)
            } else {
                entries[token]?.isCancelled = true
                if let handle = entry.handle { handles.append(handle) }
            }
        }
        return (handles, wakeAt == .never ? nil : wakeAt)
    }

    /// Time is up for everything that runs.
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
