extension String: PostgresValue {
    public static var postgresType: PostgresType { .text }

    /// - Throws: `DatabaseError` `invalidValue` for a NUL, which PostgreSQL's texts cannot hold.
    public func encode(into bytes: inout [UInt8]) throws(DatabaseError) {
        let start = bytes.count
        bytes.append(contentsOf: utf8)
        guard !bytes[start...].contains(0) else { throw DatabaseError(.invalidValue, detail: "a text with a NUL") }
    }

    /// Reads texts, names, JSON and the labels of enums.
    public init(decoding cell: PostgresCell) throws(DatabaseError) {
        var bytes = cell.bytes[...]
        switch cell.type {
        case .text, .varchar, .bpchar, .name, .json, .unknown: break
        case .jsonb:
            // One byte of version before the text.
            guard bytes.first == 1 else { throw cell.mismatch("String") }
            bytes = bytes.dropFirst()
        case let type where type.oid >= PostgresType.firstUserOID: break
        default: throw cell.mismatch("String")
        }
        let utf8 = UnsafeRawBufferPointer(rebasing: bytes).assumingMemoryBound(to: UInt8.self)
        // A span is validated four times as fast as by `String(validating:as:)`, whose code is generic.
        guard let text = try? UTF8Span(validating: utf8.span) else { throw cell.mismatch("String") }
        self.init(copying: text)
    }
}
