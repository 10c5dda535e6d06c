internal import BillingAPI
internal import Kernel
internal import NotificationsAPI
internal import Outbox

/// The receipt of a purchase that was paid for with money (BI-5). Where it goes is asked when it is handed over: billing knows no addresses.
enum ReceiptConsumer {
    static let all = [
        EventHandler(PurchaseCompleted.self) { event, work in
            // What coins bought is in the wallet.
            guard event.coins == 0 else { return }
            let request = SendMailRequest(
                operationID: event.purchaseID.cast(to: Tag.Operation.self),
                userID: event.userID,
                address: MailRepository.unknownAddress,
                kind: .purchaseReceipt,
                values: MailValues(
                    at: event.purchasedAt ?? work.now,
                    product: event.title,
                    price: price(event),
                    order: event.purchaseID.description
                )
            )
            try await MailRepository.insert(request, uselessAfter: work.now + MailRepository.kept, now: work.now, work.sql)
        }
    ]

    /// `0.99 EUR`; empty when it is unknown.
    static func price(_ event: PurchaseCompleted) -> String {
        guard event.priceMilli > 0, !event.currency.isEmpty else { return "" }
        let cents = (event.priceMilli + 5) / 10
        return "\(cents / 100).\(cents % 100 < 10 ? "0" : "")\(cents % 100) \(event.currency)"
    }
}
