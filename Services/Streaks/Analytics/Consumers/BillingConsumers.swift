internal import BillingAPI
internal import Kernel
internal import Outbox
internal import StreaksDomain

/// What is sold, and who becomes premium while a streak runs (TS-5): rates and revenue of freezes and repairs, conversion.
enum BillingConsumers {
    static var all: [EventHandler] {
        [
            EventHandler(PurchaseCompleted.self) { event, work in
                let isFirst = try await FigureRepository.noteBuyer(event.userID, of: event.item, work.sql)
                try await FigureRepository.add(
                    FigureRepository.Sale(
                        day: Zone.utc.date(at: event.purchasedAt ?? work.now),
                        item: event.item,
                        purchases: 1,
                        coins: event.coins,
                        usdMilli: event.currency == "USD" ? event.priceMilli : 0,
                        firstPurchases: isFirst ? 1 : 0
                    ),
                    work.sql
                )
            },
            EventHandler(EntitlementsChanged.self) { event, work in
                let isNew = try await SubscriberRepository.note(
                    event.userID,
                    isPremium: event.plan == .premium,
                    version: event.version,
                    work.sql
                )
                guard isNew else { return }
                let day = Zone.utc.date(at: work.now)
                let running = try await SubscriberRepository.running(event.userID, work.sql)
                try await FactRepository.add(
                    running.map { streak in
                        let bucket: Int32 = streak.count >= 30 ? 30 : streak.count >= 7 ? 7 : 0
                        return Fact(kind: streak.kind, metric: .conversion, day: day, bucket: bucket)
                    },
                    work.sql
                )
            },
        ]
    }
}
