internal import Configuration
internal import FoundationEssentials

/// What the operator set, read in the order arguments > environment > file > default.
public struct Settings: Sendable {
    private let reader: ConfigReader
    let declared: [any AnySetting]

    /// Why settings cannot be used; the text says what to change.
    public struct Invalid: Error, CustomStringConvertible {
        /// What is wrong and how to mend it.
        public let description: String

        /// An error with its text.
        public init(_ description: String) { self.description = description }

        /// The error of an address that cannot be listened on.
        ///
        /// - Parameters:
        ///   - host, port: the settings that name it.
        ///   - address: the host and the port.
        ///   - problem: the cause.
        public static func address(
            _ address: String,
            of host: Setting<String>,
            and port: Setting<Int>,
            _ problem: String
        ) -> Self {
            Self("The address of \(host.argument) and \(port.argument), \(address), cannot be listened on: \(problem).")
        }
    }

    /// Reads settings from all sources.
    ///
    /// - Parameters:
    ///   - arguments: without the program's name.
    ///   - environment: the process's environment.
    ///   - declared: every setting there is; an argument that is none of them is refused.
    /// - Throws: `Invalid` for an unknown argument, one without its value, or an unreadable file (`--config FILE`, `STREAKSNAP_CONFIG`).
    public init(arguments: [String], environment: [String: String], declared: [any AnySetting]) async throws {
        try Self.refuseUnknown(arguments, declared: declared)
        var providers: [any ConfigProvider] = [
            CommandLineArgumentsProvider(arguments: ["program"] + arguments),
            EnvironmentVariablesProvider(environmentVariables: Self.withoutPrefix(environment)),
        ]
        let first = ConfigReader(providers: providers)
        if let path = first.string(forKey: "config") {
            guard FileManager.default.isReadableFile(atPath: path) else {
                throw Invalid("The configuration file \(path) (--config) cannot be read.")
            }
            do {
                providers.append(try ConfigurationFile(path: path).provider)
            } catch {
                throw Invalid("The configuration file \(path) cannot be read as JSON: \(error)")
            }
        }
        self.reader = ConfigReader(providers: providers)
        self.declared = declared
    }

    /// Settings from values alone, `["nats.url": "nats://…"]`; for tests and for running every service in one process.
    public init(values: [String: String], declared: [any AnySetting]) {
        let environment = Dictionary(
            values.map { key, value in (key.uppercased().replacing(".", with: "_").replacing("-", with: "_"), value) },
            uniquingKeysWith: { _, last in last }
        )
        self.reader = ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: environment))
        self.declared = declared
    }

    /// Whether every value that is given can be used, so that none is found out when the process has long been running.
    ///
    /// - Throws: `Invalid` for the first that cannot.
    public func checkAll() throws { for setting in declared { try setting.check(self) } }

    func check<Value>(_ setting: Setting<Value>) throws {
        // A variable that is set to nothing is often one that was left out.
        if let text = text(setting.key), !text.isEmpty { _ = try find(setting) }
    }

    /// The value of a setting.
    ///
    /// - Throws: `Invalid` when it has no value and no default, is out of its range, is of the wrong type, or its file cannot be read.
    public func get<Value>(_ setting: Setting<Value>) throws -> Value {
        guard let value = try find(setting) else {
            throw setting.invalid("is required: \(setting.help)")
        }
        return value
    }

    /// The value of a setting that may be absent.
    ///
    /// - Throws: `Invalid` when it is of the wrong type or its file cannot be read.
    public func find<Value>(_ setting: Setting<Value>) throws -> Value? {
        guard let text = try text(of: setting) else { return setting.defaultValue }
        guard let value = Value(settingText: text) else {
            throw setting.invalid("must be \(Value.settingTypeName).")
        }
        if let bounds = setting.bounds, !bounds.contain(value) {
            throw setting.invalid("must be \(bounds.text).")
        }
        return value
    }

    /// What the operator gave for it, in a file too.
    private func text<Value>(of setting: Setting<Value>) throws -> String? {
        if let text = text(setting.key) { return text }
        guard setting.isSecret, let path = text(setting.key + ".file") else { return nil }
        guard let bytes = try? Data(contentsOf: URL(filePath: path)) else {
            throw Invalid("The file \(path) named by \(setting.argument)-file cannot be read.")
        }
        return String(decoding: bytes, as: UTF8.self).trimmingNewlines()
    }

    private func text(_ key: String) -> String? {
        let key = ConfigKey(stringLiteral: key)
        // An argument without a value is a switch, and no text.
        return reader.string(forKey: key) ?? reader.bool(forKey: key).map { String($0) }
    }

    /// The text of `--help`: every setting with its argument, variable and default.
    public static func help(program: String, about: String, declared: [any AnySetting]) -> String {
        var lines = ["\(program): \(about)", "", "Settings (argument, environment variable, default), strongest first:", ""]
        for setting in declared.sorted(by: { $0.key < $1.key }) {
            let fallback = setting.isSecret ? "" : setting.defaultText.map { " [\($0)]" } ?? ""
            lines.append("  \(setting.argument)\(setting.isFlag ? "" : " VALUE"), \(setting.environmentName)\(fallback)")
            lines.append("      \(setting.help)")
            if setting.isSecret {
                lines.append("      From a file: \(setting.argument)-file PATH, \(setting.environmentName)_FILE")
            }
        }
        lines.append("  --config FILE, STREAKSNAP_CONFIG")
        lines.append("      A JSON file with the same keys, {\"nats\": {\"url\": …}}; weaker than arguments and environment.")
        return lines.joined(separator: "\n") + "\n"
    }

    private static func refuseUnknown(_ arguments: [String], declared: [any AnySetting]) throws {
        var known: Set<String> = ["--config"]
        var flags: Set<String> = []
        for setting in declared {
            known.insert(setting.argument)
            if setting.isSecret { known.insert(setting.argument + "-file") }
            if setting.isFlag { flags.insert(setting.argument) }
        }
        /// The argument before this one, when a value may follow it.
        var waiting: String?
        func refuseMissingValue() throws {
            if let waiting, !flags.contains(waiting) { throw Invalid("\(waiting) needs a value; --help lists the settings.") }
        }
        for argument in arguments {
            if !argument.hasPrefix("--") {
                guard waiting != nil else { throw Invalid("Unexpected argument “\(argument)”; --help lists the settings.") }
                waiting = nil
                continue
            }
            try refuseMissingValue()
            let name = String(argument.prefix { $0 != "=" })
            guard known.contains(name) else { throw Invalid("Unknown argument \(name); --help lists the settings.") }
            waiting = argument.contains("=") ? nil : name
        }
        try refuseMissingValue()
    }

    private static func withoutPrefix(_ environment: [String: String]) -> [String: String] {
        var result: [String: String] = [:]
        for (name, value) in environment where name.hasPrefix("STREAKSNAP_") {
            result[String(name.dropFirst("STREAKSNAP_".count))] = value
        }
        return result
    }
}

extension String {
    /// The text without line breaks at its end: editors and `echo` leave one.
    func trimmingNewlines() -> String {
        var text = self
        while let last = text.last, last.isNewline { text.removeLast() }
        return text
    }
}
