/// What a notification says (NO-1): the seeds' texts with the user's values filled in.
public struct NotificationText: Hashable, Sendable {
    /// One line.
    public let title: String
    /// One or two sentences.
    public let body: String

    private init(_ title: String, _ body: String) {
        self.title = title
        self.body = body
    }

    /// A user asks to be a friend.
    public static func friendRequest(from name: String) -> NotificationText {
        NotificationText("👋 New friend request", "\(name) wants to start a streak with you!")
    }

    /// A user accepted the friend request.
    public static func friendAccepted(by name: String) -> NotificationText {
        NotificationText("🤝 You are friends now", "\(name) accepted your friend request. Post your first snap!")
    }

    /// The friend has posted; `isComplete` when that made the date whole.
    public static func friendPosted(_ name: String, count: Int, isComplete: Bool) -> NotificationText {
        isComplete
            ? NotificationText("🔥 \(count)-day streak", "\(name) sent a snap: today counts for both of you.")
            : NotificationText("📸 \(name) posted", "\(name) sent a snap in your streak 🔥 Your turn!")
    }

    /// The snap window has opened; `others` friends wait besides `name`.
    public static func dailyWindow(prompt: String, emoji: String, waiting name: String, others: Int) -> NotificationText {
        NotificationText("📸 Time to snap!", "\(emoji) \(prompt) — \(waitingFor(name, others))")
    }

    /// The snap window closes soon and nothing was posted.
    public static func windowClosing(prompt: String, emoji: String, waiting name: String, others: Int, minutes: Int)
        -> NotificationText
    {
        NotificationText(
            "⏰ \(counted(minutes, "minute")) left to snap",
            "\(emoji) \(prompt) — \(waitingFor(name, others))"
        )
    }

    /// Streaks break unless something is posted; `name` and `count` are those of the longest, `others` more are at risk.
    public static func atRisk(count: Int, with name: String, others: Int, hours: Int) -> NotificationText {
        let time = counted(hours, "hour")
        guard others > 0 else {
            return NotificationText("⚠️ Streak at risk!", "Your \(count)-day streak with \(name) expires in \(time)!")
        }
        return NotificationText(
            "⚠️ \(others + 1) streaks at risk!",
            "Your \(count)-day streak with \(name) and \(others) more expire in \(time)!"
        )
    }

    private static func waitingFor(_ name: String, _ others: Int) -> String {
        switch others {
        case 0: "\(name) is waiting!"
        case 1: "\(name) and 1 other are waiting!"
        default: "\(name) and \(others) others are waiting!"
        }
    }

    private static func counted(_ count: Int, _ word: String) -> String { count == 1 ? "1 \(word)" : "\(count) \(word)s" }

    /// A count that is celebrated.
    public static func milestone(count: Int, with name: String, earnsToken: Bool) -> NotificationText {
        NotificationText(
            "🔥 \(count)-day streak!",
            earnsToken
                ? "You and \(name) hit \(count) days! You earned a recovery token."
                : "You and \(name) hit \(count) days! Share your achievement!"
        )
    }

    /// A streak ended; `isFinal` when not by a miss, so that no token helps.
    public static func broken(count: Int, with name: String, isFinal: Bool) -> NotificationText {
        let end = "Your \(count)-day streak with \(name) ended."
        return NotificationText("💔 Streak broken", isFinal ? end : end + " Use a recovery token to save it!")
    }

    /// A break was undone.
    public static func recovered(count: Int, with name: String) -> NotificationText {
        NotificationText("💚 Streak saved", "Your \(count)-day streak with \(name) goes on.")
    }

    /// A recovery token keeps the streak; `user` is the one who spent it, nil for the reader.
    public static func rescued(count: Int, with name: String, by user: String?, inAdvance: Bool) -> NotificationText {
        let end = inAdvance ? "is safe for today." : "goes on."
        return NotificationText(
            "💚 Streak saved",
            user.map { "\($0) used a recovery token: your \(count)-day streak \(end)" }
                ?? "You used a recovery token: your \(count)-day streak with \(name) \(end)"
        )
    }

    /// A friend asks the reader to post (SO-6).
    public static func nudge(from name: String) -> NotificationText {
        NotificationText("👉 \(name) nudged you", "\(name) is waiting for your snap. Keep the streak alive 🔥")
    }

    /// The moderators warn (SO-9).
    public static var moderationWarning: NotificationText {
        NotificationText(
            "⚠️ A warning from the moderators",
            "Something you posted or wrote was reported and breaks our rules. Next time your account may be suspended."
        )
    }

    /// A large export of personal data can be downloaded (AU-10).
    public static var exportReady: NotificationText {
        NotificationText("📦 Your data is ready", "Download your export within 7 days. Then the file is deleted.")
    }
}
