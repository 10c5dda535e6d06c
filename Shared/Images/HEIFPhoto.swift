/// The photo of a HEIC without what else is in its file.
///
/// A phone puts previews, maps of gain and depth, recipes for bright screens (`tmap`) and texts beside a photo. Some of it cannot be decoded here
/// (the JPEG preview of a Sony), and old decoders refuse the whole file for what they do not know: libheif before 1.18 takes a reference with two
/// targets, which iPhones write since iOS 18, for damage. So the decoder gets a file that has the photo only.
extension HEIFItems {
    /// The properties that say how the photo is to be seen. Others describe what is not shown.
    private static let kept: Set<String> = ["hvcC", "ispe", "pixi", "colr", "clap", "irot", "imir", "auxC"]
    /// A photo is made from tiles, which are made from nothing.
    private static let deepest = 4
    /// The names of transparency among auxiliary pictures (ISO/IEC 23008-12, 14496-15 and 23091-2).
    private static let transparency = ["urn:mpeg:hevc:2015:auxid:1", "urn:mpeg:mpegB:cicp:systems:auxiliary:alpha"]

    /// The file with the photo and its alpha only: boxes in their simplest form, then the bytes of the whole file, in which they find the data.
    /// It is as long as the file and its boxes at most.
    ///
    /// - Returns: Nil when the boxes are invalid or have no photo.
    static func photo(in bytes: UnsafeRawBufferPointer) -> [UInt8]? { HEIFItems(bytes)?.withPhotoOnly() }

    private func withPhotoOnly() -> [UInt8]? {
        guard bytes.count < Int(Int32.max), let ids = decoded else { return nil }
        let head = Self.box("ftyp", Array("heic\0\0\0\0mif1heic".utf8))
        // All numbers are as long whatever they say, so the first pass shows where the data begin.
        let start = head.count + description(of: ids, movedBy: 0).count + 8
        var file = head
        file.reserveCapacity(start + bytes.count)
        file += description(of: ids, movedBy: start)
        file += Self.big(bytes.count + 8, 4) + Array("mdat".utf8)
        file += bytes
        return file
    }

    /// The items that are decoded, the photo first; nil when there are none, or when one is made from itself.
    private var decoded: [Int]? {
        guard items[photo]?.isPicture ?? false else { return nil }
        var (found, ids): (Set<Int>, [Int]) = ([], [])
        var next = [photo] + (alpha.map { [$0] } ?? [])
        for _ in 0..<Self.deepest {
            let level = Set(next)
            ids += next.filter { items[$0]?.isPicture ?? false && found.insert($0).inserted }
            next = level.flatMap { items[$0]?.parts ?? [] }
        }
        return next.isEmpty ? ids : nil
    }

    /// The primary item, or what a recipe for bright screens begins with.
    var photo: Int {
        guard let item = items[primary], item.type == "tmap", let base = item.sources.first else { return primary }
        return base
    }

    /// The item with the transparency of the photo.
    var alpha: Int? { items[photo]?.companions.first { items[$0]?.isPicture ?? false && isAlpha($0) } }

    private func isAlpha(_ id: Int) -> Bool {
        items[id]?.properties.contains { number, _ in
            guard properties[number].type == "auxC" else { return false }
            // A version and flags, then the name, ended by a zero byte.
            let name = bytes[properties[number].body].dropFirst(4).prefix { $0 != 0 }
            return Self.transparency.contains { name.elementsEqual($0.utf8) }
        } ?? false
    }
}

extension HEIFItems {
    /// The box `meta` of these items, numbered from 1, whose data lie farther back in the file.
    private func description(of ids: [Int], movedBy distance: Int) -> [UInt8] {
        let handler = Self.full("hdlr", Self.zeros(4) + Array("pict".utf8) + Self.zeros(13))
        let numbers = Dictionary(uniqueKeysWithValues: zip(ids, 1...))
        return Self.full(
            "meta",
            handler + Self.full("pitm", Self.big(1, 2)) + types(ids) + properties(ids) + references(ids, numbers)
                + places(ids, movedBy: distance)
        )
    }

    private func types(_ ids: [Int]) -> [UInt8] {
        var entries: [UInt8] = []
        for (index, id) in ids.enumerated() {
            // All but the photo are hidden: no pictures of their own.
            let body = Self.big(index + 1, 2) + Self.zeros(2) + Array((items[id]?.type ?? "").utf8) + [0]
            entries += Self.full("infe", version: 2, flags: index == 0 ? 0 : 1, body)
        }
        return Self.full("iinf", Self.big(ids.count, 2) + entries)
    }

    private func properties(_ ids: [Int]) -> [UInt8] {
        var (boxes, links): ([UInt8], [UInt8]) = ([], [])
        // Each is written once, however many items it describes.
        var numbers: [Int: Int] = [:]
        for (index, id) in ids.enumerated() {
            let kept = items[id]?.properties.filter { Self.kept.contains(properties[$0.number].type) } ?? []
            links += Self.big(index + 1, 2) + [UInt8(kept.count)]
            for (number, isEssential) in kept {
                if numbers[number] == nil {
                    numbers[number] = numbers.count + 1
                    boxes += Self.box(properties[number].type, Array(bytes[properties[number].body]))
                }
                links += Self.big((numbers[number] ?? 0) | (isEssential ? 0x8000 : 0), 2)
            }
        }
        return Self.box("iprp", Self.box("ipco", boxes) + Self.full("ipma", flags: 1, Self.big(ids.count, 4) + links))
    }

    private func references(_ ids: [Int], _ numbers: [Int: Int]) -> [UInt8] {
        func reference(_ type: String, from: Int, to: [Int]) -> [UInt8] {
            Self.box(type, ([from, to.count] + to).flatMap { Self.big($0, 2) })
        }
        var entries: [UInt8] = []
        for (index, id) in ids.enumerated() {
            // One that is missing has the number 0, which no item has.
            let parts = (items[id]?.parts ?? []).map { numbers[$0] ?? 0 }
            if !parts.isEmpty { entries += reference("dimg", from: index + 1, to: parts) }
        }
        if let alpha, let number = numbers[alpha] { entries += reference("auxl", from: number, to: [1]) }
        return entries.isEmpty ? [] : Self.full("iref", entries)
    }

    private func places(_ ids: [Int], movedBy distance: Int) -> [UInt8] {
        var (count, entries): (Int, [UInt8]) = (0, [])
        for (index, id) in ids.enumerated() {
            guard let place = items[id]?.place else { continue }
            count += 1
            // In the file itself, in one piece.
            entries += Self.big(index + 1, 2) + Self.zeros(2) + Self.big(1, 2)
            entries += Self.big(place.lowerBound + distance, 4) + Self.big(place.count, 4)
        }
        // Four bytes for a place, four for a length, none for a base.
        return Self.full("iloc", [0x44, 0] + Self.big(count, 2) + entries)
    }

    private static func box(_ type: String, _ body: [UInt8]) -> [UInt8] { big(body.count + 8, 4) + Array(type.utf8) + body }

    private static func full(_ type: String, version: UInt8 = 0, flags: UInt8 = 0, _ body: [UInt8]) -> [UInt8] {
        box(type, [version, 0, 0, flags] + body)
    }

    private static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

    /// The lowest bytes of a number, the highest of them first.
    private static func big(_ number: Int, _ size: Int) -> [UInt8] {
        (0..<size).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
}
