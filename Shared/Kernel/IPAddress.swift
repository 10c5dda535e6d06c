/// An IPv4 or IPv6 address. An IPv4 address mapped into IPv6 (`::ffff:192.0.2.1`) is the IPv4 address.
public struct IPAddress: Hashable, Sendable, CustomStringConvertible {
    /// The address's bytes in network order: 4 or 16.
    public let bytes: [UInt8]

    /// An address as text, without port, brackets or zone; nil for anything else.
    public init?(_ text: some StringProtocol) {
        guard let bytes = text.utf8.contains(UInt8(ascii: ":")) ? Self.version6(Substring(text)) : Self.version4(Substring(text))
        else { return nil }
        let isMapped = bytes.count == 16 && bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
        self.bytes = isMapped ? Array(bytes[12...]) : bytes
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    /// Whether it is an IPv4 address.
    public var isVersion4: Bool { bytes.count == 4 }

    /// 127.0.0.0/8 or ::1.
    public var isLoopback: Bool { isVersion4 ? bytes[0] == 127 : bytes[..<15].allSatisfy { $0 == 0 } && bytes[15] == 1 }

    /// What counts as one client: an IPv6 address as its /64, of which a home has all.
    public var site: IPAddress { isVersion4 ? self : network(bits: 64) }

    /// The address with all but its first bits set to 0.
    public func network(bits: Int) -> IPAddress {
        var masked = bytes
        for index in masked.indices {
            let kept = min(max(bits - index * 8, 0), 8)
            masked[index] &= UInt8(truncatingIfNeeded: 0xFF00 >> kept)
        }
        return IPAddress(bytes: masked)
    }

    /// Dotted decimal, or eight groups of hexadecimal digits; the same text for the same address.
    public var description: String {
        if isVersion4 { return bytes.map { String($0) }.joined(separator: ".") }
        return stride(from: 0, to: 16, by: 2).map { String(Int(bytes[$0]) << 8 | Int(bytes[$0 + 1]), radix: 16) }
            .joined(separator: ":")
    }

    private static func version4(_ text: Substring) -> [UInt8]? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        // Leading zeros are refused: some programs read them as octal, others as decimal.
        let bytes = parts.compactMap { part in
            (1...3).contains(part.utf8.count) && part.utf8.allSatisfy { (48...57).contains($0) }
                && (part.utf8.count == 1 || part.utf8.first != 48) ? UInt8(part) : nil
        }
        return parts.count == 4 && bytes.count == 4 ? bytes : nil
    }

    private static func version6(_ text: Substring) -> [UInt8]? {
        guard text.utf8.count <= 45, let gap = text.firstRange(of: "::") else {
            return groups(text).flatMap { $0.count == 16 ? $0 : nil }
        }
        guard let head = groups(text[..<gap.lowerBound], mayEndDotted: false), let tail = groups(text[gap.upperBound...]),
            head.count + tail.count <= 14
        else { return nil }
        return head + [UInt8](repeating: 0, count: 16 - head.count - tail.count) + tail
    }

    /// The bytes of groups separated by single colons; the last may be dotted decimal.
    private static func groups(_ text: Substring, mayEndDotted: Bool = true) -> [UInt8]? {
        if text.isEmpty { return [] }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        var bytes: [UInt8] = []
        for (index, part) in parts.enumerated() {
            if mayEndDotted, index == parts.count - 1, part.utf8.contains(UInt8(ascii: ".")) {
                guard let last = version4(part) else { return nil }
                bytes += last
                continue
            }
            guard (1...4).contains(part.utf8.count), part.utf8.allSatisfy({ $0 != 43 && $0 != 45 }),
                let value = UInt16(part, radix: 16)
            else { return nil }
            bytes += [UInt8(value >> 8), UInt8(value & 0xFF)]
        }
        return bytes.count <= 16 ? bytes : nil
    }
}

/// A range of addresses: `10.0.0.0/8`, or one address.
public struct IPRange: Hashable, Sendable {
    private let network: IPAddress
    private let bits: Int

    /// A range as text; nil for anything else.
    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let address = IPAddress(parts[0]) else { return nil }
        let most = address.bytes.count * 8
        guard let bits = parts.count == 2 ? Int(parts[1]) : most, (0...most).contains(bits) else { return nil }
        self.network = address.network(bits: bits)
        self.bits = bits
    }

    /// Whether the range contains the address.
    public func contains(_ address: IPAddress) -> Bool {
        address.bytes.count == network.bytes.count && address.network(bits: bits) == network
    }
}
