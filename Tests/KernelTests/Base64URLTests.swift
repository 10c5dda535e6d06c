import Foundation
import Kernel
import Testing

@Suite("base64url")
struct Base64URLTests {
    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
        ("foobar", "Zm9vYmFy"),
    ]) func `is that of RFC 4648 §10, without padding`(plain: String, text: String) {
        #expect(Base64URL.encode(Array(plain.utf8)) == text)
        #expect(Base64URL.decode(text) == Array(plain.utf8))
    }

    @Test func `uses - and _ (RFC 7515, appendix C)`() {
        let bytes: [UInt8] = [3, 236, 255, 224, 193]
        #expect(Base64URL.encode(bytes) == "A-z_4ME")
        #expect(Base64URL.decode("A-z_4ME") == bytes)
    }

    @Test func `agrees with Foundation for every length and byte`() {
        for count in 0..<300 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ count &* 7) }
            let expected = Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
                .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
            #expect(Base64URL.encode(bytes) == expected)
            #expect(Base64URL.decode(expected) == bytes)
            #expect(Base64URL.decode(expected[...]) == bytes, "a substring reads the same")
        }
    }

    @Test(arguments: [
        "Zg=", "Zg==", "Zm8=", "A", "Zm9vA", "Zm9v ", " Zm9v", "Zm\n9v", "A+z/4ME", "Zm9v.", "Zé8", "Zm9\0", "Ｚｇ",
    ]) func `reads nothing but its own text`(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test func `refuses every second spelling of the same bytes`() {
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        var accepted = 0
        for last in alphabet {
            for prefix in ["Z", "Zm9vZ"] {
                guard let bytes = Base64URL.decode("\(prefix)\(last)") else { continue }
                accepted += 1
                #expect(Base64URL.encode(bytes) == "\(prefix)\(last)")
            }
            if let bytes = Base64URL.decode("Zm\(last)") {
                accepted += 1
                #expect(Base64URL.encode(bytes) == "Zm\(last)")
            }
        }
        #expect(accepted == 2 * 4 + 16, "two digits hold a byte and four bits to spare, three hold two bytes and two")
    }
}
