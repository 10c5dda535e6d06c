internal import CVips
private import Kernel
private import Synchronization

/// The loaded library. Starting it needs 50 ms and about 30 MB, so it starts with the first image.
enum Vips {
    private static let isStarted = Mutex(false)

    /// Starts the library if needed.
    ///
    /// - Throws: `VipsFailure` when it is not installed or has another version.
    static func start() throws(VipsFailure) {
        let error: VipsFailure? = isStarted.withLock { isStarted in
            if isStarted { return nil }
            guard cvips_start() == 0 else { return VipsFailure() }
            isStarted = true
            return nil
        }
        if let error { throw error }
    }

    /// Calls `save` and copies its bytes.
    static func bytes(
        _ save: (UnsafeMutablePointer<UnsafeMutableRawPointer?>, UnsafeMutablePointer<Int>) -> Int32
    ) throws(VipsFailure) -> [UInt8] {
        var pointer: UnsafeMutableRawPointer?
        var count = 0
        guard save(&pointer, &count) == 0, let pointer else { throw VipsFailure() }
        defer { cvips_free(pointer) }
        return Array(UnsafeRawBufferPointer(start: pointer, count: count))
    }
}

/// libvips' message for its last failure: for logs, not for callers.
struct VipsFailure: Error, CustomStringConvertible {
    let description: String

    init(_ reason: String) { self.description = reason }

    init() {
        let text = String(unsafeUninitializedCapacity: 512) { buffer in
            buffer.withMemoryRebound(to: CChar.self) { characters in
                guard let start = characters.baseAddress else { return 0 }
                cvips_error(start, characters.count)
                return characters.firstIndex(of: 0) ?? 0
            }
        }
        self.description = text.isEmpty ? "libvips failed without a reason (apt-get install libvips42)" : text
    }
}

/// An image of libvips, released with this object.
final class VipsImage {
    private let pointer: OpaquePointer

    /// Owns the result of a call.
    ///
    /// - Throws: `VipsFailure` when there is none.
    init(_ pointer: OpaquePointer?) throws(VipsFailure) {
        guard let pointer else { throw VipsFailure() }
        self.pointer = pointer
    }

    deinit { cvips_release(pointer) }

    /// Calls libvips with the image. The only access to its pointer: a pointer that leaves the closure may outlive the image,
    /// because Swift releases an object after its last use.
    func with<Result>(_ call: (OpaquePointer) -> Result) -> Result {
        withExtendedLifetime(self) { call(pointer) }
    }

    var width: Int { Int(with(cvips_width)) }
    var height: Int { Int(with(cvips_height)) }
}
