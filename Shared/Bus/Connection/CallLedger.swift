internal import Kernel
internal import Synchronization

/// What a connection knows of the services and methods it calls.
final class CallLedger: Sendable {
    private struct State {
        var methods: [String: CalledMethod] = [:]
        var services: [String: CalledService] = [:]
    }

    private let state = Mutex(State())

    /// The method with this subject, `rpc.auth.v1.Register`.
    func method(_ subject: String) -> CalledMethod {
        state.withLock { state in
            if let known = state.methods[subject] { return known }
            let tokens = subject.split(separator: ".", maxSplits: 2)
            let name = tokens.count > 1 ? String(tokens[1]) : subject
            let service = state.services[name] ?? CalledService(name)
            state.services[name] = service
            let method = CalledMethod(subject, service)
            state.methods[subject] = method
            return method
        }
    }
}

/// A method that is called.
final class CalledMethod: Sendable {
    let subject: String
    let service: CalledService
    private let latency = Mutex(LatencyHistogram())

    init(_ subject: String, _ service: CalledService) {
        self.subject = subject
        self.service = service
    }

    /// The time in which nearly all calls are answered: 95 of 100, but at least 20 ms; half a second while little is known.
    var usualTime: Interval { max(.milliseconds(20), latency.withLock { $0.percentile95 } ?? .milliseconds(500)) }

    /// A call was answered after so long.
    func answered(after duration: Duration) { latency.withLock { $0.record(duration) } }
}

/// A service that is called, with its instances.
final class CalledService: Sendable {
    let name: String

    private struct State: TimedValue {
        var instances = InstanceTable()
        var budget = RepeatBudget()
        var round: Round?
        /// When it ends.
        var wakeAt: Tick?
    }

    /// Pings whose answers are awaited.
    private struct Round: Sendable {
        let token: UInt64
        weak var connection: BusConnection?
    }

    private let roundLength: Interval
    private let state = TimedMutex(State(), label: "bus.round")

    init(_ name: String, roundLength: Interval = InstanceTable.roundLength) {
        (self.name, self.roundLength) = (name, roundLength)
        state.onWake { [weak self] in self?.endRound() }
    }

    /// Where a call is sent.
    struct Destination {
        /// nil for the queue group.
        let instance: InstanceID?
        /// How many instances were found silent or ended so far.
        let losses: Int
    }

    /// A call begins.
    func begin(now: Tick) -> Destination {
        state.withLock { state in
            state.budget.called(now: now)
            return Destination(instance: state.instances.destination(), losses: state.instances.losses)
        }
    }

    /// Where the next sending of a call goes.
    func destination() -> Destination {
        state.withLock { Destination(instance: $0.instances.destination(), losses: $0.instances.losses) }
    }

    /// Whether a slow call may be sent again; counts it.
    func takeRepeat(now: Tick) -> Bool { state.withLock { $0.budget.take(now: now) } }

    /// How many instances were found silent or ended so far.
    var losses: Int { state.withLock { $0.instances.losses } }

    /// Whether an instance is known that may still be running.
    var knowsInstances: Bool { state.withLock { $0.instances.knowsAny } }

    /// Where a call goes that was not answered in time.
    func another(than last: InstanceID?) -> Destination {
        state.withLock { Destination(instance: $0.instances.mostRecent(except: last), losses: $0.instances.losses) }
    }

    func answered(_ id: InstanceID) { state.withLock { $0.instances.answered(id, now: .now()) } }

    func gone(_ id: InstanceID) { state.withLock { $0.instances.gone(id) } }

    /// Pings all instances, unless that is under way; again as long as one is silent.
    func beginRound(over connection: BusConnection) {
        guard let known = state.withLock({ $0.instances.beginRound(now: .now()) }) else { return }
        let token = connection.requests.beginRound(of: self)
        // Lost pings are lost answers: the next round asks again.
        try? connection.publish(InstanceSubject.pingAll(name), body: [], reply: connection.requests.replySubject(token))
        for id in known {
            let reply = connection.requests.replySubject(token, instance: id)
            try? connection.publish(InstanceSubject.ping(name, id), body: [], reply: reply)
        }
        let round = Round(token: token, connection: connection)
        state.withLock { ($0.round, $0.wakeAt) = (round, .now() + roundLength) }
    }

    /// Whether a round is under way.
    var isInRound: Bool { state.withLock { $0.instances.isInRound } }

    /// The timer may ring early (`TimedMutex`).
    private func endRound() {
        let (ended, isAnyoneSilent) = state.withLock { state -> (Round?, Bool) in
            guard let round = state.round, let due = state.wakeAt, due <= .now() else { return (nil, false) }
            (state.round, state.wakeAt) = (nil, nil)
            return (round, state.instances.endRound())
        }
        guard let ended, let connection = ended.connection else { return }
        connection.requests.endRound(ended.token)
        if isAnyoneSilent { beginRound(over: connection) }
    }
}

/// The subjects of single instances of a service. Each instance takes requests at the subject of an endpoint behind its own prefix.
enum InstanceSubject {
    /// What an instance subscribes to: `inst.auth.<id>.>`.
    static func all(_ service: String, _ id: InstanceID) -> String { "inst.\(service).\(id.text).>" }

    /// The subject of an endpoint at one instance: `inst.auth.<id>.rpc.auth.v1.Register`.
    static func endpoint(_ subject: String, _ service: String, _ id: InstanceID) -> String {
        "inst.\(service).\(id.text).\(subject)"
    }

    /// Every instance answers here: `inst.auth.ping`.
    static func pingAll(_ service: String) -> String { "inst.\(service).ping" }

    /// One instance answers here: `inst.auth.<id>.ping`.
    static func ping(_ service: String, _ id: InstanceID) -> String { "inst.\(service).\(id.text).ping" }

    /// How many bytes come before the endpoint's subject.
    static func prefixLength(_ service: String) -> Int { "inst..".utf8.count + service.utf8.count + 16 + 1 }
}
