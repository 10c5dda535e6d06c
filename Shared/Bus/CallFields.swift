/// What a call carries besides its message, as text.
///
/// Our own callers send it as one header, `call`: the values in the order of `Name`, with spaces between them and `-` for each that there is
/// not. A header costs both sides and nats.c several allocations, and a call has up to ten. A value that is empty, `-`, or has a space is sent
/// as a header of its own, by its name. Other software may send each of them that way, and need not know of `call`.
struct CallFields {
    enum Name: Int, CaseIterable {
        case traceparent, requestID, deadline, role, user, session, clientAddress, keyLifetime, idempotencyKey, seal, onlyChecks

        /// The header of its own.
        var header: String {
            switch self {
            case .traceparent: "traceparent"
            case .requestID: "request-id"
            case .deadline: "deadline"
            case .role: "principal-role"
            case .user: "principal-user"
            case .session: "principal-session"
            case .clientAddress: "client-address"
            case .keyLifetime: "idempotency-key-seconds"
            case .idempotencyKey: "idempotency-key"
            case .seal: "principal-seal"
            case .onlyChecks: "only-checks"
            }
        }
    }

    static let header = "call"

    private var values = [String?](repeating: nil, count: Name.allCases.count)

    init() {}

    subscript(name: Name) -> String? {
        get { values[name.rawValue] }
        set { values[name.rawValue] = newValue }
    }

    /// The fields of a received request.
    init(_ headers: BusHeaders) {
        for field in headers.fields where field.name == Self.header { read(field.value) }
        guard headers.fields.count > 1 || headers.fields.first?.name != Self.header else { return }
        for name in Name.allCases {
            if let value = headers[name.header] { self[name] = value }
        }
    }

    private mutating func read(_ text: String) {
        var index = 0
        for part in text.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false) {
            // Names that a later version has added.
            guard index < values.count else { return }
            if !part.elementsEqual(CollectionOfOne(UInt8(ascii: "-"))) { values[index] = String(Substring(part)) }
            index += 1
        }
    }

    /// The headers that carry them.
    var headers: BusHeaders {
        var headers = BusHeaders()
        var packed = ""
        packed.reserveCapacity(256)
        var apart: [BusHeaders.Field] = []
        for name in Name.allCases {
            if name.rawValue > 0 { packed.append(" ") }
            guard let value = self[name] else {
                packed.append("-")
                continue
            }
            if value.isEmpty || value == "-" || value.utf8.contains(UInt8(ascii: " ")) {
                apart.append(BusHeaders.Field(name: name.header, value: value))
                packed.append("-")
            } else {
                packed.append(value)
            }
        }
        headers.append(Self.header, packed)
        for field in apart { headers.append(field.name, field.value) }
        return headers
    }
}
