import Runtime
import Testing

@testable import GatewayService

@Suite("What pages of services may do in a browser")
struct ContentPolicyTests {
    private static let (script, style) = (hash("c"), hash("t"))
    private static let least = ContentPolicy.strict

    private static func hash(_ digit: String) -> String { "sha256-\(String(repeating: digit, count: 43))=" }

    private static func policy(_ scripts: String = script) throws -> ContentPolicy {
        try ContentPolicy(Settings(values: ["gateway.page-scripts": scripts], declared: GatewayHost.settings))
    }

    @Test(arguments: [
        least, "\(least); style-src '\(style)'", "\(least); img-src 'self' data:; style-src '\(style)' '\(script)'",
        "style-src '\(style)'; script-src '\(script)'; connect-src 'self'; \(least)",
    ])
    func `a policy that allows no more than the gateway does is kept`(declared: String) throws {
        #expect(try Self.policy().header(for: declared) == declared)
    }

    @Test(arguments: [
        nil, "", "default-src *", "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        "default-src 'none'", "\(least); script-src 'self'", "\(least); script-src 'unsafe-inline'",
        "\(least); script-src '\(style)'",
        "\(least); script-src '\(script)' 'strict-dynamic'", "\(least); script-src-elem *", "\(least); style-src 'unsafe-inline'",
        "\(least); img-src *", "\(least); connect-src https://evil.example", "\(least); frame-src *",
        "\(least); sandbox allow-scripts",
        "script-src *; \(least); script-src '\(script)'", "\(least), script-src *", "\(least); SCRIPT-SRC *",
        "\(least); script-src",
        "form-action *; \(least)",
    ])
    func `any other gives way to the strict one`(declared: String?) throws {
        #expect(try Self.policy().header(for: declared) == ContentPolicy.strict)
    }

    @Test func `scripts are named by their hashes, or there are none`() throws {
        let declared = "\(Self.least); script-src '\(Self.script)'"
        #expect(try Self.policy("\(Self.style), \(Self.script)").header(for: declared) == declared)
        #expect(try Self.policy("").header(for: declared) == ContentPolicy.strict)
        for wrong in ["'unsafe-inline'", "self", "sha256-short=", "\(Self.script)x", "*"] {
            #expect(throws: Settings.Invalid.self) { try Self.policy(wrong) }
        }
    }
}
