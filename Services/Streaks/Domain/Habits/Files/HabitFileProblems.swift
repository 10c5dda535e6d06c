/// What is wrong with a file, and where.
public struct HabitFileProblem: Hashable, Sendable {
    /// `line 12, column 3`, `Checkmarks.csv, line 3`, `data.completions[3].date`, or empty for the file itself.
    public var place: String
    public var message: String

    public init(place: String, message: String) { (self.place, self.message) = (place, message) }
}

/// All that is wrong with a file: errors, because of which nothing of it is taken, and warnings about what cannot be taken as it is.
public struct HabitFileProblems: Hashable, Sendable {
    /// How many of each are listed; more are only counted.
    public static let most = 100

    public private(set) var errors: [HabitFileProblem] = []
    public private(set) var warnings: [HabitFileProblem] = []
    /// Also those that are not listed.
    public private(set) var errorCount = 0
    public private(set) var warningCount = 0

    public init() {}

    public mutating func error(_ place: String, _ message: String) {
        errorCount += 1
        if errors.count < Self.most { errors.append(HabitFileProblem(place: place, message: message)) }
    }

    public mutating func warning(_ place: String, _ message: String) {
        warningCount += 1
        if warnings.count < Self.most { warnings.append(HabitFileProblem(place: place, message: message)) }
    }

    mutating func error(_ problem: CSVProblem, file: String? = nil) {
        error(Self.place(file, problem.line, problem.column), problem.message)
    }

    /// `Checkmarks.csv, line 3, column 2`
    static func place(_ file: String? = nil, _ line: Int, _ column: Int? = nil) -> String {
        ([file, "line \(line)"] + [column.map { "column \($0)" }]).compactMap { $0 }.joined(separator: ", ")
    }
}
