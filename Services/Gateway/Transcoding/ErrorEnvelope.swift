public import Kernel

/// The HTTP form of a failure (PF-1, PF-2).
public enum ErrorEnvelope {
    /// `{"success":false,"error":{"code","reason","message","details":[{"field","message"}]},"meta":{"request_id"}}`.
    ///
    /// - Parameters:
    ///   - error: its reason becomes `error.reason`, on every route, and `error.code`.
    ///   - requestID: becomes `meta.request_id`.
    ///   - isExact: for routes whose bodies follow a published interface (`exact`): `details` is an object, and the code of each 401 is
    ///     `UNAUTHORIZED`.
    public static func json(_ error: ServiceError, requestID: String, isExact: Bool = false) -> [UInt8] {
        var out = JSONText()
        out.object { out in
            out.member("success") { $0.raw("false") }
            out.member("error") { out in
                out.object { out in
                    out.member("code") { $0.string(isExact && error.code == .unauthenticated ? "UNAUTHORIZED" : error.reason) }
                    out.member("reason") { $0.string(error.reason) }
                    out.member("message") { $0.string(error.message) }
                    out.member("details") { out in
                        guard isExact else { return out.list(error.details) }
                        out.fields(error.details, areSentences: error.reason == "VALIDATION_ERROR")
                    }
                }
            }
            out.member("meta") { out in
                out.object { out in out.member("request_id") { $0.string(requestID) } }
            }
        }
        return out.bytes
    }

    /// The challenge of a 401 (RFC 6750 §3): why the access token was refused, where one was.
    public static func challenge(_ error: ServiceError) -> String {
        let scheme = "Bearer"
        guard ErrorReasons.accessToken.contains(error.reason) else { return scheme + #" realm="api""# }
        // Quotes, backslashes and what is not ASCII may not stand in the description.
        let text = String(decoding: error.message.utf8.filter { (32...126).contains($0) && $0 != 34 && $0 != 92 }, as: UTF8.self)
        return scheme + #" error="invalid_token", error_description="\#(text)", realm="api""#
    }

    /// Whether a detail's message is written as it is in an object: a number or a flag of JSON.
    static func isLiteral(_ text: String) -> Bool {
        if text == "true" || text == "false" { return true }
        let digits = Array((text.hasPrefix("-") ? text.dropFirst() : Substring(text)).utf8)
        let parts = digits.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), digits.count <= 18 else { return false }
        guard parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy { (48...57).contains($0) } }) else { return false }
        return parts[0].count == 1 || parts[0].first != UInt8(ascii: "0")
    }

    /// The HTTP status of a code: google.rpc.Code's own mapping, with ABORTED as 409 (PF-2).
    public static func httpStatus(_ code: ServiceError.Code) -> Int {
        switch code {
        case .invalidArgument, .failedPrecondition, .outOfRange: 400
        case .unauthenticated: 401
        case .permissionDenied: 403
        case .notFound: 404
        case .alreadyExists, .aborted: 409
        case .resourceExhausted: 429
        case .cancelled: 499
        case .unknown, .internal, .dataLoss: 500
        case .unimplemented: 501
        case .unavailable: 503
        case .deadlineExceeded: 504
        }
    }
}

/// Writes small JSON documents that are not on the hot path: errors and the OpenAPI page.
struct JSONText {
    private(set) var bytes: [UInt8] = []
    private var needsComma = false

    mutating func object(_ body: (inout JSONText) -> Void) {
        bytes.append(UInt8(ascii: "{"))
        needsComma = false
        body(&self)
        bytes.append(UInt8(ascii: "}"))
        needsComma = true
    }

    mutating func array<Element>(_ elements: [Element], _ body: (inout JSONText, Element) -> Void) {
        bytes.append(UInt8(ascii: "["))
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            needsComma = false
            body(&self, element)
        }
        bytes.append(UInt8(ascii: "]"))
        needsComma = true
    }

    mutating func member(_ name: String, _ value: (inout JSONText) -> Void) {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        string(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
        value(&self)
        needsComma = true
    }

    mutating func raw(_ text: String) { bytes += Array(text.utf8) }

    mutating func string(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case 0x0A: bytes += Array("\\n".utf8)
            case 0..<0x20: bytes += Array("\\u00".utf8) + [48 + byte >> 4, byte & 15 < 10 ? 48 + byte & 15 : 87 + byte & 15]
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    mutating func member(_ name: String, string text: String) { member(name) { $0.string(text) } }
    mutating func member(_ name: String, raw text: String) { member(name) { $0.raw(text) } }
}

extension JSONText {
    /// `[{"field","message"}]`.
    fileprivate mutating func list(_ details: [ServiceError.Detail]) {
        array(details) { out, detail in
            out.object { out in
                out.member("field") { $0.string(detail.field) }
                out.member("message") { $0.string(detail.message) }
            }
        }
    }

    /// `{field: message}`, each field once; a message that is a number or a flag is one.
    ///
    /// - Parameter areSentences: what is said of wrong fields begins with a capital there.
    fileprivate mutating func fields(_ details: [ServiceError.Detail], areSentences: Bool) {
        var known: Set<String> = []
        object { out in
            for detail in details {
                let name = detail.field.isEmpty ? "request" : detail.field
                guard known.insert(name).inserted else { continue }
                out.member(name) { out in
                    if ErrorEnvelope.isLiteral(detail.message) { return out.raw(detail.message) }
                    let message = detail.message
                    out.string(areSentences ? message.prefix(1).uppercased() + message.dropFirst() : message)
                }
            }
        }
    }
}
