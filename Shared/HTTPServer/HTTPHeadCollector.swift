internal import Kernel
internal import NIOCore
internal import NIOHTTP1

/// The first bytes of a request have arrived, and its head is still to come; triggered on the connection.
public struct HTTPHeadBegan: Sendable {}

/// Keeps the head of a request until all of it is there, and only then passes it on to the parser: before the parser.
///
/// NIO's parser keeps an unfinished line in a buffer of its own that grows by doubling, and what it has understood as many small strings. Here
/// heads are counted (`HTTPHeads`), and have a deadline. Bodies pass through.
final class HTTPHeadCollector: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// What arrives next.
    private enum Phase {
        case head
        /// The parser has a whole head, and has said nothing yet.
        case parsing
        case body(missing: Int)
        /// A body that says itself where it ends, after an empty line.
        case chunks
        /// Nothing that counts: the parser has given up, or reads no more after this request.
        case ended
    }

    private let heads: HTTPHeads
    private var phase = Phase.head
    private var lines = EmptyLines()
    /// What has arrived of a head.
    private var held = ByteBuffer()
    /// The memory of that, as it is counted.
    private var taken = 0
    private var client: IPAddress?
    private var deadline = NIODeadline.uptimeNanoseconds(0)
    private var check: Scheduled<Void>?
    /// Since when no more bytes were asked for; only known while a head is held.
    private var pausedAt: NIODeadline?

    init(_ heads: HTTPHeads) { self.heads = heads }

    // MARK: what the parser says

    fileprivate func parsed(_ part: HTTPServerRequestPart) {
        switch part {
        case .head(let head):
            if head.headers.contains(name: "Transfer-Encoding") {
                phase = .chunks
            } else {
                // A length that is no number is refused behind the parser.
                phase = .body(missing: head.headers.first(name: "Content-Length").map { Int($0) ?? .max } ?? 0)
            }
        case .body: break
        case .end: phase = .head
        }
    }

    // MARK: what arrives

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        while bytes.readableBytes > 0 {
            switch phase {
            case .head: collect(&bytes, context)
            case .body(let missing):
                let length = missing > 0 ? min(missing, bytes.readableBytes) : bytes.readableBytes
                let piece = bytes.readSlice(length: length) ?? ByteBuffer()
                phase = .body(missing: missing - piece.readableBytes)
                context.fireChannelRead(wrapInboundOut(piece))
            case .chunks:
                // The request ends with a piece, so the next head begins with one.
                let length = lines.next(in: bytes.readableBytesView) ?? bytes.readableBytes
                context.fireChannelRead(wrapInboundOut(bytes.readSlice(length: length) ?? ByteBuffer()))
            case .parsing, .ended: return
            }
        }
    }

    private func collect(_ bytes: inout ByteBuffer, _ context: ChannelHandlerContext) {
        if held.readableBytes == 0 {
            // RFC 9112 §2.2: empty lines before a request are ignored.
            let ends = bytes.readableBytesView.prefix { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }.count
            bytes.moveReaderIndex(forwardBy: ends)
            guard let first = bytes.readableBytesView.first else { return }
            // TLS, for one: the parser says at once what is wrong.
            guard (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first) else {
                return pass(bytes.readSlice(length: bytes.readableBytes) ?? ByteBuffer(), context)
            }
        }
        let length = lines.next(in: bytes.readableBytesView)
        guard held.readableBytes + (length ?? bytes.readableBytes) <= heads.most else { return refuse(.tooLarge, context) }
        guard let piece = bytes.readSlice(length: length ?? bytes.readableBytes) else { return }
        guard length != nil else { return hold(piece, context) }
        guard held.readableBytes > 0 else { return pass(piece, context) }
        held.writeImmutableBuffer(piece)
        let head = held
        drop()
        pass(head, context)
    }

    private func pass(_ head: ByteBuffer, _ context: ChannelHandlerContext) {
        phase = .parsing
        context.fireChannelRead(wrapInboundOut(head))
        if case .parsing = phase { phase = .ended }
    }

    /// Copied, so that a few bytes do not keep the memory of a whole read.
    private func hold(_ piece: ByteBuffer, _ context: ChannelHandlerContext) {
        let isFirst = held.readableBytes == 0
        if isFirst { client = heads.client(of: context.channel) }
        let size = max(64, held.readableBytes + piece.readableBytes)
        // As NIO allocates.
        let capacity = 1 << (Int.bitWidth - (size - 1).leadingZeroBitCount)
        if capacity > taken {
            guard heads.take(capacity - taken, for: client) else { return refuse(.tooMany, context) }
            taken = capacity
            held.reserveCapacity(capacity)
        }
        held.writeImmutableBuffer(piece)
        guard isFirst else { return }
        deadline = context.eventLoop.now + heads.timeout
        schedule(context)
        context.fireUserInboundEventTriggered(HTTPHeadBegan())
    }

    /// Nothing is held any more.
    private func drop() {
        if taken > 0 { heads.giveBack(taken, for: client) }
        (held, taken, pausedAt) = (ByteBuffer(), 0, nil)
        check?.cancel()
        check = nil
    }

    private func refuse(_ error: HTTPHeadError, _ context: ChannelHandlerContext) {
        drop()
        phase = .ended
        context.fireErrorCaught(error)
    }

    // MARK: time

    private func schedule(_ context: ChannelHandlerContext) {
        check = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { [self] in
            check = nil
            // The client may have sent it all.
            guard pausedAt == nil else { return }
            if context.eventLoop.now < deadline { schedule(context) } else { refuse(.tooSlow, context) }
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if held.readableBytes > 0 { pausedAt = context.eventLoop.now }
        context.fireChannelReadComplete()
    }

    func read(context: ChannelHandlerContext) {
        if let pausedAt {
            deadline = deadline + (context.eventLoop.now - pausedAt)
            self.pausedAt = nil
            if check == nil { schedule(context) }
        }
        context.read()
    }

    // MARK: the end

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent, held.readableBytes > 0 {
            // The parser says that this is no whole request.
            let rest = held
            drop()
            pass(rest, context)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        drop()
        phase = .ended
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { drop() }
}

/// Passes on to the collector what the parser says: behind the parser.
final class HTTPHeadWatcher: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private let collector: HTTPHeadCollector

    init(_ collector: HTTPHeadCollector) { self.collector = collector }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        collector.parsed(unwrapInboundIn(data))
        context.fireChannelRead(data)
    }
}

/// Finds empty lines, which end heads and bodies in chunks, in bytes that come in pieces. Lines end with CR LF, or with LF alone. Pure.
struct EmptyLines {
    private enum Last { case other, lineFeed, carriageReturn }

    /// The line's end that was last, or the CR after it.
    private var last = Last.other

    /// The end of the next empty line, in bytes from the start; nil when it is not there yet.
    mutating func next(in bytes: ByteBufferView) -> Int? {
        bytes.withUnsafeBytes { bytes in
            for (index, byte) in bytes.enumerated() {
                switch byte {
                case UInt8(ascii: "\n"):
                    guard last == .other else {
                        last = .other
                        return index + 1
                    }
                    last = .lineFeed
                case UInt8(ascii: "\r"): last = last == .lineFeed ? .carriageReturn : .other
                default: last = .other
                }
            }
            return nil
        }
    }
}
