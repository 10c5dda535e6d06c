/// What was built.
public enum BuildInfo {
    /// Semantic version of all executables: they are released together and deployed apart.
    public static let version = "0.2.0"
}
