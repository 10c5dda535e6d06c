package import Replicas

extension Profile {
    /// The name in texts that others read; nil for a user who may not be seen.
    package var shownName: String? { isVisible && !displayName.isEmpty ? displayName : nil }
}
