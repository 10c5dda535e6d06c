internal import CNats
internal import Synchronization

/// What a subscription does with its messages.
protocol MessageTarget: AnyObject, Sendable {
    /// Whether it checks the subjects of its messages itself. Only a stream's consumer does: its messages have the subject that
    /// they have in the stream.
    var judgesSubjects: Bool { get }

    /// Whether the loop passes the messages of an inbox too, with `hadNoResponder` for the broker's 503: a synchronous subscription of nats.c has
    /// no message for it. Otherwise an inbox keeps a thread of nats.c.
    var isInformedOf503: Bool { get }

    /// A message arrived, on the loop's thread or one of nats.c. The receiver owns it.
    func arrived(_ message: OpaquePointer)

    /// The broker has answered one of the requests that were sent with this subscription's subject: there is no responder.
    func hadNoResponder()
}

extension MessageTarget {
    var judgesSubjects: Bool { false }
    var isInformedOf503: Bool { false }
    func hadNoResponder() {}
}

/// Between nats.c and the target of a subscription: passes only messages that belong to the subscription.
///
/// A client that requests a message from JetStream chooses its destination, and the broker checks no permission for that. So a
/// message of any stream can arrive at any subscription. It still has the subject that it has in its stream.
final class MessageReceiver: Sendable {
    private let pattern: SubjectPattern
    private let target: any MessageTarget
    private let refused: @Sendable (_ subject: String) -> Void

    /// - Parameter refused: Gets the subject of a dropped message.
    init(subject: String, target: any MessageTarget, refused: @escaping @Sendable (_ subject: String) -> Void) {
        pattern = SubjectPattern(subject)
        self.target = target
        self.refused = refused
    }

    func hadNoResponder() { target.hadNoResponder() }

    /// A message arrived. The receiver owns it.
    func arrived(_ message: OpaquePointer) {
        let subject = natsMsg_GetSubject(message)
        if let subject, target.judgesSubjects || pattern.matches(subject) { return target.arrived(message) }
        refused(subject.map { String(cString: $0) } ?? "")
        natsMsg_DestroyHere(message)
    }
}

/// What happens to a connection, on threads of nats.c.
protocol ConnectionTarget: AnyObject, Sendable {
    func disconnected(_ connection: OpaquePointer)
    func reconnected(_ connection: OpaquePointer)
    func closed(_ connection: OpaquePointer)
    func failed(_ problem: String, subject: String?)
}

/// Numbers that identify Swift objects inside nats.c.
///
/// nats.c may call back once more after a subscription or connection was destroyed. An unknown number is ignored; a pointer would
/// crash.
final class CallbackTable<Target: Sendable>: Sendable {
    private let entries = Mutex<(next: UInt, targets: [UInt: Target])>((1, [:]))

    func add(_ target: Target) -> UnsafeMutableRawPointer? {
        entries.withLock { entries in
            let number = entries.next
            entries.next += 1
            entries.targets[number] = target
            return UnsafeMutableRawPointer(bitPattern: number)
        }
    }

    func remove(_ key: UnsafeMutableRawPointer?) {
        entries.withLock { $0.targets[UInt(bitPattern: key)] = nil }
    }

    /// How many there are.
    var count: Int { entries.withLock { $0.targets.count } }

    func target(_ key: UnsafeMutableRawPointer?) -> Target? {
        entries.withLock { $0.targets[UInt(bitPattern: key)] }
    }
}

enum Callbacks {
    static let messages = CallbackTable<MessageReceiver>()
    static let sockets = CallbackTable<LoopSocket>()
    static let connections = CallbackTable<any ConnectionTarget>()
}

// C calls these on its own threads. They are functions of file scope: a closure formed inside an isolated context would
// check for its executor and trap.

func natsMessageArrived(
    _: OpaquePointer?,
    _: OpaquePointer?,
    _ message: OpaquePointer?,
    _ key: UnsafeMutableRawPointer?
) {
    guard let message else { return }
    guard let target = Callbacks.messages.target(key) else { return natsMsg_DestroyHere(message) }
    target.arrived(message)
}

func natsDisconnected(_ connection: OpaquePointer?, _ key: UnsafeMutableRawPointer?) {
    guard let connection else { return }
    Callbacks.connections.target(key)?.disconnected(connection)
}

func natsReconnected(_ connection: OpaquePointer?, _ key: UnsafeMutableRawPointer?) {
    guard let connection else { return }
    Callbacks.connections.target(key)?.reconnected(connection)
}

func natsClosed(_ connection: OpaquePointer?, _ key: UnsafeMutableRawPointer?) {
    guard let connection else { return }
    Callbacks.connections.target(key)?.closed(connection)
}

func natsFailed(
    _: OpaquePointer?,
    _ subscription: OpaquePointer?,
    _ status: natsStatus,
    _ key: UnsafeMutableRawPointer?
) {
    // It may have been destroyed since nats.c noted the failure.
    let subject = subscription.flatMap { NativeSubscription.subject(of: $0) }
    Callbacks.connections.target(key)?.failed(status.text, subject: subject)
}
