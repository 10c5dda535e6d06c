internal import Kernel
internal import NIOCore
private import Synchronization
internal import Tokens
internal import Transcoding

/// One open stream of server-sent events: what its client still has to be sent, bounded.
///
/// It has no task and no timer of its own. Its connection asks for what is `next` and writes it; when the connection takes no more, it does
/// not ask, and what comes meanwhile is kept here up to `mostWaiting`. `StreamHub` ends a stream whose client reads too slowly.
final class EventStream: Sendable {
    /// Bytes that may wait for the connection, besides the events of one reply of the service.
    static let mostWaiting = 64 << 10
    /// How long the connection may take for what it was given.
    static let writeLimit = Duration.seconds(30)
    /// A stream on which nothing was sent for this long gets a comment.
    static let quiet = Duration.seconds(15)

    /// What a change of a stream leads to.
    enum Outcome: Equatable {
        case nothing
        /// The service is to be asked for what is missing.
        case ask
        /// The client does not read; it loses nothing when it comes back with the id of its last event.
        case tooSlow
    }

    private struct State {
        var progress: StreamProgress
        var waiting: ByteBuffer
        /// Most bytes that may wait: more while an answer of the service is among them.
        var most = mostWaiting
        var waiter: (@Sendable (ByteBuffer?) -> Void)?
        /// Since when the connection has been writing; nil while it waits for something to write.
        var writingSince: ContinuousClock.Instant?
        var lastSent: ContinuousClock.Instant
        var hasEnded = false
    }

    let lease: LeaseID
    let token: AccessToken
    /// Where the events of its user are published.
    let subject: String
    /// The method that says what is missing, and the one that renews the lease.
    let method, renewal: String
    let channel: any Channel
    private let state: Mutex<State>

    /// - Parameter route: one with the option `stream`; nothing of it is kept but the names of subjects.
    init(lease: LeaseID, token: AccessToken, route: Route, lastEventID: String, channel: any Channel) {
        (self.lease, self.token, self.channel) = (lease, token, channel)
        subject = route.liveSubject(of: token.userID.description) ?? ""
        (method, renewal) = (route.subject, route.renewal ?? "")
        state = Mutex(
            State(
                progress: StreamProgress(lastEventID: lastEventID),
                waiting: EventText.retry(lease.hashValue),
                lastSent: .now
            )
        )
    }

    /// What the client has, for the service.
    var position: String { state.withLock { $0.progress.position } }

    /// Events came over the bus. - Returns: how many are new to the client, too.
    func received(_ events: [StreamEvent]) -> (outcome: Outcome, count: Int) { change { $0.received(events) } }

    /// The service has answered.
    func answered(_ page: StreamPage) -> (outcome: Outcome, count: Int) { change(isAnswer: true) { $0.answered(page) } }

    /// The newest id there is, as the service says; nil when it does not know the stream any more.
    func reported(_ newest: Int64?) -> Outcome {
        change { StreamProgress.Step(asks: $0.reported(newest)) }.outcome
    }

    /// A second has passed.
    func tick(_ now: ContinuousClock.Instant) -> Outcome {
        state.withLock { state in
            if let since = state.writingSince, now - since > Self.writeLimit { return .tooSlow }
            guard state.waiting.readableBytes == 0, state.writingSince == nil, now - state.lastSent >= Self.quiet else {
                return .nothing
            }
            return Self.send(EventText.comment, &state, now)
        }
    }

    /// Changes the progress and sends what comes of it in one step, so that events keep their order.
    private func change(
        isAnswer: Bool = false,
        _ body: (inout StreamProgress) -> StreamProgress.Step
    ) -> (outcome: Outcome, count: Int) {
        state.withLock { state in
            guard !state.hasEnded else { return (.nothing, 0) }
            let step = body(&state.progress)
            guard !step.events.isEmpty else { return (step.asks ? .ask : .nothing, 0) }
            let outcome = Self.send(EventText.text(step.events), isAnswer: isAnswer, &state, .now)
            return (outcome == .nothing && step.asks ? .ask : outcome, step.events.count)
        }
    }

    private static func send(
        _ text: ByteBuffer,
        isAnswer: Bool = false,
        _ state: inout State,
        _ now: ContinuousClock.Instant
    ) -> Outcome {
        guard !state.hasEnded else { return .nothing }
        var text = text
        let before = state.waiting.readableBytes
        // An answer was asked for, and is as large as it is; what comes after it has the same room as always.
        if isAnswer, before <= mostWaiting { state.most = before + text.readableBytes + mostWaiting }
        guard before == 0 || before + text.readableBytes <= state.most else { return .tooSlow }
        state.lastSent = now
        if let waiter = state.waiter {
            (state.waiter, state.writingSince, state.most) = (nil, now, mostWaiting)
            waiter(text)
        } else if before == 0 {
            state.waiting = text
        } else {
            state.waiting.writeBuffer(&text)
        }
        return .nothing
    }

    /// Ends it when what waits has been sent. - Returns: false when it had ended.
    func end() -> Bool {
        state.withLock { state in
            defer { state.hasEnded = true }
            state.waiter?(nil)
            state.waiter = nil
            return !state.hasEnded
        }
    }

    /// Ends it at once, with its connection.
    func cut() { channel.close(promise: nil) }

    /// Gives what there is to write as soon as there is something, and nil at the end. Only its connection calls it, when it has written
    /// what it was given before.
    ///
    /// - Parameter take: called once, under a lock: it passes on what it gets and returns.
    func next(_ take: @escaping @Sendable (ByteBuffer?) -> Void) {
        state.withLock { state in
            state.writingSince = nil
            if state.waiting.readableBytes > 0 {
                state.writingSince = .now
                take(state.waiting)
                // Not kept: most streams are quiet for hours.
                (state.waiting, state.most) = (ByteBuffer(), Self.mostWaiting)
            } else if state.hasEnded {
                take(nil)
            } else {
                state.waiter = take
            }
        }
    }
}

/// Notices that a client has closed its side of the connection: it waits for no more events.
final class ClientEnd: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = Any

    private let ended: () -> Void

    init(_ ended: @escaping () -> Void) { self.ended = ended }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent { ended() }
        context.fireUserInboundEventTriggered(event)
    }
}
