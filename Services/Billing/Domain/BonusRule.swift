public import Kernel

/// The recovery token that comes with premium each UTC month (RC-1): once a user, once an original transaction, never in a trial.
public enum BonusRule {
    /// The UTC month of an instant, counted from January of the year 0.
    public static func month(of instant: Instant) -> Int32 {
        let day = CalendarDate(dayNumber: Int32(clamping: instant.seconds.flooredDay))
        return Int32(day.components.year * 12 + day.components.month - 1)
    }

    /// The first instant of a month.
    public static func start(of month: Int32) -> Instant {
        let (year, index) = (Int(month) / 12, Int(month) % 12)
        let day = CalendarDate(year: year, month: index + 1, day: 1)?.dayNumber ?? 0
        return Instant(seconds: Int64(day) * 86_400)
    }

    /// The months that a user has been due a token for since it was last looked at.
    ///
    /// - Parameters:
    ///   - next: the first month that has not been looked at; nil when none has.
    ///   - paidUntil: until when premium that counts was known to last then; nil when it did not count then.
    ///   - isPaid: whether premium that counts is given now.
    /// - Returns: in order, at most the last 24: those that began while it was given, and the present one if it is given now.
    public static func months(next: Int32?, paidUntil: Instant?, isPaid: Bool, now: Instant) -> [Int32] {
        let present = month(of: now)
        var months: [Int32] = []
        if let next, let paidUntil, next < present {
            months = (max(next, present - 24)..<present).filter { start(of: $0) < paidUntil }
        }
        if isPaid, next.map({ $0 <= present }) ?? true {
            months.append(present)
        } else if let next, let paidUntil, next <= present, start(of: present) < paidUntil {
            // It began while premium lasted, which has ended since.
            months.append(present)
        }
        return months
    }

    /// As written in posting keys: `2026-01`.
    public static func text(of month: Int32) -> String {
        let index = Int(month) % 12 + 1
        return "\(Int(month) / 12)-\(index < 10 ? "0" : "")\(index)"
    }
}

extension Int64 {
    /// Days since the epoch of seconds since the epoch, rounded down.
    fileprivate var flooredDay: Int64 { self >= 0 ? self / 86_400 : (self - 86_399) / 86_400 }
}
