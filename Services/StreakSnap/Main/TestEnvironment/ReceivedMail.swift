import FoundationEssentials

/// A mail as it was handed over.
struct ReceivedMail: Sendable {
    /// The envelope's sender.
    let from: String
    /// The envelope's recipient.
    let to: String
    /// Header and body; lines end with CR LF.
    let raw: [UInt8]

    var json: JSON {
        .texts([
            "from": from, "to": to, "subject": subject, "text": text, "raw": String(decoding: raw, as: UTF8.self),
        ])
    }

    /// The subject, decoded.
    var subject: String { Self.decodedWords(Self.header("Subject", of: lines)) }

    /// The plain text part, decoded; of a mail without parts all of it.
    var text: String {
        let type = Self.header("Content-Type", of: lines)
        guard let boundary = Self.parameter("boundary", of: type) else { return Self.body(of: lines) }
        let parts = lines.split(separator: "--\(boundary)", omittingEmptySubsequences: false).dropFirst().map { Array($0) }
        let plain = parts.first { Self.header("Content-Type", of: $0).lowercased().hasPrefix("text/plain") }
        return plain.map { Self.body(of: $0) } ?? ""
    }

    private var lines: [String] {
        String(decoding: raw, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: false).map(String.init)
    }

    /// A header with the lines that it goes on in (RFC 5322, 2.2.3).
    private static func header(_ name: String, of lines: [String]) -> String {
        let head = lines.drop { $0.isEmpty }.prefix { !$0.isEmpty }
        guard let first = head.firstIndex(where: { $0.lowercased().hasPrefix(name.lowercased() + ":") }) else { return "" }
        let rest = head[(first + 1)...].prefix { $0.first == " " || $0.first == "\t" }
        return ([String(head[first].dropFirst(name.count + 1))] + rest).joined().drop { $0 == " " }.description
    }

    private static func parameter(_ name: String, of value: String) -> String? {
        guard let range = value.range(of: "\(name)=\"") else { return nil }
        return String(value[range.upperBound...].prefix { $0 != "\"" })
    }

    private static func body(of lines: [String]) -> String {
        let part = lines.drop { $0.isEmpty }
        let body = part.drop { !$0.isEmpty }.dropFirst()
        guard header("Content-Transfer-Encoding", of: Array(part)).lowercased().hasPrefix("quoted-printable") else {
            return body.joined(separator: "\n")
        }
        return String(decoding: quotedPrintable(Array(body)), as: UTF8.self)
    }

    /// RFC 2045, 6.7.
    private static func quotedPrintable(_ lines: [String]) -> [UInt8] {
        var bytes: [UInt8] = []
        for line in lines {
            var rest = Array(line.utf8)[...]
            let isContinued = rest.last == UInt8(ascii: "=")
            if isContinued { rest.removeLast() }
            while let byte = rest.popFirst() {
                if byte == UInt8(ascii: "="), let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) {
                    bytes.append(value)
                    rest = rest.dropFirst(2)
                } else {
                    bytes.append(byte)
                }
            }
            if !isContinued { bytes.append(UInt8(ascii: "\n")) }
        }
        return bytes
    }

    /// Encoded words in base64 (RFC 2047), which the notifications service writes.
    private static func decodedWords(_ text: String) -> String {
        let words = text.split(separator: " ").map(String.init)
        guard words.allSatisfy({ $0.uppercased().hasPrefix("=?UTF-8?B?") && $0.hasSuffix("?=") }) else { return text }
        let bytes = words.flatMap { Array(Data(base64Encoded: String($0.dropFirst(10).dropLast(2))) ?? Data()) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
