/// The items of a HEIC, read from its boxes (ISO/IEC 23008-12, 14496-12, 14496-15) before decoding: which of them are the photo, and what
/// decoding them costs.
///
/// A file can declare another size than that of its coded pictures, and a grid can use a tile many times: a kilobyte can make a
/// decoder fill gigabytes. Ambiguous boxes, which two readers could read differently, are refused.
struct HEIFItems {
    /// The most pixels of one picture: the limit of an upload, rounded up as coding does.
    static let mostOfOne = 64_000_000

    /// The budget for a file.
    private struct Budget {
        /// Items and units of video data that are read. A photo of 48 megapixels in tiles of 512 × 512 needs about a thousand.
        var steps = 20_000
        /// Bytes of all decoded pictures and of RGB beside them: an 8-bit photo of 64 megapixels with its alpha, or one of 10 bits. The decoder takes a
        /// third more.
        var memory = 600_000_000
        /// Pixels in slices: each slice of a picture may be as large as the picture.
        var passes = 1_000_000_000

        mutating func step() -> Bool {
            steps -= 1
            return steps > 0
        }
    }

    struct Item {
        var type = ""
        /// The items that it refers to as its sources.
        var sources: [Int] = []
        /// Pictures that come with it: alpha, depth, maps of gain.
        var companions: [Int] = []
        /// What describes it: the number of a property, from 0, and whether a reader must understand it.
        var properties: [(number: Int, isEssential: Bool)] = []
        /// The body of the box that configures the decoder.
        var configuration: Range<Int>?
        /// The place of its data; nil also when they are scattered, which no camera does.
        var place: Range<Int>?

        /// The items that it is made from: tiles, layers, or one that is turned.
        var parts: [Int] { ["grid", "iovl", "iden"].contains(type) ? sources : [] }
        /// Whether it is a picture that is decoded.
        var isPicture: Bool { type == "hvc1" || !parts.isEmpty }
    }

    /// The limit of items: a file has about 300, and each uses memory here.
    private static let mostItems = 4_096
    /// The limits of the properties of an item, and of the references that are read; a camera writes six, and one for each tile.
    private static let (mostProperties, mostReferences) = (64, 20_000)

    let bytes: UnsafeRawBufferPointer
    private(set) var items: [Int: Item] = [:]
    /// All properties, in their order.
    private(set) var properties: [(type: String, body: Range<Int>)] = []
    private(set) var primary = -1
    private var itemData = 0..<0
    private var references = 0

    /// Whether these bytes, as `photo(in:)` makes them, can be decoded within the limits; false also for invalid boxes.
    static func areWithinLimits(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let structure = HEIFItems(bytes) else { return false }
        var budget = Budget()
        return structure.pay(for: structure.primary, depth: 0, &budget)
    }

    init?(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        // Some cameras add data after the last box, so the outermost boxes need not fill the file.
        let metas = boxes(in: 0..<bytes.count, areAll: false)?.filter { $0.type == "meta" } ?? []
        guard metas.count == 1, metas[0].body.count > 4, let children = boxes(in: metas[0].body.dropFirst(4)) else { return nil }
        var seen: Set<String> = []
        // Needed to find the data of items.
        for (type, body) in children where type == "idat" { itemData = body }
        for (type, body) in children {
            var reader = BoxReader(bytes, body)
            let isRead: Bool? =
                switch type {
                case "pitm": readPrimary(&reader)
                case "iinf": readTypes(&reader)
                case "iprp": readProperties(body)
                case "iref": readReferences(&reader)
                case "iloc": readPlaces(&reader)
                case "idat": true
                default: nil
                }
            guard let isRead else { continue }
            guard isRead, seen.insert(type).inserted else { return nil }
        }
    }

    /// The boxes of a range; nil when they do not fill it exactly, unless `areAll` is false, or are too many.
    private func boxes(in range: Range<Int>, areAll: Bool = true) -> [(type: String, body: Range<Int>)]? {
        var found: [(type: String, body: Range<Int>)] = []
        var reader = BoxReader(bytes, range)
        while reader.left > 0 {
            let start = reader.position
            guard var size = reader.number(4), let type = reader.text(4) else { return areAll ? nil : found }
            if size == 1 { size = reader.number(8) ?? 0 } else if size == 0, !areAll { size = range.upperBound - start }
            guard size >= reader.position - start, size <= range.upperBound - start else { return areAll ? nil : found }
            guard found.count < Self.mostItems else { return nil }
            found.append((type, reader.position..<start + size))
            reader.position = start + size
        }
        return found
    }

    /// False when there are too many items.
    private mutating func change(_ id: Int, _ change: (inout Item) -> Void) -> Bool {
        guard items[id] != nil || items.count < Self.mostItems else { return false }
        change(&items[id, default: Item()])
        return true
    }

    private mutating func readPrimary(_ reader: inout BoxReader) -> Bool {
        guard let version = reader.version(), let id = reader.number(version == 0 ? 2 : 4) else { return false }
        primary = id
        return true
    }

    private mutating func readTypes(_ reader: inout BoxReader) -> Bool {
        guard let version = reader.version(), reader.number(version == 0 ? 2 : 4) != nil,
            let entries = boxes(in: reader.position..<reader.end)
        else { return false }
        for entry in entries where entry.type == "infe" {
            var reader = BoxReader(bytes, entry.body)
            guard let version = reader.version(), version == 2 || version == 3, let id = reader.number(version == 2 ? 2 : 4),
                reader.number(2) != nil, let type = reader.text(4), items[id]?.type.isEmpty ?? true,
                change(id, { $0.type = type })
            else { return false }
        }
        return true
    }

    private mutating func readProperties(_ body: Range<Int>) -> Bool {
        guard let children = boxes(in: body) else { return false }
        let containers = children.filter { $0.type == "ipco" }
        guard containers.count == 1, let properties = boxes(in: containers[0].body) else { return false }
        self.properties = properties
        for child in children where child.type == "ipma" {
            var reader = BoxReader(bytes, child.body)
            guard let head = reader.number(4), let count = reader.number(4) else { return false }
            for _ in 0..<count {
                guard let id = reader.number(head >> 24 < 1 ? 2 : 4), let links = reader.number(1) else { return false }
                for _ in 0..<links {
                    guard let link = reader.number(head & 1 == 0 ? 1 : 2) else { return false }
                    // Numbered from 1; the highest bit says whether it is essential.
                    let mask = head & 1 == 0 ? 0x7F : 0x7FFF
                    guard properties.indices.contains(link & mask - 1) else { continue }
                    guard describe(id, by: link & mask - 1, isEssential: link > mask) else { return false }
                }
            }
        }
        return true
    }

    private mutating func describe(_ id: Int, by number: Int, isEssential: Bool) -> Bool {
        let property = properties[number]
        let isConfiguration = property.type == "hvcC"
        guard items[id]?.properties.count ?? 0 < Self.mostProperties, !isConfiguration || items[id]?.configuration == nil else {
            return false
        }
        return change(id) {
            $0.properties.append((number, isEssential))
            if isConfiguration { $0.configuration = property.body }
        }
    }

    private mutating func readReferences(_ reader: inout BoxReader) -> Bool {
        guard let version = reader.version(), let children = boxes(in: reader.position..<reader.end) else { return false }
        let size = version == 0 ? 2 : 4
        for (type, body) in children {
            var reader = BoxReader(bytes, body)
            guard let from = reader.number(size), let count = reader.number(2) else { return false }
            for _ in 0..<count {
                guard let to = reader.number(size) else { return false }
                // Others are about what is not decoded.
                guard type == "dimg" || type == "auxl" else { continue }
                references += 1
                let isRead =
                    type == "dimg" ? change(from) { $0.sources.append(to) } : change(to) { $0.companions.append(from) }
                guard isRead, references <= Self.mostReferences else { return false }
            }
        }
        return true
    }

    private mutating func readPlaces(_ reader: inout BoxReader) -> Bool {
        guard let version = reader.version(), version <= 2, let sizes = reader.number(2),
            let count = reader.number(version < 2 ? 2 : 4)
        else { return false }
        var placed: Set<Int> = []
        for _ in 0..<count {
            guard let id = reader.number(version < 2 ? 2 : 4), let method = version == 0 ? 0 : reader.number(2),
                reader.number(2) != nil, let base = reader.number(sizes >> 4 & 15), let extents = reader.number(2), extents <= 32,
                placed.insert(id).inserted
            else { return false }
            var place: Range<Int>?
            for _ in 0..<extents {
                guard version == 0 || reader.number(sizes & 15) != nil, let offset = reader.number(sizes >> 12),
                    let length = reader.number(sizes >> 8 & 15)
                else { return false }
                place = range(method & 15, base, offset, length)
            }
            guard change(id, { $0.place = extents == 1 ? place : nil }) else { return false }
        }
        return true
    }

    /// The place of data in these bytes: from their beginning (method 0) or inside the box for small data (1).
    private func range(_ method: Int, _ base: Int, _ offset: Int, _ length: Int) -> Range<Int>? {
        let whole = method == 0 ? 0..<bytes.count : itemData
        let (start, isOver) = base.addingReportingOverflow(offset)
        guard method <= 1, !isOver, start <= whole.count, length <= whole.count - start else { return nil }
        let from = whole.lowerBound + start
        return from..<(length == 0 ? whole.upperBound : from + length)
    }
}

extension HEIFItems {
    /// Subtracts the cost of decoding an item from the budget; false when it is not enough, or the item is not HEVC.
    private func pay(for id: Int, depth: Int, _ budget: inout Budget) -> Bool {
        guard budget.step(), depth < 4, let item = items[id] else { return false }
        switch item.type {
        case "hvc1": guard pay(forCoded: item, &budget) else { return false }
        case "grid", "iovl":
            guard let place = item.place, let pixels = canvas(item.type, place), !item.parts.isEmpty else { return false }
            // Tiles cover a grid's canvas. Layers need not, and are painted in RGB.
            if item.type == "iovl" { budget.memory -= 6 * pixels }
        case "iden": guard !item.parts.isEmpty else { return false }
        default: return false
        }
        for other in item.parts + item.companions {
            guard pay(for: other, depth: depth + 1, &budget) else { return false }
        }
        return true
    }

    /// The pixels of the canvas of tiles or layers, which has the size in its own data; nil when they are too many.
    private func canvas(_ type: String, _ place: Range<Int>) -> Int? {
        var reader = BoxReader(bytes, place)
        // A version, flags, then rows and columns, or a colour.
        guard let head = reader.number(2), reader.skip(type == "grid" ? 2 : 8) else { return nil }
        let size = head & 1 == 0 ? 2 : 4
        guard let width = reader.number(size), let height = reader.number(size) else { return nil }
        let (pixels, isOver) = width.multipliedReportingOverflow(by: height)
        return isOver || pixels > Self.mostOfOne ? nil : pixels
    }

    /// Subtracts the cost of a coded item: the largest picture in its parameter sets, beside or among its pixels, times its slices.
    private func pay(forCoded item: Item, _ budget: inout Budget) -> Bool {
        guard let configuration = item.configuration, let place = item.place else { return false }
        var reader = BoxReader(bytes, configuration)
        // Other sizes of lengths are legal, but decoders read all as 4 bytes.
        guard reader.skip(21), let sizes = reader.number(1), sizes & 3 == 3, let arrays = reader.number(1) else { return false }
        var coded = CodedPicture()
        for _ in 0..<arrays {
            guard reader.number(1) != nil, let count = reader.number(2) else { return false }
            for _ in 0..<count {
                guard budget.step(), let unit = reader.unit(lengthSize: 2) else { return false }
                coded.add(unit)
            }
        }
        reader = BoxReader(bytes, place)
        while reader.left > 0 {
            guard budget.step(), let unit = reader.unit(lengthSize: 4) else { return false }
            coded.add(unit)
        }
        guard coded.beginnings <= 1, (1...Self.mostOfOne).contains(coded.pixels) else { return false }
        budget.memory -= coded.memory
        budget.passes -= coded.pixels * max(1, coded.slices)
        return budget.memory >= 0 && budget.passes >= 0
    }
}
