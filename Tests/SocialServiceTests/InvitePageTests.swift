import Cryptography
import Foundation
import SocialAPI
import Testing

@testable import SocialCircles

/// The page of an invite link (SO-10): what a browser lets through, and what a screen reader says of it.
struct InvitePageTests {
    private static let pages = ["en", "de-AT"].flatMap { language in
        [
            InvitePageText(circle: ("Läufer & <b>co</b>", 12), code: "K7QM4XZ9V2", language: language),
            InvitePageText(circle: nil, code: "\"><script>", language: language),
        ]
    }

    @Test func `the policy of the page allows its own style, and no script`() {
        let descriptor = String(decoding: SocialDescriptor.bytes, as: UTF8.self)
        let hash = Data(SHA256.hash(data: Array(InvitePageText.style.utf8))).base64EncodedString()
        #expect(descriptor.contains("style-src 'sha256-\(hash)'"), "put sha256-\(hash) into circles.proto")
        #expect(!descriptor.contains("script-src"))
        for page in Self.pages.map(\.html) {
            #expect(page.contains("<style>\(InvitePageText.style)</style>") && page.components(separatedBy: "<style").count == 2)
            #expect(!page.contains("style=\"") && !page.contains("<script") && !page.contains("<link") && !page.contains("<img"))
            #expect(page.firstMatch(of: /\son[a-z]+=/) == nil, "no handler either")
        }
    }

    @Test func `the page is read aloud as it is meant`() {
        for page in Self.pages {
            let html = page.html
            let language = page.language.prefix(2)
            #expect(html.contains("<html lang=\"\(language)\">"), "the voice fits the words")
            #expect(html.components(separatedBy: "<h1").count == 2 && html.components(separatedBy: "<main>").count == 2)
            #expect(html.contains("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"))
            #expect(!html.contains("user-scalable") && !html.contains("maximum-scale"), "it may be enlarged")
            #expect(html.firstMatch(of: /<title>[^<]+ – StreakSnap<\/title>/) != nil)
            #expect(html.contains("K7QM4XZ9V2") == (page.circle != nil))
            #expect(!html.contains("<b>co</b>"))
        }
    }

    /// WCAG 2.1, 1.4.3: at least 4.5 to 1. The palest text has three quarters of white; the background is lightest at `#2c2c30`.
    @Test func `its text stands out from its background`() {
        #expect(InvitePageText.style.contains("color:#fff") && InvitePageText.style.contains("#2c2c30"))
        #expect(InvitePageText.style.contains(".mark{font-weight:700;opacity:.75}"))
        func luminance(_ channels: [Double]) -> Double {
            let linear = channels.map { $0 <= 0.03928 ? $0 / 12.92 : pow(($0 + 0.055) / 1.055, 2.4) }
            return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        }
        let back = [0x2c, 0x2c, 0x30].map { Double($0) / 255 }
        let text = back.map { 0.75 + 0.25 * $0 }
        #expect((luminance(text) + 0.05) / (luminance(back) + 0.05) >= 4.5)
    }
}
