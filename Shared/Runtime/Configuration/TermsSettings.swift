/// The terms of service: auth takes an acceptance, and who refuses for want of one says what is to be accepted (AU-9).
public enum TermsSettings {
    /// The version in force, `2026-01`; empty when any is accepted that is not older than the accepted one.
    public static let version = Setting(
        "auth.terms-version",
        default: "",
        help: """
            The version of the terms in force, as 2026-01 or 2.1: only it can be accepted. Empty: any that is not older than the accepted \
            one.
            """
    )
}
