/// Why a ZIP archive cannot be read.
public enum ZipError: Error, Hashable, Sendable {
    /// It is no ZIP archive, is cut off, or contradicts itself.
    case corrupt
    /// It is encrypted.
    case encrypted
    /// It needs what this reader does not have: several disks, or a compression other than stored and deflated.
    case unsupported
    /// It has more entries than the reader's limit.
    case tooManyEntries
    /// It unpacks to more than the reader's limit.
    case tooLarge
    /// An entry's name leads out of the archive, or is no UTF-8.
    case unsafeName
}

/// Reads a ZIP archive (APPNOTE 6.3) that lies in memory: stored and deflated entries.
///
/// It believes nothing that the archive says: sizes are checked against what is really unpacked, checksums are verified, entries must not
/// overlap, and unpacking stops at the limit whatever is announced. Names are relative paths without `..`, backslashes, drives or control
/// characters. ZIP64 records are read where they are well formed; encrypted archives are refused.
///
/// ```swift
/// let archive = try ZipArchive(bytes)
/// for entry in archive.entries where entry.name == "Habits.csv" { use(try archive.content(of: entry)) }
/// ```
public struct ZipArchive: Sendable {
    /// What is read at most.
    public struct Limits: Hashable, Sendable {
        /// Entries of the archive.
        public var entries: Int
        /// Bytes of one entry, unpacked.
        public var entryBytes: Int
        /// Bytes of all entries, as the archive announces them.
        public var totalBytes: Int

        /// Limits of an archive.
        public init(entries: Int = 5_000, entryBytes: Int = 64 << 20, totalBytes: Int = 128 << 20) {
            (self.entries, self.entryBytes, self.totalBytes) = (entries, entryBytes, totalBytes)
        }
    }

    /// A file in the archive.
    public struct Entry: Hashable, Sendable {
        /// Its path, `001 Meditate/Checkmarks.csv`.
        public let name: String
        /// Its size unpacked, as the archive says.
        public let size: Int
        let isDeflated: Bool
        let packedSize: Int
        let checksum: UInt32
        let data: Range<Int>
    }

    /// The files in the order of the directory; folders are left out.
    public let entries: [Entry]
    private let bytes: [UInt8]
    private let limits: Limits

    /// Reads the directory of an archive.
    ///
    /// - Throws: any `ZipError`; nothing has been unpacked then.
    public init(_ bytes: [UInt8], limits: Limits = Limits()) throws(ZipError) {
        (self.bytes, self.limits) = (bytes, limits)
        entries = try ZipDirectory(bytes: bytes, limits: limits).read()
    }

    /// The bytes of a file.
    ///
    /// - Throws: `corrupt` when it is damaged or not as long as it says, `tooLarge` beyond the limit.
    public func content(of entry: Entry) throws(ZipError) -> [UInt8] {
        guard entry.size <= limits.entryBytes else { throw .tooLarge }
        let packed = bytes[entry.data]
        let content = entry.isDeflated ? try Inflate.content(of: packed, size: entry.size) : Array(packed)
        guard content.count == entry.size, Inflate.checksum(content) == entry.checksum else { throw .corrupt }
        return content
    }
}
