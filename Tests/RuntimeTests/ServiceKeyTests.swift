import Cryptography
import Kernel
import Runtime
import Testing

@Suite("Keys of services")
struct ServiceKeyTests {
    private let key: ServiceKey

    init() throws { key = try #require(ServiceKey(settingText: Ed25519.PrivateKey().pem())) }

    private func keys(_ text: String) throws -> ServicePublicKeys { try #require(ServicePublicKeys(settingText: text)) }

    private func statement(_ service: String = "auth", _ version: String = "1.0.0", _ hash: String = "ab") -> ServiceStatement {
        .descriptor(service: service, version: version, sha256: hash)
    }

    @Test func `a statement is the service's when one of its keys has signed it as it is`() throws {
        let other = try #require(ServiceKey(settingText: Ed25519.PrivateKey().pem()))
        let keys = try keys("auth=\(other.publicText), auth=\(key.publicText),social=\(other.publicText)")
        let signature = try key.sign(statement())
        #expect(keys.verify(signature, of: statement(), by: "auth"))
        #expect(!keys.verify(signature, of: statement(), by: "social"), "whose key it is not")
        #expect(!keys.verify(signature, of: statement(), by: "media"), "which has none")
        for changed in [statement("social"), statement("auth", "2.0.0"), statement("auth", "1.0.0", "cd")] {
            #expect(!keys.verify(signature, of: changed, by: "auth"))
        }
        for wrong in ["", "AAAA", signature + "A", String(signature.dropLast()), "no base64!"] {
            #expect(!keys.verify(wrong, of: statement(), by: "auth"))
        }
    }

    @Test func `statements of token keys and of descriptors are never the same`() throws {
        let one = (kty: "EC", crv: "P-256", kid: "k", x: "x", y: "y")
        let tokens = ServiceStatement.tokenKeys(service: "auth", signedAt: 1, keys: [one])
        #expect(tokens != .tokenKeys(service: "auth", signedAt: 2, keys: [one]))
        #expect(tokens != .tokenKeys(service: "auth", signedAt: 1, keys: [one, one]))
        #expect(tokens != .descriptor(service: "auth", version: "1", sha256: "EC P-256 k x y"))
    }

    @Test(arguments: ["auth", "auth=", "auth=AAAA", "=AAAA", "Auth=KEY", "auth=KEY=", "auth=KEY;social=KEY"])
    func `what is no list of keys is refused`(text: String) {
        #expect(ServicePublicKeys(settingText: text.replacing("KEY", with: key.publicText)) == nil)
    }

    @Test func `an empty list has no key, and printing a key shows nothing of it`() throws {
        #expect(try keys("").isEmpty)
        #expect(try !keys("auth=\(key.publicText)").isEmpty)
        #expect(try keys("auth=\(key.publicText)").has("auth") && !keys("auth=\(key.publicText)").has("social"))
        #expect("\(key)" == "ServiceKey" && Mirror(reflecting: key).children.isEmpty)
    }
}
