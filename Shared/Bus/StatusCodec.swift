internal import Kernel

/// `streaksnap.common.v1.Status`, the body of an error reply. Coded by hand, because generated code imports this module:
/// `code = 1 int32, reason = 2, message = 3, repeated details = 4 {field = 1, message = 2}, retry_after = 5 int32`.
enum StatusCodec {
    /// Most details that are read; further ones are dropped.
    static let mostDetails = 200

    static func encode(_ error: ServiceError) -> [UInt8] {
        var bytes: [UInt8] = []
        put(1, varint: UInt64(error.code.rawValue), to: &bytes)
        put(2, text: error.reason, to: &bytes)
        put(3, text: error.message, to: &bytes)
        for detail in error.details {
            var inner: [UInt8] = []
            put(1, text: detail.field, to: &inner)
            put(2, text: detail.message, to: &inner)
            put(4, bytes: inner, to: &bytes)
        }
        if let retryAfter = error.retryAfter, retryAfter > 0 {
            put(5, varint: UInt64(min(retryAfter, Int(Int32.max))), to: &bytes)
        }
        return bytes
    }

    /// The error in `bytes`; nil when they are not a Status with a known code.
    static func decode(_ bytes: [UInt8]) -> ServiceError? {
        var reader = FieldReader(bytes[...])
        var code: UInt64 = 0
        var error = ServiceError(.unknown, "", "")
        while !reader.isAtEnd {
            guard let field = reader.next() else { return nil }
            switch (field.number, field.value) {
            case (1, .varint(let value)): code = value
            case (2, .bytes(let value)):
                guard let text = text(value) else { return nil }
                error.reason = text
            case (3, .bytes(let value)):
                guard let text = text(value) else { return nil }
                error.message = text
            case (4, .bytes(let value)):
                guard let detail = detail(value) else { return nil }
                if error.details.count < mostDetails { error.details.append(detail) }
            case (5, .varint(let value)):
                let seconds = Int32(truncatingIfNeeded: value)
                error.retryAfter = seconds > 0 ? Int(seconds) : nil
            case (1...5, _): return nil
            default: continue
            }
        }
        guard let known = ServiceError.Code(rawValue: Int32(truncatingIfNeeded: code)) else { return nil }
        error.code = known
        return error
    }

    private static func detail(_ bytes: ArraySlice<UInt8>) -> ServiceError.Detail? {
        var reader = FieldReader(bytes)
        var detail = ServiceError.Detail(field: "", message: "")
        while !reader.isAtEnd {
            guard let field = reader.next() else { return nil }
            guard case .bytes(let value) = field.value else {
                if field.number <= 2 { return nil }
                continue
            }
            guard field.number <= 2 else { continue }
            guard let text = text(value) else { return nil }
            if field.number == 1 { detail.field = text } else { detail.message = text }
        }
        return detail
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String? { String(validating: bytes, as: UTF8.self) }

    private static func put(_ number: UInt64, varint value: UInt64, to bytes: inout [UInt8]) {
        guard value != 0 else { return }
        append(number << 3, to: &bytes)
        append(value, to: &bytes)
    }

    private static func put(_ number: UInt64, text: String, to bytes: inout [UInt8]) {
        if !text.isEmpty { put(number, bytes: Array(text.utf8), to: &bytes) }
    }

    private static func put(_ number: UInt64, bytes value: [UInt8], to bytes: inout [UInt8]) {
        append(number << 3 | 2, to: &bytes)
        append(UInt64(value.count), to: &bytes)
        bytes += value
    }

    private static func append(_ value: UInt64, to bytes: inout [UInt8]) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}

/// Reads the fields of one protobuf message; nil for other bytes.
private struct FieldReader {
    enum Value {
        case varint(UInt64)
        case bytes(ArraySlice<UInt8>)
        case fixed
    }

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func next() -> (number: UInt64, value: Value)? {
        guard let key = varint(), case let number = key >> 3, (1...536_870_911).contains(number) else { return nil }
        switch key & 7 {
        case 0: return varint().map { (number, .varint($0)) }
        case 1: return take(8).map { _ in (number, .fixed) }
        case 2:
            guard let length = varint() else { return nil }
            return take(length).map { (number, .bytes($0)) }
        case 5: return take(4).map { _ in (number, .fixed) }
        default: return nil
        }
    }

    private mutating func take(_ count: UInt64) -> ArraySlice<UInt8>? {
        guard count <= UInt64(rest.count) else { return nil }
        let taken = rest.prefix(Int(count))
        rest = rest.dropFirst(Int(count))
        return taken
    }

    private mutating func varint() -> UInt64? {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while let byte = rest.popFirst() {
            // The tenth byte holds the last of 64 bits.
            guard shift < 63 || byte <= 1 else { return nil }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        return nil
    }
}

extension ServiceError {
    /// The error of an error reply; nil for any other reply.
    ///
    /// Replies of other software on the bus have no Status, only an HTTP-like code and text.
    init?(reply: BusMessage) {
        guard !reply.headers.isEmpty, let number = reply.headers[HeaderName.errorCode] else { return nil }
        if let status = StatusCodec.decode(reply.body) {
            self = status
        } else {
            let code = Code.allCases.first { String($0.httpStatus) == number } ?? .unknown
            self.init(code, "UNKNOWN", reply.headers[HeaderName.errorReason] ?? "The service answered with an error.")
        }
    }

    /// The error as headers and body of a reply.
    var reply: (headers: BusHeaders, body: [UInt8]) {
        var headers: BusHeaders = [HeaderName.errorCode: String(code.httpStatus), HeaderName.errorReason: reason]
        // A reason is our own constant. If one does not fit a header line, the body still has it.
        do { try headers.check() } catch { headers[HeaderName.errorReason] = "ERROR" }
        return (headers, StatusCodec.encode(self))
    }
}

extension ServiceError.Code {
    /// The HTTP status that ADR-32 tools expect as error code; the gateway has its own mapping (PF-2).
    var httpStatus: Int {
        switch self {
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
