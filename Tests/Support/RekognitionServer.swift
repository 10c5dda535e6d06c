import Foundation

/// A stand-in for Rekognition's DetectModerationLabels in a process of its own (`Rekognition/serve.py`, which says what it can do); it ends with
/// this process or when it is released.
package final class RekognitionServer: Sendable {
    /// A request that it got.
    package struct Request: Decodable, Sendable {
        /// The error that AWS would answer with; nil for a correct request.
        package let refusal: String?
        package let bytes: Int
    }

    package static let keyID = "AKIAMODERATOR"
    package static let secret = "a secret/of the+moderator".replacing(" ", with: "-")
    package static let region = "eu-central-1"

    private let process: StandIn
    package let url: String

    /// Starts one and waits until it listens.
    package init() async throws {
        process = try await StandIn("rekognition")
        let arguments = [process.folder.path, "0", Self.keyID, Self.secret, Self.region]
        let port = try await process.start("Rekognition/serve.py", arguments, ready: "port")
        url = "http://127.0.0.1:\(String(decoding: port, as: UTF8.self))"
    }

    /// Says how it behaves from now on: JSON as in `Rekognition/serve.py`.
    package func behave(_ json: String) throws {
        try Data(json.utf8).write(to: process.file("control.json"), options: .atomic)
    }

    /// It finds one label from now on.
    package func find(_ name: String, of parent: String = "", _ confidence: Double) throws {
        try behave("{\"labels\":[{\"Name\":\"\(name)\",\"ParentName\":\"\(parent)\",\"Confidence\":\(confidence)}]}")
    }

    /// Kills it: nothing listens on its port then.
    package func kill() async { await process.kill() }

    /// What it was asked, in order.
    package var requests: [Request] {
        get throws {
            guard let text = try? String(contentsOf: process.file("requests.jsonl"), encoding: .utf8) else { return [] }
            // The last line may be half written.
            let whole = text.lastIndex(of: "\n").map { text[..<$0] } ?? ""
            return try whole.split(separator: "\n").map { try JSONDecoder().decode(Request.self, from: Data($0.utf8)) }
        }
    }
}
