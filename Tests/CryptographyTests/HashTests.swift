import Processes
import Testing

@testable import Cryptography

@Suite("Hashes and what is made of them")
struct HashTests {
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
    ])
    func `SHA-256 is that of FIPS 180-4`(text: String, hash: String) {
        #expect(hex(SHA256.hash(data: text.utf8)) == hash)
        #expect(hex(SHA256.hash(data: Array(text.utf8))) == hash)
    }

    @Test func `SHA-256 of a million letters that come in pieces, also again with the same object`() {
        var hasher = SHA256()
        for _ in 0..<2 {
            for size in [0, 1, 63, 64, 65, 1_000, 998_807] { hasher.update(data: [UInt8](repeating: 0x61, count: size)) }
            #expect(hex(hasher.finalize()) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
        }
        #expect(hasher.finalize() == SHA256.hash(data: []))
    }

    @Test func `A digest is its 32 bytes, and equal where all are`() {
        let digest = SHA256.hash(data: "abc".utf8)
        #expect(digest.count == 32 && digest[0] == 0xBA && digest.last == 0xAD)
        #expect(Array(digest.prefix(3)) == [0xBA, 0x78, 0x16])
        #expect(digest.withContiguousStorageIfAvailable { Array($0) } == Array(digest))
        for index in digest.indices {
            var changed = Array(digest)
            changed[index] ^= 1
            let other = SHA256Digest { for (place, byte) in changed.enumerated() { $0[place] = byte } }
            #expect(digest != other)
            #expect(Set([digest, other, digest]).count == 2)
        }
    }

    private static let longText =
        "This is a test using a larger than block-size key and a larger than block-size data. The key needs to be hashed before being"
        + " used by the HMAC algorithm."

    @Test(arguments: [
        (String(repeating: "0b", count: 20), "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
        (hex("Jefe".utf8), "what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
        (
            String(repeating: "aa", count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ), (String(repeating: "aa", count: 131), longText, "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"),
    ])
    func `HMAC-SHA-256 is that of RFC 4231`(key: String, message: String, code: String) {
        let hmac = HMACSHA256(key: bytes(key))
        for _ in 0..<2 { #expect(hex(hmac.code(for: message.utf8)) == code) }
        #expect(hmac.isValid(bytes(code), for: message.utf8))
        for index in 0..<32 {
            var wrong = bytes(code)
            wrong[index] ^= 0x80
            #expect(!hmac.isValid(wrong, for: message.utf8))
        }
        for wrong in [[], bytes(code).dropLast(), bytes(code) + [0], bytes(code) + bytes(code)] {
            #expect(!hmac.isValid(wrong, for: message.utf8))
        }
    }

    @Test func `HMAC-SHA-256 of binary messages is that of RFC 4231`() {
        let third = HMACSHA256(key: repeatElement(0xAA, count: 20)).code(for: repeatElement(0xDD, count: 50))
        #expect(hex(third) == "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe")
        let fourth = HMACSHA256(key: 1...25).code(for: repeatElement(0xCD, count: 50))
        #expect(hex(fourth) == "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b")
    }

    @Test func `HMAC-SHA-1 is that of RFC 2202`() {
        let first = HMACSHA1.code(for: "Hi There".utf8, key: repeatElement(0x0B, count: 20))
        #expect(hex(first) == "b617318655057264e28bc0b6fb378c8ef146be00")
        let second = HMACSHA1.code(for: "what do ya want for nothing?".utf8, key: "Jefe".utf8)
        #expect(hex(second) == "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79")
        let third = HMACSHA1.code(for: repeatElement(0xDD, count: 50), key: repeatElement(0xAA, count: 20))
        #expect(hex(third) == "125d7342b9ac11cd91a39af48aa17b4f63f175d3")
        let long = "Test Using Larger Than Block-Size Key - Hash Key First"
        let sixth = HMACSHA1.code(for: long.utf8, key: repeatElement(0xAA, count: 80))
        #expect(hex(sixth) == "aa4ae5e15272d00e95705637ce8a3b55ed402112")
    }

    @Test func `HKDF is that of RFC 5869`() {
        let first = HKDF.bytes(from: repeatElement(0x0B, count: 22), salt: Array(0...12), info: Array(0xF0...0xF9), count: 42)
        #expect(
            hex(first) == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
        )
        let second = HKDF.bytes(from: 0...0x4F, salt: Array(0x60...0xAF), info: Array(0xB0...0xFF), count: 82)
        #expect(
            hex(second)
                == "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09da3275600c2f09b83677"
                + "93a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87"
        )
        let third = HKDF.bytes(from: repeatElement(0x0B, count: 22), salt: [], info: [], count: 42)
        #expect(
            hex(third) == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
        )
    }

    @Test func `Hashes and codes of every length are those of Python`() async throws {
        let script = """
            import hashlib, hmac
            data = bytes((i * 37 + i // 256) % 256 for i in range(400))
            for n in range(0, 200):
                print(hashlib.sha256(data[:n]).hexdigest(), hmac.new(data[:n], data[n:2 * n], "sha256").hexdigest(),
                      hmac.new(data[:n], data[n:2 * n], "sha1").hexdigest())
            """
        let lines = try await run("python3", ["-c", script]).text.split(separator: "\n")
        let data = (0..<400).map { (number: Int) in UInt8((number * 37 + number / 256) % 256) }
        #expect(lines.count == 200)
        for (count, line) in lines.enumerated() {
            let (key, message) = (data[..<count], data[count..<count * 2])
            let own = [
                hex(SHA256.hash(data: key)), hex(HMACSHA256(key: key).code(for: message)),
                hex(HMACSHA1.code(for: message, key: key)),
            ]
            #expect(own.joined(separator: " ") == line)
        }
    }

    @Test func `Unguessable bytes are as many as wanted, and others each time`() {
        for count in [0, 1, 12, 32, 256, 257, 1_000] { #expect(Unguessable.bytes(count).count == count) }
        #expect(Set((0..<1_000).map { _ in Unguessable.bytes(16) }).count == 1_000)
        // Each of 1,000 bytes is 0 by chance with 1/256.
        #expect(Unguessable.bytes(1_000).count { $0 == 0 } < 50)
    }

    @Test func `Threads may share one HMAC`() async {
        let hmac = HMACSHA256(key: [1, 2, 3])
        let right = hmac.code(for: [4])
        let wrong = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<8 { group.addTask { (0..<5_000).count { _ in hmac.code(for: [4]) != right } } }
            return await group.reduce(0, +)
        }
        #expect(wrong == 0)
    }
}
