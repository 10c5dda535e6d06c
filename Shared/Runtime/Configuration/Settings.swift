internal import FoundationEssentials

/// What the operator set, read in the order arguments > environment > file > default.
public struct Settings: Sendable {
    private let arguments: GivenArguments
    private let environment: [String: String]
    /// By key.
    private let file: [String: String]
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
    public init(arguments: [String], environment: [String: String], declared: [any AnySetting]) throws {
        try self.init(GivenArguments(arguments, declared: declared), environment: environment, declared: declared)
    }

    /// Reads settings from arguments that are parsed.
    ///
    /// - Throws: `Invalid` for an unreadable file.
    init(_ arguments: GivenArguments, environment: [String: String], declared: [any AnySetting]) throws {
        (self.arguments, self.environment, self.declared) = (arguments, environment, declared)
        guard declared.contains(where: { !$0.isOption }),
            let path = arguments.values[GivenArguments.file] ?? environment["STREAKSNAP_CONFIG"]
        else {
            file = [:]
            return
        }
        guard FileManager.default.isReadableFile(atPath: path) else {
            throw Invalid("The configuration file \(path) (--config) cannot be read.")
        }
        do { file = try ConfigurationFile(path: path).values } catch {
            throw Invalid("The configuration file \(path) cannot be read as JSON: \(error)")
        }
    }

    /// Settings from values alone, `["nats.url": "nats://…"]`; for tests and for running every service in one process.
    public init(values: [String: String], declared: [any AnySetting]) {
        (arguments, environment, file, self.declared) = (GivenArguments(), [:], values, declared)
    }

    /// Whether every value that is given can be used, so that none is found out when the process has long been running.
    ///
    /// - Throws: `Invalid` for the first that cannot.
    public func checkAll() throws { for setting in declared { try setting.check(self) } }

    func check<Value>(_ setting: Setting<Value>) throws {
        // A variable that is set to nothing is often one that was left out.
        if let text = text(setting), !text.isEmpty { _ = try find(setting) }
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
            throw setting.invalid("must be \(bounds.text), not \(value).")
        }
        return value
    }

    /// What the operator gave for it, in a file too.
    private func text<Value>(of setting: Setting<Value>) throws -> String? {
        if let text = text(setting) { return text }
        guard setting.isSecret, let path = path(setting) else { return nil }
        guard let bytes = try? Data(contentsOf: URL(filePath: path)) else {
            throw Invalid("The file \(path) named by \(setting.argument)-file cannot be read.")
        }
        return String(decoding: bytes, as: UTF8.self).trimmingNewlines()
    }

    private func text(_ setting: some AnySetting) -> String? {
        if let text = arguments.values[setting.argument] { return text }
        return setting.isOption ? nil : environment[setting.environmentName] ?? file[setting.key]
    }

    /// Where the file is that holds a secret.
    private func path(_ setting: some AnySetting) -> String? {
        arguments.values[setting.argument + "-file"] ?? environment[setting.environmentName + "_FILE"]
            ?? file[setting.key + ".file"]
    }

    /// The text of `--help`: every setting with its argument, variable and default.
    public static func help(program: String, about: String, declared: [any AnySetting]) -> String {
        let hasSettings = declared.contains { !$0.isOption }
        let head = hasSettings ? "Settings (argument, environment variable, default), strongest first:" : "Options (default):"
        var lines = ["\(program): \(about)"] + (declared.isEmpty ? [] : ["", head, ""])
        for setting in declared.sorted(by: { $0.key < $1.key }) {
            let fallback = setting.isSecret ? "" : setting.defaultText.map { " [\($0)]" } ?? ""
            let variable = setting.isOption ? "" : ", \(setting.environmentName)"
            lines.append("  \(setting.argument)\(setting.isFlag ? "" : " VALUE")\(variable)\(fallback)")
            lines.append("      \(setting.help)")
            if setting.isSecret {
                lines.append("      From a file: \(setting.argument)-file PATH, \(setting.environmentName)_FILE")
            }
        }
        if hasSettings {
            lines.append("  --config FILE, STREAKSNAP_CONFIG")
            lines.append("      A JSON file with the same keys, {\"nats\": {\"url\": …}}; weaker than arguments and environment.")
        }
        return lines.joined(separator: "\n") + "\n"
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
