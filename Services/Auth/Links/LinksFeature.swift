internal import AuthAPI
internal import Runtime
package import ServiceRuntime

/// What is at the addresses of links in mails (AU-13): pages, and the files by which phones open such links in the app. It reads no table.
package enum LinksFeature {
    static let appleApps = Setting(
        "auth.apple-app-ids",
        default: "",
        help: """
            Apps for iPhones that open links of this server, TEAMID.com.example.app, separated by commas; empty: links open in the browser.
            """
    )
    static let androidApps = Setting(
        "auth.android-apps",
        default: "",
        help: """
            Apps for Android that open links of this server, com.example.app=AB:CD:… with the SHA-256 of the signing certificate, separated \
            by commas; empty: links open in the browser.
            """
    )

    package static let feature = ServiceFeature("links", settings: [appleApps, androidApps]) { environment in
        let files = try AppFiles(
            appleApps: try environment.settings.get(appleApps),
            androidApps: try environment.settings.get(androidApps)
        )
        return FeatureParts(
            endpoints: LinksService.endpoints(
                getVerificationPage: GetVerificationPage(),
                getResetPage: GetResetPage(),
                getAppleAppSiteAssociation: GetAppleAppSiteAssociation(files: files),
                getAssetLinks: GetAssetLinks(files: files)
            )
        )
    }
}
