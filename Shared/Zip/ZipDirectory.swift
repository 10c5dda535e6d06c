/// Reads the central directory of a ZIP archive.
struct ZipDirectory {
    let bytes: [UInt8]
    let limits: ZipArchive.Limits

    private struct End {
        var count: Int
        var size: Int
        var offset: Int
        /// Where the record begins: the directory lies before it.
        var place: Int
    }

    func read() throws(ZipError) -> [ZipArchive.Entry] {
        let end = try findEnd()
        guard end.count <= limits.entries else { throw .tooManyEntries }
        guard end.offset >= 0, end.size >= 0, end.offset <= end.place, end.size <= end.place - end.offset else { throw .corrupt }
        var entries: [ZipArchive.Entry] = []
        var names: Set<String> = []
        var total = 0
        var position = end.offset
        for _ in 0..<end.count {
            guard position + 46 <= end.offset + end.size, number(position, 4) == 0x0201_4B50 else { throw .corrupt }
            let lengths = [28, 30, 32].map { number(position + $0, 2) }
            let next = position + 46 + lengths.reduce(0, +)
            guard next <= end.offset + end.size else { throw .corrupt }
            if let entry = try entry(position, lengths, before: end.offset) {
                total += entry.size
                guard total <= limits.totalBytes else { throw .tooLarge }
                guard names.insert(entry.name).inserted else { throw .corrupt }
                entries.append(entry)
            }
            position = next
        }
        try refuseOverlaps(entries)
        return entries
    }

    /// Archives in which many entries share their packed bytes unpack to far more than they weigh.
    private func refuseOverlaps(_ entries: [ZipArchive.Entry]) throws(ZipError) {
        var last = 0
        for range in entries.map(\.data).sorted(by: { $0.lowerBound < $1.lowerBound }) where !range.isEmpty {
            guard range.lowerBound >= last else { throw .corrupt }
            last = range.upperBound
        }
    }

    /// The record at the end; a comment may follow it.
    private func findEnd() throws(ZipError) -> End {
        guard bytes.count >= 22 else { throw .corrupt }
        let first = max(0, bytes.count - 22 - 0xFFFF)
        guard
            let place = stride(from: bytes.count - 22, through: first, by: -1).first(where: {
                number($0, 4) == 0x0605_4B50 && $0 + 22 + number($0 + 20, 2) == bytes.count
            })
        else { throw .corrupt }
        let end = End(count: number(place + 10, 2), size: number(place + 12, 4), offset: number(place + 16, 4), place: place)
        let disks = [4, 6].map { number(place + $0, 2) }
        if end.count == 0xFFFF || end.size == 0xFFFF_FFFF || end.offset == 0xFFFF_FFFF { return try findEnd64(place) }
        guard disks == [0, 0], number(place + 8, 2) == end.count else { throw .unsupported }
        return end
    }

    private func findEnd64(_ place: Int) throws(ZipError) -> End {
        let locator = place - 20
        guard locator >= 0, number(locator, 4) == 0x0706_4B50 else { throw .corrupt }
        let record = number(locator + 8, 8)
        guard record >= 0, record <= locator - 56, number(record, 4) == 0x0606_4B50 else { throw .corrupt }
        guard number(locator + 4, 4) == 0, number(locator + 16, 4) <= 1 else { throw .unsupported }
        return End(
            count: try size(record + 32),
            size: try size(record + 40),
            offset: try size(record + 48),
            place: record
        )
    }

    /// nil: a folder.
    private func entry(_ place: Int, _ lengths: [Int], before directory: Int) throws(ZipError) -> ZipArchive.Entry? {
        let flags = number(place + 8, 2)
        // Bit 0: encrypted; bit 6: strongly; bit 13: even its directory is.
        guard flags & 0x2041 == 0 else { throw .encrypted }
        let method = number(place + 10, 2)
        guard method == 0 || method == 8 else { throw .unsupported }
        let nameEnd = place + 46 + lengths[0]
        guard let name = String(validating: bytes[place + 46..<nameEnd], as: UTF8.self), Self.isSafe(name) else {
            throw .unsafeName
        }
        var (packed, size, offset) = (number(place + 20, 4), number(place + 24, 4), number(place + 42, 4))
        try readExtra(nameEnd..<nameEnd + lengths[1], &packed, &size, &offset)
        if name.hasSuffix("/") {
            guard size == 0 else { throw .corrupt }
            return nil
        }
        guard offset >= 0, offset <= directory - 30, number(offset, 4) == 0x0403_4B50 else { throw .corrupt }
        let start = offset + 30 + number(offset + 26, 2) + number(offset + 28, 2)
        guard packed >= 0, start <= directory, packed <= directory - start else { throw .corrupt }
        guard method == 8 || packed == size else { throw .corrupt }
        guard size <= limits.entryBytes else { throw .tooLarge }
        return ZipArchive.Entry(
            name: name,
            size: size,
            isDeflated: method == 8,
            packedSize: packed,
            checksum: UInt32(number(place + 16, 4)),
            data: start..<start + packed
        )
    }

    /// ZIP64: sizes that do not fit into 32 bits stand in an extra field, in this order.
    private func readExtra(_ range: Range<Int>, _ packed: inout Int, _ size: inout Int, _ offset: inout Int) throws(ZipError) {
        guard [packed, size, offset].contains(0xFFFF_FFFF) else { return }
        var position = range.lowerBound
        while position + 4 <= range.upperBound {
            let (id, length) = (number(position, 2), number(position + 2, 2))
            position += 4
            guard position + length <= range.upperBound else { throw .corrupt }
            if id == 1 {
                var next = position
                func take() throws(ZipError) -> Int {
                    guard next + 8 <= position + length else { throw .corrupt }
                    defer { next += 8 }
                    return try self.size(next)
                }
                if size == 0xFFFF_FFFF { size = try take() }
                if packed == 0xFFFF_FFFF { packed = try take() }
                if offset == 0xFFFF_FFFF { offset = try take() }
                return
            }
            position += length
        }
        throw .corrupt
    }

    /// A 64-bit size that can be one of an archive in memory.
    private func size(_ place: Int) throws(ZipError) -> Int {
        let value = number(place, 8)
        guard value >= 0, value <= 1 << 40 else { throw .tooLarge }
        return value
    }

    /// A little-endian number; 0 beyond the end.
    private func number(_ place: Int, _ count: Int) -> Int {
        guard place >= 0, place <= bytes.count - count else { return 0 }
        var value: UInt64 = 0
        for index in (0..<count).reversed() { value = value << 8 | UInt64(bytes[place + index]) }
        return Int(truncatingIfNeeded: value)
    }

    /// Whether a name is a relative path that stays inside.
    private static func isSafe(_ name: String) -> Bool {
        guard (1...1000).contains(name.utf8.count), !name.hasPrefix("/"),
            !name.utf8.contains(where: { $0 < 32 || $0 == 127 || $0 == UInt8(ascii: "\\") || $0 == UInt8(ascii: ":") })
        else { return false }
        let parts = (name.hasSuffix("/") ? name.dropLast() : name[...]).split(separator: "/", omittingEmptySubsequences: false)
        return parts.allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." }
    }
}
