/// Why a CSV file cannot be read any further.
public struct CSVProblem: Error, Hashable, Sendable {
    /// The line, from 1.
    public var line: Int
    /// The cell in its row, from 1.
    public var column: Int
    public var message: String

    public init(line: Int, column: Int, message: String) { (self.line, self.column, self.message) = (line, column, message) }
}

/// Reads CSV (RFC 4180) as it arrives: UTF-8 with or without a byte order mark, lines that end in LF or CR LF, cells in quotes.
///
/// It is strict: what RFC 4180 does not allow is refused with its line and column, and so are NUL, bytes that are not UTF-8 and whatever
/// exceeds the limits. Lines without anything are skipped. Its memory is that of one row.
public struct CSVReader: Sendable {
    /// What is read at most.
    public struct Limits: Hashable, Sendable {
        /// Bytes of one row.
        public var rowBytes: Int
        /// Cells of one row.
        public var columns: Int
        public var rows: Int

        public init(rowBytes: Int = 64 << 10, columns: Int = 1000, rows: Int = 1_000_000) {
            (self.rowBytes, self.columns, self.rows) = (rowBytes, columns, rows)
        }
    }

    /// A row of the file.
    public struct Row: Hashable, Sendable {
        /// The line that it begins on, from 1.
        public var line: Int
        public var cells: [String]

        public init(line: Int, cells: [String]) { (self.line, self.cells) = (line, cells) }
    }

    private enum State {
        /// Nothing of the cell has been read.
        case start
        case plain
        case quoted
        /// After a quote inside a quoted cell: its end, or the first of two.
        case quote
        /// After CR outside quotes.
        case carriageReturn
    }

    private let separator: UInt8
    private let limits: Limits
    private var state = State.start
    private var line = 1
    private var rowLine = 1
    private var rowBytes = 0
    private var rows = 0
    private var cell: [UInt8] = []
    private var cells: [String] = []
    /// The line on which the quotes of the present cell were opened.
    private var quotedSince = 1
    /// How many bytes of a byte order mark may still follow.
    private var mark: [UInt8]? = []

    /// - Parameter separator: between cells: a comma, semicolon or tab.
    public init(separator: UInt8 = UInt8(ascii: ","), limits: Limits = Limits()) {
        (self.separator, self.limits) = (separator, limits)
    }

    /// Reads the next bytes of the file.
    ///
    /// - Returns: the rows that end in them.
    /// - Throws: what is wrong; the reader cannot be used after that.
    public mutating func read(_ bytes: some Sequence<UInt8>) throws(CSVProblem) -> [Row] {
        var found: [Row] = []
        for byte in bytes { if let row = try read(byte) { found.append(row) } }
        return found
    }

    /// Reads the next byte of the file: so of a large file one row is in memory at a time.
    ///
    /// - Returns: the row that ends with it.
    /// - Throws: what is wrong; the reader cannot be used after that.
    public mutating func read(_ byte: UInt8) throws(CSVProblem) -> Row? {
        guard let begun = mark else { return try take(byte) }
        let order: [UInt8] = [0xEF, 0xBB, 0xBF]
        if byte == order[begun.count] {
            mark = begun.count == 2 ? nil : begun + [byte]
            return nil
        }
        mark = nil
        // None of them ends a row.
        for early in begun { _ = try take(early) }
        return try take(byte)
    }

    /// Ends the file.
    ///
    /// - Returns: the last row, when no line end follows it.
    public mutating func finish() throws(CSVProblem) -> [Row] {
        for early in mark ?? [] { _ = try take(early) }
        mark = nil
        switch state {
        case .quoted:
            throw CSVProblem(line: quotedSince, column: cells.count + 1, message: "has quotes that are never closed")
        case .carriageReturn: throw problem("has a line end of CR alone: lines end in LF or CR LF")
        case .start where cells.isEmpty: return []
        default: return try endRow().map { [$0] } ?? []
        }
    }

    private mutating func take(_ byte: UInt8) throws(CSVProblem) -> Row? {
        rowBytes += 1
        guard rowBytes <= limits.rowBytes else { throw problem("is in a row of more than \(limits.rowBytes) bytes") }
        guard byte != 0 else { throw problem("has a NUL byte: is it a CSV file in UTF-8?") }
        switch state {
        case .carriageReturn:
            guard byte == 10 else { throw problem("has a line end of CR alone: lines end in LF or CR LF") }
            return try endRow()
        case .quoted:
            if byte == UInt8(ascii: "\"") {
                state = .quote
            } else {
                if byte == 10 { line += 1 }
                cell.append(byte)
            }
        case .quote where byte == UInt8(ascii: "\""):
            state = .quoted
            cell.append(byte)
        case .start where byte == UInt8(ascii: "\""):
            (state, quotedSince) = (.quoted, line)
        case .start, .plain, .quote:
            switch byte {
            case separator: try endCell()
            case 10: return try endRow()
            case 13: state = .carriageReturn
            default:
                if case .quote = state { throw problem("goes on after its closing quote") }
                guard byte != UInt8(ascii: "\"") else { throw problem("has a quote, but does not begin with one") }
                state = .plain
                cell.append(byte)
            }
        }
        return nil
    }

    private mutating func endCell() throws(CSVProblem) {
        guard let text = String(validating: cell, as: UTF8.self) else {
            throw problem("is not UTF-8: save the file as UTF-8, not as Latin-1 or UTF-16")
        }
        cells.append(text)
        guard cells.count <= limits.columns else { throw problem("is in a row of more than \(limits.columns) cells") }
        cell.removeAll(keepingCapacity: true)
        state = .start
    }

    private mutating func endRow() throws(CSVProblem) -> Row? {
        // Quotes around nothing are a cell; nothing at all is an empty line.
        let isEmpty: Bool = if case .quote = state { false } else { cells.isEmpty && cell.isEmpty }
        defer {
            cells = []
            cell.removeAll(keepingCapacity: true)
            (state, rowBytes) = (.start, 0)
            line += 1
            rowLine = line
        }
        if isEmpty { return nil }
        try endCell()
        rows += 1
        guard rows <= limits.rows else { throw problem("is beyond the limit of \(limits.rows) rows") }
        return Row(line: rowLine, cells: cells)
    }

    private func problem(_ message: String) -> CSVProblem {
        CSVProblem(line: line, column: max(1, cells.count + 1), message: message)
    }
}
