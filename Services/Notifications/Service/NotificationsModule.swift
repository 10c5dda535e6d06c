internal import NotificationsAPI
internal import NotificationsCore
internal import NotificationsLive
internal import NotificationsLog
internal import NotificationsMail
internal import NotificationsPush
public import ServiceRuntime

/// What `notifications` consists of.
public enum NotificationsModule: ServiceModule {
    public static let name = "notifications"
    public static let about = "the in-app notification log and pushes, fed by the events of the other services"
    public static var descriptor: (bytes: [UInt8], hash: String) {
        (NotificationsDescriptor.bytes, NotificationsDescriptor.hash)
    }
    public static let features = [
        CoreFeature.feature,
        LogFeature.feature,
        PushFeature.feature,
        MailFeature.feature,
        LiveFeature.feature,
    ]
}
