internal import Bus
internal import Kernel
internal import Logging
private import Synchronization

/// One replica's turn at reading one stream for a feature.
final class ConsumerTurn: Sendable {
    let lease: ConsumerLease
    /// Raised when the turn or the pass through the stream ends.
    let change = WakeSignal()
    private let state: Mutex<State>

    private struct State {
        var isOver = false
        var reading: StreamReading<StreamMessage>
        /// What the broker said at the last check.
        var deliveries: Int?
    }

    init(lease: ConsumerLease, position: StreamPosition?) {
        self.lease = lease
        self.state = Mutex(State(reading: StreamReading(position: position)))
    }

    /// Whether events may be handled. It ends when another replica reads, and when this one stops.
    var goesOn: Bool { state.withLock { !$0.isOver } }
    var position: StreamPosition? { state.withLock { $0.reading.position } }
    var anchor: Int? { state.withLock { $0.reading.anchor } }
    var missing: ClosedRange<Int>? { state.withLock { $0.reading.missing } }
    var isBroken: Bool { state.withLock { $0.reading.isBroken } }
    var mayRepeat: Bool { state.withLock { $0.reading.mayRepeat } }

    func end() {
        state.withLock { $0.isOver = true }
        change.wake()
    }

    func opened(consumer: ConsumerStart, newest: Int, anchor: StreamPosition?) -> StreamReading<StreamMessage>.Opening {
        state.withLock { $0.reading.opened(consumer: consumer, newest: newest, anchor: anchor) }
    }

    func take(_ batch: [JetStreamMessage]) -> [StreamMessage] {
        defer { if isBroken { change.wake() } }
        return state.withLock { $0.isOver ? [] : $0.reading.take(batch.map { StreamMessage($0) }) }
    }

    func takeRead(_ batch: [StoredMessage], of range: ClosedRange<Int>) -> [StreamMessage] {
        state.withLock { $0.isOver ? [] : $0.reading.takeRead(batch.map { StreamMessage($0) }, of: range) }
    }

    func finished(_ messages: [StreamMessage], handled: Set<Int>, repeated: Int) {
        defer { if isBroken { change.wake() } }
        state.withLock { $0.reading.finished(messages, handled: handled, repeated: repeated) }
    }

    /// Nothing of it was to be handled.
    func passed(_ messages: [StreamMessage]) {
        state.withLock { $0.reading.passed(messages) }
    }

    /// - Returns: whether nothing came since the last check, and nothing is missing.
    func checked(deliveries: Int) -> Bool {
        state.withLock { state in
            state.reading.checked(deliveries: deliveries)
            defer { state.deliveries = deliveries }
            return state.deliveries == deliveries && !state.reading.isSuspicious
        }
    }
}

extension EventConsumer {
    /// Consumes one stream whenever this replica holds the lease, until the task is cancelled.
    func consume(stream: String) async {
        let lease = ConsumerLease(
            feature: feature,
            stream: stream,
            holder: replica,
            database: database,
            presence: presence,
            length: leaseLength
        )
        var failures = 0
        while !Task.isCancelled {
            do {
                if let position = try await withTimeLimit(ConsumerLease.statementLimit, lease.acquire) {
                    // Cancelled or not, what a turn has begun it ends.
                    try await takeTurn(ConsumerTurn(lease: lease, position: position.value))
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

    /// Returns when the lease is lost or the task cancelled; throws when the broker is away. Either way the others may read then.
    private func takeTurn(_ turn: ConsumerTurn) async throws {
        turns.withLock { $0[turn.lease.stream] = turn }
        let renewing = Task { await renew(turn) }
        let result = await withTaskCancellationHandler {
            await Result { [self] in
                while turn.goesOn, !Task.isCancelled { try await read(turn) }
            }
        } onCancel: {
            // An event that waits for a database that is away would otherwise wait for as long as a batch may take.
            turn.end()
        }
        turn.end()
        renewing.cancel()
        await renewing.value
        turns.withLock { $0[turn.lease.stream] = nil }
        // The task may be cancelled by now, and what is cancelled sends no statement.
        await Task { try? await withTimeLimit(ConsumerLease.statementLimit) { await turn.lease.release(at: turn.position) } }
            .value
        try result.get()
    }

    /// Renews the lease, and notes how far we are. While the database is away the turn goes on: no other replica can acquire the lease, and
    /// should one do so before we notice, the inbox keeps each event to its one effect and `StreamReading` each aggregate to its order.
    private func renew(_ turn: ConsumerTurn) async {
        // The row may have been taken before the presence could be shown: the first time it is renewed soon.
        var held = ConsumerLease.Hold(presence: nil, length: turn.lease.length)
        var (noted, renewed) = (turn.position, ContinuousClock.now)
        while turn.goesOn, !Task.isCancelled {
            try? await Task.sleep(for: held.notice)
            if Task.isCancelled { break }
            let (hold, position, now) = (turn.lease.hold, turn.position, ContinuousClock.now)
            let isAsNoted = position == noted && hold == held && now + hold.notice < renewed + hold.renewal
            if isAsNoted { continue }
            let isOurs = try? await withTimeLimit(ConsumerLease.statementLimit) {
                try await turn.lease.renew(hold, at: position)
            }
            guard let isOurs else { continue }
            if !isOurs { turn.end() }
            (held, noted, renewed) = (hold, position, now)
        }
    }

    /// One pass through the stream, until it breaks.
    private func read(_ turn: ConsumerTurn) async throws {
        // From before the first question: the answers, and what is delivered later, are of the same broker.
        let epoch = jetStream.epoch
        guard try await open(turn) else {
            await turn.change.wait(atMost: .milliseconds(200))
            return
        }
        try await readMissing(turn)
        if turn.goesOn, !turn.isBroken, !Task.isCancelled { try await takeDeliveries(turn, endingWith: epoch) }
        // Were it to break at once for ever, it should not cost more than this.
        if turn.isBroken { try? await Task.sleep(for: .milliseconds(20)) }
    }

    /// - Returns: false when the stream cannot be read at this moment.
    private func open(_ turn: ConsumerTurn) async throws -> Bool {
        let stream = turn.lease.stream
        let consumer = try await jetStream.consumerInfo(stream: stream, durable: durable)
        let newest = try await jetStream.newestMessage(in: stream)
        var anchor: StoredMessage?
        if let place = turn.anchor { anchor = try await jetStream.message(in: stream, at: place) }
        let opening = turn.opened(
            consumer: ConsumerStart(deliveries: consumer.delivered, through: consumer.deliveredStreamSequence),
            newest: newest?.streamSequence ?? 0,
            anchor: anchor.map { StreamPosition($0) }
        )
        switch opening {
        case .ready: return true
        case .consumerAhead: return false
        case .otherStream:
            logger.warning(
                "an event stream is not the one that was consumed and is read from its beginning",
                metadata: ["stream": "\(stream)"]
            )
            return true
        }
    }

    /// Reads what was delivered before this pass, to another replica or in vain.
    private func readMissing(_ turn: ConsumerTurn) async throws {
        while turn.goesOn, !turn.isBroken, !Task.isCancelled, let range = turn.missing {
            let batch = try await jetStream.messages(in: turn.lease.stream, at: range, atMost: batch)
            await handle(turn.takeRead(batch, of: range), turn)
        }
    }

    /// Cancelled or not, a batch that was begun is ended; one that does not end costs the turn.
    private func handle(_ batch: [StreamMessage], _ turn: ConsumerTurn) async {
        // Most streams have far more events than those that one feature handles.
        guard batch.contains(where: { handlers[$0.subject] != nil }) else { return turn.passed(batch) }
        await Task(executorPreference: executor) { [self] in
            do { try await withTimeLimit(Self.batchLimit) { [self] in await consume(batch, turn) } } catch {
                logger.error(
                    "a batch of events does not end",
                    metadata: ["stream": "\(turn.lease.stream)", "error": "\(error)"]
                )
                turn.end()
            }
        }.value
    }

    private func takeDeliveries(_ turn: ConsumerTurn, endingWith epoch: ConnectionEpoch) async throws {
        let stream = turn.lease.stream
        let consumption = jetStream.consume(
            stream: stream,
            durable: durable,
            batch: batch,
            needing: subjects,
            on: executor,
            endingWith: epoch
        ) { [self] batch in
            await handle(turn.take(batch), turn)
        }
        var failure: (any Error)?
        var pause = Self.shortestCheck
        while turn.goesOn, !turn.isBroken, !Task.isCancelled, !consumption.hasEnded {
            await turn.change.wait(atMost: pause)
            guard turn.goesOn, !turn.isBroken, !Task.isCancelled else { break }
            do {
                let delivered = try await jetStream.consumerInfo(stream: stream, durable: durable).delivered
                pause = turn.checked(deliveries: delivered) ? min(pause * 2, Self.longestCheck) : Self.shortestCheck
            } catch {
                // Without its consumer, or without a broker: the turn begins anew, here or elsewhere.
                failure = error
                break
            }
        }
        if Task.isCancelled || failure != nil { turn.end() }
        // The handler has a limit of its own.
        await consumption.stop(within: .seconds(Self.batchLimit.components.seconds + 10))
        if let failure { throw failure }
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
