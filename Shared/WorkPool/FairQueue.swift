/// What is waited for: where several purposes wait, each gets its share of the turns.
public protocol TurnPurpose: CaseIterable, Hashable, Sendable {
    /// Turns this gets in a round, at least 1.
    var share: Int { get }
}

/// Whose turn it is among those who wait: each purpose gets its share of the turns, and inside each purpose one owner comes after the other. So
/// who asks for much waits behind those who ask for little. No clock and no locks.
public struct FairQueue<Ticket: Hashable & Sendable, Owner: Hashable & Sendable, Purpose: TurnPurpose>: Sendable {
    /// What becomes of a new request.
    public enum Admission: Hashable, Sendable {
        case waits
        /// This owner has as many waiting as one may have.
        case ownerFull
        /// As many wait as may in all.
        case full
    }

    private struct Waiting {
        let owner: Owner?
        let purpose: Purpose
    }

    /// Those of one purpose.
    private struct Line {
        /// Owners in the order of their turns; each has requests that wait.
        var order: [Owner?] = []
        var tickets: [Owner?: [Ticket]] = [:]
        /// Turns left in this round.
        var turns = 0
    }

    private let limit: Int
    private let limitOfOwner: Int
    private var lines: [Purpose: Line] = [:]
    private var waiting: [Ticket: Waiting] = [:]

    /// An empty queue.
    ///
    /// - Parameters:
    ///   - limit: how many may wait in all.
    ///   - limitOfOwner: how many of them of one owner, whatever for.
    public init(limit: Int, limitOfOwner: Int) {
        self.limit = limit
        self.limitOfOwner = limitOfOwner
    }

    /// How many wait.
    public var count: Int { waiting.count }

    /// Puts a request behind the others of the same owner.
    ///
    /// - Parameter owner: nil: of none; all of these wait as one owner without a limit of its own.
    public mutating func add(_ ticket: Ticket, of owner: Owner?, for purpose: Purpose) -> Admission {
        if let owner {
            guard waiting.values.count(where: { $0.owner == owner }) < limitOfOwner else { return .ownerFull }
        }
        guard waiting.count < limit else { return .full }
        waiting[ticket] = Waiting(owner: owner, purpose: purpose)
        var line = lines[purpose] ?? Line()
        if line.tickets[owner] == nil { line.order.append(owner) }
        line.tickets[owner, default: []].append(ticket)
        lines[purpose] = line
        return .waits
    }

    /// Removes a request that waits no longer. - Returns: whether it waited.
    public mutating func remove(_ ticket: Ticket) -> Bool {
        guard let request = waiting.removeValue(forKey: ticket), var line = lines[request.purpose] else { return false }
        line.tickets[request.owner]?.removeAll { $0 == ticket }
        if line.tickets[request.owner]?.isEmpty == true {
            line.tickets[request.owner] = nil
            line.order.removeAll { $0 == request.owner }
        }
        lines[request.purpose] = line
        return true
    }

    /// Whose turn it is; they wait no longer.
    ///
    /// - Parameter mayRun: those who may not yet are passed over, and keep their place.
    public mutating func next(where mayRun: (Owner?, Purpose) -> Bool = { _, _ in true }) -> Ticket? {
        let ready = Purpose.allCases.filter { purpose in lines[purpose]?.order.contains { mayRun($0, purpose) } ?? false }
        guard !ready.isEmpty else { return nil }
        // A round is over when no purpose whose turn it could be has turns left in it.
        if ready.allSatisfy({ lines[$0]?.turns == 0 }) {
            for purpose in Purpose.allCases { lines[purpose, default: Line()].turns = purpose.share }
        }
        guard let purpose = ready.first(where: { (lines[$0]?.turns ?? 0) > 0 }), var line = lines[purpose],
            let place = line.order.firstIndex(where: { mayRun($0, purpose) })
        else { return nil }
        let owner = line.order.remove(at: place)
        var tickets = line.tickets[owner] ?? []
        let ticket = tickets.removeFirst()
        line.tickets[owner] = tickets.isEmpty ? nil : tickets
        if !tickets.isEmpty { line.order.append(owner) }
        line.turns -= 1
        lines[purpose] = line
        waiting[ticket] = nil
        return ticket
    }
}
