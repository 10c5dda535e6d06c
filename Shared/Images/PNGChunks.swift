/// What libpng is given of a PNG. Not its texts, which nothing here reads: libpng unpacks them all the same, up to 8 MB each and a thousand of them: a few megabytes of
/// file would fill gigabytes of memory.
enum PNGChunks {
    private static let texts: Set<String> = ["tEXt", "zTXt", "iTXt"]

    /// How many bytes a pixel unpacks to, as the header says; twice as many when it is interlaced. 8 when the header cannot be read.
    static func unpackedBytesPerPixel(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard bytes.count > 28 else { return 8 }
        // IHDR follows the signature: width, height, bit depth, colour type, …, interlace method.
        let (depth, colours, isInterlaced) = (Int(bytes[24]), bytes[25], bytes[28] != 0)
        let channels = [0: 1, 2: 3, 3: 1, 4: 2, 6: 4][colours] ?? 4
        return max(1, channels * depth / 8) * (isInterlaced ? 2 : 1)
    }

    /// The file without its texts, and with its Exif before its pixels: programs that write the orientation afterwards put it behind them, where
    /// libpng does not look. Nil when nothing is to be changed. What is damaged stays as it is.
    static func rearranged(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
        var kept: [Range<Int>] = [0..<min(8, bytes.count)]
        var reader = BoxReader(bytes, min(8, bytes.count)..<bytes.count)
        var isChanged = false
        // The parts before the pixels, and the first Exif.
        var (header, exif): (Int?, Range<Int>?)
        while reader.left > 0 {
            let start = reader.position
            guard let size = reader.number(4), let type = reader.text(4), reader.skip(size), reader.skip(4) else {
                kept.append(start..<bytes.count)
                break
            }
            let chunk = start..<reader.position
            if type == "IDAT", header == nil { header = kept.count }
            let isLate = type == "eXIf" && header != nil
            if type == "eXIf", exif == nil {
                exif = chunk
                if isLate, let header { kept.insert(chunk, at: header) }
            }
            if texts.contains(type) || isLate {
                isChanged = true
            } else if let last = kept.last, last.upperBound == start, header != kept.count {
                kept[kept.count - 1] = last.lowerBound..<chunk.upperBound
            } else {
                kept.append(chunk)
            }
        }
        guard isChanged else { return nil }
        var rest: [UInt8] = []
        rest.reserveCapacity(kept.reduce(0) { $0 + $1.count })
        for range in kept { rest += bytes[range] }
        return rest
    }
}
