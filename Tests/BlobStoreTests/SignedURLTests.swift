import BlobStore
import Cryptography
import Foundation
import Kernel
import Testing

@Suite struct SignedURLTests {
    private let secret = [UInt8](repeating: 9, count: 32)
    private let expires = Instant(seconds: 2_000_000_000)

    private func verify(_ link: String, at now: Instant, secret: [UInt8]? = nil) throws(ServiceError) -> String {
        let parts = link.dropFirst("/media/".count).split(separator: "?", maxSplits: 1)
        let query = parts[1].split(separator: "&").map { $0.split(separator: "=", maxSplits: 1)[1] }
        return try SignedURL(secret: secret ?? self.secret).verify(
            key: String(parts[0]),
            expires: String(query[0]),
            signature: String(query[1]),
            now: now
        ).key.description
    }

    @Test func `a link holds until it expires`() throws {
        let link = try SignedURL(secret: secret).sign(key: BlobKey("a/b.jpg"), expires: expires)
        #expect(link.hasPrefix("/media/a/b.jpg?exp=2000000000&sig="))
        #expect(try verify(link, at: Instant(seconds: 1_999_999_999)) == "a/b.jpg")
        #expect(throws: ServiceError(.permissionDenied, "LINK_EXPIRED", "The link has expired.")) {
            try verify(link, at: expires)
        }
    }

    @Test func `the signature is plain HMAC`() throws {
        let link = try SignedURL(secret: secret).sign(key: BlobKey("k"), expires: expires)
        let code = HMACSHA256(key: secret).code(for: "media.v1\nk\n2000000000".utf8)
        let expected = Data(code).base64EncodedString().replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
        #expect(link == "/media/k?exp=2000000000&sig=\(expected)")
    }

    @Test func `nothing else is a link`() throws {
        let link = try SignedURL(secret: secret).sign(key: BlobKey("a/b.jpg"), expires: expires)
        let forgeries = [
            link.replacing("b.jpg", with: "c.jpg"), link.replacing("exp=2", with: "exp=3"),
            link.replacing("exp=2", with: "exp=02"),
            link.replacing("exp=2", with: "exp=+2"), String(link.dropLast()), link + "A", link.replacing("sig=", with: "sig=%20"),
            String(link.dropLast(2)) + "!!", link.replacing("exp=2000000000", with: "exp=99999999999999999999"),
        ]
        for forgery in forgeries {
            #expect(throws: ServiceError.notFound("file"), "\(forgery)") { try verify(forgery, at: .epoch) }
        }
        #expect(throws: ServiceError.notFound("file")) { try verify(link, at: .epoch, secret: [UInt8](repeating: 8, count: 32)) }
    }

    @Test func `a link for one viewer is for no other`() throws {
        let (viewer, other) = (UserID(high: 0xABC, low: 1), UserID(high: 0xABC, low: 2))
        let signer = SignedURL(secret: secret)
        let key = try BlobKey("a/b.jpg")
        let link = signer.sign(key: key, expires: expires, viewer: viewer, base: "https://x.example")
        #expect(link.hasPrefix("https://x.example/media/a/b.jpg?exp=2000000000&for=\(viewer)&sig="))
        let signature = String(link.suffix(43))
        func verify(_ viewer: String?) throws(ServiceError) -> UserID? {
            try signer.verify(key: "a/b.jpg", expires: "2000000000", viewer: viewer, signature: signature, now: .epoch).viewer
        }
        #expect(try verify("\(viewer)") == viewer)
        for forged in ["\(other)", nil, "", "\(viewer)".uppercased(), "\(viewer) "] {
            #expect(throws: ServiceError.notFound("file"), "\(forged ?? "none")") { try verify(forged) }
        }
        // Nor does a link for no particular viewer become one for a viewer.
        let open = String(signer.sign(key: key, expires: expires).suffix(43))
        #expect(throws: ServiceError.notFound("file")) {
            try signer.verify(key: "a/b.jpg", expires: "2000000000", viewer: "\(viewer)", signature: open, now: .epoch)
        }
    }

    /// 43 characters hold 258 bits: the last two must be zero, or one signature would have four spellings.
    @Test func `a signature has one spelling`() throws {
        let link = try SignedURL(secret: secret).sign(key: BlobKey("a"), expires: expires)
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let accepted = alphabet.filter { (try? verify(String(link.dropLast()) + String($0), at: .epoch)) != nil }
        #expect(accepted == link.suffix(1).map { $0 })
    }
}
