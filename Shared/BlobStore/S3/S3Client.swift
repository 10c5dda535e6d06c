internal import Kernel
internal import Logging
internal import OutgoingHTTP

/// Why a request to S3 failed.
struct S3Failure: Error, CustomStringConvertible {
    /// The error for callers.
    enum Kind: Equatable {
        case noKey, noBucket, denied, full, unavailable
    }

    let kind: Kind
    /// For the log: request and answer, without secrets.
    let description: String
}

/// Signed requests to one bucket, retried while the server is down: all of them may be repeated.
struct S3Client: Sendable {
    /// One request.
    struct Call: Sendable {
        var method: String
        /// The path below the bucket; empty for the bucket itself.
        var path = ""
        var query: [(name: String, value: String)] = []
        var headers: [(name: String, value: String)] = []
        var body: Spool?
        var bodyHash = S3Client.emptyHash
        var mostBytes = 64 << 10
        /// Statuses that are valid answers, besides those of success.
        var expected: Set<Int> = []
    }

    private static let emptyHash = SigV4.hash([])
    /// Bytes a second below which an upload is too slow.
    private static let slowest: Int64 = 128 << 10

    let http: OutgoingHTTP
    let address: S3Address
    let signer: SigV4
    let retries: S3Retries
    let logger: Logger

    func request(_ method: String, _ path: String) -> SigV4.Request {
        SigV4.Request(method, scheme: address.scheme, host: address.host, path: address.root + path)
    }

    /// - Throws: `S3Failure`; `CancellationError`.
    func send(_ call: Call) async throws -> OutgoingHTTP.Reply {
        let started = ContinuousClock.now
        for attempt in 1... {
            let outcome = try await attemptOnce(call)
            if case .success(let reply) = outcome, (200...299).contains(reply.status) || call.expected.contains(reply.status) {
                return reply
            }
            let failure = failure(of: outcome, call)
            let isOver =
                attempt >= retries.attempts || ContinuousClock.now - started >= .microseconds(retries.within.microseconds)
            guard Self.isPassing(outcome), !isOver else { throw failure }
            logger.debug("retrying a request to the blob store", metadata: ["cause": "\(failure)", "attempt": "\(attempt)"])
            let pause = retries.pause(after: attempt, seed: UInt64(bitPattern: SystemClock.now().microseconds))
            try await Task.sleep(for: .microseconds(pause.microseconds))
        }
        throw S3Failure(kind: .unavailable, description: "no attempt")
    }

    private func attemptOnce(_ call: Call) async throws -> Result<OutgoingHTTP.Reply, OutgoingHTTP.Failure> {
        var request = request(call.method, call.path)
        // S3 accepts a path-style bucket without a slash at its end, but some compatible stores do not.
        if call.path.isEmpty, request.path.count > 1 { request.path.removeLast() }
        (request.query, request.headers) = (call.query, call.headers)
        let signed = signer.headers(for: request, payloadHash: call.bodyHash, now: SystemClock.now())
        let size = call.body?.size ?? 0
        do {
            return .success(
                try await http.send(
                    OutgoingHTTP.Request(
                        call.method,
                        request.url,
                        // Ranges of compressed content would not be the blob's. Not signed: proxies change it.
                        headers: request.headers + signed + [("Accept-Encoding", "identity")],
                        body: call.body == nil && call.method == "PUT" ? [] : nil,
                        source: call.body,
                        timeout: retries.timeout + .milliseconds(size * 1_000 / Self.slowest),
                        mostBytes: call.mostBytes
                    )
                )
            )
        } catch let failure as OutgoingHTTP.Failure {
            return .failure(failure)
        } catch is ServiceError {
            // Too many requests wait already: a retry would make it worse.
            return .failure(.notAllowed)
        }
    }

    /// Whether a retry may succeed.
    private static func isPassing(_ outcome: Result<OutgoingHTTP.Reply, OutgoingHTTP.Failure>) -> Bool {
        switch outcome {
        case .success(let reply): [408, 409, 429, 500, 502, 503, 504].contains(reply.status) || isCutOff(reply)
        case .failure(.timedOut), .failure(.notConnected), .failure(.unreachable): true
        case .failure: false
        }
    }

    /// The server timed out while it waited for the rest of the body, and reports a client error.
    private static func isCutOff(_ reply: OutgoingHTTP.Reply) -> Bool {
        reply.status == 400 && S3Complaint(reply.body).code == "RequestTimeout"
    }

    private func failure(of outcome: Result<OutgoingHTTP.Reply, OutgoingHTTP.Failure>, _ call: Call) -> S3Failure {
        let asked = "\(call.method) \(call.path) at \(address.host)"
        switch outcome {
        case .failure(.timedOut): return S3Failure(kind: .unavailable, description: "\(asked): no answer in time")
        case .failure(.notAllowed): return S3Failure(kind: .unavailable, description: "\(asked): too many requests wait")
        case .failure(let failure): return S3Failure(kind: .unavailable, description: "\(asked): \(failure)")
        case .success(let reply):
            let complaint = S3Complaint(reply.body)
            let kind = Self.kind(reply.status, complaint.code)
            return S3Failure(kind: kind, description: "\(asked): \(reply.status) \(complaint.code): \(complaint.message)")
        }
    }

    private static func kind(_ status: Int, _ code: String) -> S3Failure.Kind {
        switch (status, code) {
        case (_, "NoSuchBucket"): .noBucket
        case (404, _): .noKey
        case (507, _), (_, "XMinioStorageFull"), (_, "QuotaExceeded"), (_, "InsufficientCapacity"): .full
        case (408, _), (409, _), (412, _), (429, _), (500..., _), (_, "RequestTimeout"): .unavailable
        // Also redirects to another region: a retry does not help, other settings do.
        default: .denied
        }
    }
}

/// How often a request is retried, and how long it may take.
struct S3Retries: Sendable {
    /// Time limit of one attempt, without the time for its body.
    var timeout = Interval.seconds(8)
    /// At least 1.
    var attempts = 4
    /// The latest start of an attempt, after the first.
    var within = Interval.seconds(12)
    var firstPause = Interval.milliseconds(100)

    /// Doubles, with jitter in its upper half so that replicas do not retry at the same time.
    func pause(after attempt: Int, seed: UInt64) -> Interval {
        let whole = firstPause.microseconds << Int64(min(max(attempt, 1) - 1, 10))
        // The finaliser of SplitMix64 (Steele, Lea and Flood 2014).
        var value = seed &+ 0x9E37_79B9_7F4A_7C15
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        value ^= value >> 31
        return Interval(microseconds: whole / 2 + Int64(value % UInt64(whole / 2 + 1)))
    }
}
