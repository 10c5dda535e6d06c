/// Why the environment cannot be started, and what to do about it: one line each, for the user who runs the command.
public struct DevEnvironmentError: Error, Equatable, CustomStringConvertible {
    /// What is wrong, naming files, ports and processes.
    public var cause: String
    /// What mends it.
    public var wayOut: String

    /// A failure with its remedy.
    public init(_ cause: String, wayOut: String) {
        self.cause = cause
        self.wayOut = wayOut
    }

    public var description: String { "\(cause)\n\(wayOut)" }
}
