internal import Cryptography
public import Kernel

/// A text of seal keys that cannot be used: says what is wrong, never a key.
public struct SealKeyProblem: Error, Equatable {
    /// What follows the name of a setting: "must have …".
    public let message: String
}

/// What a gateway says under seal about a request: who it is from, which method was called and until when (D23).
///
/// The text is `<deadline>;<subject>;<service>=<code>;<service>=<code>…`, one code for each service, so that a service can pass on what it
/// got. A code is an HMAC-SHA256 of 16 bytes in base64url, with the key that the gateway shares with that service, over the SHA-256 of the
/// claims. Who has the key of one service can seal for that service only.
enum Seal {
    /// Bytes of a code.
    static let codeLength = 16

    /// What is sealed: no two contexts have the same bytes.
    static func claims(_ context: CallContext, deadline: Int64, subject: some Collection<UInt8>) -> SHA256Digest {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(192)
        // Of this form.
        bytes.append(1)
        if let principal = context.principal {
            bytes.append(contentsOf: principal.role.rawValue.utf8)
            bytes.append(0)
            append(principal.userID.map { ($0.high, $0.low) }, to: &bytes)
            append(principal.sessionID.map { ($0.high, $0.low) }, to: &bytes)
        } else {
            bytes.append(0)
        }
        append(UInt64(bitPattern: deadline), to: &bytes)
        let address = context.clientAddress?.bytes ?? []
        bytes.append(UInt8(address.count))
        bytes.append(contentsOf: address)
        // No header holds a NUL.
        bytes.append(contentsOf: subject)
        bytes.append(0)
        bytes.append(contentsOf: context.requestID.utf8)
        return SHA256.hash(data: bytes)
    }

    private static func append(_ id: (high: UInt64, low: UInt64)?, to bytes: inout [UInt8]) {
        guard let id else { return bytes.append(0) }
        bytes.append(1)
        append(id.high, to: &bytes)
        append(id.low, to: &bytes)
    }

    private static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }

    static func code(_ key: HMACSHA256, _ claims: SHA256Digest) -> Slice<SHA256Digest> {
        key.code(for: claims).prefix(codeLength)
    }

    /// Keys in a text, with spaces, commas or lines between them.
    static func words(_ text: String) -> [Substring] {
        text.split { $0 == "," || $0.isWhitespace }
    }

    static func key(_ text: Substring) throws(SealKeyProblem) -> HMACSHA256 {
        guard text.utf8.count >= 32 else { throw SealKeyProblem(message: "must have keys of at least 32 characters.") }
        return HMACSHA256(key: Array(text.utf8))
    }
}

/// Seals what a gateway says about requests. Only gateways have one, and tests that stand for them.
public struct Sealer: Sendable {
    private struct Entry: Sendable {
        let service: String
        let key: HMACSHA256
    }

    private let entries: [Entry]

    /// - Parameter text: a key for each service, `auth:KEY social:KEY`, with spaces, commas or lines between them.
    public init(_ text: String) throws(SealKeyProblem) {
        var entries: [Entry] = []
        for word in Seal.words(text) {
            let parts = word.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, ServiceName.isValid(String(parts[0])) else {
                throw SealKeyProblem(message: "must be name:key for each service.")
            }
            guard !entries.contains(where: { $0.service == parts[0] }) else {
                throw SealKeyProblem(message: "has \(parts[0]) twice.")
            }
            entries.append(Entry(service: String(parts[0]), key: try Seal.key(parts[1])))
        }
        guard !entries.isEmpty else { throw SealKeyProblem(message: "must be name:key for each service.") }
        self.entries = entries
    }

    /// A context with its seal for a call of a method. One that was sealed before stays so, and one that claims nothing needs none.
    func sealed(_ context: CallContext, for subject: String) -> CallContext {
        guard context.seal == nil, context.principal != nil || context.clientAddress != nil else { return context }
        let deadline = context.deadline.milliseconds
        let claims = Seal.claims(context, deadline: deadline, subject: subject.utf8)
        var text = ""
        text.reserveCapacity(64 + subject.utf8.count + entries.count * 40)
        text += "\(deadline);"
        text += subject
        for entry in entries {
            text += ";"
            text += entry.service
            text += "="
            text += Base64URL.encode(Seal.code(entry.key, claims))
        }
        var context = context
        context.seal = text
        return context
    }
}

/// Checks seals for one service.
public struct SealCheck: Sendable {
    /// Why a request is refused.
    enum Problem: String, Sendable {
        /// It claims to be from a user, and no gateway says so.
        case missing
        /// The code is none of this service's key for these claims.
        case forged
        /// Its deadline has passed: it was sealed for an earlier request.
        case expired
        /// It was sealed for a method that passes nothing on to this one.
        case otherMethod

        var error: ServiceError {
            guard self != .otherMethod else {
                return ServiceError(
                    .permissionDenied,
                    "SEALED_FOR_ANOTHER_METHOD",
                    "The principal was sealed for another method."
                )
            }
            return ServiceError(.unauthenticated, "PRINCIPAL_NOT_SEALED", "No gateway has sealed this principal.")
        }
    }

    /// `;auth=`
    private let entry: [UInt8]
    private let keys: [HMACSHA256]
    private let mayPassOn: @Sendable (_ first: String, _ subject: String) -> Bool

    /// - Parameters:
    ///   - service: its name on the bus.
    ///   - text: its key; two while it is being changed, with a space, comma or line between them.
    ///   - mayPassOn: whether a principal that was sealed for one subject may come with a request of another.
    public init(
        service: String,
        keys text: String,
        mayPassOn: @escaping @Sendable (_ first: String, _ subject: String) -> Bool
    ) throws(SealKeyProblem) {
        self.entry = Array(";\(service)=".utf8)
        self.mayPassOn = mayPassOn
        var keys: [HMACSHA256] = []
        for word in Seal.words(text) { keys.append(try Seal.key(word)) }
        guard (1...2).contains(keys.count) else { throw SealKeyProblem(message: "must be one key, or two.") }
        self.keys = keys
    }

    /// What is wrong with what a request claims; nil when it may be believed. Without a seal it may be from a service that acts for itself:
    /// the broker has checked who may call the method.
    ///
    /// - Parameter context: loses what is not sealed and may be, and its deadline is not later than that of the seal.
    func problem(with context: inout CallContext, at subject: String) -> Problem? {
        guard let seal = context.seal else {
            if let principal = context.principal, principal != Principal(role: .service) { return .missing }
            context.clientAddress = nil
            return nil
        }
        guard let parts = SealParts(seal, entry) else { return .forged }
        let claims = Seal.claims(context, deadline: parts.deadline, subject: parts.subject)
        guard keys.contains(where: { parts.isCode(Base64URL.encode(Seal.code($0, claims))) }) else { return .forged }
        let end = Instant(milliseconds: parts.deadline)
        guard SystemClock.now() < end else { return .expired }
        context.deadline = min(context.deadline, end)
        if parts.subject.elementsEqual(subject.utf8) { return nil }
        return mayPassOn(String(decoding: parts.subject, as: UTF8.self), subject) ? nil : .otherMethod
    }
}

/// What one service reads of a seal.
private struct SealParts {
    let deadline: Int64
    let subject: ArraySlice<UInt8>
    /// In base64url.
    private let code: ArraySlice<UInt8>

    /// - Parameter entry: `;auth=` of the service.
    init?(_ text: String, _ entry: [UInt8]) {
        let (bytes, end) = (Array(text.utf8), UInt8(ascii: ";"))
        guard let first = bytes.firstIndex(of: end), (1...15).contains(first),
            let second = bytes[(first + 1)...].firstIndex(of: end)
        else { return nil }
        var deadline = Int64(0)
        for digit in bytes[..<first] {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            deadline = deadline * 10 + Int64(digit - UInt8(ascii: "0"))
        }
        var position = second
        while !bytes[position...].starts(with: entry) {
            guard let next = bytes[(position + 1)...].firstIndex(of: end) else { return nil }
            position = next
        }
        let rest = bytes[(position + entry.count)...]
        (self.deadline, self.subject, self.code) = (deadline, bytes[(first + 1)..<second], rest.prefix { $0 != end })
    }

    /// Compares in a time that does not depend on where the two differ.
    func isCode(_ right: String) -> Bool {
        code.count == right.utf8.count && zip(code, right.utf8).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

extension ServiceError {
    /// Whether a service refused what its caller said under seal, or did not: a key of the installation is wrong, or something forges.
    public var isOfSeal: Bool { ["PRINCIPAL_NOT_SEALED", "SEALED_FOR_ANOTHER_METHOD"].contains(reason) }
}
