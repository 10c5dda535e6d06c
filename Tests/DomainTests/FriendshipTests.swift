import Kernel
import SocialDomain
import Testing

/// The same sequence of numbers for the same seed.
struct Dice {
    private var state: UInt64
    init(_ seed: Int) { state = UInt64(seed &+ 1) &* 0x9E37_79B9_7F4A_7C15 | 1 }
    mutating func roll(_ bound: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state % UInt64(bound))
    }
}

@Suite("Friendship")
struct FriendshipTests {
    private static let ann = UserID(high: 0, low: 1)
    private static let ben = UserID(high: 0, low: 2)
    private static let start = Instant(seconds: 1_700_000_000)

    private enum Outcome: Equatable {
        case change(Friendship.Change)
        case refused(String)
    }

    private static func attempt(_ body: () throws(ServiceError) -> Friendship.Change) -> Outcome {
        do { return .change(try body()) } catch { return .refused(error.reason) }
    }

    /// 0 request, 1 accept, 2 decline, 3 remove, 4 block.
    private static func act(_ action: Int, on friendship: inout Friendship, by user: UserID, now: Instant) -> Outcome {
        var changed = friendship
        let outcome = attempt { () throws(ServiceError) in
            switch action {
            case 0: try changed.request(by: user, now: now)
            case 1: try changed.accept(by: user, now: now)
            case 2: try changed.decline(by: user, now: now)
            case 3: try changed.remove(by: user, now: now)
            default: changed.sever(now: now)
            }
        }
        friendship = changed
        return outcome
    }

    /// The table of the state machine, written once more: rows by state and actor.
    private static func expected(
        _ state: Friendship.State,
        _ action: Int,
        isRequester: Bool,
        waited: Bool
    ) -> (Outcome, Friendship.State) {
        switch (state, action) {
        case (.strangers, 0), (.withdrawn, 0), (.ended, 0): return (.change(.requested), .pending)
        case (.pending, 0): return isRequester ? (.refused("FRIEND_REQUEST_EXISTS"), state) : (.change(.accepted), .accepted)
        case (.accepted, 0): return (.refused("ALREADY_FRIENDS"), state)
        case (.declined, 0):
            return isRequester && !waited ? (.refused("FRIEND_REQUEST_DECLINED"), state) : (.change(.requested), .pending)
        case (.pending, 1): return isRequester ? (.refused("NOT_FOUND"), state) : (.change(.accepted), .accepted)
        case (.accepted, 1): return isRequester ? (.refused("NOT_FOUND"), state) : (.change(.none), state)
        case (.pending, 2): return isRequester ? (.change(.withdrawn), .withdrawn) : (.change(.declined), .declined)
        case (.declined, 2): return isRequester ? (.refused("NOT_FOUND"), state) : (.change(.none), state)
        case (.withdrawn, 2): return isRequester ? (.change(.none), state) : (.refused("NOT_FOUND"), state)
        case (.accepted, 3): return (.change(.ended), .ended)
        case (.ended, 3): return (.change(.none), state)
        case (.pending, 3): return isRequester ? (.change(.withdrawn), .withdrawn) : (.refused("NOT_FOUND"), state)
        case (.withdrawn, 3): return isRequester ? (.change(.none), state) : (.refused("NOT_FOUND"), state)
        case (.accepted, 4): return (.change(.ended), .ended)
        case (.pending, 4): return (.change(.withdrawn), .ended)
        case (_, 4): return (.change(.none), state)
        default: return (.refused("NOT_FOUND"), state)
        }
    }

    @Test(arguments: Friendship.State.allCases, 0..<5) func `does what its table says from every state, for either person`(
        state: Friendship.State,
        action: Int
    ) {
        for isRequester in [true, false] {
            for waited in [true, false] {
                var friendship = Friendship(state: state, requester: Self.ann, since: Self.start)
                let now = Self.start + (waited ? .days(7) : .seconds(7 * 86_400 - 1))
                let user = isRequester ? Self.ann : Self.ben
                let outcome = Self.act(action, on: &friendship, by: user, now: now)
                let (wanted, next) = Self.expected(state, action, isRequester: isRequester, waited: waited)
                #expect(outcome == wanted, "\(state) action \(action) requester \(isRequester) waited \(waited)")
                #expect(friendship.state == next)
            }
        }
    }

    @Test(arguments: 0..<100) func `takes no step that its table does not have, in whatever order several people act`(seed: Int) {
        var dice = Dice(seed)
        var now = Self.start
        let people = (0..<4).map { UserID(high: 0, low: UInt64($0)) }
        var pairs: [[UserID]: Friendship] = [:]
        for _ in 0..<400 {
            now = now + .hours(Int64(dice.roll(100)))
            let user = people[dice.roll(people.count)]
            let other = people[dice.roll(people.count)]
            guard user != other else { continue }
            let pair = [min(user, other), max(user, other)]
            let before = pairs[pair] ?? Friendship(state: .strangers, requester: user, since: now)
            var friendship = before
            let action = dice.roll(5)
            let outcome = Self.act(action, on: &friendship, by: user, now: now)
            let waited = now >= before.since + Friendship.declinedWait
            let (wanted, next) = Self.expected(before.state, action, isRequester: before.requester == user, waited: waited)
            #expect(outcome == wanted && friendship.state == next, "\(before.state) action \(action)")
            switch outcome {
            case .refused, .change(.none): #expect(friendship == before)
            case .change(.requested): #expect(friendship.requester == user && friendship.since == now)
            // No friendship begins by the requester alone.
            case .change(.accepted): #expect(before.state == .pending && before.requester != user)
            case .change: #expect(friendship.since == now && friendship.requester == before.requester)
            }
            pairs[pair] = friendship
        }
        #expect(pairs.count == 6)
    }

    @Test func `A declined sender learns in how many seconds to ask again`() {
        var friendship = Friendship(state: .declined, requester: Self.ann, since: Self.start)
        let error = #expect(throws: ServiceError.self) { try friendship.request(by: Self.ann, now: Self.start + .days(6)) }
        #expect(error?.retryAfter == 86_401)
    }
}
