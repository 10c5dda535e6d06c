/// Writes CSV (RFC 4180): cells in quotes where they need it, lines that end in CR LF.
public struct CSVWriter: Sendable {
    /// What has been written since the last `drain`.
    public private(set) var bytes: [UInt8] = []

    public init() {}

    public mutating func row(_ cells: [String]) {
        for (index, cell) in cells.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            let needsQuotes =
                cells.count == 1 && cell.isEmpty || cell.utf8.first == 32 || cell.utf8.last == 32
                || cell.utf8.contains { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "\"") || $0 == 10 || $0 == 13 }
            guard needsQuotes else {
                bytes += Array(cell.utf8)
                continue
            }
            bytes.append(UInt8(ascii: "\""))
            for byte in cell.utf8 {
                if byte == UInt8(ascii: "\"") { bytes.append(byte) }
                bytes.append(byte)
            }
            bytes.append(UInt8(ascii: "\""))
        }
        bytes += [13, 10]
    }

    /// Takes what has been written out of the writer, which goes on after it.
    public mutating func drain() -> [UInt8] {
        defer { bytes.removeAll(keepingCapacity: true) }
        return bytes
    }
}

/// Makes cells that a spreadsheet would run as a formula plain text, and makes it undone (HA-6).
///
/// Such a cell gets an apostrophe in front; one that already has apostrophes in front of a formula gets one more, so that nothing is lost.
/// All other cells, also those that begin with an apostrophe, stay as they are.
public enum SpreadsheetGuard {
    /// What a formula begins with, in the programs that are in use; the wide forms too.
    private static let starts: Set<Unicode.Scalar> = ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"]

    public static func protect(_ cell: String) -> String { isFormula(cell.unicodeScalars[...]) ? "'" + cell : cell }

    public static func restore(_ cell: String) -> String {
        let scalars = cell.unicodeScalars
        guard scalars.first == "'", isFormula(scalars.dropFirst()) else { return cell }
        return String(scalars.dropFirst())
    }

    private static func isFormula(_ cell: Substring.UnicodeScalarView) -> Bool {
        cell.drop { $0 == "'" }.first.map(starts.contains) ?? false
    }
}
