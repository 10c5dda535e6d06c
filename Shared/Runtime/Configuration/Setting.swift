/// One thing an operator can set: its key, what it means, and its default.
///
/// The key `nats.url` is `--nats-url` as an argument, `STREAKSNAP_NATS_URL` in the environment and `{"nats": {"url": …}}` in the file.
/// A secret can also be given as the path of a file that holds it: `--nats-password-file`, `STREAKSNAP_NATS_PASSWORD_FILE`.
public struct Setting<Value: SettingValue>: Sendable {
    /// Dotted lower-case words.
    public let key: String
    /// One sentence for `--help`, with the unit.
    public let help: String
    /// Used when it is not set; nil makes the setting required when it is read.
    public let defaultValue: Value?
    /// Never shown, and readable from a file.
    public let isSecret: Bool
    /// The same in every process that has it: gateways compare what processes say of it (`Settings.fingerprints`).
    public let isShared: Bool
    /// An argument of a command alone: neither the environment nor the file is asked for it.
    public let isOption: Bool
    /// What a value must be beyond its type; nil when each will do.
    let bounds: Bounds?

    struct Bounds: Sendable {
        /// As an error says it: "from 1 to 200".
        let text: String
        let contain: @Sendable (Value) -> Bool
    }

    /// Declares a setting.
    public init(_ key: String, default defaultValue: Value?, isSecret: Bool = false, isShared: Bool = false, help: String) {
        self.init(key, defaultValue, isSecret: isSecret, isShared: isShared, isOption: false, bounds: nil, help: help)
    }

    /// Declares a setting whose value lies in a range.
    public init(_ key: String, default defaultValue: Value?, in range: ClosedRange<Value>, help: String) where Value: Comparable {
        self.init(key, defaultValue, isSecret: false, isShared: false, isOption: false, bounds: Bounds(range), help: help)
    }

    /// Declares an option of a command: `ready-file` is `--ready-file`, and has no variable.
    public init(option name: String, default defaultValue: Value?, help: String) {
        self.init(name, defaultValue, isSecret: false, isShared: false, isOption: true, bounds: nil, help: help)
    }

    /// Declares an option of a command whose value lies in a range.
    public init(option name: String, default defaultValue: Value?, in range: ClosedRange<Value>, help: String)
    where Value: Comparable {
        self.init(name, defaultValue, isSecret: false, isShared: false, isOption: true, bounds: Bounds(range), help: help)
    }

    private init(
        _ key: String,
        _ defaultValue: Value?,
        isSecret: Bool,
        isShared: Bool,
        isOption: Bool,
        bounds: Bounds?,
        help: String
    ) {
        (self.key, self.defaultValue, self.help, self.bounds) = (key, defaultValue, help, bounds)
        (self.isSecret, self.isShared, self.isOption) = (isSecret, isShared, isOption)
    }
}

extension Setting.Bounds where Value: Comparable {
    init(_ range: ClosedRange<Value>) {
        self.init(text: "from \(range.lowerBound) to \(range.upperBound)") { range.contains($0) }
    }
}

/// A setting whose type does not matter: what `--help` lists.
public protocol AnySetting: Sendable {
    /// Dotted lower-case words.
    var key: String { get }
    /// One sentence with the unit.
    var help: String { get }
    /// Never shown, and readable from a file.
    var isSecret: Bool { get }
    /// An argument of a command alone.
    var isOption: Bool { get }
    /// The default as text; nil when there is none.
    var defaultText: String? { get }
    /// Whether it is a switch that needs no value.
    var isFlag: Bool { get }
    /// Whether the value that it is given, if it is given one, can be used.
    ///
    /// - Throws: `Settings.Invalid`.
    func check(_ settings: Settings) throws
}

extension Setting: AnySetting {
    public var defaultText: String? { defaultValue.map { "\($0)" } }
    public var isFlag: Bool { Value.self == Bool.self }
    public func check(_ settings: Settings) throws { try settings.check(self) }
}

extension AnySetting {
    /// `--nats-url`.
    public var argument: String { "--" + key.replacing(".", with: "-") }
    /// `STREAKSNAP_NATS_URL`.
    public var environmentName: String {
        "STREAKSNAP_" + key.uppercased().replacing(".", with: "_").replacing("-", with: "_")
    }
    /// All its names, as errors say them.
    public var names: String { isOption ? argument : "\(argument) (or \(environmentName))" }

    /// The error for a value that cannot be used.
    ///
    /// - Parameter problem: what follows the names: "must be local or s3."
    public func invalid(_ problem: String) -> Settings.Invalid { Settings.Invalid("\(names) \(problem)") }
}

/// A type a setting can have.
public protocol SettingValue: Sendable {
    /// The value written as `text`; nil when the text is no such value.
    init?(settingText text: String)
    /// What such a value is called in an error: "a whole number".
    static var settingTypeName: String { get }
}

extension String: SettingValue {
    public init?(settingText text: String) { self = text }
    public static var settingTypeName: String { "text" }
}

extension Int: SettingValue {
    public init?(settingText text: String) { self.init(text) }
    public static var settingTypeName: String { "a whole number" }
}

extension Double: SettingValue {
    public init?(settingText text: String) {
        guard let value = Double(text), value.isFinite else { return nil }
        self = value
    }
    public static var settingTypeName: String { "a number" }
}

extension Bool: SettingValue {
    public init?(settingText text: String) {
        switch text.lowercased() {
        case "1", "true", "yes", "on": self = true
        case "0", "false", "no", "off": self = false
        default: return nil
        }
    }
    public static var settingTypeName: String { "true or false" }
}
