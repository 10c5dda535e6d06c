internal import Runtime

/// The files by which phones know which app opens links of this server.
struct AppFiles: Sendable {
    /// The links that open in the app: those of mails, and shared pages of media.
    private static let paths = ["/verify/*", "/reset/*", "/s/*", "/c/*"]

    /// For `apple-app-site-association`; nil when there is no app.
    let apple: String?
    /// For `assetlinks.json`; nil when there is no app.
    let android: String?

    /// - Parameters:
    ///   - appleApps: `TEAMID.com.example.app`, separated by commas.
    ///   - androidApps: `com.example.app=AB:CD:…`, separated by commas.
    /// - Throws: `Settings.Invalid` for what is neither.
    init(appleApps: String, androidApps: String) throws {
        apple = Self.appleFile(try appleApps.settingEntries.map(Self.appleApp))
        android = Self.androidFile(try androidApps.settingEntries.map(Self.androidApp))
    }

    private static func appleFile(_ apps: [String]) -> String? {
        guard !apps.isEmpty else { return nil }
        let ids = apps.map { "\"\($0)\"" }.joined(separator: ",")
        let components = paths.map { "{\"/\":\"\($0)\"}" }.joined(separator: ",")
        return "{\"applinks\":{\"details\":[{\"appIDs\":[\(ids)],\"components\":[\(components)]}]}}"
    }

    private static func androidFile(_ apps: [(package: String, fingerprint: String)]) -> String? {
        guard !apps.isEmpty else { return nil }
        let statements = apps.map { app in
            """
            {"relation":["delegate_permission/common.handle_all_urls"],"target":{"namespace":"android_app",\
            "package_name":"\(app.package)","sha256_cert_fingerprints":["\(app.fingerprint)"]}}
            """
        }
        return "[\(statements.joined(separator: ","))]"
    }

    private static func appleApp(_ text: String) throws -> String {
        guard text.contains("."), text.utf8.allSatisfy(isNameByte) else {
            throw Settings.Invalid("\(LinksFeature.appleApps.argument) must be ids like TEAMID.com.example.app.")
        }
        return text
    }

    private static func androidApp(_ text: String) throws -> (package: String, fingerprint: String) {
        let parts = text.split(separator: "=", omittingEmptySubsequences: false)
        let bytes = parts.count == 2 ? parts[1].split(separator: ":", omittingEmptySubsequences: false) : []
        let isFingerprint = bytes.count == 32 && bytes.allSatisfy { $0.utf8.count == 2 && UInt8($0, radix: 16) != nil }
        guard isFingerprint, parts[0].contains("."), parts[0].utf8.allSatisfy(isNameByte) else {
            throw Settings.Invalid("\(LinksFeature.androidApps.argument) must be like com.example.app=AB:CD:…, with 32 bytes.")
        }
        return (String(parts[0]), parts[1].uppercased())
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
            || [UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_")].contains(byte)
    }
}
