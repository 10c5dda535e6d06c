/// One server-sent event of a user (`streaksnap.common.v1.StreamEvent`).
public struct StreamEvent: Hashable, Sendable {
    /// Counts the user's events.
    public var id: Int64
    public var name: String
    /// JSON.
    public var data: String

    public init(id: Int64, name: String, data: String) {
        (self.id, self.name, self.data) = (id, name, data)
    }
}

/// Events of one user in their order (`streaksnap.common.v1.StreamPage`).
public struct StreamPage: Hashable, Sendable {
    public var events: [StreamEvent]
    /// The newest id there is.
    public var lastID: Int64

    public init(events: [StreamEvent], lastID: Int64) {
        (self.events, self.lastID) = (events, lastID)
    }
}

/// What the gateway and a service say to each other about streams, on the wire (`streaksnap/common/v1/streams.proto`): the gateway has no
/// messages of its own.
public enum StreamContract {
    static let request = "streaksnap.common.v1.StreamRequest"
    static let page = "streaksnap.common.v1.StreamPage"

    /// A `StreamRequest`.
    ///
    /// - Parameters:
    ///   - lastEventID: what the client has; empty for nothing.
    ///   - lease: a UUID.
    public static func request(lastEventID: String, lease: String) -> [UInt8] {
        var out = ByteWriter(capacity: 128)
        out.text(1, lastEventID)
        out.text(2, lease)
        return out.bytes()
    }

    /// A `RenewStreamsRequest`.
    ///
    /// - Parameters: leases to renew and to end: UUIDs.
    public static func renewal(of leases: [String], ending ended: [String]) -> [UInt8] {
        var out = ByteWriter(capacity: (leases.count + ended.count) * 40)
        for lease in leases { out.text(1, lease) }
        for lease in ended { out.text(2, lease) }
        return out.bytes()
    }

    /// The content of a `StreamPage`; nil when it is none.
    public static func page(_ bytes: [UInt8]) -> StreamPage? {
        read(bytes) { cursor throws(WireProblem) in
            var cursor = cursor
            var page = StreamPage(events: [], lastID: 0)
            while let (number, value) = try cursor.next() {
                switch (number, value) {
                case (1, .bytes(let inner)): page.events.append(try event(inner))
                case (2, .varint(let raw)): page.lastID = Int64(bitPattern: raw)
                default: break
                }
            }
            return page
        }
    }

    /// The newest ids of a `RenewStreamsReply`, by lease; nil when it is none.
    public static func states(_ bytes: [UInt8]) -> [String: Int64]? {
        read(bytes) { cursor throws(WireProblem) in
            var cursor = cursor
            var states: [String: Int64] = [:]
            while let (number, value) = try cursor.next() {
                guard number == 1, case .bytes(var inner) = value else { continue }
                var (lease, last) = ("", Int64(0))
                while let (number, value) = try inner.next() {
                    if case (1, .bytes(let text)) = (number, value) { lease = try text.text() }
                    if case (2, .varint(let raw)) = (number, value) { last = Int64(bitPattern: raw) }
                }
                states[lease] = last
            }
            return states
        }
    }

    private static func event(_ message: WireCursor) throws(WireProblem) -> StreamEvent {
        var cursor = message
        var event = StreamEvent(id: 0, name: "", data: "")
        while let (number, value) = try cursor.next() {
            switch (number, value) {
            case (1, .varint(let raw)): event.id = Int64(bitPattern: raw)
            case (2, .bytes(let text)): event.name = try text.text()
            case (3, .bytes(let text)): event.data = try text.text()
            default: break
            }
        }
        return event
    }

    private static func read<Result>(_ bytes: [UInt8], _ body: (WireCursor) throws(WireProblem) -> Result) -> Result? {
        bytes.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return try? body(WireCursor(base: Self.nothing, position: 0, end: 0)) }
            return try? body(WireCursor(base: base, position: 0, end: buffer.count))
        }
    }

    /// Where a message without bytes begins.
    private static var nothing: UnsafePointer<UInt8> { ("" as StaticString).utf8Start }
}

extension ByteWriter {
    /// A string field below number 16.
    fileprivate mutating func text(_ number: UInt8, _ text: String) {
        var text = text
        text.withUTF8 { bytes in
            guard let base = bytes.baseAddress, !bytes.isEmpty else { return }
            append(number << 3 | 2)
            varint(UInt64(bytes.count))
            append(base, bytes.count)
        }
    }
}
