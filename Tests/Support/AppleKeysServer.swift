import Foundation

/// A stand-in for the address of Apple's public keys in a process of its own (`Apple/serve.py`), for a system that knows an app of Apple's; it
/// ends with this process or when it is released.
package final class AppleKeysServer: Sendable {
    private let process: StandIn
    /// Where the keys are.
    package let url: String

    /// Starts one and waits until it listens.
    package init() async throws {
        process = try await StandIn("apple-keys")
        let port = try await process.start("Apple/serve.py", [process.folder.path], ready: "port")
        url = "http://127.0.0.1:\(String(decoding: port, as: UTF8.self))/keys"
    }
}
