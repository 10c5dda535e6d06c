private import Foundation
private import Synchronization

/// A TCP port in front of a Unix socket that does to connections what networks do: resets them, lets new ones hang, keeps bytes back.
///
/// One thread owns all connections; what a test asks for has happened when the call returns. Gone with the last reference to it.
public final class TCPProxy: Sendable {
    /// The system refused a socket or a thread.
    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    /// Where it listens, on 127.0.0.1.
    public let port: Int
    private let loop: Loop

    private init(port: Int, loop: Loop) {
        self.port = port
        self.loop = loop
    }

    deinit { loop.post { $0.isOver = true } }

    /// Listens on a free port and forwards every connection to the socket at `path`.
    public static func start(to path: String) throws -> TCPProxy {
        let loop = try Loop(path: path)
        let port = try loop.listen()
        Thread.detachNewThread { loop.run() }
        return TCPProxy(port: port, loop: loop)
    }

    /// Ends all connections as a crashed host or an impatient router does: the client's next packet is answered by RST.
    public func reset() async { await loop.perform { $0.reset() } }

    /// Whether new connections are accepted and then get no data; those that hang are forwarded when it ends.
    public func holdNewConnections(_ isHeld: Bool) async {
        await loop.perform { loop in
            loop.isHolding = isHeld
            if !isHeld { loop.releaseHeld() }
        }
    }

    /// How many new connections hang now.
    public var heldConnections: Int {
        get async {
            await withUnsafeContinuation { answer in loop.post { answer.resume(returning: $0.heldCount) } }
        }
    }

    /// How many of the last bytes the server sent are kept back, on each connection; 0 lets all through.
    public func withhold(lastBytes count: Int) async { await loop.perform { $0.withheld = count } }
}

extension PostgresServer {
    /// A TCP port in front of this server. It reaches the server again after a restart.
    public func proxy() throws -> TCPProxy { try TCPProxy.start(to: socketFolder + "/.s.PGSQL.5432") }

    /// A libpq connection string for the superuser by way of a proxy.
    public static func connectionString(through proxy: TCPProxy) -> String {
        "host=127.0.0.1 port=\(proxy.port) dbname=postgres user=postgres"
    }
}

/// A client and the connection to the server made for it.
private struct Link {
    let client: Int32
    let server: Int32
    /// Read from one side and not yet written to the other.
    var toServer: [UInt8] = []
    var toClient: [UInt8] = []
}

/// The thread that forwards. `@unchecked Sendable`: everything but `commands` is touched by that thread only, from `run` on.
private final class Loop: @unchecked Sendable {
    var isOver = false
    var isHolding = false
    var withheld = 0
    private let path: String
    private let listener: Int32
    private let wakeUp: (reading: Int32, writing: Int32)
    private var links: [Link] = []
    private var held: [Int32] = []
    private let commands = Mutex<[@Sendable (Loop) -> Void]>([])
    var heldCount: Int { held.count }
    /// More than this waits at the sender.
    private static let limit = 1 << 20

    init(path: String) throws {
        self.path = path
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        var ends: [Int32] = [-1, -1]
        guard listener >= 0, pipe(&ends) == 0 else {
            close(listener)
            throw TCPProxy.Failure(description: "no socket: errno \(errno)")
        }
        wakeUp = (ends[0], ends[1])
        for end in ends { makePrivate(end) }
    }

    deinit {
        for descriptor in [listener, wakeUp.reading, wakeUp.writing] + held { close(descriptor) }
        for link in links { end(link) }
    }

    /// Listens on a free port and returns it.
    func listen() throws -> Int {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, size) == 0 && Foundation.listen(listener, 128) == 0
                    && getsockname(listener, address, &size) == 0
            }
        }
        guard isBound else { throw TCPProxy.Failure(description: "no port: errno \(errno)") }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    // MARK: other threads

    /// Leaves something to do.
    func post(_ command: @escaping @Sendable (Loop) -> Void) {
        commands.withLock { $0.append(command) }
        var byte: UInt8 = 0
        _ = write(wakeUp.writing, &byte, 1)
    }

    /// Returns when it has been done.
    func perform(_ command: @escaping @Sendable (Loop) -> Void) async {
        await withUnsafeContinuation { done in
            post { loop in
                command(loop)
                done.resume()
            }
        }
    }

    // MARK: the thread

    func run() {
        while !isOver {
            var entries = [pollfd(fd: wakeUp.reading, events: Int16(POLLIN), revents: 0)]
            entries.append(pollfd(fd: listener, events: Int16(POLLIN), revents: 0))
            for link in links {
                let (up, down) = (link.toServer.count, link.toClient.count)
                entries.append(entry(link.client, reads: up < Self.limit, writes: down > withheld))
                entries.append(entry(link.server, reads: down < Self.limit, writes: up > 0))
            }
            poll(&entries, nfds_t(entries.count), -1)
            let before = links
            links = []
            for (index, var link) in before.enumerated() {
                let (client, server) = (entries[2 + 2 * index].revents, entries[3 + 2 * index].revents)
                if forward(&link, client: client != 0, server: server != 0) { links.append(link) } else { end(link) }
            }
            if entries[1].revents != 0 { acceptAll() }
            if entries[0].revents != 0 { obey() }
        }
    }

    private func entry(_ descriptor: Int32, reads: Bool, writes: Bool) -> pollfd {
        pollfd(fd: descriptor, events: Int16((reads ? POLLIN : 0) | (writes ? POLLOUT : 0)), revents: 0)
    }

    private func obey() {
        var bytes = [UInt8](repeating: 0, count: 64)
        while read(wakeUp.reading, &bytes, bytes.count) > 0 {}
        let taken = commands.withLock { commands in
            defer { commands = [] }
            return commands
        }
        for command in taken { command(self) }
    }

    private func acceptAll() {
        while case let client = accept(listener, nil, nil), client >= 0 {
            makePrivate(client)
            var on: Int32 = 1
            setsockopt(client, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
            if isHolding { held.append(client) } else { connect(client) }
        }
    }

    private func connect(_ client: Int32) {
        let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Foundation.connect(server, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        let link = Link(client: client, server: server)
        makePrivate(server)
        if isConnected { links.append(link) } else { end(link) }
    }

    /// Moves what there is. False when one of the two has ended.
    private func forward(_ link: inout Link, client: Bool, server: Bool) -> Bool {
        var isAlive = true
        if client, !receive(link.client, into: &link.toServer) { isAlive = false }
        if server, !receive(link.server, into: &link.toClient) { isAlive = false }
        // What an end left behind is passed on with it.
        let kept = isAlive ? withheld : 0
        let isSent = send(&link.toServer, keeping: 0, to: link.server) && send(&link.toClient, keeping: kept, to: link.client)
        return isAlive && isSent
    }

    /// Reads what there is. False when no more will come.
    private func receive(_ descriptor: Int32, into buffer: inout [UInt8]) -> Bool {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        while buffer.count < Self.limit {
            let count = recv(descriptor, &bytes, bytes.count, 0)
            if count < 0 { return errno == EAGAIN || errno == EINTR }
            if count == 0 { return false }
            buffer += bytes[..<count]
        }
        return true
    }

    /// Writes what it can. False when the other side takes no more.
    private func send(_ buffer: inout [UInt8], keeping kept: Int, to descriptor: Int32) -> Bool {
        while buffer.count > kept {
            let count = Foundation.send(descriptor, buffer, buffer.count - kept, Int32(MSG_NOSIGNAL))
            if count < 0 { return errno == EAGAIN || errno == EINTR }
            buffer.removeFirst(count)
        }
        return true
    }

    // MARK: what tests ask for

    func reset() {
        // Connecting to no address resets at once; `close` would wait for a child process that happens to have the descriptor too.
        var nowhere = sockaddr()
        nowhere.sa_family = sa_family_t(AF_UNSPEC)
        for client in links.map(\.client) + held {
            _ = Foundation.connect(client, &nowhere, socklen_t(MemoryLayout<sockaddr>.size))
        }
        for link in links { end(link) }
        for client in held { close(client) }
        (links, held) = ([], [])
    }

    func releaseHeld() {
        for client in held { connect(client) }
        held = []
    }

    private func end(_ link: Link) {
        for descriptor in [link.client, link.server] {
            shutdown(descriptor, Int32(SHUT_RDWR))
            close(descriptor)
        }
    }
}

private func makePrivate(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
}
