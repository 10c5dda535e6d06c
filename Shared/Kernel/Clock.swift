private import Synchronization

/// The source of the current instant for services. The development clock (PF-7) is one. Domain code never uses it.
public protocol Clock: Sendable {
    /// The current instant.
    func now() -> Instant
}

/// The source of new ids for services.
public protocol IDSource: Sendable {
    /// A new, unique UUIDv7.
    func make<Entity>(_: Entity.Type) -> ID<Entity>
}

extension IDSource {
    /// A new id of the kind the context asks for.
    public func make<Entity>() -> ID<Entity> { make(Entity.self) }
}

/// UUIDv7 (RFC 9562 §5.7) from a clock and the system's random generator; ids of one source never go backwards.
public final class UUIDv7Source: IDSource {
    private let clock: any Clock
    private let last: Mutex<UInt64>

    /// A source that stamps ids with `clock`'s time.
    public init(clock: any Clock) {
        self.clock = clock
        self.last = Mutex(0)
    }

    public func make<Entity>(_: Entity.Type) -> ID<Entity> {
        var generator = SystemRandomNumberGenerator()
        let milliseconds = UInt64(clamping: clock.now().milliseconds)
        // 48 bits of time and 12 of counter. The counter begins at a random number below 1024, grows within a millisecond, and may
        // overflow into the next.
        let stamp = last.withLock { last in
            let isFresh = milliseconds << 12 > last
            last = isFresh ? milliseconds << 12 | generator.next() & 1023 : last &+ 1
            return last
        }
        let high = (stamp >> 12) << 16 | 0x7000 | (stamp & 0xFFF)
        let low = (generator.next() & 0x3FFF_FFFF_FFFF_FFFF) | 0x8000_0000_0000_0000
        return ID(high: high, low: low)
    }
}
