import CMalloc
import Cryptography
import Kernel
import TestSupport
import Testing

@testable import Tokens

/// Tokens that only look right: signed by who has the key, so that nothing but their form is wrong.
@Suite("Forged tokens")
struct ForgedTokenTests {
    private let key: P256.PrivateKey
    private let kid: String
    private let verifier = TokenVerifier(clock: ManualClock(Instant(seconds: 1_700_000_000)))
    private static let claims =
        "{\"sub\":\"\(UserID(high: 1, low: 2))\",\"sid\":\"\(SessionID(high: 3, low: 4))\",\"email\":\"\",\"role\":\"user\",\"iat\":1700000000,"
        + "\"exp\":1700000900,\"iss\":\"streaksnap\",\"aud\":\"streaksnap-api\"}"

    init() throws {
        let pem = try TokenSigner.makeKey()
        key = try P256.PrivateKey(pem: pem)
        let published = try #require(try TokenSigner(pemKeys: [pem]).publicKeys.first)
        kid = published.kid
        try verifier.use(jwks: [Self.jwks(published.x, published.y, kid: kid)])
    }

    private static func jwks(_ x: String, _ y: String, kid: String) -> [UInt8] {
        Array("{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"\(kid)\",\"x\":\"\(x)\",\"y\":\"\(y)\"}]}".utf8)
    }

    private func encoded(_ text: String) -> String { Base64URL.encode(Array(text.utf8)) }

    private func isAccepted(_ text: String) -> Bool { (try? verifier.verify(text)) != nil }

    /// A genuine signature over two parts.
    private func signed(_ input: String) throws -> String {
        input + "." + Base64URL.encode(try key.signature(for: input.utf8))
    }

    private func signed(header: String, claims: String = claims) throws -> String {
        try signed(encoded(header.replacing("KID", with: kid)) + "." + encoded(claims))
    }

    @Test func `are distinguished from genuine ones, with spaces and other fields in the header`() throws {
        for header in [
            "{\"alg\":\"ES256\",\"kid\":\"KID\"}", "{\"kid\":\"KID\",\"typ\":\"JWT\",\"alg\":\"ES256\"}",
            "\n{ \"alg\" : \"ES256\", \"kid\" : \"KID\", \"x5c\": [\"a\", 1, {}], \"cty\": null }\r\n",
            "{\"\\u0061lg\":\"ES\\u0032\\u0035\\u0036\",\"kid\":\"KID\"}",
        ] {
            #expect(try isAccepted(signed(header: header)), "\(header)")
        }
    }

    @Test(arguments: [
        "{\"alg\":\"none\",\"kid\":\"KID\"}", "{\"alg\":\"es256\",\"kid\":\"KID\"}", "{\"alg\":\"ES256 \",\"kid\":\"KID\"}",
        "{\"alg\":\"ES256K\",\"kid\":\"KID\"}", "{\"alg\":\"RS256\",\"kid\":\"KID\"}", "{\"alg\":\"PS256\",\"kid\":\"KID\"}",
        "{\"alg\":[\"ES256\"],\"kid\":\"KID\"}", "{\"alg\":null,\"kid\":\"KID\"}", "{\"kid\":\"KID\"}", "{\"alg\":\"ES256\"}",
        "{\"alg\":\"ES256\",\"kid\":null}", "{\"alg\":\"ES256\",\"kid\":1}", "{\"alg\":\"ES256\",\"kid\":\"\"}",
        "{\"alg\":\"ES256\",\"kid\":\"KID \"}", "{\"alg\":\"none\",\"alg\":\"ES256\",\"kid\":\"KID\"}",
        "{\"alg\":\"ES256\",\"alg\":\"none\",\"kid\":\"KID\"}", "{\"alg\":\"ES256\",\"alg\":\"ES256\",\"kid\":\"KID\"}",
        "{\"alg\":\"ES256\",\"kid\":\"x\",\"kid\":\"KID\"}", "{\"alg\":\"ES256\",\"kid\":\"KID\",\"\\u006bid\":\"x\"}",
        "{\"alg\":\"ES256\",\"kid\":\"KID\",\"crit\":[\"exp\"],\"exp\":1}", "{\"alg\":\"ES256\",\"kid\":\"KID\",\"crit\":[]}",
        "{\"alg\":\"ES256\",\"kid\":\"KID\",\"crit\":null}",
        "{\"alg\":\"ES256\",\"kid\":\"KID\",\"b64\":false,\"crit\":[\"b64\"]}",
        "{\"alg\":\"ES256\",\"kid\":\"KID\"} x", "{\"alg\":\"ES256\",\"kid\":\"KID\"", "[\"ES256\"]", "\"ES256\"", "", "{}",
        "null",
        "{\"alg\":\"ES256\",\"kid\":\"KID\",\"x\":[[[[[[[[[[1]]]]]]]]]]}", "{\"alg\":\"ES256\",\"kid\":\"KID\",\"x\":\"\u{0}\"}",
    ])
    func `with another header are refused, even with a right signature`(header: String) throws {
        #expect(try !isAccepted(signed(header: header)))
    }

    @Test func `with other claims are refused`() throws {
        let header = "{\"alg\":\"ES256\",\"kid\":\"KID\"}"
        for (old, new) in [
            ("\"streaksnap\"", "\"Streaksnap\""), ("streaksnap-api", "streaksnap"), ("\"role\":\"user\"", "\"role\":\"root\""),
            ("\"role\":\"user\"", "\"role\":null"), ("1700000900", "\"1700000900\""), ("1700000900", "1e300"),
            ("1700000900", "null"),
            ("\"iat\":1700000000,", ""), ("\"email\":\"\",", ""), ("\(UserID(high: 1, low: 2))", "x"), ("{", "["), ("}", "}}"),
            ("}", ""),
        ] {
            let claims = Self.claims.replacing(old, with: new)
            #expect(claims != Self.claims)
            #expect(try !isAccepted(signed(header: header, claims: claims)), "\(claims)")
        }
        #expect(try !isAccepted(signed(header: header, claims: "")))
    }

    @Test func `in another form are refused: more parts, fewer, padding, other characters, bits that are left over`() throws {
        let good = try signed(header: "{\"alg\":\"ES256\",\"kid\":\"KID\"}")
        #expect(isAccepted(good))
        let parts = good.split(separator: ".").map(String.init)
        var wrong = [
            good + ".", "." + good, good + "." + parts[2], parts[0] + "." + good, parts[0] + "." + parts[2],
            parts[0] + ".." + parts[2],
            parts[0] + "." + parts[1] + ".", parts[0] + "." + parts[1], good + "=", good + "==", good + "\n", " " + good,
            good + " ",
            good + "\u{0}", good.replacing(".", with: "。"), good + String(repeating: ".", count: 3_000), good + "A", good + "AA",
            parts[0] + "\u{301}." + parts[1] + "." + parts[2], parts[0] + "\n." + parts[1] + "." + parts[2],
        ]
        // Standard base64 instead of that for URLs.
        let standard = good.replacing("-", with: "+").replacing("_", with: "/")
        if standard != good { wrong.append(standard) }
        // 64 bytes are 86 characters, of which the last has four bits that must be zero.
        for last in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" where last != good.last {
            wrong.append(good.dropLast() + String(last))
        }
        for wrong in wrong { #expect(!isAccepted(wrong), "\(wrong)") }
        // Padding of the signed parts, with a signature over it.
        #expect(try !isAccepted(signed(parts[0] + "=." + parts[1])))
        #expect(try !isAccepted(signed(parts[0] + "." + parts[1] + "=")))
        #expect(try !isAccepted(signed(parts[0] + "." + parts[1] + "." + parts[1])))
    }

    @Test func `with a signature that is cut, longer, empty, zero, out of range or of another form are refused`() throws {
        let input = encoded("{\"alg\":\"ES256\",\"kid\":\"\(kid)\"}") + "." + encoded(Self.claims)
        let good = try key.signature(for: input.utf8)
        #expect(isAccepted(input + "." + Base64URL.encode(good)))
        let (r, s) = (Array(good.prefix(32)), Array(good.suffix(32)))
        let (zero, ones) = ([UInt8](repeating: 0, count: 32), [UInt8](repeating: 255, count: 32))
        let order: [UInt8] = [
            255, 255, 255, 255, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 188, 230, 250, 173, 167, 23, 158, 132, 243,
            185,
            202, 194, 252, 99, 37, 81,
        ]
        var wrong = [
            [], zero + zero, r + zero, zero + s, ones + ones, r + ones, ones + s, order + order, r + order, order + s, s + r, r,
            r + r,
            [0] + good, good + [0], [0] + r + [0] + s, [0x30, 68, 2, 32] + r + [2, 32] + s,
        ]
        wrong += (0..<64).map { Array(good.prefix($0)) }
        wrong += (0..<64).map { place in
            var changed = good
            changed[place] ^= 0x80
            return changed
        }
        for wrong in wrong { #expect(!isAccepted(input + "." + Base64URL.encode(wrong))) }
        let other = try P256.PrivateKey().signature(for: input.utf8)
        #expect(!isAccepted(input + "." + Base64URL.encode(other)))
    }

    @Test func `do not hide that a token of jwt-kit is genuine`() throws {
        let kid = "j5LTNINZlXr5t3uCH0B_1o79tVguGkM1YtWoU09jFJg"
        let (x, y) = ("vyCkZEsTugitEAwQ_QvHk1WnD7iFkRDipgI-iOmF35I", "VOQjDo8kc1y5luxlKtwmMOh9R52n9N7Wy92kxKqrZ4w")
        let token =
            "eyJ0eXAiOiJKV1QiLCJraWQiOiJqNUxUTklOWmxYcjV0M3VDSDBCXzFvNzl0Vmd1R2tNMVl0V29VMDlqRkpnIiwiYWxnIjoiRVMyNTYifQ"
            + ".eyJpc3MiOiJzdHJlYWtzbmFwIiwiZXhwIjoxNzAwMDAwOTAwLCJyb2xlIjoidXNlciIsImF1ZCI6InN0cmVha3NuYXAtYXBpIiwiZW1haWwiOi"
            + "Jhbm5AZXhhbXBsZS5vcmciLCJzaWQiOiIwMDAwMDAwMC0wMDAwLTAwMDMtMDAwMC0wMDAwMDAwMDAwMDQiLCJzdWIiOiIwMDAwMDAwMC0wMDAw"
            + "LTAwMDEtMDAwMC0wMDAwMDAwMDAwMDIiLCJpYXQiOjE3MDAwMDAwMDB9"
            + ".56V8U0Y5Lfhk8m6uuMtcLwuzr_0Wr0lMPFS4eOz7vfp7Qq5w6tE-w6q1-qdFQorwPCbBJL_qDzxklr-6dW0tIw"
        try verifier.use(jwks: [Self.jwks(x, y, kid: kid)])
        let content = try verifier.verify(token)
        #expect(content.userID == UserID(high: 1, low: 2) && content.sessionID == SessionID(high: 3, low: 4))
        #expect(content.email == "ann@example.org" && content.role == .user && !content.mustEnrol)
    }

    @Test func `need keys that are points of the curve; what is known stays`() throws {
        let good = try signed(header: "{\"alg\":\"ES256\",\"kid\":\"KID\"}")
        let (x, y) = (Base64URL.encode(key.publicKey.x), Base64URL.encode(key.publicKey.y))
        for (x, y) in [(y, x), ("", ""), (x, ""), (x + "=", y), (x, y + "A"), ("AA" + x, y)] {
            #expect(throws: TokenVerifier.InvalidKey.self) { try verifier.use(jwks: [Self.jwks(x, y, kid: kid)]) }
        }
        #expect(throws: (any Error).self) { try verifier.use(jwks: [Array("{}".utf8)]) }
        #expect(throws: (any Error).self) { try verifier.use(jwks: [[]]) }
        #expect(isAccepted(good))
        try verifier.use(jwks: [])
        #expect(!isAccepted(good))
    }

    @Test func `by the thousand leave no memory behind`() throws {
        let input = encoded("{\"alg\":\"ES256\",\"kid\":\"\(kid)\"}") + "." + encoded(Self.claims) + "."
        let wrong = [
            "", "a.b.c", input, input + Base64URL.encode([UInt8](repeating: 0, count: 64)), input + Base64URL.encode([1, 2, 3]),
        ]
        // Other tests use memory meanwhile, but not more each time.
        let growth = (0..<8).map { _ in
            let before = Int(mallinfo2().uordblks)
            for _ in 0..<4_000 { for wrong in wrong where isAccepted(wrong) { Issue.record("accepted") } }
            return Int(mallinfo2().uordblks) - before
        }
        #expect(growth.min() ?? 0 < 200_000, "bytes for each 20,000 failures: \(growth)")
    }
}
