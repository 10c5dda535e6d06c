/// The frames of a WebP that moves. Only the first is shown, but libwebp looks for each of them from the first on: a file of the smallest ones
/// keeps it busy for minutes.
enum WebPFrames {
    /// The limit: a minute and more at 30 a second.
    static let most = 2_000

    /// Whether there are no more.
    static func areFew(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var frames = 0
        var position = 12
        while position + 8 <= bytes.count {
            if bytes[position..<position + 4].elementsEqual("ANMF".utf8) { frames += 1 }
            guard frames <= most else { return false }
            let size = (0..<4).reduce(0) { $0 | Int(bytes[position + 4 + $1]) << (8 * $1) }
            position += 8 + size + size % 2
        }
        return true
    }
}
