public import Kernel

/// A version of the terms of service (AU-9): numbers between dots or hyphens, `2.1` or `2026-01`, compared number by number.
public struct TermsVersion: Comparable, Sendable, CustomStringConvertible {
    public let description: String
    /// The digits of each, without leading zeros.
    private let numbers: [[UInt8]]

    /// A version; nil for any other text.
    public init?(_ text: String) {
        let parts = text.utf8.split(omittingEmptySubsequences: false) { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") }
        guard parts.allSatisfy({ part in !part.isEmpty && part.allSatisfy { (48...57).contains($0) } }) else { return nil }
        self.description = text
        self.numbers = parts.map { Array($0.drop { $0 == UInt8(ascii: "0") }) }
    }

    /// The version that a user accepts.
    ///
    /// - Parameters:
    ///   - accepted: what the same person has accepted before.
    ///   - inForce: the version that is to be accepted now; nil when the installation does not say.
    /// - Throws: `VALIDATION_ERROR` for a text that is no version, `TERMS_VERSION_OUTDATED` for another than the one in force and for one
    ///   older than `accepted`; both name `version`.
    public static func accepting(_ text: String, accepted: TermsVersion?, inForce: TermsVersion?) throws(ServiceError)
        -> TermsVersion
    {
        guard let version = TermsVersion(text) else {
            throw ServiceError.validation(field: "version", "must be numbers between dots or hyphens, 2.1 or 2026-01")
        }
        if let inForce, version != inForce {
            throw outdated("must be \(inForce), the version in force")
        }
        if let accepted, version < accepted {
            throw outdated("must not be older than \(accepted), which is accepted already")
        }
        return version
    }

    private static func outdated(_ problem: String) -> ServiceError {
        ServiceError(
            .failedPrecondition,
            "TERMS_VERSION_OUTDATED",
            "This version of the terms cannot be accepted any more.",
            details: [.init(field: "version", message: problem)]
        )
    }

    public static func == (one: TermsVersion, other: TermsVersion) -> Bool { !(one < other) && !(other < one) }

    /// `2.1` comes before `2.1.0`, which says more.
    public static func < (one: TermsVersion, other: TermsVersion) -> Bool {
        one.numbers.lexicographicallyPrecedes(other.numbers) { one, other in
            one.count == other.count ? one.lexicographicallyPrecedes(other) : one.count < other.count
        }
    }
}
