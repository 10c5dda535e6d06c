internal import Bus
internal import Kernel
internal import Logging
private import Synchronization

/// One replica's turn at hearing one stream.
final class StreamHearing: Sendable {
    let lease: HearingLease
    /// Raised when the turn or the pass through the stream ends.
    let change = WakeSignal()
    private let state: Mutex<State>

    private struct State {
        var isOver = false
        var reading: StreamReading<JetStreamMessage>
    }

    init(lease: HearingLease, position: StreamPosition?) {
        self.lease = lease
        self.state = Mutex(State(reading: StreamReading(position: position)))
    }

    /// Whether events may be handled. It ends when another replica hears, and when this one stops.
    var goesOn: Bool { state.withLock { !$0.isOver } }
    var position: StreamPosition? { state.withLock { $0.reading.position } }
    var start: Int? { state.withLock { $0.reading.start } }
    var isBroken: Bool { state.withLock { $0.reading.isBroken } }
    var mayRepeat: Bool { state.withLock { $0.reading.mayRepeat } }

    func end() {
        state.withLock { $0.isOver = true }
        change.wake()
    }

    func opened(_ reader: ConsumerInfo) -> Bool {
        state.withLock { $0.reading.opened(first: reader.deliveredStreamSequence + 1, isEmpty: reader.pending == 0) }
    }

    func take(_ batch: [JetStreamMessage]) -> [JetStreamMessage] {
        defer { if isBroken { change.wake() } }
        return state.withLock { $0.isOver ? [] : $0.reading.take(batch) }
    }

    func finished(_ messages: [JetStreamMessage], handled: Set<Int>, repeated: Int) {
        defer { if isBroken { change.wake() } }
        state.withLock { $0.reading.finished(messages, handled: handled, repeated: repeated) }
    }

    func checked(delivered: Int) { state.withLock { $0.reading.checked(delivered: delivered) } }
}

extension EventConsumer {
    /// Hears one stream whenever it is this replica's turn, until the task is cancelled.
    func hear(stream: String) async {
        let lease = HearingLease(stream: stream, holder: replica, database: database)
        var failures = 0
        while !Task.isCancelled {
            do {
                if let position = try await lease.take() {
                    // Cancelled or not, what a turn has begun it ends.
                    try await takeTurn(StreamHearing(lease: lease, position: position.value))
                }
                failures = 0
            } catch {
                failures += 1
                if failures % 50 == 10 {
                    logger.warning("waiting for an event stream", metadata: ["stream": "\(stream)", "error": "\(error)"])
                }
            }
            try? await Task.sleep(for: .milliseconds(200))
        }
    }

    /// Returns when the lease is lost or the task cancelled; throws when the broker is away. Either way the others may hear then.
    private func takeTurn(_ hearing: StreamHearing) async throws {
        turns.withLock { $0[hearing.lease.stream] = hearing }
        let keeper = Task { await keep(hearing) }
        let result = await Result { [self] in
            while hearing.goesOn, !Task.isCancelled { try await read(hearing) }
        }
        hearing.end()
        keeper.cancel()
        await keeper.value
        turns.withLock { $0[hearing.lease.stream] = nil }
        // The task may be cancelled by now, and what is cancelled sends no statement.
        await Task { await hearing.lease.giveUp(at: hearing.position) }.value
        try result.get()
    }

    /// Prolongs the lease, and notes how far we are. While the database is away the turn goes on: nobody else can take it, and should
    /// somebody before we notice, the inbox keeps each event to its one effect and `StreamReading` each aggregate to its order.
    private func keep(_ hearing: StreamHearing) async {
        while hearing.goesOn, !Task.isCancelled {
            try? await Task.sleep(for: HearingLease.renewal)
            if Task.isCancelled { break }
            if let isOurs = try? await hearing.lease.prolong(at: hearing.position), !isOurs { hearing.end() }
        }
    }

    /// One pass through the stream, until it breaks.
    private func read(_ hearing: StreamHearing) async throws {
        let stream = hearing.lease.stream
        let reader = try await jetStream.openReader(stream: stream, durable: service, from: hearing.start)
        guard hearing.opened(reader) else {
            logger.warning(
                "an event stream is not the one that was heard and is read from its beginning",
                metadata: ["stream": "\(stream)"]
            )
            return
        }
        let consumption = jetStream.consume(stream: stream, durable: service, batch: 100, endsWithConnection: true) {
            [self] batch in
            await hear(batch, hearing)
        }
        var failure: (any Error)?
        while hearing.goesOn, !hearing.isBroken, !Task.isCancelled, !consumption.hasEnded {
            await hearing.change.wait(atMost: .seconds(1))
            guard hearing.goesOn, !hearing.isBroken, !Task.isCancelled else { break }
            do {
                hearing.checked(delivered: try await jetStream.consumerInfo(stream: stream, durable: service).delivered)
            } catch {
                // Without its reader, or without a broker: the turn begins anew, here or elsewhere.
                failure = error
                break
            }
        }
        if Task.isCancelled || failure != nil { hearing.end() }
        await consumption.stop()
        if let failure { throw failure }
        // Were it to break at once for ever, it should not cost more than this.
        if hearing.isBroken { try? await Task.sleep(for: .milliseconds(20)) }
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
