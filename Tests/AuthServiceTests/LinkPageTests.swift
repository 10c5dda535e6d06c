import AuthAPI
import Cryptography
import Foundation
import Runtime
import Testing

@testable import AuthLinks
@testable import GatewayService

/// The pages and files behind links in mails (AU-13).
struct LinkPageTests {
    @Test func `the policy of the pages allows their own style and script, and nothing else`() {
        let descriptor = String(decoding: AuthDescriptor.bytes, as: UTF8.self)
        for text in [BrowserPage.style, BrowserPage.script] {
            let hash = Data(SHA256.hash(data: Array(text.utf8))).base64EncodedString()
            #expect(descriptor.components(separatedBy: "'sha256-\(hash)'").count == 3, "both pages: \(hash)")
        }
        for page in [
            BrowserPage(purpose: .verification, language: ""), BrowserPage(purpose: .passwordReset, language: "de-AT"),
        ] {
            let html = page.html
            #expect(
                html.contains("<style>\(BrowserPage.style)</style>") && html.contains("<script>\(BrowserPage.script)</script>")
            )
            #expect(!html.contains("style=\"") && !html.contains("onclick") && html.components(separatedBy: "<script").count == 2)
        }
    }

    @Test func `gateways let the script of the pages run without being asked`() {
        let hash = Data(SHA256.hash(data: Array(BrowserPage.script.utf8))).base64EncodedString()
        #expect(GatewaySettings.pageScripts.defaultValue == "sha256-\(hash)")
    }

    @Test func `a page is in the language of its link and has an answer for each refusal`() {
        for (language, title) in [("", "Set a new password"), ("de", "Neues Passwort setzen"), ("fr", "Set a new password")] {
            #expect(BrowserPage(purpose: .passwordReset, language: language).html.contains("<h1>\(title)</h1>"))
        }
        for purpose in [BrowserPage.Purpose.verification, .passwordReset] {
            let (english, german) = (BrowserTexts.english(purpose), BrowserTexts.german(purpose))
            #expect(english.answers.map(\.code) == german.answers.map(\.code))
            #expect(zip(english.answers, german.answers).allSatisfy { $0.text != $1.text })
            #expect(Set(english.answers.map(\.code)).isSuperset(of: ["OK", "OTHER", "EMAIL_TOKEN_USED", "EMAIL_TOKEN_EXPIRED"]))
        }
        #expect(!BrowserPage(purpose: .verification, language: "").html.contains("new_password"))
    }

    @Test func `phones learn which app opens the links`() throws {
        let print = Array(repeating: "ab", count: 32).joined(separator: ":")
        let files = try AppFiles(
            appleApps: "ABCDE12345.com.example.app, FGHIJ67890.com.example.dev",
            androidApps: "com.example.app=\(print)"
        )
        let appleFile = try #require(files.apple)
        let apple = try JSONSerialization.jsonObject(with: Data(appleFile.utf8)) as? [String: [String: [[String: Any]]]]
        let details = try #require(apple?["applinks"]?["details"]?.first)
        #expect(details["appIDs"] as? [String] == ["ABCDE12345.com.example.app", "FGHIJ67890.com.example.dev"])
        #expect((details["components"] as? [[String: String]])?.map { $0["/"] } == ["/verify/*", "/reset/*", "/s/*", "/c/*"])
        let androidFile = try #require(files.android)
        let android = try JSONSerialization.jsonObject(with: Data(androidFile.utf8)) as? [[String: Any]]
        let target = try #require(android?.first?["target"] as? [String: Any])
        #expect(target["package_name"] as? String == "com.example.app")
        #expect(target["sha256_cert_fingerprints"] as? [String] == [print.uppercased()])
        let none = try AppFiles(appleApps: " ", androidApps: "")
        #expect(none.apple == nil && none.android == nil)
        for (apple, android) in [
            ("app\"id.x", ""), ("noteam", ""), ("", "com.example.app"), ("", "com.example.app=AB:CD"), ("", "\"=\(print)"),
        ] {
            #expect(throws: Settings.Invalid.self) { _ = try AppFiles(appleApps: apple, androidApps: android) }
        }
    }
}
