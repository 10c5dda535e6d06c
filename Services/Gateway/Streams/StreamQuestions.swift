internal import Kernel

/// For which streams their service is to be asked next: those that have waited longest first, so that none waits for as long as others come.
struct StreamQuestions {
    /// At once, besides those of streams that open.
    static let most = 32

    /// The next one is the last.
    private var front: [LeaseID] = []
    private var back: [LeaseID] = []
    private var failed: [LeaseID] = []
    private var asking = 0

    /// Something is missing.
    mutating func append(_ lease: LeaseID) { back.append(lease) }

    /// The next stream to ask for; nil when there is none, or as many are being asked for as may be.
    ///
    /// - Parameter isOpen: whether a stream has not ended meanwhile.
    mutating func next(isOpen: (LeaseID) -> Bool) -> LeaseID? {
        while asking < Self.most {
            if front.isEmpty { (front, back) = (back.reversed(), []) }
            guard let lease = front.popLast() else { return nil }
            guard isOpen(lease) else { continue }
            asking += 1
            return lease
        }
        return nil
    }

    /// A question has been answered, or has failed.
    ///
    /// - Parameter again: what is to be asked for once more.
    mutating func ended(again: LeaseID?) {
        asking -= 1
        if let again { failed.append(again) }
    }

    /// Asks again for what has failed, behind all others.
    mutating func repeatFailed() {
        back += failed
        failed = []
    }
}
