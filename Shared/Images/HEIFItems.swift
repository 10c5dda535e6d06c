/// What decoding a HEIC would cost, read from its boxes (ISO/IEC 23008-12, 14496-12, 14496-15) before it begins.
///
/// The size a file states need not be that of the pictures coded in it, nor need a grid name each of its tiles once: a kilobyte can make a
/// decoder fill gigabytes.
struct HEIFItems {
    /// The most pixels of one coded picture: those of an upload, and what coding rounds up to.
    static let mostOfOne = 56_000_000
    /// The most of all that are decoded: the photo and its alpha.
    static let mostOfAll = 128_000_000

    private struct Item {
        var type = ""
        var properties: [Int] = []
        var extents: [Range<Int>] = []
        var parts: [Int] = []
    }

    private let bytes: UnsafeRawBufferPointer
    private var items: [Int: Item] = [:]
    private var primary = -1
    /// The bodies of the properties, in the order they are numbered from 1.
    private var properties: [(type: String, body: Range<Int>)] = []
    /// Auxiliary pictures and what they belong to.
    private var auxiliaries: [(item: Int, of: Int)] = []
    private var itemData: Range<Int>?

    /// Whether these bytes can be decoded within the limits; false also when the boxes make no sense.
    static func areWithinLimits(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let structure = HEIFItems(bytes) else { return false }
        var steps = 20_000
        var sum = 0
        for item in [structure.primary] + structure.auxiliaries.filter({ $0.of == structure.primary }).map(\.item) {
            guard let pixels = structure.pixels(of: item, depth: 0, &steps) else { return false }
            sum += pixels
            guard sum <= mostOfAll else { return false }
        }
        return true
    }

    private init?(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        guard let meta = boxes(in: 0..<bytes.count)?.first(where: { $0.type == "meta" }), meta.body.count > 4,
            let children = boxes(in: meta.body.dropFirst(4))
        else { return nil }
        itemData = children.first { $0.type == "idat" }?.body
        for (type, body) in children {
            var reader = BoxReader(bytes, body)
            let isRead: Bool? =
                switch type {
                case "pitm": readPrimary(&reader)
                case "iinf": readTypes(&reader)
                case "iprp": readProperties(body)
                case "iref": readReferences(&reader)
                case "iloc": readPlaces(&reader)
                default: true
                }
            guard isRead == true else { return nil }
        }
    }

    private func boxes(in range: Range<Int>) -> [(type: String, body: Range<Int>)]? {
        var found: [(type: String, body: Range<Int>)] = []
        var reader = BoxReader(bytes, range)
        while reader.left > 0 {
            let start = reader.position
            guard var size = reader.number(4), let type = reader.text(4), found.count < 4_096 else { return nil }
            if size == 1 {
                guard let large = reader.number(8) else { return nil }
                size = large
            }
            if size == 0 { size = range.upperBound - start }
            guard size >= reader.position - start, size <= range.upperBound - start else {
                // The pixels may be cut off; whoever decodes them says so.
                return found
            }
            found.append((type, reader.position..<start + size))
            reader.position = start + size
        }
        return found
    }

    private mutating func readPrimary(_ reader: inout BoxReader) -> Bool? {
        guard let version = reader.version(), let id = reader.number(version == 0 ? 2 : 4) else { return nil }
        primary = id
        return true
    }

    private mutating func readTypes(_ reader: inout BoxReader) -> Bool? {
        guard let version = reader.version(), reader.number(version == 0 ? 2 : 4) != nil,
            let entries = boxes(in: reader.position..<reader.end)
        else { return nil }
        for entry in entries where entry.type == "infe" {
            var reader = BoxReader(bytes, entry.body)
            guard let version = reader.version(), version >= 2, let id = reader.number(version == 2 ? 2 : 4),
                reader.number(2) != nil, let type = reader.text(4)
            else { return nil }
            items[id, default: Item()].type = type
        }
        return true
    }

    private mutating func readProperties(_ body: Range<Int>) -> Bool? {
        guard let children = boxes(in: body) else { return nil }
        for (type, body) in children {
            if type == "ipco" {
                guard let found = boxes(in: body) else { return nil }
                properties = found
            } else if type == "ipma" {
                var reader = BoxReader(bytes, body)
                guard let head = reader.number(4), let count = reader.number(4) else { return nil }
                for _ in 0..<count {
                    guard let id = reader.number(head >> 24 < 1 ? 2 : 4), let links = reader.number(1) else { return nil }
                    for _ in 0..<links {
                        guard let link = reader.number(head & 1 == 0 ? 1 : 2) else { return nil }
                        items[id, default: Item()].properties.append(link & (head & 1 == 0 ? 0x7F : 0x7FFF))
                    }
                }
            }
        }
        return true
    }

    private mutating func readReferences(_ reader: inout BoxReader) -> Bool? {
        guard let version = reader.version(), let children = boxes(in: reader.position..<reader.end) else { return nil }
        let size = version == 0 ? 2 : 4
        for (type, body) in children {
            var reader = BoxReader(bytes, body)
            guard let from = reader.number(size), let count = reader.number(2) else { return nil }
            for _ in 0..<count {
                guard let to = reader.number(size) else { return nil }
                if type == "dimg" { items[from, default: Item()].parts.append(to) }
                if type == "auxl" { auxiliaries.append((from, to)) }
            }
        }
        return true
    }

    private mutating func readPlaces(_ reader: inout BoxReader) -> Bool? {
        guard let version = reader.version(), version <= 2, let sizes = reader.number(2),
            let count = reader.number(version < 2 ? 2 : 4)
        else { return nil }
        let (offsetSize, lengthSize, baseSize) = (sizes >> 12, sizes >> 8 & 15, sizes >> 4 & 15)
        for _ in 0..<count {
            guard let id = reader.number(version < 2 ? 2 : 4), let method = version == 0 ? 0 : reader.number(2),
                reader.number(2) != nil, let base = reader.number(baseSize), let extents = reader.number(2)
            else { return nil }
            for _ in 0..<extents {
                guard version == 0 || reader.number(sizes & 15) != nil, let offset = reader.number(offsetSize),
                    let length = reader.number(lengthSize)
                else { return nil }
                let whole = method & 15 == 1 ? itemData ?? 0..<0 : 0..<bytes.count
                let (start, isOver) = base.addingReportingOverflow(offset)
                guard !isOver, start <= whole.count, length <= whole.count - start else { continue }
                let from = whole.lowerBound + start
                items[id, default: Item()].extents.append(from..<(length == 0 ? whole.upperBound : from + length))
            }
        }
        return true
    }

    /// How many pixels are decoded for an item; nil beyond the limits, and for what is no HEVC.
    private func pixels(of id: Int, depth: Int, _ steps: inout Int) -> Int? {
        steps -= 1
        guard let item = items[id], depth < 4, steps > 0 else { return nil }
        if item.type == "hvc1" || item.type == "hev1" {
            guard let pixels = codedPixels(of: item, &steps), pixels <= Self.mostOfOne else { return nil }
            return pixels
        }
        guard ["grid", "iden", "iovl"].contains(item.type), !item.parts.isEmpty else { return nil }
        var sum = 0
        for part in item.parts {
            guard let pixels = pixels(of: part, depth: depth + 1, &steps) else { return nil }
            sum += pixels
            guard sum <= Self.mostOfAll else { return nil }
        }
        return sum
    }

    /// The largest picture that a parameter set of this item speaks of: one beside its pixels, or one among them.
    private func codedPixels(of item: Item, _ steps: inout Int) -> Int? {
        var most = 0
        var lengthSize = 4
        for number in item.properties where properties.indices.contains(number - 1) && properties[number - 1].type == "hvcC" {
            var reader = BoxReader(bytes, properties[number - 1].body)
            guard reader.skip(21), let sizes = reader.number(1), let arrays = reader.number(1) else { return nil }
            lengthSize = sizes & 3 + 1
            for _ in 0..<arrays {
                guard reader.number(1) != nil, let count = reader.number(2) else { return nil }
                for _ in 0..<count {
                    guard let unit = reader.unit(lengthSize: 2) else { return nil }
                    most = max(most, HEVCParameterSet.pixels(unit) ?? 0)
                }
            }
        }
        for extent in item.extents {
            var reader = BoxReader(bytes, extent)
            while reader.left > lengthSize, let unit = reader.unit(lengthSize: lengthSize) {
                steps -= 1
                guard steps > 0 else { return nil }
                most = max(most, HEVCParameterSet.pixels(unit) ?? 0)
            }
        }
        return most > 0 ? most : nil
    }
}
