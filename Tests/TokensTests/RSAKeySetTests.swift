import Cryptography
import Kernel
import TestSupport
import Testing

@testable import Tokens

@Suite("Tokens of an issuer with RSA keys")
struct RSAKeySetTests {
    private let key: RSA.PrivateKey
    private let set: RSAKeySet
    private static let header = "{\"alg\":\"RS256\",\"kid\":\"one\"}"
    private static let claims = "{\"iss\":\"https://appleid.apple.com\",\"sub\":\"1\"}"

    init() throws {
        key = try RSA.PrivateKey()
        set = try RSAKeySet(jwks: Self.jwks([Self.jwk(key.publicKey)]))
    }

    private static func jwk(_ key: RSA.PublicKey, kid: String = "one", more: String = "") -> String {
        "{\"kty\":\"RSA\",\"kid\":\"\(kid)\"\(more),\"n\":\"\(Base64URL.encode(key.modulus))\",\"e\":\"\(Base64URL.encode(key.exponent))\"}"
    }

    private static func jwks(_ keys: [String]) -> [UInt8] { Array("{\"keys\":[\(keys.joined(separator: ","))]}".utf8) }

    private static func input(_ header: String = header, _ claims: String = claims) -> String {
        Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(claims.utf8))
    }

    private func token(_ header: String = header) throws -> String {
        let input = Self.input(header)
        return input + "." + Base64URL.encode(try key.signature(for: input.utf8))
    }

    @Test func `give their claims when a key of the set has signed them`() throws {
        #expect(set.keyIDs == ["one"])
        #expect(try RSAKeySet.keyID(of: token()) == "one")
        #expect(try set.claims(of: token()) == Array(Self.claims.utf8))
    }

    @Test(arguments: [
        "{\"alg\":\"none\",\"kid\":\"one\"}", "{\"alg\":\"HS256\",\"kid\":\"one\"}", "{\"alg\":\"ES256\",\"kid\":\"one\"}",
        "{\"alg\":\"PS256\",\"kid\":\"one\"}", "{\"alg\":\"RS512\",\"kid\":\"one\"}", "{\"alg\":\"RS256\"}",
        "{\"alg\":\"RS256\",\"kid\":\"one\",\"crit\":[\"b64\"],\"b64\":false}",
        "{\"alg\":\"HS256\",\"alg\":\"RS256\",\"kid\":\"one\"}",
    ])
    func `with another algorithm, or asking for more, name no key and are refused`(header: String) throws {
        #expect(try RSAKeySet.keyID(of: token(header)) == nil)
        #expect(try set.claims(of: token(header)) == nil)
    }

    @Test func `of other keys, changed, or with the public key as a secret, are refused`() throws {
        let good = try token()
        let (input, other) = (Self.input(), try RSA.PrivateKey())
        #expect(try set.claims(of: token("{\"alg\":\"RS256\",\"kid\":\"two\"}")) == nil)
        #expect(set.claims(of: input + "." + Base64URL.encode(try other.signature(for: input.utf8))) == nil)
        let forged = Self.input(Self.header, Self.claims.replacing("1", with: "2"))
        #expect(set.claims(of: forged + "." + Base64URL.encode(try key.signature(for: input.utf8))) == nil)
        for signature: [UInt8] in [
            [], [0], [UInt8](repeating: 0, count: 256), key.publicKey.modulus, try key.signature(for: input.utf8).dropLast(),
        ] {
            #expect(set.claims(of: input + "." + Base64URL.encode(signature)) == nil)
        }
        for wrong in [good + ".", good + "=", good + "." + good, "." + good, good + "AA", "", "..", "a.b.c"] {
            #expect(set.claims(of: wrong) == nil)
        }
        for header in [Self.header, "{\"alg\":\"HS256\",\"kid\":\"one\"}"] {
            let input = Self.input(header)
            let code = HMACSHA256(key: key.publicKey.modulus).code(for: input.utf8)
            #expect(set.claims(of: input + "." + Base64URL.encode(code)) == nil)
        }
    }

    @Test func `and ours are not taken for each other`() throws {
        let own = try P256.PrivateKey()
        let input = Self.input()
        #expect(set.claims(of: input + "." + Base64URL.encode(try own.signature(for: input.utf8))) == nil)
        let verifier = TokenVerifier(clock: ManualClock(Instant(seconds: 1_700_000_000)))
        let keys = Self.jwks([
            "{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"one\",\"x\":\"\(Base64URL.encode(own.publicKey.x))\",\"y\":\"\(Base64URL.encode(own.publicKey.y))\"}"
        ])
        try verifier.use(jwks: [keys])
        for header in [Self.header, "{\"alg\":\"ES256\",\"kid\":\"one\"}"] {
            #expect(throws: ServiceError.self) { try verifier.verify(token(header)) }
        }
        #expect(throws: RSAKeySet.InvalidKeySet.self) { try RSAKeySet(jwks: keys) }
    }

    @Test func `need keys for signatures by RS256 that are not weak; others are passed over`() throws {
        let usable = [
            "", ",\"alg\":\"RS256\"", ",\"use\":\"sig\"", ",\"alg\":\"RS256\",\"use\":\"sig\",\"x5c\":[\"a\"]",
        ]
        for more in usable { #expect(try RSAKeySet(jwks: Self.jwks([Self.jwk(key.publicKey, more: more)])).keyIDs == ["one"]) }
        let good = Self.jwk(key.publicKey)
        let (n, e) = (Base64URL.encode(key.publicKey.modulus), Base64URL.encode(key.publicKey.exponent))
        let unusable = [
            Self.jwk(key.publicKey, more: ",\"alg\":\"RS512\""), Self.jwk(key.publicKey, more: ",\"use\":\"enc\""),
            good.replacing("\"RSA\"", with: "\"oct\""), good.replacing("\"kid\"", with: "\"id\""),
            good.replacing("\"n\"", with: "\"m\""),
            good.replacing(n, with: String(n.prefix(172))), good.replacing(n, with: ""), good.replacing(n, with: n + "="),
            good.replacing("\"e\":\"\(e)\"", with: "\"e\":\"AQ\""), good.replacing("\"e\":\"\(e)\"", with: "\"e\":\"AQAA\""),
        ]
        for key in unusable {
            #expect(throws: RSAKeySet.InvalidKeySet.self, "\(key)") { try RSAKeySet(jwks: Self.jwks([key])) }
            let other = Self.jwk(self.key.publicKey, kid: "two")
            #expect(try RSAKeySet(jwks: Self.jwks([key, other])).keyIDs == ["two"])
        }
        for wrong in ["", "{}", "[]", "{\"keys\":[]}", "{\"keys\":[{}]}"] {
            #expect(throws: RSAKeySet.InvalidKeySet.self) { try RSAKeySet(jwks: Array(wrong.utf8)) }
        }
    }
}
