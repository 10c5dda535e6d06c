internal import CNats
internal import Synchronization

/// What a subscription does with its messages.
protocol MessageTarget: AnyObject, Sendable {
    /// A message arrived, on a delivery thread of nats.c. The receiver owns it.
    func arrived(_ message: OpaquePointer)
}

/// What happens to a connection, on threads of nats.c.
protocol ConnectionTarget: AnyObject, Sendable {
    func disconnected()
    func reconnected()
    func closed(_ connection: OpaquePointer)
    func failed(_ status: natsStatus, subject: String?)
}

/// Numbers that stand for Swift objects inside nats.c.
///
/// nats.c may call back once more after a subscription or connection was destroyed. A number that is no longer known is then ignored,
/// where a pointer would be a crash.
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

    func target(_ key: UnsafeMutableRawPointer?) -> Target? {
        entries.withLock { $0.targets[UInt(bitPattern: key)] }
    }
}

enum Callbacks {
    static let messages = CallbackTable<any MessageTarget>()
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
    guard let target = Callbacks.messages.target(key) else { return natsMsg_Destroy(message) }
    target.arrived(message)
}

func natsDisconnected(_: OpaquePointer?, _ key: UnsafeMutableRawPointer?) {
    Callbacks.connections.target(key)?.disconnected()
}

func natsReconnected(_: OpaquePointer?, _ key: UnsafeMutableRawPointer?) {
    Callbacks.connections.target(key)?.reconnected()
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
    let subject = subscription.flatMap { natsSubscription_GetSubject($0) }.map { String(cString: $0) }
    Callbacks.connections.target(key)?.failed(status, subject: subject)
}
