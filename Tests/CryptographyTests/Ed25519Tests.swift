import Kernel
import Processes
import Testing

@testable import Cryptography

@Suite("Signatures by Ed25519")
struct Ed25519Tests {
    /// RFC 8032, 7.1, TEST 3.
    private static let published = "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025"
    private static let message = bytes("af82")
    private static let signature =
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"

    @Test func `are those of RFC 8032`() throws {
        let key = try Ed25519.PublicKey(bytes(Self.published))
        #expect(key.isValid(bytes(Self.signature), for: Self.message))
        #expect(!key.isValid(bytes(Self.signature), for: Self.message + [0]))
        #expect(try !Ed25519.PrivateKey().publicKey.isValid(bytes(Self.signature), for: Self.message))
    }

    @Test func `of another length, or changed in any bit, are refused`() throws {
        let key = try Ed25519.PublicKey(bytes(Self.published))
        let good = bytes(Self.signature)
        var wrong = [[], Array(good.dropLast()), good + [0], good + good]
        wrong += (0..<512).map { bit in
            var wrong = good
            wrong[bit / 8] ^= 1 << (bit % 8)
            return wrong
        }
        for wrong in wrong { #expect(!key.isValid(wrong, for: Self.message)) }
    }

    @Test(arguments: [0, 31, 33, 64]) func `need a key of 32 bytes`(count: Int) {
        #expect(throws: CryptographyError.self) { try Ed25519.PublicKey([UInt8](repeating: 1, count: count)) }
    }

    @Test func `keys are read as they were written, and as OpenSSL writes them`() async throws {
        let key = try Ed25519.PrivateKey()
        let same = try Ed25519.PrivateKey(pem: key.pem())
        #expect(same.publicKey == key.publicKey)
        #expect(try key.publicKey.isValid(same.signature(for: [1]), for: [1]))
        #expect(try Ed25519.PrivateKey().publicKey != key.publicKey)
        let made = try Ed25519.PrivateKey(pem: await run("openssl", ["genpkey", "-algorithm", "ed25519"]).text)
        #expect(try made.publicKey.isValid(made.signature(for: [1]), for: [1]))
    }

    @Test(arguments: [
        "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256", "openssl genpkey -algorithm x25519",
        "openssl genpkey -algorithm ed448", "openssl genpkey -algorithm ed25519 | openssl pkey -pubout", "echo no key",
        "openssl genpkey -algorithm ed25519 -aes256 -pass pass:secret",
    ])
    func `keys of another kind, public ones and those with a password are refused with a reason`(command: String) async throws {
        let text = try await run("sh", ["-c", command]).text
        let error = #expect(throws: CryptographyError.self) { try Ed25519.PrivateKey(pem: text) }
        #expect(error?.description.hasPrefix("OpenSSL could not read an Ed25519 key") == true)
    }
}
