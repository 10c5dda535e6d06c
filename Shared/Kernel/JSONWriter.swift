/// Writes a JSON document (RFC 8259) piece by piece, so that a long one can be sent as it is made.
///
/// The caller gives the parts in their order; commas and quotes come by themselves.
public struct JSONWriter: Sendable {
    /// What has been written since the last `drain`.
    public private(set) var bytes: [UInt8] = []
    /// The next value or name begins an object or array, or follows its name.
    private var isFirst = true

    /// An empty document.
    public init() {}

    /// Begins an object.
    public mutating func beginObject() { open(UInt8(ascii: "{")) }
    /// Ends an object.
    public mutating func endObject() { close(UInt8(ascii: "}")) }
    /// Begins an array.
    public mutating func beginArray() { open(UInt8(ascii: "[")) }
    /// Ends an array.
    public mutating func endArray() { close(UInt8(ascii: "]")) }

    /// The name of the member that follows.
    public mutating func name(_ name: String) {
        string(name)
        bytes.append(UInt8(ascii: ":"))
        isFirst = true
    }

    /// A string.
    public mutating func string(_ text: String) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case 10: bytes += Array("\\n".utf8)
            case 13: bytes += Array("\\r".utf8)
            case 9: bytes += Array("\\t".utf8)
            case 0..<32:
                let digits = String(byte, radix: 16)
                bytes += Array(("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).utf8)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// An integer.
    public mutating func integer(_ value: some BinaryInteger) { token(String(value)) }
    /// `true` or `false`.
    public mutating func bool(_ value: Bool) { token(value ? "true" : "false") }
    /// `null`.
    public mutating func null() { token("null") }

    /// A decimal number in thousandths, without needless zeros: 1500 is written as `1.5`.
    public mutating func thousandths(_ value: Int64) { token(Self.decimal(thousandths: value)) }

    /// A decimal number in thousandths as text: `1.5`, `-0.001`, `20`.
    public static func decimal(thousandths value: Int64) -> String {
        let (whole, rest) = value.magnitude.quotientAndRemainder(dividingBy: 1000)
        let sign = value < 0 ? "-" : ""
        guard rest > 0 else { return "\(sign)\(whole)" }
        var digits = CalendarDate.padded(Int(rest), 3)
        while digits.hasSuffix("0") { digits.removeLast() }
        return "\(sign)\(whole).\(digits)"
    }

    /// Takes what has been written out of the writer, which goes on after it.
    public mutating func drain() -> [UInt8] {
        defer { bytes.removeAll(keepingCapacity: true) }
        return bytes
    }

    private mutating func open(_ byte: UInt8) {
        separate()
        bytes.append(byte)
        isFirst = true
    }

    private mutating func close(_ byte: UInt8) {
        bytes.append(byte)
        isFirst = false
    }

    private mutating func token(_ text: String) {
        separate()
        bytes += Array(text.utf8)
    }

    private mutating func separate() {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        isFirst = false
    }
}
