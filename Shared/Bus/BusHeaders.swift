internal import Glibc
public import Kernel

/// Headers of a message: (name, value) pairs. Names are compared exactly, as NATS does.
///
/// Any text can be added. Sending refuses text that could break out of its header line (`check()`), so text from a client cannot
/// inject a header. The values of one name keep their order; NATS does not keep the order of different names. An empty value is
/// the same as none: it is not sent.
public struct BusHeaders: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    /// One header line.
    public struct Field: Sendable, Equatable {
        /// `request-id`.
        public var name: String
        /// The value, without line breaks.
        public var value: String
    }

    /// All headers.
    public private(set) var fields: [Field]

    /// No headers.
    public init() { self.fields = [] }

    public init(dictionaryLiteral elements: (String, String)...) {
        self.fields = elements.map { Field(name: $0.0, value: $0.1) }
    }

    /// Whether there are none.
    public var isEmpty: Bool { fields.isEmpty }

    /// The first value of `name`; setting it replaces all values, nil removes them.
    public subscript(name: String) -> String? {
        get { fields.first { $0.name == name }?.value }
        set {
            fields.removeAll { $0.name == name }
            if let newValue { fields.append(Field(name: name, value: newValue)) }
        }
    }

    /// All values of `name`.
    public func values(_ name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }

    /// Adds a value, keeping those that are there.
    public mutating func append(_ name: String, _ value: String) { fields.append(Field(name: name, value: value)) }

    /// Makes room for `count` headers.
    public mutating func reserveCapacity(_ count: Int) { fields.reserveCapacity(count) }

    /// Most bytes of all names and values together.
    public static let mostBytes = 32 << 10

    /// Checks that every header can be sent as it is.
    ///
    /// - Throws: `ServiceError` `VALIDATION_ERROR` naming the header: names are RFC 9110 tokens; values have no control characters
    ///   and neither begin nor end with a space (NATS would remove it); the total size is at most `mostBytes`.
    public func check() throws(ServiceError) {
        var total = 0
        for field in fields {
            total += field.name.utf8.count + field.value.utf8.count + 4
            guard Self.isName(field.name) else { throw .validation(field: "header", "has a name that is not allowed") }
            guard Self.isValue(field.value) else {
                throw .validation(field: field.name, "must be one line of text without control characters")
            }
        }
        guard total <= Self.mostBytes else { throw .validation(field: "headers", "are too large") }
    }

    private static func isName(_ name: String) -> Bool {
        !name.utf8.isEmpty
            && name.utf8.allSatisfy { byte in
                switch byte {
                case 48...57, 65...90, 97...122: true
                case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E, 0x5F, 0x60, 0x7C, 0x7E: true
                default: false
                }
            }
    }

    private static func isValue(_ value: String) -> Bool {
        value.utf8.first != 0x20 && value.utf8.last != 0x20 && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
}

/// Subjects: dot-separated tokens. nats.c sends them unchecked, so a space or line break would change the protocol line.
enum Subject {
    /// Whether messages can be published to it.
    static func isPublishable(_ subject: String) -> Bool { check(subject, wildcards: false) }

    /// Whether it can be subscribed to: may have `*` and `>` tokens.
    static func isSubscribable(_ subject: String) -> Bool { check(subject, wildcards: true) }

    /// Whether it is an inbox: begins with `_INBOX.`, and can be published to. Replies are sent only to inboxes. To any other
    /// subject they would be published with the responder's rights, where the requester may not publish.
    ///
    /// - Parameter subject: Terminated by a zero byte.
    static func isInbox(_ subject: UnsafePointer<CChar>) -> Bool {
        guard strncmp(subject, "_INBOX.", 7) == 0 else { return false }
        var previous = dot
        var next = subject + 7
        while next.pointee != 0 {
            // Above zero: ASCII without control characters and space. Below: a byte of a longer character.
            let byte = next.pointee
            if (1...32).contains(byte) || byte == 127 || byte == star || byte == greater { return false }
            if byte == dot, previous == dot { return false }
            previous = byte
            next += 1
        }
        return previous != dot && next - subject <= mostBytes
    }

    private static let dot = CChar(46)
    private static let star = CChar(42)
    private static let greater = CChar(62)

    /// Most bytes of a subject.
    static let mostBytes = 1024

    private static func check(_ subject: String, wildcards: Bool) -> Bool {
        var length = 0
        var previous = UInt8(ascii: ".")
        for byte in subject.utf8 {
            length += 1
            if byte <= 0x20 || byte == 0x7F { return false }
            if byte == UInt8(ascii: "."), previous == byte { return false }
            if !wildcards, byte == UInt8(ascii: "*") || byte == UInt8(ascii: ">") { return false }
            previous = byte
        }
        return length > 0 && length <= mostBytes && previous != UInt8(ascii: ".")
    }
}
