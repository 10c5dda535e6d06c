import NIOCore
import NIOPosix
import Synchronization

/// A mail server for one world: takes mails by SMTP (RFC 5321) on a port of this machine, and shows them to the test.
final class MailStandIn: Sendable {
    /// What it says to a mail.
    enum Behaviour: String, CaseIterable, Sendable {
        /// Takes it.
        case no
        /// 451: it may be tried again.
        case temporarily
        /// 550: it is never taken.
        case permanently
    }

    private struct State {
        var behaviour = Behaviour.no
        var mails: [ReceivedMail] = []
        var listener: (any Channel)?
    }

    private let state = Mutex(State())

    var behaviour: Behaviour { state.withLock { $0.behaviour } }

    func behave(_ behaviour: Behaviour) { state.withLock { $0.behaviour = behaviour } }

    /// What it has taken, oldest first. - Parameter address: only mails to it, without regard to case.
    func mails(to address: String?) -> [JSON] {
        let wanted = address?.lowercased()
        return state.withLock { $0.mails }.filter { wanted == nil || $0.to.lowercased() == wanted }.map(\.json)
    }

    func clear() { state.withLock { $0.mails = [] } }

    /// Begins to listen on 127.0.0.1.
    ///
    /// - Returns: the port.
    /// - Throws: the operating system's error.
    func listen() async throws -> Int {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { [self] channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(SMTPHandler(self))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        state.withLock { $0.listener = listener }
        return listener.localAddress?.port ?? 0
    }

    func stop() async { try? await state.withLock { $0.listener }?.close().get() }

    /// A mail that was sent whole. - Returns: the answer to it.
    fileprivate func receive(_ mail: ReceivedMail) -> String {
        state.withLock { state in
            switch state.behaviour {
            case .no:
                state.mails.append(mail)
                return "250 2.0.0 taken"
            case .temporarily: return "451 4.3.0 try again later"
            case .permanently: return "550 5.7.1 refused"
            }
        }
    }
}

/// One connection of a client that sends mails: bytes in, answers out, no I/O.
struct SMTPSession {
    /// What is said when a client connects.
    static let greeting = "220 streaksnap.test ESMTP"

    private var buffer: [UInt8] = []
    private var isInMessage = false
    private var sender = ""
    private var recipient = ""
    private var message: [UInt8] = []

    /// What the bytes bring about.
    enum Step {
        case answer(String)
        case received(ReceivedMail)
        /// Answered, and to be closed.
        case goodbye(String)
    }

    mutating func receive(_ bytes: some Sequence<UInt8>) -> [Step] {
        buffer += bytes
        var steps: [Step] = []
        while let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
            let line = Array(buffer[..<end].filter { $0 != UInt8(ascii: "\r") })
            buffer.removeSubrange(...end)
            if let step = isInMessage ? messageLine(line) : command(String(decoding: line, as: UTF8.self)) { steps.append(step) }
        }
        return steps
    }

    private mutating func messageLine(_ line: [UInt8]) -> Step? {
        guard line == [UInt8(ascii: ".")] else {
            // A dot at the beginning of a line was doubled (RFC 5321, 4.5.2).
            message += line.first == UInt8(ascii: ".") ? line.dropFirst() : line[...]
            message += Array("\r\n".utf8)
            return nil
        }
        isInMessage = false
        return .received(ReceivedMail(from: sender, to: recipient, raw: message))
    }

    private mutating func command(_ line: String) -> Step {
        let word = line.prefix { $0 != " " }.uppercased()
        switch word {
        case "EHLO", "HELO": return .answer("250 streaksnap.test")
        case "MAIL":
            sender = Self.address(line)
            return .answer("250 2.1.0 OK")
        case "RCPT":
            recipient = Self.address(line)
            return .answer("250 2.1.5 OK")
        case "DATA":
            (isInMessage, message) = (true, [])
            return .answer("354 go on")
        case "RSET", "NOOP": return .answer("250 2.0.0 OK")
        case "QUIT": return .goodbye("221 2.0.0 goodbye")
        default: return .answer("502 5.5.1 not known here")
        }
    }

    /// `MAIL FROM:<ada@example.com> SIZE=1` has `ada@example.com`.
    private static func address(_ line: String) -> String {
        String(line.drop { $0 != "<" }.dropFirst().prefix { $0 != ">" })
    }
}

private final class SMTPHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let server: MailStandIn
    private var session = SMTPSession()

    init(_ server: MailStandIn) { self.server = server }

    func channelActive(context: ChannelHandlerContext) { write(SMTPSession.greeting, context) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        for step in session.receive(unwrapInboundIn(data).readableBytesView) {
            switch step {
            case .answer(let line): write(line, context)
            case .received(let mail): write(server.receive(mail), context)
            case .goodbye(let line):
                write(line, context)
                context.close(promise: nil)
            }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error _: any Error) { context.close(promise: nil) }

    private func write(_ line: String, _ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(context.channel.allocator.buffer(string: line + "\r\n")), promise: nil)
    }
}
