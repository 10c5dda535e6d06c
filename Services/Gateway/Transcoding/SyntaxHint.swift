extension JSONScanner {
    /// What was probably done wrong where JSON cannot be read; nil when that is not known.
    ///
    /// - Parameter offset: of the first byte that cannot be read.
    func hint(at offset: Int) -> String? {
        let start = Array(UnsafeBufferPointer(start: base, count: min(end, 16)))
        if start.starts(with: [0xEF, 0xBB, 0xBF]) { return "it begins with a byte order mark, which has to go" }
        if start.starts(with: [0xFE, 0xFF]) || start.starts(with: [0xFF, 0xFE]) || start.dropFirst().first == 0 {
            return "it is UTF-16, and has to be UTF-8"
        }
        if start.starts(with: "[object ".utf8) { return "it is the text of an object of JavaScript: send JSON.stringify of it" }
        guard offset < end else { return nil }
        switch base[offset] {
        case UInt8(ascii: "'"): return "texts stand between double quotes"
        case UInt8(ascii: "/"), UInt8(ascii: "#"): return "JSON has no comments"
        case UInt8(ascii: "}"), UInt8(ascii: "]"): return isBehindComma(offset) ? "no comma stands before it" : nil
        default: return nil
        }
    }

    private func isBehindComma(_ offset: Int) -> Bool {
        var place = offset - 1
        while place >= 0, [9, 10, 13, 32].contains(base[place]) { place -= 1 }
        return place >= 0 && base[place] == UInt8(ascii: ",")
    }
}
