public import Kernel

extension BusConnection {
    /// Sends a request and waits for the first reply.
    ///
    /// - Parameters:
    ///   - subject: The responder's subject.
    ///   - headers: Sent as they are; nothing is added.
    ///   - body: The payload.
    ///   - deadline: Until when to wait, in wall-clock time.
    /// - Returns: The reply, which may be an error reply.
    /// - Throws: `ServiceError` `UNAVAILABLE` at once without a responder, `DEADLINE_EXCEEDED`, or what `publish` throws;
    ///   `CancellationError` when the task was cancelled.
    public func request(
        _ subject: String,
        headers: BusHeaders = [:],
        body: [UInt8],
        deadline: Instant
    ) async throws -> BusMessage {
        let token = try send(subject, headers: headers, body: body, until: Tick(deadline: deadline))
        return try await requests.outcome(of: token).reply()
    }

    /// Sends a request and returns before the reply. Requests are sent in the order of these calls.
    ///
    /// - Throws: What `publish` throws.
    public func startRequest(
        _ subject: String,
        headers: BusHeaders = [:],
        body: [UInt8],
        deadline: Instant
    ) throws(ServiceError) -> PendingReply {
        PendingReply(requests, try send(subject, headers: headers, body: body, until: Tick(deadline: deadline)))
    }

    /// Sends a request to all subscribers and collects their replies; for discovery.
    ///
    /// - Parameters:
    ///   - subject: The subject of any number of subscribers.
    ///   - body: The payload.
    ///   - interval: How long to collect.
    ///   - most: Stops early after this many replies.
    /// - Returns: The replies in the order of their arrival; none without subscribers.
    /// - Throws: What `publish` throws.
    public func scatter(
        _ subject: String,
        body: [UInt8] = [],
        for interval: Interval,
        atMost most: Int
    ) async throws -> [BusMessage] {
        let (answers, continuation) = AsyncStream.makeStream(of: BusMessage.self)
        let inbox = makeInbox()
        let subscription = try subscribe(inbox) { continuation.yield($0) }
        defer { subscription.cancel() }
        try publish(subject, body: body, reply: inbox)
        let alarm = Alarm(at: Tick.now() + interval, label: "bus.scatter") { continuation.finish() }
        defer { withExtendedLifetime(alarm) {} }
        var collected: [BusMessage] = []
        for await answer in answers {
            if answer.brokerStatus == 503, answer.body.isEmpty { break }
            collected.append(answer)
            if collected.count >= most { break }
        }
        return collected
    }

    /// Opens a request and publishes it.
    ///
    /// - Parameter instance: the one that the subject is of; nil for any.
    func send(
        _ subject: String,
        headers: BusHeaders,
        body: [UInt8],
        until deadline: Tick,
        instance: InstanceID? = nil
    ) throws(ServiceError) -> UInt64 {
        let token = try requests.open(until: deadline)
        do {
            try publish(subject, headers: headers, body: body, reply: requests.replySubject(token, instance: instance))
        } catch {
            requests.remove(token)
            throw error
        }
        return token
    }
}
