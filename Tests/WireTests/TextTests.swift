import Testing
import TestingAPI
import Wire

@Suite struct TextFormatTests {
    @Test(arguments: [
        ("a@b.co", true), ("first.last+tag@sub.example.org", true), ("a@b", false), ("a@@b.co", false), ("@b.co", false),
        ("a.@b.co", false), (".a@b.co", false), ("a..b@c.de", false), ("a b@c.de", false), ("a@-b.co", false), ("a@b..co", false),
        ("ä@b.co", false), ("a@b.co\n", false), ("a@b.co ", true), ("\u{A0}a@b.co", true), ("a@b .co", false), (" ", false),
        (String(repeating: "a", count: 65) + "@b.co", false),
        ("a@" + String(repeating: "b.", count: 130) + "co", false),
    ]) func `email addresses`(_ text: String, _ isValid: Bool) { #expect(TextFormat.email.accepts(text) == isValid) }

    @Test(arguments: [
        ("https://x", true), ("mailto:a@b.co", true), ("x-app.1+2:y", true), ("http:", false), ("//x", false), ("1a:b", false),
        ("http://a b", false), ("http://a\u{7f}", false), ("http://é", false),
    ]) func `uris`(_ text: String, _ isValid: Bool) { #expect(TextFormat.uri.accepts(text) == isValid) }

    @Test(arguments: [
        ("a", true), ("a_9.z", true), ("...", true), ("", false), ("A", false), ("a b", false), ("a\n", false), ("a\0", false),
        ("é", false), ("a-b", false), ("ａ", false),
    ]) func `usernames`(_ text: String, _ isValid: Bool) { #expect(TextFormat.username.accepts(text) == isValid) }

    @Test(arguments: [
        ("1", true), ("2026-01", true), ("2.1", true), ("1.2-3", true), ("", false), (".", false), ("1.", false), ("-1", false),
        ("1..2", false), ("v1", false), ("1 ", false), ("1\n", false), ("１", false), (String(repeating: "1.", count: 500), false),
    ]) func `versions`(_ text: String, _ isValid: Bool) { #expect(TextFormat.version.accepts(text) == isValid) }
}

@Suite struct SecretTests {
    @Test func `a secret is never shown`() throws {
        let message = Credentials(user: "ann", password: "hunter2", token: Array("hunter2".utf8))
        var dumped = ""
        dump(message, to: &dumped)
        dump([message], to: &dumped)
        for shown in [
            "\(message)", String(describing: message), String(reflecting: message), "\([message])", "\(Optional(message) as Any)",
            "\(["k": message])", dumped,
        ] {
            #expect(!shown.contains("hunter2") && !shown.contains("104"))
            #expect(shown.contains("ann") && shown.contains("<secret>"))
        }
    }
}

@Suite struct WireFieldsTests {
    @Test func `what is written is read`() throws {
        var writer = WireWriter()
        writer.varint(.max, field: 1)
        writer.bytes([1, 2], field: 2)
        writer.field(.init(number: 536_870_911, value: .fixed32(7)))
        writer.field(.init(number: 4, value: .fixed64(8)))
        var fields = WireFields(writer.bytes)
        var copy = WireWriter()
        var numbers: [Int] = []
        while let field = try fields.next() {
            numbers.append(field.number)
            copy.field(field)
        }
        #expect(numbers == [1, 2, 536_870_911, 4])
        #expect(copy.bytes == writer.bytes)
    }

    @Test func `malformed bytes are refused`() {
        for bytes in [[0x08], [0x0a, 0x05, 0x00], [0x0d, 0x00], [0x09, 0x00], [0x0b]] as [[UInt8]] {
            var fields = WireFields(bytes)
            #expect(throws: WireError.malformed) { try fields.next() }
        }
    }

    @Test func `base64 is that of RFC 4648`() {
        let vectors = [
            "": "", "f": "Zg==", "fo": "Zm8=", "foo": "Zm9v", "foob": "Zm9vYg==", "fooba": "Zm9vYmE=", "foobar": "Zm9vYmFy",
        ]
        for (plain, encoded) in vectors { #expect(Base64.encode(Array(plain.utf8)) == encoded) }
        #expect(Base64.decode("Zm9v\nYmE=") == Array("fooba".utf8))
    }
}
