import Kernel
import Runtime
import TestSupport
import Testing

/// What a gateway says of a caller goes under seal (D23).
struct SealedCallTests {
    private static let key = String(repeating: "k", count: 32)
    private static let get = "GET /api/notes HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

    @Test func `a service with the gateway's key believes the client's address`() async throws {
        let gateway = try await EchoGateway(["gateway.seal-keys": "echo:\(Self.key)"], sealKey: Self.key)
        #expect(try await gateway.ask(Self.get).status == 200)
        #expect(gateway.received.address == IPAddress("127.0.0.1") && gateway.received.refused == 0)
        await gateway.stop()
    }

    @Test(arguments: [["gateway.seal-keys": "echo:\(String(repeating: "x", count: 32))"], [:]])
    func `without the service's key no client has to sign in anew`(settings: [String: String]) async throws {
        let gateway = try await EchoGateway(settings, sealKey: Self.key, isAsked: false)
        if settings.isEmpty {
            // Nothing is claimed under seal, and so nothing is believed.
            try await eventually("it is answered") { try await gateway.ask(Self.get).status == 200 }
            #expect(gateway.received.address == nil)
        } else {
            try await eventually("the service has refused it") {
                let reply = try await gateway.ask(Self.get)
                #expect(reply.status == 503)
                return gateway.received.refused > 0
            }
        }
        await gateway.stop()
    }

    @Test func `keys that are none end the start`() async throws {
        let error = await #expect(throws: Settings.Invalid.self) { try await EchoGateway(["gateway.seal-keys": "echo"]) }
        #expect(error?.description == "--gateway-seal-keys (or STREAKSNAP_GATEWAY_SEAL_KEYS) must be name:key for each service.")
    }
}
