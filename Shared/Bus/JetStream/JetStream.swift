internal import FoundationEssentials
public import Kernel
internal import Loop

/// Streams and durable consumers, by JetStream's wire protocol over our own requests. It blocks no thread.
public final class JetStream: Sendable {
    private let connection: BusConnection
    /// How long one request of the API may take.
    private let timeout: Interval

    /// JetStream over a connection.
    public init(connection: BusConnection, timeout: Interval = .seconds(5)) {
        self.connection = connection
        self.timeout = timeout
    }

    /// The present unbroken connection to the broker.
    public var epoch: ConnectionEpoch { connection.epoch }

    /// Creates a stream, or updates the one of that name.
    ///
    /// Not for concurrent calls: nats-server 2.9 reports a false conflict of subjects to some of them, or stops answering.
    ///
    /// - Throws: `JetStreamError` for what the broker refuses (such as subjects of another stream), `ServiceError` `UNAVAILABLE`
    ///   when it has no JetStream or is down.
    public func ensureStream(_ configuration: StreamConfiguration) async throws {
        try checkName(configuration.name)
        let stream = JetStreamCodec.Stream(configuration)
        do {
            _ = try await ask("STREAM.UPDATE.\(configuration.name)", stream, JetStreamCodec.Envelope.self)
        } catch let error as JetStreamError where error.code == JetStreamError.streamNotFound || error.status == 404 {
            do {
                _ = try await ask("STREAM.CREATE.\(configuration.name)", stream, JetStreamCodec.Envelope.self)
            } catch let error as JetStreamError where error.code == JetStreamError.streamNameInUse {
                // Another process was faster. If the configurations differ, a deployment is under way, and the last one wins.
                _ = try await ask("STREAM.UPDATE.\(configuration.name)", stream, JetStreamCodec.Envelope.self)
            }
        }
    }

    /// What a stream holds.
    ///
    /// - Throws: `JetStreamError`, `ServiceError`.
    public func streamInfo(_ stream: String) async throws -> StreamInfo {
        try checkName(stream)
        let answer = try await ask("STREAM.INFO.\(stream)", nil as String?, JetStreamCodec.StreamState.self)
        guard let created = Instant(rfc3339: answer.created) else {
            throw ServiceError.unavailable("The event stream sent an invalid reply.")
        }
        let state = answer.state
        return StreamInfo(
            created: created,
            messages: state.messages,
            bytes: state.bytes,
            firstSequence: state.first,
            lastSequence: state.last,
            consumers: state.consumers
        )
    }

    /// How far a consumer is.
    ///
    /// - Throws: `JetStreamError`, `ServiceError`.
    public func consumerInfo(stream: String, durable: String) async throws -> ConsumerInfo {
        try checkName(stream)
        try checkName(durable)
        return try await ask("CONSUMER.INFO.\(stream).\(durable)", nil as String?, JetStreamCodec.ConsumerState.self).info
    }

    /// Creates a durable consumer that delivers each message once, in the order of the stream, without acknowledgement. Its reader
    /// stores its own position, and reads lost messages by their sequence number (`messages(in:at:atMost:)`). An existing consumer
    /// of that name with other settings is replaced.
    ///
    /// - Throws: `JetStreamError`, `ServiceError`.
    public func ensureReader(stream: String, durable: String) async throws {
        try checkName(stream)
        try checkName(durable)
        let verb = "\(stream).\(durable)"
        let request = JetStreamCodec.ConsumerRequest(stream: stream, config: JetStreamCodec.Reader(durable: durable))
        do {
            _ = try await ask("CONSUMER.DURABLE.CREATE.\(verb)", request, JetStreamCodec.Envelope.self)
        } catch let error as JetStreamError where error.code == JetStreamError.consumerDiffers {
            try await deleteConsumer(stream: stream, durable: durable)
            _ = try await ask("CONSUMER.DURABLE.CREATE.\(verb)", request, JetStreamCodec.Envelope.self)
        }
    }

    /// Deletes a durable consumer; its deliveries end.
    ///
    /// - Throws: `JetStreamError` also when there is none, `ServiceError`.
    public func deleteConsumer(stream: String, durable: String) async throws {
        try checkName(stream)
        try checkName(durable)
        _ = try await ask("CONSUMER.DELETE.\(stream).\(durable)", nil as String?, JetStreamCodec.Envelope.self)
    }

    /// Publishes one message and waits until the broker has stored it.
    ///
    /// - Throws: `JetStreamError` when it was refused, `ServiceError` `UNAVAILABLE` when no stream has the subject, or
    ///   `DEADLINE_EXCEEDED`: the message may or may not be stored, and may be published again under the same id.
    public func publish(
        subject: String,
        messageID: String?,
        headers: BusHeaders = [:],
        body: [UInt8],
        deadline: Instant
    ) async throws -> PublishAck {
        let event = OutgoingEvent(subject: subject, messageID: messageID, headers: headers, body: body)
        return try await acknowledgement(start(event, deadline: deadline))
    }

    /// Publishes several messages: all are sent in order, before the first reply is awaited.
    ///
    /// Each is independent: one may fail and a later one be stored. For a strict order, wait for each reply before sending the
    /// next. `Nats-Expected-Last-Msg-Id` is no substitute, because a duplicate is acknowledged wherever it is in the stream.
    ///
    /// - Returns: One result for each message, in their order. The errors are those of `publish(subject:…)`.
    public func publish(_ events: [OutgoingEvent], deadline: Instant) async -> [Result<PublishAck, any Error>] {
        let sent = events.map { event in Result { try start(event, deadline: deadline) } }
        // Replies come in order: waiting for the last one wakes this task only once.
        var results: [Result<PublishAck, any Error>] = []
        results.reserveCapacity(events.count)
        for pending in sent.reversed() {
            do {
                results.append(.success(try await acknowledgement(try pending.get())))
            } catch {
                results.append(.failure(error))
            }
        }
        return results.reversed()
    }

    /// Runs tasks of one kind on the connection's loop, between its messages (`LoopExecutor`).
    public func executor() -> any TaskExecutor { LoopExecutor(connection.loop) }

    /// Starts to receive the messages of a durable consumer.
    ///
    /// If the broker is down, or the consumer does not exist yet, it retries until `stop()`.
    ///
    /// - Parameters:
    ///   - stream: The stream.
    ///   - durable: The consumer.
    ///   - batch: Most messages that are requested, and passed to the handler, at once.
    ///   - subjects: Messages of other subjects are passed without their headers and body, for their places alone. nil: none are.
    ///   - executor: Runs the handler; nil: one of its own (`executor()`).
    ///   - epoch: The connection with which it ends (`Consumption.hasEnded`): messages in flight are then lost, and the
    ///     stream may be another one. nil: it continues over reconnects.
    ///   - handler: Gets received messages in order, one call after the other. No message is delivered again: one that was lost is read
    ///     by its place (`messages(in:at:atMost:)`).
    public func consume(
        stream: String,
        durable: String,
        batch: Int,
        needing subjects: Set<String>? = nil,
        on executor: (any TaskExecutor)? = nil,
        endingWith epoch: ConnectionEpoch? = nil,
        handler: @escaping @Sendable ([JetStreamMessage]) async -> Void
    ) -> Consumption {
        Consumption(
            connection: connection,
            stream: stream,
            durable: durable,
            batch: max(1, batch),
            subjects: subjects,
            executor: executor ?? self.executor(),
            epoch: epoch,
            handler: handler
        )
    }

    private func start(_ event: OutgoingEvent, deadline: Instant) throws(ServiceError) -> PendingReply {
        var headers = event.headers
        if let id = event.messageID { headers["Nats-Msg-Id"] = id }
        return try connection.startRequest(event.subject, headers: headers, body: event.body, deadline: deadline)
    }

    private func acknowledgement(_ pending: PendingReply) async throws -> PublishAck {
        let reply = try await pending.value()
        if let ack = JetStreamCodec.plainAck(reply.body) { return ack }
        let ack = try JetStreamCodec.decode(JetStreamCodec.Ack.self, reply)
        return PublishAck(stream: ack.stream, sequence: ack.seq, isDuplicate: ack.duplicate ?? false)
    }

    /// Sends a request of the API about a stream.
    func start(_ verb: String, of stream: String, _ body: some Encodable) throws -> PendingReply {
        try checkName(stream)
        return try connection.startRequest(
            "$JS.API.\(verb).\(stream)",
            body: try JetStreamCodec.encode(body),
            deadline: SystemClock.now() + timeout
        )
    }

    private func ask<Value: Decodable>(_ verb: String, _ body: (some Encodable)?, _: Value.Type) async throws -> Value {
        let reply = try await connection.request(
            "$JS.API.\(verb)",
            body: try body.map { try JetStreamCodec.encode($0) } ?? [],
            deadline: SystemClock.now() + timeout
        )
        return try JetStreamCodec.decode(Value.self, reply)
    }

    /// Names of streams and consumers are tokens of subjects.
    private func checkName(_ name: String) throws(ServiceError) {
        guard ServiceNaming.isName(name) else { throw .validation(field: "name", "is not a valid name of a stream or consumer") }
    }
}
