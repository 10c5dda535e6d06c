private import Glibc

/// `protoc-gen-streaksnap`: a protoc plugin that makes the Swift side of `Proto/` (D1). It speaks protoc's plugin protocol on standard
/// input and output.
@main
enum Plugin {
    static func main() {
        do {
            write(try Request.answer(readAll()))
        } catch {
            write(Array("protoc-gen-streaksnap: \(error)\n".utf8), to: STDERR_FILENO)
            exit(1)
        }
    }

    private static func readAll() -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(STDIN_FILENO, &buffer, buffer.count)
            guard count > 0 else { return bytes }
            bytes += buffer[..<count]
        }
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32 = STDOUT_FILENO) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { exit(1) }
            rest = rest.dropFirst(count)
        }
    }
}

/// A mistake in the protos, for their author.
struct GeneratorError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
