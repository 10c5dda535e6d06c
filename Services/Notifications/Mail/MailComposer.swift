internal import CommonAPI
internal import Kernel
internal import NotificationsAPI
internal import NotificationsCore
internal import NotificationsDomain
internal import OutgoingMail

extension SendMailRequest {
    /// What the mail says; nil when values are missing.
    var content: MailContent? { MailContent(kind, values ?? MailValues()) }
}

extension MailContent {
    /// A content as it comes over the bus; nil when a value of this kind is missing.
    init?(_ kind: MailKind, _ values: MailValues) {
        let link = values.link
        let hasLink = !link.isEmpty
        switch kind {
        case .verification where hasLink: self = .verification(link: link)
        case .passwordReset where hasLink: self = .passwordReset(link: link)
        case .emailChangeConfirm where hasLink: self = .emailChangeConfirm(link: link)
        case .emailChangeNotice where !values.newAddress.isEmpty: self = .emailChangeNotice(newAddress: values.newAddress)
        case .passwordChanged: self = .passwordChanged
        case .deletionScheduled:
            guard let at = values.at else { return nil }
            self = .deletionScheduled(at: at)
        case .deletionUndone: self = .deletionUndone(ended: values.ended.map(EndedItems.init))
        case .purchaseReceipt where !values.product.isEmpty:
            guard let at = values.at else { return nil }
            self = .purchaseReceipt(product: values.product, price: values.price, order: values.order, at: at)
        case .secondFactorEnrolled: self = .secondFactorEnrolled
        case .secondFactorRemoved: self = .secondFactorRemoved
        case .appleLinked: self = .appleLinked(isPasswordRemoved: false)
        case .registration where hasLink: self = .registration(link: link)
        case .accountExists where hasLink: self = .accountExists(link: link)
        case .appleLinkedPasswordRemoved: self = .appleLinked(isPasswordRemoved: true)
        case .recoveryCodeUsed:
            guard let left = values.recoveryCodesLeft else { return nil }
            self = .recoveryCodeUsed(left: Int(left))
        default: return nil
        }
    }
}

/// Writes mails. The same row always gives the same mail, so that a repeat is recognised by its `Message-ID`.
struct MailComposer: Sendable {
    let sender: MailAddress

    /// The mail of a row; nil when it cannot be written: its address or its values are no such.
    func message(_ mail: DueMail) throws -> MailMessage? {
        guard let address = MailAddress(mail.address),
            let content = MailContent(mail.kind, try MailValues(serialized: mail.content))
        else { return nil }
        let text = MailText(content, MailLanguage(locale: mail.locale))
        // None of these is subscribed to: they say what happened to an account or a purchase, so there is no List-Unsubscribe.
        return MailMessage(
            id: mail.id.description,
            from: sender,
            to: address,
            subject: text.subject,
            date: mail.createdAt,
            text: text.plain,
            html: text.html,
            language: text.language.rawValue
        )
    }
}
