public import NIOCore
private import Synchronization

/// The body of a request: its bytes in the pieces in which they arrive. While no one takes them, no more are read from the connection
/// than a few pieces.
public struct HTTPBody: AsyncSequence, Sendable {
    public typealias Element = ByteBuffer

    /// More bytes than the reader takes.
    public struct TooLarge: Error {}

    /// Takes the pieces. For one task.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var whole: ByteBuffer?
        fileprivate let stream: BodyStream?

        /// The next piece; nil after the last.
        ///
        /// - Throws: NIO's error when the body cannot be read to its end: `HTTPParserError` when it is no correct HTTP, `ChannelError` when
        ///   the connection has ended; `CancellationError`.
        public mutating func next() async throws -> ByteBuffer? {
            if let stream { return try await stream.next() }
            defer { whole = nil }
            return whole
        }
    }

    private let whole: ByteBuffer
    private let stream: BodyStream?

    /// A body that is there as a whole.
    public init(_ whole: ByteBuffer) { (self.whole, stream) = (whole, nil) }

    init(_ stream: BodyStream) { (whole, self.stream) = (ByteBuffer(), stream) }

    /// Whether it was there as a whole when the request was passed on.
    public var isWhole: Bool { stream == nil }

    /// The pieces from the first that no one has taken.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(whole: whole.readableBytes > 0 ? whole : nil, stream: stream)
    }

    /// All of it.
    ///
    /// - Parameter most: bytes.
    /// - Throws: `TooLarge`, and as `next`.
    public func collect(upTo most: Int) async throws -> ByteBuffer {
        var bytes = ByteBuffer()
        for try await piece in self {
            guard bytes.readableBytes + piece.readableBytes <= most else { throw TooLarge() }
            bytes.writeImmutableBuffer(piece)
        }
        return bytes
    }
}

/// A body that arrives: the connection puts in what it reads, the request's task takes it out.
final class BodyStream: Sendable {
    /// Bytes that wait for the reader before no more are read, and when reading goes on.
    static let most = 256 << 10
    private static let few = 64 << 10

    private struct State {
        var pieces = CircularBuffer<ByteBuffer>()
        var bytes = 0
        /// What comes after the pieces; nil while that is not known.
        var end: Result<ByteBuffer?, any Error>?
        var waiter: CheckedContinuation<ByteBuffer?, any Error>?
        /// The connection waits until there is room.
        var isFull = false
        var awaitsContinue: Bool
        /// The rest is not wanted.
        var isAbandoned = false
    }

    private let place: HTTPRequests.Place
    private let state: Mutex<State>

    /// - Parameter awaitsContinue: the client waits for `100 Continue`.
    init(_ place: HTTPRequests.Place, awaitsContinue: Bool) {
        self.place = place
        state = Mutex(State(awaitsContinue: awaitsContinue))
    }

    // MARK: the connection

    func put(_ piece: ByteBuffer) {
        let waiter = state.withLock { state -> CheckedContinuation<ByteBuffer?, any Error>? in
            guard !state.isAbandoned, state.end == nil else { return nil }
            if let waiter = state.waiter {
                state.waiter = nil
                return waiter
            }
            state.pieces.append(piece)
            state.bytes += piece.readableBytes
            return nil
        }
        waiter?.resume(returning: piece)
    }

    /// No more will come: that was all, or an error.
    func end(_ end: Result<ByteBuffer?, any Error> = .success(nil)) {
        let waiter = state.withLock { state -> CheckedContinuation<ByteBuffer?, any Error>? in
            guard state.end == nil else { return nil }
            state.end = end
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(with: end)
    }

    /// The request has its reply: what still comes is thrown away.
    func abandon() {
        state.withLock { state in
            (state.isAbandoned, state.bytes) = (true, 0)
            state.pieces.removeAll()
        }
    }

    /// Whether as much waits as may. Then the connection is notified when there is room again.
    func isFull() -> Bool {
        state.withLock { state in
            state.isFull = state.bytes >= Self.most
            return state.isFull
        }
    }

    // MARK: the reader

    func next() async throws -> ByteBuffer? {
        let (piece, hasRoom, isWanted) = state.withLock { state -> (ByteBuffer?, Bool, Bool) in
            let isWanted = state.awaitsContinue
            state.awaitsContinue = false
            let piece = state.pieces.popFirst()
            state.bytes -= piece?.readableBytes ?? 0
            let hasRoom = state.isFull && state.bytes <= Self.few
            if hasRoom { state.isFull = false }
            return (piece, hasRoom, isWanted)
        }
        if hasRoom { place.run { $0.resumeReading($1) } }
        if let piece { return piece }
        if isWanted { place.run { [self] in $0.wants(self, $1) } }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { wait($0) }
        } onCancel: {
            state.withLock { state in
                defer { state.waiter = nil }
                return state.waiter
            }?.resume(throwing: CancellationError())
        }
    }

    private func wait(_ waiter: CheckedContinuation<ByteBuffer?, any Error>) {
        let there = state.withLock { state -> Result<ByteBuffer?, any Error>? in
            if let piece = state.pieces.popFirst() {
                state.bytes -= piece.readableBytes
                return .success(piece)
            }
            if let end = state.end { return end }
            // Who cancels it later finds it here.
            if Task.isCancelled { return .failure(CancellationError()) }
            state.waiter = waiter
            return nil
        }
        if let there { waiter.resume(with: there) }
    }
}
