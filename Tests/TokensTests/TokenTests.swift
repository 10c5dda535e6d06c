import Cryptography
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

    private func verifier(_ keys: [TokenSigner.PublicKey]) throws -> TokenVerifier {
        let verifier = TokenVerifier(clock: clock)
        try verifier.use(jwks: [jwks(keys)])
        return verifier
    }

    private func reason(_ verifier: TokenVerifier, _ text: String) -> String {
        do {
            _ = try verifier.verify(text)
            return "accepted"
        } catch { return error.reason }
    }

    private func base64URL(_ data: some Sequence<UInt8>) -> String { Base64URL.encode(Array(data)) }

    /// A genuine signature over any header and claims.
    private func forge(_ key: P256.PrivateKey, header: String, claims: String) throws -> String {
        let input = base64URL(header.utf8) + "." + base64URL(claims.utf8)
        return input + "." + base64URL(try key.signature(for: input.utf8))
    }

    private func claims(iss: String = "streaksnap", aud: String = "streaksnap-api") -> String {
        let token = token()
        return """
            {"sub":"\(token.userID)","sid":"\(token.sessionID)","email":"","role":"user","iat":\(token.issuedAt.seconds),\
            "exp":\(token.expiresAt.seconds),"iss":"\(iss)","aud":"\(aud)"}
            """
    }

    @Test func `come back as they were signed`() throws {
        let signer = try TokenSigner(pemKeys: [TokenSigner.makeKey()])
        let verifier = try verifier(signer.publicKeys)
        #expect(try verifier.verify(signer.sign(token())) == token())
    }

    @Test func `say that a second factor is missing only where it is`() throws {
        let signer = try TokenSigner(pemKeys: [TokenSigner.makeKey()])
        let verifier = try verifier(signer.publicKeys)
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
            let text = try signer.sign(token)
            #expect(try verifier.verify(text) == token)
            let claims = try #require(Base64URL.decode(text.split(separator: ".")[1]))
            #expect(String(decoding: claims, as: UTF8.self).contains("\"enrol\":true") == mustEnrol)
        }
    }

    @Test func `of an older key count while it is published, and not afterwards, although they were verified before`() throws {
        let (old, new) = (try TokenSigner.makeKey(), try TokenSigner.makeKey())
        let before = try TokenSigner(pemKeys: [old])
        let after = try TokenSigner(pemKeys: [old, new])
        #expect(after.publicKeys.first == before.publicKeys.first)
        let text = try before.sign(token())
        let verifier = try verifier(after.publicKeys)
        #expect(reason(verifier, text) == "accepted")
        #expect(reason(verifier, try after.sign(token())) == "accepted")
        try verifier.use(jwks: [jwks(after.publicKeys.suffix(1))])
        #expect(reason(verifier, text) == "INVALID_TOKEN")
        #expect(reason(verifier, try after.sign(token())) == "accepted")
    }

    @Test func `are verified once while their key stays published, whatever becomes of others`() throws {
        let (old, new) = (try TokenSigner.makeKey(), try TokenSigner.makeKey())
        let before = try TokenSigner(pemKeys: [old])
        let after = try TokenSigner(pemKeys: [old, new])
        let (oldText, text) = (try before.sign(token()), try after.sign(token()))
        let verifier = try verifier(after.publicKeys)
        for text in [oldText, text] {
            #expect(!verifier.isKnown(text))
            #expect(reason(verifier, text) == "accepted")
            #expect(verifier.isKnown(text))
        }
        // As the gateway does again and again.
        try verifier.use(jwks: [jwks(after.publicKeys)])
        #expect(verifier.isKnown(oldText) && verifier.isKnown(text))
        try verifier.use(jwks: [jwks(after.publicKeys.suffix(1))])
        #expect(!verifier.isKnown(oldText) && verifier.isKnown(text))
    }

    @Test func `of every one of several sets of keys count`() throws {
        let first = try TokenSigner(pemKeys: [TokenSigner.makeKey()])
        let second = try TokenSigner(pemKeys: [TokenSigner.makeKey()])
        let verifier = TokenVerifier(clock: clock)
        try verifier.use(jwks: [jwks(first.publicKeys), jwks(second.publicKeys), jwks(first.publicKeys)])
        for signer in [first, second] { #expect(reason(verifier, try signer.sign(token())) == "accepted") }
        try verifier.use(jwks: [jwks(second.publicKeys)])
        #expect(reason(verifier, try first.sign(token())) == "INVALID_TOKEN")
    }

    @Test func `expire by the product's clock, also when they were verified before`() throws {
        let signer = try TokenSigner(pemKeys: [TokenSigner.makeKey()])
        let verifier = try verifier(signer.publicKeys)
        let text = try signer.sign(token())
        #expect(reason(verifier, text) == "accepted")
        clock.advance(by: .seconds(899))
        #expect(reason(verifier, text) == "accepted")
        clock.advance(by: .seconds(1))
        #expect(reason(verifier, text) == "TOKEN_EXPIRED")
        clock.set(Instant(seconds: 1_700_000_000) - .minutes(6))
        #expect(reason(verifier, text) == "INVALID_TOKEN")
    }

    @Test func `that choose their own algorithm are refused`() async throws {
        let pem = try TokenSigner.makeKey()
        let key = try P256.PrivateKey(pem: pem)
        let signer = try TokenSigner(pemKeys: [pem])
        let kid = try #require(signer.publicKeys.first?.kid)
        let verifier = try verifier(signer.publicKeys)
        let good = try forge(key, header: "{\"alg\":\"ES256\",\"kid\":\"\(kid)\"}", claims: claims())
        #expect(reason(verifier, good) == "accepted")
        for algorithm in ["none", "None", "HS256", "ES384", "RS256", ""] {
            let text = try forge(key, header: "{\"alg\":\"\(algorithm)\",\"kid\":\"\(kid)\"}", claims: claims())
            #expect(reason(verifier, text) == "INVALID_TOKEN")
        }
        let unsigned = base64URL("{\"alg\":\"none\",\"kid\":\"\(kid)\"}".utf8) + "." + base64URL(claims().utf8) + "."
        #expect(reason(verifier, unsigned) == "INVALID_TOKEN")
        // The public key is no secret: it must not work as one.
        let point = key.publicKey.x + key.publicKey.y
        let jwk =
            "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"\(base64URL(key.publicKey.x))\",\"y\":\"\(base64URL(key.publicKey.y))\"}"
        let pkcs = try await run("openssl", ["pkey", "-pubout"], input: Array(pem.utf8)).output
        for secret in [pkcs, pkcs.dropLast(), point, [4] + point, Array(jwk.utf8)] {
            for name in ["HS256", "ES256"] {
                let input = base64URL("{\"alg\":\"\(name)\",\"kid\":\"\(kid)\"}".utf8) + "." + base64URL(claims().utf8)
                let code = HMACSHA256(key: secret).code(for: input.utf8)
                #expect(reason(verifier, input + "." + base64URL(code)) == "INVALID_TOKEN")
                #expect(reason(verifier, input + "." + base64URL(Array(code) + Array(code))) == "INVALID_TOKEN")
            }
        }
    }

    @Test func `of another issuer, audience or key, or without a known kid, are refused`() throws {
        let pem = try TokenSigner.makeKey()
        let key = try P256.PrivateKey(pem: pem)
        let signer = try TokenSigner(pemKeys: [pem])
        let kid = try #require(signer.publicKeys.first?.kid)
        let verifier = try verifier(signer.publicKeys)
        let header = "{\"alg\":\"ES256\",\"kid\":\"\(kid)\"}"
        #expect(reason(verifier, try forge(key, header: header, claims: claims(iss: "other"))) == "INVALID_TOKEN")
        #expect(reason(verifier, try forge(key, header: header, claims: claims(aud: "other"))) == "INVALID_TOKEN")
        #expect(reason(verifier, try forge(P256.PrivateKey(), header: header, claims: claims())) == "INVALID_TOKEN")
        #expect(
            reason(verifier, try forge(key, header: "{\"alg\":\"ES256\",\"kid\":\"x\"}", claims: claims()))
                == "INVALID_TOKEN"
        )
        #expect(reason(verifier, try forge(key, header: "{\"alg\":\"ES256\"}", claims: claims())) == "INVALID_TOKEN")
    }

    @Test func `changed in any character of claims or signature are refused, and garbage too`() throws {
        let signer = try TokenSigner(pemKeys: [TokenSigner.makeKey()])
        let verifier = try verifier(signer.publicKeys)
        let text = Array(try signer.sign(token()).utf8)
        for index in stride(from: 0, to: text.count - 1, by: 7) where text[index] != UInt8(ascii: ".") {
            var changed = text
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(reason(verifier, String(decoding: changed, as: UTF8.self)) == "INVALID_TOKEN", "at \(index)")
        }
        for garbage in ["", ".", "..", "...", "a.b.c", String(repeating: "x", count: 100_000), "\u{0}.\u{0}.\u{0}"] {
            #expect(reason(verifier, garbage) == "INVALID_TOKEN")
        }
    }

    @Test func `cannot be judged before any key is known`() throws {
        let signer = try TokenSigner(pemKeys: [TokenSigner.makeKey()])
        #expect(reason(TokenVerifier(clock: clock), try signer.sign(token())) == "UNAVAILABLE")
        #expect(throws: TokenSigner.InvalidKey.self) { try TokenSigner(pemKeys: []) }
        #expect(throws: TokenSigner.InvalidKey.self) { try TokenSigner(pemKeys: ["no key"]) }
    }

    @Test func `Key ids are RFC 7638 thumbprints, as Python computes them`() async throws {
        let key = try #require(try TokenSigner(pemKeys: [TokenSigner.makeKey()]).publicKeys.first)
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
