import Kernel
import Processes
import Testing

@testable import Cryptography

@Suite("Signatures by ECDSA")
struct ECDSATests {
    /// The public key of RFC 6979, A.2.5.
    private static let x = "60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6"
    private static let y = "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299"
    private static let r = "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"
    private static let s = "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8"
    /// The order of the curve's group, and its prime.
    private static let n = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"
    private static let p = "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff"
    private static let zero = String(repeating: "00", count: 32)
    private static let one = String(repeating: "00", count: 31) + "01"

    private static func published() throws -> P256.PublicKey { try P256.PublicKey(x: bytes(x), y: bytes(y)) }

    @Test func `are those of RFC 6979`() throws {
        let key = try Self.published()
        #expect(key.isValid(bytes(Self.r + Self.s), for: "sample".utf8))
        let test =
            "f1abb023518351cd71d881567b1ea663ed3efcf6c5132b354f28d3b0b7d38367019f4113742a2b14bd25926b49c649155f267e60d3814b4c0cc84250e46f0083"
        #expect(key.isValid(bytes(test), for: "test".utf8))
        #expect(!key.isValid(bytes(test), for: "sample".utf8))
        #expect(!key.isValid(bytes(Self.s + Self.r), for: "sample".utf8))
    }

    @Test func `are those of RFC 7515, A.3`() throws {
        let x = try #require(Base64URL.decode("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"))
        let y = try #require(Base64URL.decode("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"))
        let message =
            "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        let signature = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
        #expect(try P256.PublicKey(x: x, y: y).isValid(#require(Base64URL.decode(signature)), for: message.utf8))
    }

    /// As Wycheproof does.
    @Test(arguments: [
        zero + s, r + zero, zero + zero, one + zero, zero + one, one + one, n + s, r + n, n + n, n + zero, p + s, r + p,
        String(repeating: "ff", count: 64), r + one, one + s, String(repeating: "80", count: 64),
    ])
    func `whose numbers are out of range, or others, are refused`(signature: String) throws {
        #expect(try !Self.published().isValid(bytes(signature), for: "sample".utf8))
    }

    @Test func `of another length, in DER, or changed in any bit, are refused`() throws {
        let key = try Self.published()
        let good = bytes(Self.r + Self.s)
        var wrong = [[], Array(good.dropLast()), Array(good.dropFirst()), good + [0], [0] + good, good + good]
        wrong.append(bytes("3046022100" + Self.r + "022100" + Self.s))
        wrong.append(bytes("00" + Self.r + "00" + Self.s))
        wrong += (0..<512).map { bit in
            var wrong = good
            wrong[bit / 8] ^= 1 << (bit % 8)
            return wrong
        }
        for wrong in wrong { #expect(!key.isValid(wrong, for: "sample".utf8)) }
    }

    @Test func `need a point of the curve`() throws {
        var off = bytes(Self.y)
        off[31] ^= 1
        let wrong = [
            (bytes(Self.x), off), (bytes(Self.y), bytes(Self.x)), (bytes(Self.zero), bytes(Self.zero)),
            (bytes(Self.p), bytes(Self.y)),
            (bytes(Self.x).dropLast(), bytes(Self.y)), (bytes(Self.x), bytes(Self.y) + [0]), ([], []),
            (bytes(Self.x + Self.y), []), ([0] + bytes(Self.x), Array(bytes(Self.y).dropLast())),
        ]
        for (x, y) in wrong { #expect(throws: CryptographyError.self) { try P256.PublicKey(x: Array(x), y: y) } }
    }

    @Test func `of our own are valid, here and for Python that computes with points itself`() async throws {
        let key = try P256.PrivateKey()
        let signatures = try (0..<8).map { try key.signature(for: "message \($0)".utf8) }
        for (number, signature) in signatures.enumerated() {
            #expect(signature.count == 64)
            #expect(key.publicKey.isValid(signature, for: "message \(number)".utf8))
            #expect(!key.publicKey.isValid(signature, for: "message \(number + 1)".utf8))
        }
        #expect(Set(signatures).count == 8)
        let script = """
            import hashlib, sys
            p, n = int(sys.argv[1], 16), int(sys.argv[2], 16)
            g = (0x6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296,
                 0x4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5)
            def add(a, b):
                if a is None or b is None: return a or b
                if a[0] == b[0] and (a[1] + b[1]) % p == 0: return None
                m = (3 * a[0] ** 2 - 3) * pow(2 * a[1], -1, p) if a == b else (b[1] - a[1]) * pow(b[0] - a[0], -1, p)
                x = (m * m - a[0] - b[0]) % p
                return (x, (m * (a[0] - x) - a[1]) % p)
            def times(k, a):
                sum = None
                while k:
                    if k & 1: sum = add(sum, a)
                    a, k = add(a, a), k >> 1
                return sum
            q = (int(sys.argv[3], 16), int(sys.argv[4], 16))
            for i, text in enumerate(sys.argv[5:]):
                r, s = int(text[:64], 16), int(text[64:], 16)
                e = int.from_bytes(hashlib.sha256(f"message {i}".encode()).digest(), "big")
                w = pow(s, -1, n)
                print((add(times(e * w % n, g), times(r * w % n, q))[0] - r) % n)
            """
        let arguments = ["-c", script, Self.p, Self.n, hex(key.publicKey.x), hex(key.publicKey.y)] + signatures.map { hex($0) }
        let printed = try await run("python3", arguments)
        #expect(printed.text == String(repeating: "0\n", count: 8), "\(printed.errors)")
    }

    @Test func `Threads may share one key`() async throws {
        let key = try P256.PrivateKey()
        let signature = try key.signature(for: [1])
        let wrong = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    (0..<50).count { number in
                        let own = (try? key.signature(for: [UInt8(number)])) ?? []
                        return !key.publicKey.isValid(own, for: [UInt8(number)]) || !key.publicKey.isValid(signature, for: [1])
                            || key.publicKey.isValid(signature, for: [2])
                    }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(wrong == 0)
    }
}

@Suite("Signatures by RSA")
struct RSATests {
    /// The key of RFC 7515, A.2.
    private static let modulus =
        "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRP"
        + "EwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qC"
        + "o5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"
    private static let signature =
        "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKB"
        + "YNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6Bf"
        + "I7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"
    private static let message =
        "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"

    private static func published() throws -> RSA.PublicKey {
        try RSA.PublicKey(modulus: #require(Base64URL.decode(modulus)), exponent: [1, 0, 1])
    }

    @Test func `are those of RFC 7515, A.2, and refused when they were changed`() throws {
        let key = try Self.published()
        let good = try #require(Base64URL.decode(Self.signature))
        #expect(key.isValid(good, for: Self.message.utf8))
        #expect(!key.isValid(good, for: Self.message.dropLast().utf8))
        var wrong = [
            [], Array(good.dropLast()), good + [0], [0] + good, Array(good.dropFirst()), good.map { _ in 0 },
            good.map { _ in 255 },
        ]
        wrong += stride(from: 0, to: 2_048, by: 97).map { bit in
            var wrong = good
            wrong[bit / 8] ^= 1 << (bit % 8)
            return wrong
        }
        // The same number plus the modulus, which has no place in as many bytes, and the modulus itself.
        wrong.append(key.modulus)
        for wrong in wrong { #expect(!key.isValid(wrong, for: Self.message.utf8)) }
    }

    @Test func `of swift-crypto are valid`() throws {
        let key = try RSA.PublicKey(modulus: bytes(Fixtures.rsaModulus), exponent: [1, 0, 1])
        #expect(key.isValid(bytes(Fixtures.rsaSignature), for: "hello".utf8))
    }

    @Test func `of our own are valid, here and for Python that computes with numbers itself`() async throws {
        let key = try RSA.PrivateKey()
        #expect(key.publicKey.modulus.count == 256 && key.publicKey.exponent == [1, 0, 1])
        let signature = try key.signature(for: "message".utf8)
        #expect(key.publicKey.isValid(signature, for: "message".utf8) && !key.publicKey.isValid(signature, for: "massage".utf8))
        let script = """
            import hashlib, sys
            n, s = int(sys.argv[1], 16), int(sys.argv[2], 16)
            print(format(pow(s, 65537, n), "0512x"), hashlib.sha256(b"message").hexdigest())
            """
        let words = try await run("python3", ["-c", script, hex(key.publicKey.modulus), hex(signature)]).text.split {
            " \n".contains($0)
        }
        // RFC 8017, 9.2.
        let filling = "0001" + String(repeating: "ff", count: 202) + "003031300d060960864801650304020105000420"
        #expect(words.count == 2 && words[0] == filling + words[1])
    }

    @Test func `need a key that is neither weak nor absurd`() throws {
        func key(_ bits: Int, exponent: [UInt8] = [1, 0, 1]) throws {
            var modulus = [UInt8](repeating: 0xA5, count: (bits + 7) / 8)
            modulus[0] = 1 << UInt8((bits - 1) % 8)
            _ = try RSA.PublicKey(modulus: modulus, exponent: exponent)
        }
        for bits in [2_048, 2_049, 3_072, 4_096, 8_192] { try key(bits) }
        try key(2_048, exponent: [3])
        try key(2_048, exponent: [0, 0, 1, 0, 1])
        for bits in [8, 512, 1_024, 2_047, 8_193, 16_384, 100_000] { #expect(throws: CryptographyError.self) { try key(bits) } }
        for exponent: [UInt8] in [
            [], [0], [1], [2], [4], [1, 0, 0], [2, 0, 0, 0, 1], [1, 0, 0, 0, 0, 1], .init(repeating: 255, count: 256),
        ] {
            #expect(throws: CryptographyError.self) { try key(2_048, exponent: exponent) }
        }
        let good = try #require(Base64URL.decode(Self.modulus))
        let even = Array(good.dropLast()) + [0xA0]
        for modulus in [[], [0], [1], even, [UInt8](repeating: 0, count: 256)] {
            #expect(throws: CryptographyError.self) { try RSA.PublicKey(modulus: modulus, exponent: [1, 0, 1]) }
        }
        // Zeros before it do not make it longer.
        #expect(try RSA.PublicKey(modulus: [0, 0] + good, exponent: [1, 0, 1]).modulus == good)
        #expect(throws: CryptographyError.self) {
            try RSA.PublicKey(modulus: [UInt8](repeating: 0, count: 200) + good.suffix(56), exponent: [1, 0, 1])
        }
    }
}
