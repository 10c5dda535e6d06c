private import Kernel

/// Whose turn it is among those who wait for a hash: four sign-ins to one new password, and inside each purpose one address after the other.
/// So a client that sends many requests waits behind those that send few. No clock and no locks.
struct FairQueue<Ticket: Hashable & Sendable>: Sendable {
    /// What becomes of a new request.
    enum Admission: Hashable, Sendable {
        case waits
        /// This address has as many waiting as one may have.
        case addressFull
        /// As many wait as may in all.
        case full
    }

    /// Those of one purpose.
    private struct Line {
        /// Addresses in the order of their turns; each has requests that wait.
        var order: [IPAddress?] = []
        var tickets: [IPAddress?: [Ticket]] = [:]
        /// Turns left in this round.
        var turns = 0
    }

    private let limit: Int
    private let limitOfAddress: Int
    private var lines: [HashRequester.Purpose: Line] = [:]
    private var waiting: [Ticket: HashRequester] = [:]

    /// An empty queue.
    ///
    /// - Parameters:
    ///   - limit: how many may wait in all.
    ///   - limitOfAddress: how many of them from one address, whatever for.
    init(limit: Int, limitOfAddress: Int) {
        self.limit = limit
        self.limitOfAddress = limitOfAddress
    }

    /// How many wait.
    var count: Int { waiting.count }

    /// Puts a request behind the others of the same address.
    mutating func add(_ ticket: Ticket, of requester: HashRequester) -> Admission {
        if let network = requester.network {
            let ofAddress = waiting.values.count { $0.network == network }
            guard ofAddress < limitOfAddress else { return .addressFull }
        }
        guard waiting.count < limit else { return .full }
        waiting[ticket] = requester
        var line = lines[requester.purpose] ?? Line()
        if line.tickets[requester.network] == nil { line.order.append(requester.network) }
        line.tickets[requester.network, default: []].append(ticket)
        lines[requester.purpose] = line
        return .waits
    }

    /// Removes a request that waits no longer. - Returns: whether it waited.
    mutating func remove(_ ticket: Ticket) -> Bool {
        guard let requester = waiting.removeValue(forKey: ticket), var line = lines[requester.purpose] else { return false }
        line.tickets[requester.network]?.removeAll { $0 == ticket }
        if line.tickets[requester.network]?.isEmpty == true {
            line.tickets[requester.network] = nil
            line.order.removeAll { $0 == requester.network }
        }
        lines[requester.purpose] = line
        return true
    }

    /// Whose turn it is; they wait no longer.
    mutating func next() -> Ticket? {
        let purposes = HashRequester.Purpose.allCases.filter { lines[$0]?.order.isEmpty == false }
        guard !purposes.isEmpty else { return nil }
        // A round is over when no purpose with waiting requests has turns left in it.
        if purposes.allSatisfy({ lines[$0]?.turns == 0 }) {
            for purpose in HashRequester.Purpose.allCases { lines[purpose, default: Line()].turns = purpose.share }
        }
        guard let purpose = purposes.first(where: { (lines[$0]?.turns ?? 0) > 0 }), var line = lines[purpose] else { return nil }
        let network = line.order.removeFirst()
        var tickets = line.tickets[network] ?? []
        let ticket = tickets.removeFirst()
        line.tickets[network] = tickets.isEmpty ? nil : tickets
        if !tickets.isEmpty { line.order.append(network) }
        line.turns -= 1
        lines[purpose] = line
        waiting[ticket] = nil
        return ticket
    }
}
