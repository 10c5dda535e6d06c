import Crypto
import Foundation
import Kernel
import Processes
import TestSupport
import Testing
@testable import Tokens

@Suite("Access tokens")
struct TokenTests {
    private let clock = ManualClock(Instant(seconds: 1_700_000_000))

    private func token(life: Interval = .minutes(15)) -> AccessToken {
        AccessToken(
            userID: UserID(high: 1, low: 2),
            sessionID: SessionID(high: 3, low: 4),
            email: "ann@example.org",
            role: .user,
            issuedAt: clock.now(),
            expiresAt: clock.now() + life
        )
    }

    private func jwks(_ keys: [TokenSigner.PublicKey]) -> [UInt8] {
        let list = keys.map {
            "{\"kty\":\"EC\",\"crv\":\"P-256\",\"alg\":\"ES256\",\"use\":\"sig\",\"kid\":\"\($0.kid)\",\"x\":\"\($0.x)\",\"y\":\"\($0.y)\"}"
        }
        return Array("{\"keys\":[\(list.joined(separator: ","))]}".utf8)
    }

    private func verifier(_ keys: [TokenSigner.PublicKey]) async throws -> TokenVerifier {
        let verifier = TokenVerifier(clock: clock)
        try await verifier.use(jwks: [jwks(keys)])
        return verifier
    }

    private func reason(_ verifier: TokenVerifier, _ text: String) async -> String {
        do {
            _ = try await verifier.verify(text)
            return "accepted"
        } catch { return (error as? ServiceError)?.reason ?? "\(error)" }
    }

    private func base64URL(_ data: some Sequence<UInt8>) -> String {
        Data(data).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// A genuine signature over any header and claims.
    private func forge(_ key: P256.Signing.PrivateKey, header: String, claims: String) throws -> String {
        let input = base64URL(header.utf8) + "." + base64URL(claims.utf8)
        return input + "." + base64URL(try key.signature(for: Data(input.utf8)).rawRepresentation)
    }

    private func claims(iss: String = "streaksnap", aud: String = "streaksnap-api") -> String {
        let token = token()
        return """
            {"sub":"\(token.userID)","sid":"\(token.sessionID)","email":"","role":"user","iat":\(token.issuedAt.seconds),\
            "exp":\(token.expiresAt.seconds),"iss":"\(iss)","aud":"\(aud)"}
            """
    }

    @Test func `come back as they were signed`() async throws {
        let signer = try await TokenSigner(pemKeys: [TokenSigner.makeKey()])
        let verifier = try await verifier(signer.publicKeys)
        #expect(try await verifier.verify(signer.sign(token())) == token())
    }

    @Test func `say that a second factor is missing only where it is`() async throws {
        let signer = try await TokenSigner(pemKeys: [TokenSigner.makeKey()])
        let verifier = try await verifier(signer.publicKeys)
        for mustEnrol in [false, true] {
            let token = AccessToken(
                userID: UserID(high: 1, low: 2),
                sessionID: SessionID(high: 3, low: 4),
                email: "",
                role: .user,
                mustEnrol: mustEnrol,
                issuedAt: clock.now(),
                expiresAt: clock.now() + .minutes(15)
            )
            let text = try await signer.sign(token)
            #expect(try await verifier.verify(text) == token)
            let claims = try #require(Base64URL.decode(text.split(separator: ".")[1]))
            #expect(String(decoding: claims, as: UTF8.self).contains("\"enrol\":true") == mustEnrol)
        }
    }

    @Test func `of an older key count while it is published, and not afterwards, although they were verified before`()
        async throws
    {
        let (old, new) = (TokenSigner.makeKey(), TokenSigner.makeKey())
        let before = try await TokenSigner(pemKeys: [old])
        let after = try await TokenSigner(pemKeys: [old, new])
        #expect(after.publicKeys.first == before.publicKeys.first)
        let text = try await before.sign(token())
        let verifier = try await verifier(after.publicKeys)
        #expect(await reason(verifier, text) == "accepted")
        #expect(await reason(verifier, try await after.sign(token())) == "accepted")
        try await verifier.use(jwks: [jwks(after.publicKeys.suffix(1))])
        #expect(await reason(verifier, text) == "INVALID_TOKEN")
        #expect(await reason(verifier, try await after.sign(token())) == "accepted")
    }

    @Test func `are verified once while their key stays published, whatever becomes of others`() async throws {
        let (old, new) = (TokenSigner.makeKey(), TokenSigner.makeKey())
        let before = try await TokenSigner(pemKeys: [old])
        let after = try await TokenSigner(pemKeys: [old, new])
        let (oldText, text) = (try await before.sign(token()), try await after.sign(token()))
        let verifier = try await verifier(after.publicKeys)
        for text in [oldText, text] {
            #expect(!verifier.isKnown(text))
            #expect(await reason(verifier, text) == "accepted")
            #expect(verifier.isKnown(text))
        }
        // As the gateway does again and again.
        try await verifier.use(jwks: [jwks(after.publicKeys)])
        #expect(verifier.isKnown(oldText) && verifier.isKnown(text))
        try await verifier.use(jwks: [jwks(after.publicKeys.suffix(1))])
        #expect(!verifier.isKnown(oldText) && verifier.isKnown(text))
    }

    @Test func `of every one of several sets of keys count`() async throws {
        let first = try await TokenSigner(pemKeys: [TokenSigner.makeKey()])
        let second = try await TokenSigner(pemKeys: [TokenSigner.makeKey()])
        let verifier = TokenVerifier(clock: clock)
        try await verifier.use(jwks: [jwks(first.publicKeys), jwks(second.publicKeys), jwks(first.publicKeys)])
        for signer in [first, second] { #expect(await reason(verifier, try await signer.sign(token())) == "accepted") }
        try await verifier.use(jwks: [jwks(second.publicKeys)])
        #expect(await reason(verifier, try await first.sign(token())) == "INVALID_TOKEN")
    }

    @Test func `expire by the product's clock, also when they were verified before`() async throws {
        let signer = try await TokenSigner(pemKeys: [TokenSigner.makeKey()])
        let verifier = try await verifier(signer.publicKeys)
        let text = try await signer.sign(token())
        #expect(await reason(verifier, text) == "accepted")
        clock.advance(by: .seconds(899))
        #expect(await reason(verifier, text) == "accepted")
        clock.advance(by: .seconds(1))
        #expect(await reason(verifier, text) == "TOKEN_EXPIRED")
        clock.set(Instant(seconds: 1_700_000_000) - .minutes(6))
        #expect(await reason(verifier, text) == "INVALID_TOKEN")
    }

    @Test func `that choose their own algorithm are refused`() async throws {
        let pem = TokenSigner.makeKey()
        let key = try P256.Signing.PrivateKey(pemRepresentation: pem)
        let signer = try await TokenSigner(pemKeys: [pem])
        let kid = try #require(signer.publicKeys.first?.kid)
        let verifier = try await verifier(signer.publicKeys)
        let good = try forge(key, header: "{\"alg\":\"ES256\",\"kid\":\"\(kid)\"}", claims: claims())
        #expect(await reason(verifier, good) == "accepted")
        for algorithm in ["none", "None", "HS256", "ES384", "RS256", ""] {
            let text = try forge(key, header: "{\"alg\":\"\(algorithm)\",\"kid\":\"\(kid)\"}", claims: claims())
            #expect(await reason(verifier, text) == "INVALID_TOKEN")
        }
        let unsigned = base64URL("{\"alg\":\"none\",\"kid\":\"\(kid)\"}".utf8) + "." + base64URL(claims().utf8) + "."
        #expect(await reason(verifier, unsigned) == "INVALID_TOKEN")
        // The public key is no secret: it must not work as one.
        for secret in [
            Data(key.publicKey.pemRepresentation.utf8), key.publicKey.rawRepresentation, key.publicKey.x963Representation,
        ] {
            for name in ["HS256", "ES256"] {
                let input = base64URL("{\"alg\":\"\(name)\",\"kid\":\"\(kid)\"}".utf8) + "." + base64URL(claims().utf8)
                let code = HMAC<SHA256>.authenticationCode(for: Data(input.utf8), using: SymmetricKey(data: secret))
                #expect(await reason(verifier, input + "." + base64URL(code)) == "INVALID_TOKEN")
            }
        }
    }

    @Test func `of another issuer, audience or key, or without a known kid, are refused`() async throws {
        let pem = TokenSigner.makeKey()
        let key = try P256.Signing.PrivateKey(pemRepresentation: pem)
        let signer = try await TokenSigner(pemKeys: [pem])
        let kid = try #require(signer.publicKeys.first?.kid)
        let verifier = try await verifier(signer.publicKeys)
        let header = "{\"alg\":\"ES256\",\"kid\":\"\(kid)\"}"
        #expect(await reason(verifier, try forge(key, header: header, claims: claims(iss: "other"))) == "INVALID_TOKEN")
        #expect(await reason(verifier, try forge(key, header: header, claims: claims(aud: "other"))) == "INVALID_TOKEN")
        #expect(await reason(verifier, try forge(P256.Signing.PrivateKey(), header: header, claims: claims())) == "INVALID_TOKEN")
        #expect(
            await reason(verifier, try forge(key, header: "{\"alg\":\"ES256\",\"kid\":\"x\"}", claims: claims()))
                == "INVALID_TOKEN"
        )
        #expect(await reason(verifier, try forge(key, header: "{\"alg\":\"ES256\"}", claims: claims())) == "INVALID_TOKEN")
    }

    @Test func `changed in any character of claims or signature are refused, and garbage too`() async throws {
        let signer = try await TokenSigner(pemKeys: [TokenSigner.makeKey()])
        let verifier = try await verifier(signer.publicKeys)
        let text = Array(try await signer.sign(token()).utf8)
        for index in stride(from: 0, to: text.count - 1, by: 7) where text[index] != UInt8(ascii: ".") {
            var changed = text
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(await reason(verifier, String(decoding: changed, as: UTF8.self)) == "INVALID_TOKEN", "at \(index)")
        }
        for garbage in ["", ".", "..", "...", "a.b.c", String(repeating: "x", count: 100_000), "\u{0}.\u{0}.\u{0}"] {
            #expect(await reason(verifier, garbage) == "INVALID_TOKEN")
        }
    }

    @Test func `cannot be judged before any key is known`() async throws {
        let signer = try await TokenSigner(pemKeys: [TokenSigner.makeKey()])
        #expect(await reason(TokenVerifier(clock: clock), try await signer.sign(token())) == "UNAVAILABLE")
        await #expect(throws: TokenSigner.InvalidKey.self) { try await TokenSigner(pemKeys: []) }
        await #expect(throws: TokenSigner.InvalidKey.self) { try await TokenSigner(pemKeys: ["no key"]) }
    }

    @Test func `Key ids are RFC 7638 thumbprints, as Python computes them`() async throws {
        let key = try #require(try await TokenSigner(pemKeys: [TokenSigner.makeKey()]).publicKeys.first)
        let script = """
            import base64, hashlib, json, sys
            jwk = {"kty": "EC", "crv": "P-256", "x": sys.argv[1], "y": sys.argv[2]}
            text = json.dumps(jwk, separators=(",", ":"), sort_keys=True)
            print(base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("="), end="")
            """
        let printed = try await run("python3", ["-c", script, key.x, key.y]).text
        #expect(printed == key.kid)
        #expect(key.kid.utf8.count == 43)
    }
}
