/// What a command line says: `--key value`, `--key=value`, switches, and words that belong to none of them.
struct GivenArguments: Sendable {
    /// By argument, `--nats-url`; a switch without a value is `true`. Of one that is given twice the last counts.
    private(set) var values: [String: String] = [:]
    /// In their order.
    private(set) var words: [String] = []

    /// The argument that names the configuration file.
    static let file = "--config"

    init() {}

    /// - Parameters:
    ///   - arguments: without the program's name.
    ///   - takesWords: whether words may stand between them. Then the one behind a switch is its value only if it can be.
    /// - Throws: `Settings.Invalid` for an argument that is none of `declared`, and one without its value.
    init(_ arguments: [String], declared: [any AnySetting], takesWords: Bool = false) throws {
        let known = Self.known(declared)
        /// The argument before this one, when a value may follow it.
        var waiting: (name: String, isFlag: Bool)?
        func refuseMissingValue() throws {
            if let waiting, !waiting.isFlag {
                throw Settings.Invalid("\(waiting.name) needs a value; --help lists the settings.")
            }
        }
        for argument in arguments {
            if argument.hasPrefix("--") {
                try refuseMissingValue()
                let end = argument.firstIndex(of: "=")
                let name = String(argument[..<(end ?? argument.endIndex)])
                guard let isFlag = known[name] else {
                    throw Settings.Invalid("Unknown argument \(name); --help lists the settings.")
                }
                if let end {
                    values[name] = String(argument[argument.index(after: end)...])
                } else if isFlag {
                    values[name] = "true"
                }
                waiting = end == nil ? (name, isFlag) : nil
            } else if let (name, isFlag) = waiting, !takesWords || !isFlag || Bool(settingText: argument) != nil {
                values[name] = argument
                waiting = nil
            } else if takesWords {
                words.append(argument)
                waiting = nil
            } else {
                throw Settings.Invalid("Unexpected argument “\(argument)”; --help lists the settings.")
            }
        }
        try refuseMissingValue()
    }

    /// Each argument there may be, and whether it is a switch.
    private static func known(_ declared: [any AnySetting]) -> [String: Bool] {
        var known: [String: Bool] = [:]
        for setting in declared {
            known[setting.argument] = setting.isFlag
            if setting.isSecret { known[setting.argument + "-file"] = false }
            if !setting.isOption { known[file] = false }
        }
        return known
    }
}
