/// Holds an optional message outside the message that contains it: needed by messages that contain themselves.
@propertyWrapper
public struct Boxed<Value: Sendable & Equatable>: Sendable, Equatable {
    private final class Storage: Sendable {
        let value: Value
        init(_ value: Value) { self.value = value }
    }

    private var storage: Storage?

    /// The message, or nil when the field is unset.
    public var wrappedValue: Value? {
        get { storage?.value }
        set { storage = newValue.map(Storage.init) }
    }

    /// Boxes `wrappedValue`.
    public init(wrappedValue: Value?) { storage = wrappedValue.map(Storage.init) }

    public static func == (left: Self, right: Self) -> Bool {
        left.storage === right.storage || left.storage?.value == right.storage?.value
    }
}
