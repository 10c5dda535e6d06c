internal import CVips
private import Kernel
private import Synchronization

/// The loaded library. Starting it takes 50 ms and some 30 MB, so it starts with the first image.
enum Vips {
    private static let isStarted = Mutex(false)

    /// Makes sure that the library runs.
    ///
    /// - Throws: `VipsFailure` when it is not installed or does not fit.
    static func start() throws(VipsFailure) {
        let error: VipsFailure? = isStarted.withLock { isStarted in
            if isStarted { return nil }
            guard cvips_start() == 0 else { return VipsFailure() }
            isStarted = true
            return nil
        }
        if let error { throw error }
    }

    /// Calls `save` and takes over the bytes it made.
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

/// What libvips says of its last failure: for logs, not for callers.
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

    /// Takes over what a call gave.
    ///
    /// - Throws: `VipsFailure` when it gave nothing.
    init(_ pointer: OpaquePointer?) throws(VipsFailure) {
        guard let pointer else { throw VipsFailure() }
        self.pointer = pointer
    }

    deinit { cvips_release(pointer) }

    /// Calls libvips with the image. The only way to its pointer: one that is handed out may outlive the image, since Swift releases an object
    /// after its last use.
    func with<Result>(_ call: (OpaquePointer) -> Result) -> Result {
        withExtendedLifetime(self) { call(pointer) }
    }

    var width: Int { Int(with(cvips_width)) }
    var height: Int { Int(with(cvips_height)) }
}
