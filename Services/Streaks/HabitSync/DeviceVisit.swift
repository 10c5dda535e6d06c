internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// One call of a device, inside its transaction.
struct DeviceVisit {
    let habits: HabitStore
    let user: UserID
    let device: DeviceID
    let request: SyncRequest
    let page: Page<SyncPosition>
    let work: UnitOfWork

    /// - Parameter date: that the user's clock shows.
    func reply(_ date: HabitDate) async throws -> SyncReply {
        var account = try await HabitAccountRepository.find(user, at: work.now, work.sql)
        var date = date
        let lastSync = try await SyncRepository.lastSync(of: device, user, work.sql)
        var results: [SyncResult] = []
        // A user who has changed nothing yet gets the categories of the start now.
        if !request.changes.isEmpty || account.sequence == 0 {
            let book = try await habits.open(user, work)
            (account, date) = (book.account, book.date)
            if !request.changes.isEmpty {
                guard request.epoch == 0 || Int(request.epoch) == account.epoch else {
                    throw ServiceError.resyncRequired(request.epoch, now: account.epoch)
                }
                var push = DevicePush(request.changes, book, earliest: earliest(lastSync, date))
                results = try await push.run()
                try await book.refresh()
                account = try await HabitAccountRepository.find(user, at: work.now, work.sql)
            }
        }
        // The queue goes on: the rest of it reaches as far back as its beginning.
        let synced = request.hasMoreChanges ? lastSync ?? date.today : date.today
        try SyncRepository.store(device, of: user, lastSync: synced, at: work.now, work.sql)
        var reply = SyncReply(today: date.today, earliestDate: earliest(synced, date))
        reply.results = results
        try await pull(account, into: &reply)
        return reply
    }

    private func earliest(_ lastSync: CalendarDate?, _ date: HabitDate) -> CalendarDate {
        habits.writer.policy(for: .habit).habits?.earliestDate(lastSync: lastSync, today: date.today) ?? date.today
    }

    private func pull(_ account: HabitAccount, into reply: inout SyncReply) async throws {
        let (after, isReset) = start(account)
        let repository = PullRepository(user: user, after: after, newest: account.sequence, limit: page.limit + 1)
        let entries = try await repository.entries(account, work.sql)
        (reply.schemaVersion, reply.epoch, reply.serverTime) = (SyncProtocol.version, after.epoch, work.now)
        reply.reset = isReset
        var (sent, bytes) = (0, 0)
        while sent < min(page.limit, entries.count), sent == 0 || bytes + entries[sent].size <= SyncProtocol.mostPageBytes {
            bytes += entries[sent].size
            reply.add(entries[sent])
            sent += 1
        }
        var position = after
        if sent < entries.count, let last = entries[..<sent].last {
            (position.sequence, position.table, position.key) = (last.place.sequence, last.place.table, last.key)
            reply.hasMore = true
        } else {
            position = SyncPosition(
                epoch: after.epoch,
                sequence: account.sequence,
                table: .end,
                since: work.now,
                floor: account.sequence
            )
            reply.streaks = try await PullRepository.standings(of: user, work.sql).map { SyncStreak($0) }
        }
        reply.nextCursor = page.cursor(after: position)
    }

    /// Where the pull begins, and whether the device's copy is to be deleted.
    private func start(_ account: HabitAccount) -> (position: SyncPosition, isReset: Bool) {
        let epoch = Int32(clamping: account.epoch)
        let everything = SyncPosition(epoch: epoch, sequence: 0, table: .end, since: work.now, floor: account.sequence)
        guard let position = page.position else { return (everything, false) }
        // A later number than the account's: the database is an older one than the device has seen.
        guard position.epoch == epoch, position.sequence <= account.sequence,
            work.now - position.since < SyncProtocol.remembered
        else { return (everything, true) }
        return (position, false)
    }
}
