internal import Kernel
internal import MediaAPI
internal import Outbox
internal import StreaksDomain

/// Milestone cards that were shared (TS-5), by the kind of the streak that they are about.
enum CardConsumers {
    static var all: [EventHandler] {
        [
            EventHandler(CardShared.self) { event, work in
                guard let streak = event.streakID, let kind = try await GaugeRepository.kind(of: streak, work.sql) else { return }
                let day = Zone.utc.date(at: event.sharedAt ?? work.now)
                try await FigureRepository.add(
                    [AnalyticsFigures.Sum(day: day, kind: kind, .cardShared, bucket: 0, value: 1)],
                    work.sql
                )
            }
        ]
    }
}
