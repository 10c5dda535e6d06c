/// A HEIC put together box by box, as phones lay theirs out: a grid of tiles, turned, with an alpha, a preview and EXIF. What a test says
/// is wrong with one is the only thing wrong with it.
struct HandmadeHEIC {
    var columns = 16
    var rows = 12
    /// What the grid says its picture measures; nil for what its tiles do.
    var canvas: (width: UInt32, height: UInt32)?
    /// The video data of every tile, each 64 × 64.
    var tile = Self.coded
    /// The box that configures the decoder of tiles, and that of the alpha and the preview.
    var configuration = Self.configuration
    var companionConfiguration = Self.configuration
    var preview = Self.coded
    /// References that are there beside those of the grid, the alpha and the preview.
    var references: [(type: String, from: UInt16, to: [UInt16])] = []
    /// In how many pieces the data of a tile lie.
    var pieces = 1
    /// Boxes in `meta` beside those it needs, and after all boxes.
    var extras: [UInt8] = []
    var trailer: [UInt8] = []
    /// The type of the tiles' items.
    var tileType = "hvc1"

    static let grid: UInt16 = 1
    static let alpha: UInt16 = 2
    static let previewItem: UInt16 = 3
    static let exif: UInt16 = 4
    static let firstTile: UInt16 = 10

    /// One picture of 64 × 64, of `Fixtures.heic`, and what a decoder must know to read it.
    static let coded = Array(Fixtures.heic[520..<546])
    static let configuration = Array(Fixtures.heic[280..<390])

    /// The same with a parameter set that says millions by a thousand, in as many bytes.
    static let largeConfiguration: [UInt8] = {
        var bytes = configuration
        guard let set = bytes.firstRange(of: [0x42, 0x01, 0x01]) else { return [] }
        // The general profile is 13 bytes, three more keep a start code from occurring. Then 1 (set 0), 010 (4:2:0), and instead of
        // 0000001000001 (64) twice: codes of 24 zeros and of 10.
        let codes = set.lowerBound + 2 + 16
        bytes.replaceSubrange(codes..<codes + 8, with: [0xA0, 0x00, 0x00, 0x08, 0x84, 0x84, 0x80, 0x01])
        return bytes
    }()

    static func box(_ type: String, _ body: [UInt8]) -> [UInt8] { big(UInt32(body.count + 8)) + Array(type.utf8) + body }

    static func big<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    private static func full(_ type: String, _ version: UInt8 = 0, _ body: [UInt8]) -> [UInt8] {
        box(type, [version, 0, 0, 0] + body)
    }

    private var tiles: Range<UInt16> { Self.firstTile..<Self.firstTile + UInt16(columns * rows) }

    var bytes: [UInt8] {
        let head = Self.box("ftyp", Array("heic".utf8) + [0, 0, 0, 0] + Array("mif1heic".utf8))
        // The places are as long whatever they say, so the first pass shows where the data begin.
        let start = head.count + meta(dataStart: 0).count + 8
        let data = tile + preview + [0, 0, 0, 6] + Array("Exif".utf8) + [0, 0]
        return head + meta(dataStart: UInt32(start)) + Self.box("mdat", data) + trailer
    }

    private func meta(dataStart: UInt32) -> [UInt8] {
        let handler = Self.full("hdlr", 0, [0, 0, 0, 0] + Array("pict".utf8) + [UInt8](repeating: 0, count: 13))
        let primary = Self.full("pitm", 0, Self.big(Self.grid))
        return Self.full(
            "meta",
            0,
            handler + primary + types + properties + links + Self.box("idat", gridData) + places(dataStart) + extras
        )
    }

    private var gridData: [UInt8] {
        let size = canvas ?? (UInt32(columns * 64), UInt32(rows * 64))
        return [0, 1, UInt8(rows - 1), UInt8(columns - 1)] + Self.big(size.width) + Self.big(size.height)
    }

    private var types: [UInt8] {
        let named = [(Self.grid, "grid"), (Self.alpha, "hvc1"), (Self.previewItem, "hvc1"), (Self.exif, "Exif")]
        let all = named + tiles.map { ($0, tileType) }
        let entries = all.flatMap { id, type in Self.full("infe", 2, Self.big(id) + [0, 0] + Array(type.utf8) + [0]) }
        return Self.full("iinf", 0, Self.big(UInt16(all.count)) + entries)
    }

    private var properties: [UInt8] {
        func size(_ width: Int, _ height: Int) -> [UInt8] {
            Self.full("ispe", 0, Self.big(UInt32(width)) + Self.big(UInt32(height)))
        }
        let all =
            Self.box("hvcC", configuration) + size(64, 64) + size(columns * 64, rows * 64) + Self.box("irot", [1])
            + Self.full("auxC", 0, Array("urn:mpeg:hevc:2015:auxid:1".utf8) + [0]) + Self.box("hvcC", companionConfiguration)
        // Numbered from 1, the highest bit for what a reader must understand.
        let links: [(UInt16, [UInt8])] =
            [(Self.grid, [3, 0x84]), (Self.alpha, [0x86, 2, 5]), (Self.previewItem, [0x86, 2])] + tiles.map { ($0, [0x81, 2]) }
        let entries = links.flatMap { Self.big($0.0) + [UInt8($0.1.count)] + $0.1 }
        return Self.box("iprp", Self.box("ipco", all) + Self.full("ipma", 0, Self.big(UInt32(links.count)) + entries))
    }

    private var links: [UInt8] {
        let usual: [(type: String, from: UInt16, to: [UInt16])] = [
            ("dimg", Self.grid, Array(tiles)), ("auxl", Self.alpha, [Self.grid]), ("thmb", Self.previewItem, [Self.grid]),
            ("cdsc", Self.exif, [Self.grid]),
        ]
        let entries = (usual + references).flatMap { link in
            Self.box(link.type, Self.big(link.from) + Self.big(UInt16(link.to.count)) + link.to.flatMap { Self.big($0) })
        }
        return Self.full("iref", 0, entries)
    }

    /// All tiles lie in the same bytes.
    private func places(_ dataStart: UInt32) -> [UInt8] {
        func entry(_ id: UInt16, _ method: UInt16, _ extents: [(UInt32, Int)]) -> [UInt8] {
            let pairs = extents.flatMap { Self.big($0.0) + Self.big(UInt32($0.1)) }
            return Self.big(id) + Self.big(method) + [0, 0] + Self.big(UInt16(extents.count)) + pairs
        }
        let step = tile.count / pieces
        let cut = (0..<pieces).map { piece in
            (dataStart + UInt32(piece * step), piece == pieces - 1 ? tile.count - piece * step : step)
        }
        let previewStart = dataStart + UInt32(tile.count)
        let named =
            entry(Self.grid, 1, [(0, gridData.count)]) + entry(Self.alpha, 0, [(dataStart, tile.count)])
            + entry(Self.previewItem, 0, [(previewStart, preview.count)])
            + entry(Self.exif, 0, [(previewStart + UInt32(preview.count), 10)])
        let count = UInt16(4 + tiles.count)
        return Self.full("iloc", 1, [0x44, 0x00] + Self.big(count) + named + tiles.flatMap { entry($0, 0, cut) })
    }
}
