import Runtime
import ServiceRuntime
import TestingAPI

/// What the guestbook consists of.
enum GuestbookModule: ServiceModule {
    static let name = "guestbook"
    static let about = "names of guests, for tests"
    static var descriptor: (bytes: [UInt8], hash: String) { (TestingDescriptor.bytes, TestingDescriptor.hash) }
    static let features = [EntriesFeature.feature, VisitsFeature.feature, ThanksFeature.feature]
}
