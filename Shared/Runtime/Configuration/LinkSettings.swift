/// What every executable that gives out links needs.
public enum LinkSettings {
    /// The address clients use.
    public static let publicURL = Setting(
        "media.public-url",
        default: "",
        help: """
            Address before links to photos, avatars, shared pages and in mails, https://api.example.com; empty for relative links, which \
            do not work in mails.
            """
    )
}
