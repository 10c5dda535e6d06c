import HTTPServer
import Kernel
import NIOCore
import NIOHTTP1
import OutgoingHTTP

/// The control API of a test environment (`deploy/docs/test-kit.md`), and the stand-ins that services reach by HTTP, on a port of 127.0.0.1.
struct ControlServer: Sendable {
    /// What every request of the control API must bring. Stand-ins are asked without it, by services of this process.
    let token: String
    let registry: StandInRegistry
    let apple = AppleStandIn()
    private static let mostBytes = 4 << 20

    /// A reply: JSON, or nothing.
    struct Answer: Sendable {
        var status = 200
        var body: JSON?
    }

    /// What asks.
    struct Call: Sendable {
        var method: String
        /// The parts of the path.
        var path: [String]
        var query: [String: String]
        var body: [UInt8]
        var authorization: String?
        var isCompressed: Bool
    }

    /// Listens until the process ends.
    ///
    /// - Parameter worlds: nil until there are any: requests that come before are answered 503.
    /// - Returns: the port.
    /// - Throws: the operating system's error.
    func start(worlds: @escaping @Sendable () -> Worlds?) async throws -> Int {
        let server = try await HTTPServer.start(host: "127.0.0.1", port: 0) { request in
            let call = try await Self.call(request)
            var answer: Answer
            do { answer = try await self.answer(call, worlds()) } catch {
                let refusal = ControlError(error)
                answer = Answer(status: refusal.status, body: refusal.json)
            }
            return HTTPResponse(
                .init(statusCode: answer.status),
                answer.body == nil ? [:] : ["Content-Type": "application/json"],
                .bytes(ByteBuffer(bytes: answer.body?.bytes ?? []))
            )
        }
        return server.port
    }

    private static func call(_ request: HTTPRequest) async throws -> Call {
        let body = try await request.body.collect(upTo: mostBytes)
        return Call(
            method: request.method.rawValue,
            path: request.path.split(separator: "/").map(String.init),
            query: Dictionary(request.parameters.map { ($0.name, $0.value) }) { $1 },
            body: Array(body.readableBytesView),
            authorization: request.headers[field: "Authorization"],
            isCompressed: request.headers[field: "Content-Encoding"] == "gzip"
        )
    }

    private func answer(_ call: Call, _ worlds: Worlds?) async throws -> Answer {
        if call.path.first == "stand-ins", call.path.count > 2 {
            return try await standIn(call, call.path[1], Array(call.path.dropFirst(2)))
        }
        guard call.authorization == "Bearer \(token)" else { throw ControlError.unauthenticated }
        guard let worlds else { throw ControlError.unavailable("The test environment is starting.") }
        return try await ControlRoutes(worlds: worlds, apple: apple).answer(call)
    }

    /// What Expo, RevenueCat or Apple would answer to a world.
    private func standIn(_ call: Call, _ id: String, _ path: [String]) async throws -> Answer {
        guard let world = registry.world(id) else { throw ControlError.notFound("id", "There is no world \(id).") }
        switch (call.method, path[0], path.count) {
        case ("GET", "apple", 2): return Answer(body: try await apple.keys())
        case ("POST", "expo", 2):
            let (status, body) = world.standIns.expo.answer(path[1], call.body, isCompressed: call.isCompressed)
            return Answer(status: status, body: body)
        case ("GET", "store", 4): return Answer(body: world.standIns.store.subscriber(path[3], now: try await world.now()))
        case ("DELETE", "store", 4):
            world.standIns.store.delete(path[3])
            return Answer(body: .texts(["app_user_id": path[3]]))
        default: throw ControlError.notFound("path", "There is no such path.")
        }
    }
}
