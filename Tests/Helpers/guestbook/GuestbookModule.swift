import Runtime
import ServiceRuntime
import TestingAPI

/// What the guestbook consists of.
enum GuestbookModule: ServiceModule {
    /// Its events are those of the package testing, and a service emits events of its own name only.
    static let name = "testing"
    static let about = "names of guests, for tests"
    static var descriptor: (bytes: [UInt8], hash: String) { (TestingDescriptor.bytes, TestingDescriptor.hash) }
    static let features = [EntriesFeature.feature, VisitsFeature.feature, ThanksFeature.feature]
}
