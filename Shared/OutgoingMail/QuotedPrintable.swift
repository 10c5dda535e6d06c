/// The transfer encoding of texts (RFC 2045, 6.7): readable where it is ASCII, and no line above 76 characters.
enum QuotedPrintable {
    private static let lineLength = 76
    private static let digits = Array("0123456789ABCDEF".utf8)

    /// A text with lines that end with CR LF, whichever line breaks it had; also the last one.
    static func encode(_ text: String) -> [UInt8] {
        var result: [UInt8] = []
        for line in lines(of: Array(text.utf8)) {
            encode(line, into: &result)
            result += [13, 10]
        }
        return result
    }

    private static func lines(of bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        var lines: [ArraySlice<UInt8>] = []
        var (start, index) = (0, 0)
        while index < bytes.count {
            let isPair = bytes[index] == 13 && index + 1 < bytes.count && bytes[index + 1] == 10
            guard bytes[index] == 10 || bytes[index] == 13 else {
                index += 1
                continue
            }
            lines.append(bytes[start..<index])
            index += isPair ? 2 : 1
            start = index
        }
        if start < bytes.count { lines.append(bytes[start...]) }
        return lines
    }

    private static func encode(_ line: ArraySlice<UInt8>, into result: inout [UInt8]) {
        var length = 0
        for (index, byte) in zip(line.indices, line) {
            let isBlank = byte == 32 || byte == 9
            let isLast = index == line.endIndex - 1
            let isLiteral = (33...126).contains(byte) && byte != UInt8(ascii: "=") || isBlank && !isLast
            let code = isLiteral ? [byte] : [UInt8(ascii: "="), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            // The last place of a line is for the mark that it goes on; the last character of the text needs none.
            if length + code.count > (isLast ? lineLength : lineLength - 1) {
                result += [UInt8(ascii: "="), 13, 10]
                length = 0
            }
            result += code
            length += code.count
        }
    }
}
