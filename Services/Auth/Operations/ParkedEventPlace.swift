internal import Kernel
internal import ServiceRuntime

/// A place in the list of parked events of all services: that of the last one that was sent.
struct ParkedEventPlace: CursorPosition {
    let service: String
    /// Among those of the service.
    let position: Int64

    init(service: String, position: Int64) { (self.service, self.position) = (service, position) }

    /// nil for what is no service's name and no place.
    init?(bytes: ArraySlice<UInt8>) {
        guard bytes.count > 8 else { return nil }
        service = String(decoding: bytes.dropFirst(8), as: UTF8.self)
        position = bytes.prefix(8).reduce(0) { $0 << 8 | Int64($1) }
        guard position >= 0, ServiceName.isValid(service) else { return nil }
    }

    var bytes: [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: position >> (56 - 8 * $0)) } + service.utf8 }
}
