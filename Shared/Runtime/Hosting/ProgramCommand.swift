/// Something that is done with a program besides running it: `streaks declare-outage FROM UNTIL`.
public struct ProgramCommand: Sendable {
    /// The first word of the command line.
    public let name: String
    /// Its lines in the program's `--help`.
    public let help: String
    /// The settings and options it has, as arguments before, between or after its words.
    public let settings: [any AnySetting]
    /// Does it.
    public let run: @Sendable (_ words: [String], Settings) async throws -> Outcome
    /// What follows its name, `FROM UNTIL [REASON]`; nil when it looks at its words itself.
    private let words: [Substring]?
    private let about: String

    /// What came of it.
    public struct Outcome: Sendable {
        /// For standard output.
        public var output: String
        /// 0 for success.
        public var exitCode: Int32

        /// An outcome; a success unless said otherwise.
        public init(_ output: String, exitCode: Int32 = 0) {
            self.output = output
            self.exitCode = exitCode
        }
    }

    /// Why a command failed. The process says it on standard error and ends with status 1.
    public struct Failure: Error, CustomStringConvertible {
        /// What went wrong.
        public let description: String

        /// An error with its text.
        public init(_ description: String) { self.description = description }
    }

    /// A command with a fixed number of words.
    ///
    /// - Parameters:
    ///   - words: what must follow the name, `FROM UNTIL [REASON]`; one in brackets may be left out.
    ///   - about: what it does, in one line that continues its name.
    ///   - run: gets so many words; throws `Settings.Invalid` for one that it cannot use.
    public init(
        _ name: String,
        words: String = "",
        about: String,
        settings: [any AnySetting],
        run: @escaping @Sendable (_ words: [String], Settings) async throws -> Outcome
    ) {
        let column = 32
        let start = "    \(name)\(words.isEmpty ? "" : " \(words)")"
        let gap = start.count < column ? "" : "\n"
        help = start + gap + String(repeating: " ", count: gap.isEmpty ? column - start.count : column) + about + "\n"
        (self.name, self.words, self.about) = (name, words.split(separator: " "), about)
        (self.settings, self.run) = (settings, run)
    }

    /// A command that looks at its words itself.
    ///
    /// - Parameter run: gets the words after its name; throws `Settings.Invalid` for words it does not know.
    public init(
        _ name: String,
        help: String,
        settings: [any AnySetting],
        run: @escaping @Sendable (_ words: [String], Settings) async throws -> Outcome
    ) {
        (self.name, self.help, words, about) = (name, help, nil, "\n\n" + help)
        (self.settings, self.run) = (settings, run)
    }

    /// How it is called, in one line; nil when it looks at its words itself.
    ///
    /// - Parameter title: the program's name and its own.
    func usage(_ title: String) -> String? {
        words.map { ([title] + $0.map(String.init) + (settings.isEmpty ? [] : ["[--OPTION VALUE …]"])).joined(separator: " ") }
    }

    /// The text of its own `--help`.
    func helpPage(_ title: String) -> String {
        Settings.help(program: usage(title) ?? title, about: about, declared: settings)
    }

    /// Whether there are as many words as it takes.
    ///
    /// - Throws: `Settings.Invalid` naming what is missing or too much.
    func check(_ given: [String]) throws {
        guard let words else { return }
        if given.count < words.count, !words[given.count].hasPrefix("[") {
            throw Settings.Invalid("\(words[given.count]) is missing.")
        }
        if given.count > words.count {
            let last = words.last.map { "\($0)" } ?? name
            throw Settings.Invalid("Nothing follows \(last) but settings, not “\(given[words.count])”.")
        }
    }
}
