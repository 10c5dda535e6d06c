internal import Kernel
internal import SocialAPI
internal import SocialDomain

/// The page of an invite link: HTML without any script. It names the circle and no member.
struct InvitePageText: Sendable {
    /// nil when the code leads nowhere.
    let circle: (name: String, members: Int)?
    let code: String
    /// BCP 47 tag; English for languages that there is no text in.
    let language: String

    var html: String {
        let isGerman = language.lowercased().hasPrefix("de")
        return page(isGerman ? german : english, isGerman ? "de" : "en")
    }

    private struct Texts {
        let title: String
        let lines: [String]
    }

    private var english: Texts {
        guard let circle else {
            return Texts(title: "This invite is not valid", lines: ["It is over, or it was withdrawn. Ask for a new one."])
        }
        let count = circle.members == 1 ? "1 member" : "\(circle.members) members"
        return Texts(
            title: "Join \(circle.name.escapedForHTML)",
            lines: ["A circle on StreakSnap with \(count).", "Open the app, choose “Join a circle” and enter this code:"]
        )
    }

    private var german: Texts {
        guard let circle else {
            return Texts(
                title: "Diese Einladung gilt nicht",
                lines: ["Sie ist abgelaufen oder zurückgezogen. Bitte um eine neue."]
            )
        }
        let count = circle.members == 1 ? "einem Mitglied" : "\(circle.members) Mitgliedern"
        return Texts(
            title: "Tritt \(circle.name.escapedForHTML) bei",
            lines: [
                "Ein Kreis auf StreakSnap mit \(count).", "Öffne die App, wähle „Einem Kreis beitreten“ und gib diesen Code ein:",
            ]
        )
    }

    private func page(_ texts: Texts, _ language: String) -> String {
        let lines = texts.lines.map { "<p>\($0)</p>" }.joined(separator: "\n")
        let shown = circle == nil ? "" : "\n<p class=\"code\">\(code.escapedForHTML)</p>"
        return """
            <!DOCTYPE html>
            <html lang="\(language)">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="robots" content="noindex">
            <meta name="referrer" content="no-referrer">
            <title>\(texts.title) – StreakSnap</title>
            <style>\(Self.style)</style>
            </head>
            <body>
            <main>
            <p class="mark">StreakSnap</p>
            <h1><bdi>\(texts.title)</bdi></h1>
            \(lines)\(shown)
            </main>
            </body>
            </html>

            """
    }

    /// The one style sheet. Its hash stands in the Content-Security-Policy of `GetInvitePage`; a test compares them.
    static let style = """
        *{box-sizing:border-box;margin:0}
        html{min-height:100%}
        body{min-height:100vh;display:flex;align-items:center;justify-content:center;padding:4vh 5vw;color:#fff;\
        background:#0a0a0a linear-gradient(150deg,#2c2c30,#0a0a0a);\
        font:400 1.125rem/1.5 Inter,system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
        main{max-width:30rem;text-align:center}
        h1{font-size:clamp(2rem,7vw,3rem);line-height:1.1;font-weight:800;margin-bottom:1rem;overflow-wrap:anywhere}
        p{margin-bottom:1rem;overflow-wrap:anywhere}
        .mark{font-weight:700;opacity:.75}
        .code{font:700 1.5rem/1.5 ui-monospace,monospace;letter-spacing:.1em}
        """
}
