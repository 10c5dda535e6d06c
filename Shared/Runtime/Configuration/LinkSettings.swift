/// What every executable that gives out links needs.
public enum LinkSettings {
    /// The address clients use.
    public static let publicURL = Setting(
        "media.public-url",
        default: "",
        help: """
            Address before /media/… and /s/… in links to photos, avatars and shared pages, https://api.example.com; empty for relative \
            links.
            """
    )
}
