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
        let prefix = CName.lower(type).uppercased() + "_"
        let short = value.hasPrefix(prefix) ? String(value.dropFirst(prefix.count)) : value
        return (short.first?.isLetter == true ? short : value).lowercased()
    }
}

/// Names that protoc-c 1.4 gives.
enum CName {
    /// protoc-c appends an underscore to C++ keywords.
    private static let keywords: Set<String> = [
        "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char", "class", "compl", "const",
        "const_cast", "continue", "default", "delete", "do", "double", "dynamic_cast", "else", "enum", "explicit", "extern",
        "false", "float", "for", "friend", "goto", "if", "inline", "int", "long", "mutable", "namespace", "new", "not", "not_eq",
        "operator", "or", "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "return", "short", "signed",
        "sizeof", "static", "static_cast", "struct", "switch", "template", "this", "throw", "true", "try", "typedef", "typeid",
        "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
    ]

    /// `streaksnap.auth.v1.Me` → `Streaksnap__Auth__V1__Me`.
    static func type(_ fullName: String) -> String {
        fullName.split(separator: ".").map { part in
            part.split(separator: "_", omittingEmptySubsequences: false).map { $0.prefix(1).uppercased() + $0.dropFirst() }
                .joined()
        }.joined(separator: "__")
    }

    /// `streaksnap.auth.v1.SignInReply` → `streaksnap__auth__v1__sign_in_reply`.
    static func function(_ fullName: String) -> String {
        fullName.split(separator: ".").map { lower(String($0)) }.joined(separator: "__")
    }

    /// `SignInReply` → `sign_in_reply`; a run of capitals stays together.
    static func lower(_ name: String) -> String {
        var result = ""
        var wasUpper = true
        for character in name {
            if character.isUppercase, !wasUpper { result += "_" }
            result += character.lowercased()
            wasUpper = character.isUppercase
        }
        return result
    }

    /// The struct member of a field.
    static func member(_ field: String) -> String {
        let lower = field.lowercased()
        return keywords.contains(lower) ? lower + "_" : lower
    }

    /// The struct member that says which field of a oneof is set. An `optional` field has a oneof of its own.
    static func oneofCase(_ oneof: String) -> String { lower(oneof) + "_case" }

    static func presence(_ field: ProtoField) -> String { oneofCase("_" + field.name) }
}
