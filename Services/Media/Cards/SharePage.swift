internal import Kernel
internal import MediaDomain

/// The public page of a card (MC-2): HTML without any script, whose only style sheet is the one below.
struct SharePage: Sendable {
    let card: MilestoneCard
    /// Absolute, for previews; the page itself shows the image by its path.
    let address: String
    let imagePath: String
    /// Of the preview.
    let previewAddress: String

    var html: String {
        let title = card.title.escapedForHTML
        let sentence = card.sentence.escapedForHTML
        let kind = card.subject.line.isEmpty ? "" : "<p><bdi>\(card.subject.line.escapedForHTML)</bdi></p>\n"
        let names = card.people.map { "<bdi>\($0.displayName.escapedForHTML)</bdi>" }.joined(separator: " &amp; ")
        return Self.page(
            title: title,
            look: card.style.name,
            head: """
                <meta name="description" content="\(sentence)">
                <link rel="canonical" href="\(address.escapedForHTML)">
                <meta property="og:type" content="website">
                <meta property="og:site_name" content="StreakSnap">
                <meta property="og:title" content="\(title)">
                <meta property="og:description" content="\(sentence)">
                <meta property="og:url" content="\(address.escapedForHTML)">
                <meta property="og:image" content="\(previewAddress.escapedForHTML)">
                <meta property="og:image:type" content="image/png">
                <meta property="og:image:width" content="\(CardPoster.wideWidth)">
                <meta property="og:image:height" content="\(CardPoster.wideHeight)">
                <meta property="og:image:alt" content="\(title)">
                <meta name="twitter:card" content="summary_large_image">
                <meta name="twitter:title" content="\(title)">
                <meta name="twitter:description" content="\(sentence)">
                <meta name="twitter:image" content="\(previewAddress.escapedForHTML)">
                <meta name="twitter:image:alt" content="\(title)">
                """,
            body: """
                <img src="\(imagePath.escapedForHTML)" width="\(CardPoster.width)" height="\(CardPoster.height)" alt="\(title)">
                <div>
                <p class="mark">StreakSnap</p>
                <h1><b>\(card.count)</b> day streak \(card.subject.emoji)</h1>
                <p class="names">\(names)</p>
                \(kind)<p>\(card.dateRange.escapedForHTML)</p>
                <p class="about">\(card.about)</p>
                </div>
                """
        )
    }

    /// What is said of every address that shows nothing, whatever the reason.
    static let nothing = page(
        title: "Nothing here – StreakSnap",
        look: "dark",
        head: "",
        body: """
            <div>
            <p class="mark">StreakSnap</p>
            <h1>Nothing here</h1>
            <p>This streak card is not shared, or not any more.</p>
            </div>
            """
    )

    /// The one style sheet. Its hash stands in the Content-Security-Policy of `GetSharePage`; a test compares them.
    static let style = """
        *{box-sizing:border-box;margin:0}
        html{min-height:100%}
        body{min-height:100vh;display:flex;align-items:center;justify-content:center;padding:4vh 5vw;color:#fff;\
        font:400 1.125rem/1.5 Inter,system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
        .orange{background:#ff3d00 linear-gradient(150deg,#ff8a4c,#ff3d00)}
        .purple{background:#4f46e5 linear-gradient(150deg,#8b5cf6,#4338ca)}
        .green{background:#166534 linear-gradient(150deg,#22a355,#14532d)}
        .dark{background:#0a0a0a linear-gradient(150deg,#2c2c30,#0a0a0a)}
        main{display:flex;flex-direction:column;align-items:center;gap:2rem;text-align:center;max-width:64rem}
        img{display:block;width:auto;height:auto;max-width:min(100%,24rem);max-height:72vh;border-radius:1.5rem;\
        box-shadow:0 1.5rem 4rem rgba(0,0,0,.35)}
        div{min-width:0;max-width:30rem}
        h1{font-size:clamp(2rem,7vw,3.25rem);line-height:1.1;font-weight:800;letter-spacing:-.02em}
        .mark{font-weight:700;opacity:.75;margin-bottom:.75rem}
        h1+p{margin-top:.75rem}
        .names{font-size:1.375rem;font-weight:600;margin-top:1rem;overflow-wrap:anywhere}
        .about{margin-top:1.5rem;opacity:.8}
        @media(min-width:40rem) and (orientation:landscape){main{flex-direction:row;gap:min(4rem,6vw);text-align:left}img{max-height:86vh;max-width:26rem}}
        """

    private static func page(title: String, look: String, head: String, body: String) -> String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="robots" content="noindex">
        <title>\(title)</title>
        \(head)
        <style>\(style)</style>
        </head>
        <body class="\(look)">
        <main>
        \(body)
        </main>
        </body>
        </html>

        """
    }
}
