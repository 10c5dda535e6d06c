import Testing

@testable import Cryptography

@Suite("Sealed messages")
struct SealTests {
    private let key: SymmetricKey

    init() throws { key = try SymmetricKey(0x80...0x9F) }

    @Test func `are those of RFC 8439`() throws {
        let text =
            "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it."
        let sealed = try ChaChaPoly.seal(
            Array(text.utf8),
            using: key,
            nonce: bytes("070000004041424344454647"),
            authenticating: bytes("50515253c0c1c2c3c4c5c6c7")
        )
        #expect(
            hex(sealed) == "070000004041424344454647"
                + "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36"
                + "92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc3ff4def08e4b7a9de576d26586cec64b6116"
                + "1ae10b594f09e26a7e902ecbd0600691"
        )
        let opened = try ChaChaPoly.open(sealed, using: key, authenticating: bytes("50515253c0c1c2c3c4c5c6c7"))
        #expect(opened == Array(text.utf8))
    }

    @Test(arguments: [0, 1, 15, 16, 17, 63, 64, 65, 255, 100_000], [0, 1, 16, 33])
    func `of every size can be opened, and none is like another`(size: Int, contextSize: Int) throws {
        let message = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
        let context = [UInt8](repeating: 7, count: contextSize)
        let sealed = try ChaChaPoly.seal(message, using: key, authenticating: context)
        #expect(sealed.count == size + 28)
        #expect(try ChaChaPoly.open(sealed, using: key, authenticating: context) == message)
        #expect(try ChaChaPoly.seal(message, using: key, authenticating: context) != sealed)
        #expect(throws: CryptographyError.self) {
            try ChaChaPoly.open(sealed, using: key, authenticating: context + [0])
        }
    }

    @Test func `that were changed in any bit, cut or joined are refused, and those of another key too`() throws {
        let sealed = try ChaChaPoly.seal(Array("secret".utf8), using: key)
        var wrong = (0..<sealed.count * 8).map { bit in
            var wrong = sealed
            wrong[bit / 8] ^= 1 << (bit % 8)
            return wrong
        }
        wrong += (0..<sealed.count).map { Array(sealed.prefix($0)) } + [sealed + [0], sealed + sealed, Array(sealed.dropFirst())]
        for wrong in wrong { #expect(throws: CryptographyError.self) { try ChaChaPoly.open(wrong, using: key) } }
        let other = try SymmetricKey(0x81...0xA0)
        #expect(throws: CryptographyError.self) { try ChaChaPoly.open(sealed, using: other) }
        #expect(try ChaChaPoly.open(sealed, using: key) == Array("secret".utf8))
    }

    /// What is in databases of before.
    @Test func `made by swift-crypto can be opened, with the key that it derived`() throws {
        let key = SymmetricKey(derivedFrom: "key-0123456789".utf8, info: "stored reply - streaksnap.x".utf8)
        #expect(key.withBytes { hex($0) } == "5252832b73e8aa804fcb1cbd4e8e0d906a8baccdf3537cc24d445c8bc73a903b")
        let reply = bytes("aa8284729ec79bdf15b3398b1d3a6be1ae9f7708831d638fcac3de2d09203a977b84d67432")
        #expect(try ChaChaPoly.open(reply, using: key) == Array("the reply".utf8))
        let empty = bytes("9f2d0e86e5a87a683e0825144d9dda132e949920beb9a38fc0fe3e40")
        #expect(try ChaChaPoly.open(empty, using: key) == [])
        let bound = bytes("ededab17e44e39ff46290659ea14a101c1af45d17a10cb6b931ad9fa568bab010055")
        #expect(try ChaChaPoly.open(bound, using: key, authenticating: Array("account".utf8)) == Array("secret".utf8))
        let hmac = HMACSHA256(key: "key-0123456789".utf8).code(for: "message".utf8)
        #expect(hex(hmac) == "ba50a2ab57c9430743b266bd5f8f08b0c6c2bbce8abe278066b6de327252bfef")
    }

    @Test func `need a key of 32 bytes, which shows nothing of itself`() throws {
        for count in [0, 16, 31, 33, 64] {
            #expect(throws: CryptographyError.self) { try SymmetricKey(repeatElement(1, count: count)) }
        }
        #expect(
            "\(key)" == "SymmetricKey" && String(reflecting: key) == "SymmetricKey" && Mirror(reflecting: key).children.isEmpty
        )
    }
}
