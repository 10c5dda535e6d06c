import Processes
import Testing

@testable import Cryptography

@Suite("Keys in PEM")
struct PEMTests {
    @Test(arguments: [Fixtures.pkcs8, Fixtures.sec1, Fixtures.pkcs8 + "\n", Fixtures.pkcs8.replacing("\n", with: "\r\n")])
    func `of swift-crypto and of OpenSSL are read`(pem: String) throws {
        let key = try P256.PrivateKey(pem: pem)
        #expect(hex(key.publicKey.x + key.publicKey.y) == Fixtures.point)
        #expect(key.publicKey.isValid(bytes(Fixtures.signature), for: "hello".utf8))
        #expect(try key.publicKey.isValid(key.signature(for: "hello".utf8), for: "hello".utf8))
        #expect(try key.pem() == Fixtures.pkcs8 + "\n", "what is written is what swift-crypto wrote")
    }

    @Test func `are read as they were written`() throws {
        let key = try P256.PrivateKey()
        let same = try P256.PrivateKey(pem: key.pem())
        #expect(same.publicKey == key.publicKey)
        #expect(try key.publicKey.isValid(same.signature(for: [1]), for: [1]))
        #expect(try P256.PrivateKey().publicKey != key.publicKey)
    }

    @Test func `with the parameters of the curve before them, or without the public part, are read`() async throws {
        for command in [
            "openssl ecparam -name prime256v1 -genkey",
            "openssl ecparam -name prime256v1 -genkey -noout | openssl ec -no_public 2>/dev/null",
            "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256",
            "openssl ecparam -name prime256v1 -genkey -noout -conv_form compressed",
        ] {
            let key = try P256.PrivateKey(pem: await run("sh", ["-c", command]).text)
            #expect(try key.publicKey.isValid(key.signature(for: [1]), for: [1]), "\(command)")
        }
    }

    @Test func `of another kind, with a password, or damaged, are refused with a reason`() async throws {
        let commands = [
            "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384", "openssl genpkey -algorithm ed25519",
            "openssl ecparam -name secp256k1 -genkey -noout",
            "openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:1024 2>/dev/null",
            "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -aes256 -pass pass:secret",
            "openssl ecparam -name prime256v1 -genkey -noout | openssl ec -aes256 -passout pass:secret 2>/dev/null",
            "openssl ecparam -name prime256v1 -genkey -noout | openssl ec -pubout 2>/dev/null",
        ]
        var wrong = [
            "", "no key", "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----", String(repeating: "A", count: 100_000),
        ]
        for command in commands { wrong.append(try await run("sh", ["-c", command]).text) }
        wrong += [10, 60, 150, 200].map { String(Fixtures.pkcs8.prefix($0)) }
        // The public part of another key; the number 0; a number above the order of the group.
        let lines = Fixtures.pkcs8.split(separator: "\n")
        wrong.append(
            lines.prefix(3).joined(separator: "\n") + "\nEOKmAj6I6YXfklTkIw6PJHNcuZbsZSrcJjDofUedp/Te1svdpMSqq2eN\n" + lines[4]
        )
        for wrong in wrong {
            let error = #expect(throws: CryptographyError.self) { try P256.PrivateKey(pem: wrong) }
            #expect(error?.description.hasPrefix("OpenSSL could not read a P-256 key") == true)
        }
    }
}
