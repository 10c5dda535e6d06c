internal import SampleNameAPI
public import ServiceKit

/// What the service consists of.
public enum SampleNameModule: ServiceModule {
    /// Its name on the bus, of its user there, and of its schema and role in the database: that in the package of its protos.
    public static let name = "sample_name"
    public static let about = "greets users"
    /// Raised with every release: of two versions that run beside each other, gateways serve the routes of the higher one.
    public static let version = "0.1.0"
    public static var descriptor: (bytes: [UInt8], hash: String) { (SampleNameDescriptor.bytes, SampleNameDescriptor.hash) }
    public static let features = [GreetingsFeature.feature]
}
