/// How far an exchange with a mail server has come, from the lines that are sent and received. libcurl's result does not say which command
/// was refused.
struct SMTPDialogue {
    private enum Command { case begin, authentication, sender, recipient, message }

    /// libcurl says goodbye also after a refusal: what is answered to that is not the outcome.
    private var isEnding = false

    private var command = Command.begin
    /// Of the last whole answer.
    private var answer: (code: Int, text: String)?
    /// The message was sent to its end.
    private(set) var isMessageSent = false

    /// A line that is sent.
    mutating func sent(_ line: String) {
        let word = line.prefix { $0.isLetter }.uppercased()
        switch word {
        // The lines of a sign-in are base64, which may look like any command without an argument.
        case "MAIL" where line.contains(":"): command = .sender
        case "RCPT" where line.contains(":"): command = .recipient
        case "DATA" where command == .recipient: command = .message
        case "AUTH": command = .authentication
        case "QUIT":
            isEnding = true
            return
        default: return
        }
        answer = nil
    }

    /// A line that is received.
    mutating func received(_ line: String) {
        let code = line.prefix(3)
        // `250-` goes on, `250 ` ends.
        guard !isEnding, code.count == 3, let number = Int(code), line.dropFirst(3).first != "-" else { return }
        answer = (number, Self.shown(line))
    }

    /// The last byte of the message is handed over: what was answered until now is not about it.
    mutating func messageSent() {
        isMessageSent = true
        answer = nil
    }

    /// What it came to.
    ///
    /// - Parameter problem: libcurl's words for its failure; nil when it reports success.
    func outcome(_ problem: String?) -> OutgoingMail.Outcome {
        guard let problem else { return .accepted }
        let code = answer?.code ?? 0
        let reason = code >= 400 ? answer?.text ?? problem : problem
        switch (command, code) {
        case (.recipient, 500...599), (.message, 500...599): return .refused(reason)
        case (.message, 200...299) where isMessageSent: return .accepted
        case (.message, 0) where isMessageSent: return .unanswered(reason)
        default: return .postponed(reason)
        }
    }

    /// An answer without its words, which may hold the address: `550 5.1.1`.
    private static func shown(_ line: String) -> String {
        let words = line.split(separator: " ", maxSplits: 2)
        let isStatus = words.count > 1 && words[1].utf8.allSatisfy { (48...57).contains($0) || $0 == UInt8(ascii: ".") }
        return words.prefix(isStatus && words[1].utf8.count <= 11 ? 2 : 1).joined(separator: " ").filter { !$0.isNewline }
    }
}
