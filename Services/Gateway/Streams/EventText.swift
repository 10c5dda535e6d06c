internal import NIOCore
internal import Transcoding

/// Server-sent events as text (WHATWG HTML §9.2).
enum EventText {
    /// A comment, which keeps proxies from closing a quiet connection.
    static let comment = ByteBuffer(string: ":\n\n")

    /// How long the client waits before it connects again, in milliseconds: between one and three seconds, and different for streams that a
    /// gateway closes at the same time.
    static func retry(_ seed: Int) -> ByteBuffer {
        ByteBuffer(string: "retry: \(1_000 + Int(UInt(bitPattern: seed) % 2_000))\n\n")
    }

    /// One event after the other.
    static func text(_ events: [StreamEvent]) -> ByteBuffer {
        var buffer = ByteBuffer()
        for event in events {
            buffer.writeString("id: \(event.id)\nevent: ")
            buffer.writeString(String(event.name.filter { $0 == "_" || ("a"..."z").contains($0) }))
            // A line break in what a service sends must not begin a field of its own.
            for line in event.data.split(omittingEmptySubsequences: false, whereSeparator: isBreak) {
                buffer.writeString("\ndata: ")
                buffer.writeSubstring(line)
            }
            buffer.writeString("\n\n")
        }
        return buffer
    }

    private static func isBreak(_ character: Character) -> Bool {
        character == "\n" || character == "\r" || character == "\r\n"
    }
}
