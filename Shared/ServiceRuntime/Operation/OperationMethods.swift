public import Bus
public import CommonAPI

/// What the runtime of every service answers to administrators, whom `auth` asks for (`Services/Auth/Operations`). Only its user on the bus
/// may call them (`BusPermissions.operating`).
public enum OperationMethods {
    /// What waits, as one replica sees it.
    public static func backlog(of service: String) -> Method<Empty, BacklogReply> {
        Method(service: service, version: "v1", name: "Backlog", isIdempotent: true)
    }

    /// Events whose handler failed too often.
    public static func parkedEvents(of service: String) -> Method<ParkedEventsRequest, ParkedEventsReply> {
        Method(service: service, version: "v1", name: "ParkedEvents", isIdempotent: true)
    }

    /// Has such events tried again. A repeat counts none, so no caller repeats it by itself.
    public static func redriveParkedEvents(of service: String) -> Method<
        RedriveParkedEventsRequest, RedriveParkedEventsReply
    > {
        Method(service: service, version: "v1", name: "RedriveParkedEvents", isIdempotent: false)
    }
}
