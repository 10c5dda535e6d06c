private import Glibc

/// The compiled tz database below a folder.
struct InstalledTimeZones: TimeZoneFiles {
    /// `America/Argentina/Ushuaia` is the deepest.
    private static let deepest = 3
    /// There are about 600 names; the folders hold each three times.
    private static let mostNames = 10_000
    /// The longest table has 4 kB.
    private static let mostBytes = 65_536

    var folder = "/usr/share/zoneinfo"

    func names() -> [String]? {
        var found: [String] = []
        return list("", depth: 1, into: &found) ? found : nil
    }

    func bytes(of name: String) -> [UInt8]? { bytes(of: name, atMost: Self.mostBytes) }

    private func bytes(of name: String, atMost limit: Int) -> [UInt8]? {
        guard let file = fopen("\(folder)/\(name)", "rb") else { return nil }
        defer { fclose(file) }
        return [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            count = fread(buffer.baseAddress, 1, buffer.count, file)
        }
    }

    /// What IANA and those who package it write into the folder: the first line of `tzdata.zi` (`# version 2026f`), or `+VERSION`.
    func version() -> ZoneVersion? {
        for (file, prefix) in [("tzdata.zi", "# version "), ("+VERSION", "")] {
            guard let bytes = bytes(of: file, atMost: 64) else { continue }
            let line = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
            guard line.hasPrefix(prefix) else { continue }
            if let version = ZoneVersion(line.dropFirst(prefix.count)) { return version }
        }
        return nil
    }

    /// Adds the names below a folder. - Returns: false when something could not be read.
    private func list(_ prefix: String, depth: Int, into found: inout [String]) -> Bool {
        guard let directory = opendir("\(folder)/\(prefix)") else { return false }
        defer { closedir(directory) }
        while found.count < Self.mostNames {
            errno = 0
            guard let entry = readdir(directory) else { return errno == 0 }
            let file = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: name.pointee)) { String(cString: $0) }
            }
            var status = stat()
            guard !file.hasPrefix("."), stat("\(folder)/\(prefix)\(file)", &status) == 0 else { continue }
            switch status.st_mode & S_IFMT {
            case S_IFREG: found.append(prefix + file)
            case S_IFDIR where depth < Self.deepest:
                guard list("\(prefix)\(file)/", depth: depth + 1, into: &found) else { return false }
            default: break
            }
        }
        return true
    }
}
