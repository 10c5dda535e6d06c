internal import Kernel

/// The requests and replies of one HTTP/1 connection: when it is kept, when it is closed, and what is thrown away. Pure: events in, actions
/// out.
///
/// Requests may be pipelined; replies leave in the order of the requests, one after the other. Once a reply says `Connection: close`, or
/// the parser has lost its way, nothing more is read.
struct ConnectionState {
    /// A refused request's rest of up to this size is read and thrown away, so that the connection can be kept.
    static let mostDrained = 64 << 10
    /// Requests that may wait for their replies at once. All of one read are taken apart together, and kept until their turn
    /// comes: what is beyond would cost more memory than it cost its sender.
    static let mostAhead = 256

    /// What to do with what has arrived.
    enum Inbound: Equatable {
        case forward
        case discard
        /// Answer with this error in place of a reply, then close.
        case refuse(ServiceError, isHead: Bool)
        case close
    }

    /// How the head of a final reply goes out.
    enum Outbound: Equatable {
        case discard
        /// `isDelimitedByClose`: the client does not support chunks, so a reply of unknown length ends with the connection.
        case send(closes: Bool, saysKeepAlive: Bool, isDelimitedByClose: Bool)
    }

    private struct Turn {
        var facts: RequestHeadRules.Facts
        /// Bytes of the body that have not arrived; nil when their number is unknown.
        var missing: Int?
        var isComplete = false
        var reply = Reply.none
        var closes = false

        enum Reply { case none, begun, ended }
    }

    private var turns: [Turn] = []
    /// An error that waits until earlier requests have their replies.
    private var refusal: (error: ServiceError, isHead: Bool)?
    /// Nothing that arrives counts any more.
    private var isDeaf = false
    /// The server stops: the next reply closes the connection.
    private var isDraining = false
    /// The connection is not kept without a request.
    private var isEnding = false
    /// The last reply has been written.
    private(set) var isClosing = false

    // MARK: What arrives

    /// The head of a request, or why it is refused.
    mutating func received(_ facts: Result<RequestHeadRules.Facts, ServiceError>, isHead: Bool) -> Inbound {
        // RFC 9112 §9.6: what follows a request that ends the connection is not served.
        guard !isDeaf, turns.last?.facts.keepsAlive ?? true else { return .discard }
        guard turns.count < Self.mostAhead else { return refuse(Self.tooMany, isHead: isHead) }
        switch facts {
        case .success(let facts):
            var turn = Turn(facts: facts)
            if case .length(let bytes) = facts.framing { turn.missing = bytes }
            turns.append(turn)
            return .forward
        case .failure(let error): return refuse(error, isHead: isHead)
        }
    }

    private static let tooMany = ServiceError(
        .resourceExhausted,
        "RATE_LIMITED",
        "Too many requests on one connection without waiting for replies."
    )

    /// Bytes of a body.
    mutating func received(bytes: Int) -> Inbound {
        guard !isDeaf, let last = turns.indices.last, !turns[last].isComplete else { return .discard }
        turns[last].facts.awaitsContinue = false
        turns[last].missing = turns[last].missing.map { $0 - bytes }
        return .forward
    }

    /// The end of a request.
    mutating func receivedEnd() -> Inbound {
        guard !isDeaf, let last = turns.indices.last, !turns[last].isComplete else { return .discard }
        turns[last].isComplete = true
        if turns[last].reply == .ended { turns.removeLast() }
        return .forward
    }

    /// The parser has failed: where the next request begins is unknown.
    mutating func failed(_ error: ServiceError) -> Inbound {
        guard !isDeaf else { return .discard }
        guard let last = turns.indices.last, !turns[last].isComplete else { return refuse(error, isHead: false) }
        isDeaf = true
        turns[last].facts.keepsAlive = false
        guard turns[last].reply != .ended else {
            isClosing = true
            return .close
        }
        // The responder gets the error when it reads the body.
        return .forward
    }

    private mutating func refuse(_ error: ServiceError, isHead: Bool) -> Inbound {
        isDeaf = true
        guard turns.allSatisfy({ $0.reply == .ended }) else {
            refusal = (error, isHead)
            return .discard
        }
        isClosing = true
        return .refuse(error, isHead: isHead)
    }

    // MARK: What goes out

    /// Whether `100 Continue` is to be sent, now that the body is wanted.
    mutating func wantsBody() -> Bool {
        guard !isClosing, !isDeaf, let last = turns.indices.last, turns[last].facts.awaitsContinue, turns[last].reply == .none,
            turns.dropLast().allSatisfy({ $0.reply == .ended })
        else { return false }
        turns[last].facts.awaitsContinue = false
        return true
    }

    /// The head of a final reply.
    ///
    /// - Parameter isLast: The reply itself says that it is the connection's last.
    mutating func sendsHead(hasLength: Bool, isLast: Bool = false) -> Outbound {
        guard !isClosing, let index = turns.firstIndex(where: { $0.reply != .ended }) else { return .discard }
        turns[index].reply = .begun
        let turn = turns[index]
        let isDelimitedByClose = turn.facts.isHTTP10 && !hasLength
        var closes = isLast || !turn.facts.keepsAlive || isDelimitedByClose
        // A client that still waits for 100 Continue may send the body or not, so what comes next is unknown.
        if !turn.isComplete, turn.facts.awaitsContinue || turn.missing ?? .max > Self.mostDrained { closes = true }
        // What a client has pipelined already is answered first.
        if isDraining, index == turns.count - 1 { closes = true }
        turns[index].closes = closes
        return .send(closes: closes, saysKeepAlive: turn.facts.isHTTP10 && !closes, isDelimitedByClose: isDelimitedByClose)
    }

    /// Bytes of a reply. - Returns: false when they are to be thrown away.
    func sendsBytes() -> Bool { !isClosing }

    /// What follows a reply.
    enum AfterReply: Equatable {
        case discard
        case goOn
        case refuse(ServiceError, isHead: Bool)
        case close
    }

    /// The end of a reply.
    mutating func sendsEnd() -> AfterReply {
        guard !isClosing, let index = turns.firstIndex(where: { $0.reply == .begun }) else { return .discard }
        turns[index].reply = .ended
        // The parser may have failed since the head went out.
        if turns[index].closes || (isDeaf && !turns[index].isComplete) {
            isDeaf = true
            isClosing = true
            return .close
        }
        if turns[index].isComplete { turns.remove(at: index) }
        if let refusal, turns.allSatisfy({ $0.reply == .ended }) {
            isClosing = true
            return .refuse(refusal.error, isHead: refusal.isHead)
        }
        return ends() ? .close : .goOn
    }

    // MARK: The server stops

    /// From now on a reply closes the connection, unless the client has sent another request already.
    mutating func drain() { isDraining = true }

    /// The connection is not kept without a request. - Returns: whether to close it now; otherwise it ends after its last reply.
    mutating func end() -> Bool {
        isEnding = true
        return ends()
    }

    private mutating func ends() -> Bool {
        guard isEnding, !isClosing, turns.allSatisfy({ $0.reply == .ended }) else { return false }
        isDeaf = true
        isClosing = true
        return true
    }
}
