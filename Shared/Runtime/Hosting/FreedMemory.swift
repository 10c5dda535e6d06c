private import CMalloc

/// What the C library does with memory that is free again.
public enum FreedMemory {
    /// Bytes that each of its heaps keeps at most.
    private static let most: Int32 = 4 << 20

    /// Keeps some of it (mallopt(3)). A reply or a page of rows of some 100 kB would otherwise be asked of the kernel each time, which clears it
    /// page by page: a tenth of what such a request costs.
    public static func keep() {
        _ = mallopt(M_MMAP_THRESHOLD, most)
        _ = mallopt(M_TRIM_THRESHOLD, most)
    }
}
