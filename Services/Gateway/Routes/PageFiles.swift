internal import CPageFiles

/// What the gateway's pages for browsers are made of: `Pages/Files`, which `Pages/page_files.c` puts into the program.
enum PageFiles {
    /// The bytes of each file, by its name.
    static let all: [String: [UInt8]] = Dictionary(
        uniqueKeysWithValues: UnsafeBufferPointer(start: page_file_list(), count: page_file_count()).map { file in
            (String(cString: file.name), Array(UnsafeRawBufferPointer(start: file.text, count: file.size)))
        }
    )
}
