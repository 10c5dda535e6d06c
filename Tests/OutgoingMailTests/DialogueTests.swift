import Testing

@testable import OutgoingMail

/// The lines of an exchange, and what they come to.
struct DialogueTests {
    /// Lines with `>` are sent, `<` received; `.` is the end of the message.
    private func outcome(_ lines: [String], _ problem: String? = "failed") -> OutgoingMail.Outcome {
        var dialogue = SMTPDialogue()
        for line in lines {
            switch line.first {
            case ">": dialogue.sent(String(line.dropFirst()))
            case "<": dialogue.received(String(line.dropFirst()))
            default: dialogue.messageSent()
            }
        }
        return dialogue.outcome(problem)
    }

    private let greeting = ["<220 mail.test", ">EHLO me", "<250-mail.test", "<250 SIZE"]
    private var toRecipient: [String] { greeting + [">MAIL FROM:<a@b>", "<250 ok", ">RCPT TO:<c@d>"] }
    private var toMessage: [String] { toRecipient + ["<250 ok", ">DATA", "<354 go", "."] }

    @Test func `only a refusal of recipient or message is for good`() {
        #expect(outcome(toRecipient + ["<550 5.1.1 <c@d> unknown", ">QUIT", "<221 bye"]) == .refused("550 5.1.1"))
        #expect(outcome(toRecipient + ["<450 later"]) == .postponed("450"))
        #expect(outcome(toMessage + ["<554 5.7.1 no"]) == .refused("554 5.7.1"))
        #expect(outcome(toMessage + ["<451 4.3.0 later"]) == .postponed("451 4.3.0"))
        #expect(outcome(greeting + [">MAIL FROM:<a@b>", "<550 5.7.1 no"]) == .postponed("550 5.7.1"))
        #expect(outcome(greeting + [">AUTH PLAIN", "<334", ">AGFkYQBwdw==", "<535 5.7.8 wrong"]) == .postponed("535 5.7.8"))
        #expect(outcome(["<554 not today"]) == .postponed("554"))
        #expect(outcome(["<421 full"]) == .postponed("421"))
    }

    @Test func `a message that was sent whole without an answer may be there`() {
        #expect(outcome(toMessage) == .unanswered("failed"))
        #expect(outcome(Array(toMessage.dropLast())) == .postponed("failed"), "not to its end: it cannot be there")
        #expect(outcome(toMessage + ["<250 taken"]) == .accepted, "what fails after that is no matter")
        #expect(outcome(toMessage + ["<250 taken"], nil) == .accepted)
    }

    @Test func `lines of a sign-in are no commands`() {
        let lines = greeting + [">AUTH LOGIN", "<334 VXNlcm5hbWU6", ">RCPT", ">DATA", "<535 wrong"]
        #expect(outcome(lines) == .postponed("535"))
    }

    @Test func `a long answer counts by its last line`() {
        #expect(outcome(toRecipient + ["<550-5.1.1 no", "<550-5.1.1 such", "<550 5.1.1 user"]) == .refused("550 5.1.1"))
    }
}
