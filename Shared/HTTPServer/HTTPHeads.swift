public import Kernel
public import NIOCore
internal import NIOHTTP1
private import Synchronization

/// Why the head of a request is not waited for any longer. The connection is of no more use.
public enum HTTPHeadError: Error {
    /// It has more bytes than one may have.
    case tooLarge
    /// It took longer than one may.
    case tooSlow
    /// Those that are arriving take all the memory that they may, or all that one client's may.
    case tooMany
}

/// What heads of requests may take while they arrive: each of them, all of a server's together, and those of one client.
///
/// A head that arrives in one piece, as nearly all do, takes nothing. Memory is counted as it is allocated.
public final class HTTPHeads: Sendable {
    private struct Held {
        var total = 0
        var byClient: [IPAddress: Int] = [:]
    }

    let most: Int
    let timeout: TimeAmount
    private let inAll: Int
    private let share: Int
    private let clientOf: @Sendable (SocketAddress?) -> IPAddress?
    private let held = Mutex(Held())

    /// Limits for one server.
    ///
    /// - Parameters:
    ///   - most: bytes of one head: the request line and the headers. Also of the headers and trailers of one request.
    ///   - inAll: bytes of memory for all that are arriving.
    ///   - share: bytes of these for one client.
    ///   - timeout: how long a head may take from its first byte. While the server does not read, no time passes.
    ///   - client: whose share the other end of a connection has; nil for one that has none of its own and is bound by `inAll` only.
    public init(
        most: Int = 16 << 10,
        inAll: Int = 32 << 20,
        share: Int = .max,
        timeout: Duration = .seconds(10),
        client: @escaping @Sendable (SocketAddress?) -> IPAddress? = { _ in nil }
    ) {
        (self.most, self.inAll, self.share, self.timeout, clientOf) = (most, inAll, share, TimeAmount(timeout), client)
    }

    /// Bytes of memory that heads take now.
    public var bytes: Int { held.withLock { $0.total } }

    /// Whose share a connection has.
    func client(of channel: any Channel) -> IPAddress? { clientOf(channel.remoteAddress) }

    /// Counts memory that is about to be allocated.
    ///
    /// - Returns: false when it may not be; otherwise `giveBack` must follow.
    func take(_ bytes: Int, for client: IPAddress?) -> Bool {
        held.withLock { held in
            let own = client.map { held.byClient[$0, default: 0] } ?? 0
            guard held.total + bytes <= inAll, own + bytes <= share else { return false }
            held.total += bytes
            if let client { held.byClient[client] = own + bytes }
            return true
        }
    }

    /// The memory is free again.
    func giveBack(_ bytes: Int, for client: IPAddress?) {
        held.withLock { held in
            held.total -= bytes
            guard let client else { return }
            let left = held.byClient[client, default: bytes] - bytes
            held.byClient[client] = left > 0 ? left : nil
        }
    }
}

extension HTTPResponseStatus {
    /// The answer to what is no request, or does not become one; nil for other errors.
    init?(refusing error: any Error) {
        switch error {
        case HTTPHeadError.tooLarge, HTTPParserError.headerOverflow: self = .requestHeaderFieldsTooLarge
        case HTTPHeadError.tooSlow: self = .requestTimeout
        case HTTPHeadError.tooMany: self = .serviceUnavailable
        case is HTTPParserError: self = .badRequest
        default: return nil
        }
    }
}
