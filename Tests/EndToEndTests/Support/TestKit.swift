import Foundation
import Processes
import TestSupport
import Testing

/// A running `streaksnap test-environment`, asked by plain requests as a test in any language would.
final class TestKit: Sendable {
    /// Most tests share it: worlds know nothing of each other.
    static let shared = Task { try await TestKit() }

    let child: ChildProcess
    let folder: URL
    /// What it had started when it was ready, by process id.
    let servers: [pid_t: String]
    private let control: HTTPClient
    private let token: String
    /// The end of its standard input that we hold: when it is closed, also by our own end, the environment ends.
    private let input: Int32

    /// - Parameter folder: takes its temporary folder, and perhaps those of others; a new one when nil.
    init(_ options: [String] = [], in folder: URL? = nil) async throws {
        self.folder = try folder ?? Installation.makeFolder()
        let name = UUID().uuidString
        let file = { [folder = self.folder] (ending: String) in folder.appending(path: "\(name).\(ending)") }
        let (pipe, output, errors) = (file("in").path, file("out"), file("errors"))
        guard mkfifo(pipe, 0o600) == 0 else { throw Guardian.Failure(description: "no pipe: \(errno)") }
        // For both directions, so that it does not wait for a reader.
        input = open(pipe, O_RDWR | O_CLOEXEC)
        child = try await ChildProcess.spawn(
            Command(
                executable: Installation.binaries.appending(path: "streaksnap").path,
                arguments: ["test-environment"] + options,
                environment: Command.inherited(["TMPDIR": self.folder.path]),
                input: pipe,
                output: output.path,
                errors: errors.path
            )
        )
        try await removeWhenTestsEnd(self.folder)
        try await eventually("the test environment is ready") { [child] in
            guard !child.hasExited else { throw Guardian.Failure(description: "it ended: \(Files.text(errors) ?? "")") }
            return Files.text(output)?.contains("}") == true
        }
        let servers = ProcessTree.children(of: child.pid).map { ($0, ProcessTree.name(of: $0)) }
        self.servers = Dictionary(servers) { $1 }
        let handshake = try JSON(Array((Files.text(output) ?? "").utf8))
        let address = try #require(handshake["control"].string.flatMap { URL(string: $0) }, "\(handshake)")
        control = HTTPClient(port: UInt16(try #require(address.port)))
        token = try #require(handshake["token"].string)
    }

    deinit { child.signal(SIGTERM) }

    /// Lets go of its standard input, as a test process does that ends.
    func endInput() { close(input) }

    /// A call of the control API.
    func ask(_ method: String, _ path: String, _ json: String? = nil) async throws -> HTTPReply {
        let headers = [("Authorization", "Bearer \(token)"), ("Content-Type", "application/json")]
        return try await control.send(method, path, headers: headers, body: json.map { Array($0.utf8) })
    }

    /// A new world. - Parameter json: the body of the request.
    func world(_ json: String = "{}") async throws -> KitWorld {
        let reply = try await ask("POST", "/worlds", json)
        try #require(reply.status == 201, "\(reply.text)")
        let port = try #require(reply.json["url"].string.flatMap { URL(string: $0)?.port })
        return KitWorld(kit: self, id: try #require(reply.json["id"].string), http: HTTPClient(port: UInt16(port)))
    }
}

/// A world of a test environment. It goes with its last reference: also one that idles takes a part of a processor.
final class KitWorld: Sendable {
    let kit: TestKit
    let id: String
    /// Its public API.
    let http: HTTPClient

    init(kit: TestKit, id: String, http: HTTPClient) { (self.kit, self.id, self.http) = (kit, id, http) }

    deinit { Task { [kit, id] in try? await kit.ask("DELETE", "/worlds/\(id)") } }

    /// A call of the control API about this world.
    func ask(_ method: String, _ path: String, _ json: String? = nil) async throws -> JSON {
        let reply = try await kit.ask(method, "/worlds/\(id)/\(path)", json)
        try #require((200..<300).contains(reply.status), "\(method) \(path): \(reply.text)")
        return reply.body.isEmpty ? .null : reply.json
    }

    func people(_ json: String = "{}") async throws -> [JSON] { try await ask("POST", "people", json)["people"].list }

    /// A call of the public API.
    func call(_ method: String, _ path: String, by person: JSON = .null, _ json: String? = nil) async throws -> HTTPReply {
        var headers = [("Content-Type", "application/json")]
        if let token = person["access_token"].string { headers.append(("Authorization", "Bearer \(token)")) }
        return try await http.send(method, path, headers: headers, body: json.map { Array($0.utf8) })
    }
}
