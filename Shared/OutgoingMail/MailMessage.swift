public import Kernel

/// A message with one text in two forms, plain and HTML, of which a mail program shows one.
///
/// The same values always give the same bytes: a mail that is tried again is the same mail.
public struct MailMessage: Sendable {
    /// Why a message cannot be made: a value would break out of its header.
    public struct Malformed: Error, Hashable, Sendable {
        /// The header in question.
        public let header: String
    }

    /// Of letters, digits, `.` and `-`, at most 60 bytes; with the sender's domain it is the `Message-ID`, which must be the same in all tries.
    public var id: String
    /// Who sends it.
    public var from: MailAddress
    /// Who gets it.
    public var to: MailAddress
    /// Any text of at most 500 bytes without control characters.
    public var subject: String
    /// When it was written.
    public var date: Instant
    /// The plain form; lines may be of any length.
    public var text: String
    /// A whole HTML document.
    public var html: String
    /// BCP 47 tag of the text; empty: no header says it.
    public var language: String
    /// Where its reader can have no more such mails: `https:` or `mailto:` URLs. Empty for mails that no one subscribes to.
    public var unsubscribe: [String]

    /// A message.
    public init(
        id: String,
        from: MailAddress,
        to: MailAddress,
        subject: String,
        date: Instant,
        text: String,
        html: String,
        language: String = "",
        unsubscribe: [String] = []
    ) {
        (self.id, self.from, self.to, self.subject, self.date) = (id, from, to, subject, date)
        (self.text, self.html, self.language, self.unsubscribe) = (text, html, language, unsubscribe)
    }

    /// The message as it is sent: ASCII, lines of at most 78 characters that end with CR LF.
    ///
    /// - Throws: `Malformed` for values that could become other headers.
    public func encoded() throws(Malformed) -> [UInt8] {
        try check()
        // No text can hold it: in quoted-printable a `=` is followed by digits.
        let boundary = "=_\(id)"
        var lines = [
            "Date: \(Self.text(of: date))", "From: \(from)", "To: \(to)", "Subject: \(HeaderText.unstructured(subject))",
            "Message-ID: <\(id)@\(from.domain)>", "MIME-Version: 1.0",
            // Neither absence notices nor lists answer to it (RFC 3834).
            "Auto-Submitted: auto-generated",
        ]
        if !language.isEmpty { lines.append("Content-Language: \(language)") }
        if !unsubscribe.isEmpty {
            lines.append("List-Unsubscribe: " + unsubscribe.map { "<\($0)>" }.joined(separator: ",\r\n "))
        }
        lines += ["Content-Type: multipart/alternative;", " boundary=\"\(boundary)\"", ""]
        var result: [UInt8] = []
        for (type, body) in [("plain", text), ("html", html)] {
            lines += [
                "--\(boundary)", "Content-Type: text/\(type); charset=utf-8", "Content-Transfer-Encoding: quoted-printable", "",
            ]
            result += Array((lines.joined(separator: "\r\n") + "\r\n").utf8) + QuotedPrintable.encode(body)
            lines = []
        }
        return result + Array("--\(boundary)--\r\n".utf8)
    }

    private func check() throws(Malformed) {
        let isName = { (text: String, most: Int, extra: [UInt8]) in
            (1...most).contains(text.utf8.count)
                && text.utf8.allSatisfy {
                    (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0) || extra.contains($0)
                }
        }
        guard isName(id, 60, Array(".-".utf8)) else { throw Malformed(header: "Message-ID") }
        guard HeaderText.isPlain(subject), subject.utf8.count <= 500 else { throw Malformed(header: "Subject") }
        guard language.isEmpty || isName(language, 35, Array("-".utf8)) else { throw Malformed(header: "Content-Language") }
        let isURL = { (url: String) in
            (url.hasPrefix("https:") || url.hasPrefix("mailto:")) && url.utf8.count <= 500
                && url.utf8.allSatisfy {
                    (33...126).contains($0) && $0 != UInt8(ascii: "<") && $0 != UInt8(ascii: ">") && $0 != UInt8(ascii: ",")
                }
        }
        guard unsubscribe.count <= 2, unsubscribe.allSatisfy(isURL) else { throw Malformed(header: "List-Unsubscribe") }
    }

    private static let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// `Mon, 23 Nov 2026 15:22:38 +0000` (RFC 5322, 3.3).
    private static func text(of instant: Instant) -> String {
        let rest = (instant.seconds % 86_400 + 86_400) % 86_400
        let date = CalendarDate(dayNumber: Int32(clamping: (instant.seconds - rest) / 86_400))
        let (year, month, day) = date.components
        let time = [rest / 3_600, rest / 60 % 60, rest % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
        return "\(days[date.isoWeekday - 1]), \(day) \(months[month - 1]) \(year) \(time) +0000"
    }
}
