internal import Kernel

extension MailText {
    /// The mail for programs that show no HTML.
    public var plain: String {
        var parts = paragraphs
        if !facts.isEmpty { parts.append(facts.map { "\($0.label): \($0.value)" }.joined(separator: "\n")) }
        if let action { parts.append("\(action.label):\n\(action.link)") }
        return parts.joined(separator: "\n\n") + "\n\n-- \n\(footnote)\nStreakSnap\n"
    }

    /// The mail as HTML, with its styles at the elements: many mail programs drop others. It loads nothing.
    public var html: String {
        let text = paragraphs.map { "<p style=\"margin:0 0 16px\">\($0.escapedForHTML)</p>" }.joined(separator: "\n")
        let rows = facts.map {
            "<tr><td style=\"padding:4px 16px 4px 0;color:#666\">\($0.label.escapedForHTML)</td><td>\($0.value.escapedForHTML)</td></tr>"
        }
        let table =
            rows.isEmpty ? "" : "\n<table style=\"margin:0 0 16px;font-size:16px\">\n\(rows.joined(separator: "\n"))\n</table>"
        let button = action.map { action in
            """

            <p style="margin:24px 0"><a href="\(action.link.escapedForHTML)" style="display:inline-block;padding:12px 24px;\
            border-radius:12px;background:#ff3d00;color:#ffffff;font-weight:600;text-decoration:none">\(action.label.escapedForHTML)</a></p>
            <p style="margin:0 0 16px;font-size:13px;color:#666;word-break:break-all">\(action.link.escapedForHTML)</p>
            """
        }
        return """
            <!DOCTYPE html>
            <html lang="\(language.rawValue)">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(subject.escapedForHTML)</title>
            </head>
            <body style="margin:0;padding:32px 16px;background:#f6f5f3;color:#111;font:16px/1.5 -apple-system,'Segoe UI',Roboto,sans-serif">
            <div style="max-width:480px;margin:0 auto;padding:32px;border-radius:16px;background:#ffffff">
            <h1 style="margin:0 0 16px;font-size:22px">\(subject.escapedForHTML)</h1>
            \(text)\(table)\(button ?? "")
            <p style="margin:24px 0 0;font-size:13px;color:#666">\(footnote.escapedForHTML)</p>
            </div>
            </body>
            </html>

            """
    }
}
