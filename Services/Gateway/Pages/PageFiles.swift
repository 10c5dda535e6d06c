/// What the gateway's pages for browsers are made of. A module of its own, because the compiler takes long over the bytes.
public enum PageFiles {
    /// The bytes of each file of `Files/`, by its name.
    public static let all: [String: [UInt8]] = [
        "api.js": PackageResources.api_js,
        "changes.json": PackageResources.changes_json,
        "demo.css": PackageResources.demo_css,
        "demo.html": PackageResources.demo_html,
        "demo.js": PackageResources.demo_js,
        "docs.css": PackageResources.docs_css,
        "docs.html": PackageResources.docs_html,
        "docs.js": PackageResources.docs_js,
        "errors.json": PackageResources.errors_json,
        "look.css": PackageResources.look_css,
        "operation.js": PackageResources.operation_js,
        "page.js": PackageResources.page_js,
        "phone.js": PackageResources.phone_js,
        "photo.js": PackageResources.photo_js,
        "reference.js": PackageResources.reference_js,
        "screens.js": PackageResources.screens_js,
        "sheets.js": PackageResources.sheets_js,
        "snippets.js": PackageResources.snippets_js,
        "story.js": PackageResources.story_js,
        "try.js": PackageResources.try_js,
    ]
}
