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
    /// - Throws: What `publish` throws; `ServiceError` `UNAVAILABLE` when the connection was closed; `CancellationError` when the task was cancelled.
    public func scatter(
        _ subject: String,
        body: [UInt8] = [],
        for interval: Interval,
        atMost most: Int
    ) async throws -> [BusMessage] {
        let end = Tick.now() + interval
        let token = try requests.open(until: end)
        defer { requests.remove(token) }
        try requests.keep(token, until: end)
        try publish(subject, body: body, reply: requests.replySubject(token))
        var collected: [BusMessage] = []
        while collected.count < most {
            switch await requests.outcome(of: token) {
            case .reply(let answer): collected.append(answer)
            case .noResponders, .expired, .silence: return collected
            case .cancelled: throw CancellationError()
            case .failed(let error): throw error
            }
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
