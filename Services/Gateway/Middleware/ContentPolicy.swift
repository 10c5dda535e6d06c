internal import Runtime

/// What pages and files of services may do in a browser (D23). They share their origin with `/admin`, so a service may only tighten what the
/// gateway allows: no script but those whose hashes the operator names, nothing from elsewhere, no form, no frame around them.
struct ContentPolicy: Sendable {
    /// For what declares no policy, or one that allows too much.
    static let strict = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    /// As they stand in a policy: `'sha256-…'`.
    private let scripts: Set<String>

    /// - Throws: `Settings.Invalid` for what is no hash.
    init(_ settings: Settings) throws {
        let setting = GatewaySettings.pageScripts
        let hashes = try settings.get(setting).settingEntries.map { "'\($0)'" }
        for hash in hashes where !Self.isHash(hash) { throw setting.invalid("must be hashes, sha256-…, not \(hash).") }
        scripts = Set(hashes)
    }

    /// The policy of a reply.
    ///
    /// - Parameter declared: that of the descriptor; nil without one.
    func header(for declared: String?) -> String {
        guard let declared, allowsLittle(declared) else { return Self.strict }
        return declared
    }

    /// Whether a policy has all that `strict` has, and beyond that allows only styles and scripts by their hashes, and pictures and calls of
    /// the origin itself.
    private func allowsLittle(_ policy: String) -> Bool {
        var found: Set<String> = []
        for directive in policy.split(separator: ";") {
            let words = directive.split(separator: " ").map(String.init)
            // Of a directive that is there twice browsers take the first; a comma begins another policy.
            guard let name = words.first?.lowercased(), found.insert(name).inserted, !directive.contains(","), words.count > 1
            else {
                return false
            }
            let isAllowed = words.dropFirst().allSatisfy { source in
                switch name {
                case "default-src", "base-uri", "form-action", "frame-ancestors": source == "'none'"
                case "script-src": scripts.contains(source)
                case "style-src": Self.isHash(source)
                case "img-src", "media-src": ["'self'", "data:"].contains(source)
                case "connect-src": source == "'self'"
                default: false
                }
            }
            guard isAllowed else { return false }
        }
        return found.isSuperset(of: ["default-src", "base-uri", "form-action", "frame-ancestors"])
    }

    /// `'sha256-` and 32 bytes in base64.
    private static func isHash(_ source: String) -> Bool {
        guard source.hasPrefix("'sha256-"), source.hasSuffix("='"), source.utf8.count == 53 else { return false }
        return source.utf8.dropFirst(8).dropLast(2).allSatisfy { byte in
            (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte) || byte == 43 || byte == 47
        }
    }
}
