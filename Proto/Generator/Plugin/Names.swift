/// Names in Swift.
enum SwiftName {
    /// Words that are all capitals in Swift names, except at the start.
    private static let initialisms = ["id": "ID", "ids": "IDs", "url": "URL", "urls": "URLs", "uri": "URI", "http": "HTTP"]
    private static let keywords: Set<String> = [
        "as", "associatedtype", "break", "case", "catch", "class", "continue", "default", "defer", "deinit", "do", "else", "enum",
        "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if", "import", "in", "init", "inout",
        "internal", "is", "let", "nil", "operator", "precedencegroup", "private", "protocol", "public", "repeat", "rethrows",
        "return", "self", "static", "struct", "subscript", "super", "switch", "throw", "throws", "true", "try", "typealias",
        "var",
        "where", "while",
    ]

    /// `streak_ids` → `streakIDs`, without escaping.
    static func bare(_ name: String) -> String {
        let words = name.split(separator: "_").map(String.init)
        return words.enumerated().map { index, word in
            let isAcronym = word == word.uppercased()
            if index == 0 { return isAcronym ? word.lowercased() : word.prefix(1).lowercased() + word.dropFirst() }
            return initialisms[word.lowercased()] ?? word.prefix(1).uppercased() + word.dropFirst()
        }.joined()
    }

    /// `streak_ids` → `streakIDs`; keywords in backticks.
    static func member(_ name: String) -> String { escaped(bare(name)) }

    static func escaped(_ name: String) -> String { keywords.contains(name) ? "`\(name)`" : name }

    /// `send_target` → `SendTarget`.
    static func type(_ name: String) -> String {
        let name = bare(name)
        return name.prefix(1).uppercased() + name.dropFirst()
    }

    /// `Register` → `register`, `URLCheck` → `urlCheck`.
    static func method(_ name: String) -> String {
        let head = name.prefix { $0.isUppercase }
        let count = head.count > 1 && head.count < name.count ? head.count - 1 : head.count
        return escaped(name.prefix(count).lowercased() + name.dropFirst(count))
    }

    /// `streaksnap.auth.v1` → `AuthAPI`; later versions are modules of their own: `AuthV2API`.
    static func module(_ package: String) throws -> String {
        let parts = package.split(separator: ".")
        guard parts.count >= 2, let version = parts.last, version.first == "v", Int(version.dropFirst()) != nil else {
            throw GeneratorError("package \(package) must end in a service and a version: streaksnap.auth.v1")
        }
        return type(String(parts[parts.count - 2])) + (version == "v1" ? "" : version.uppercased()) + "API"
    }

    /// `ACCOUNT_STATUS_ACTIVE` of `AccountStatus` → `active`, as the public API writes it.
    static func enumValue(_ value: String, of type: String) -> String {
        let prefix = snake(type).uppercased() + "_"
        let short = value.hasPrefix(prefix) ? String(value.dropFirst(prefix.count)) : value
        return (short.first?.isLetter == true ? short : value).lowercased()
    }

    /// `SignInReply` → `sign_in_reply`; a run of capitals stays together.
    static func snake(_ name: String) -> String {
        var result = ""
        var wasUpper = true
        for character in name {
            if character.isUppercase, !wasUpper { result += "_" }
            result += character.lowercased()
            wasUpper = character.isUppercase
        }
        return result
    }
}
