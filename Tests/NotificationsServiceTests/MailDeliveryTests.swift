import AuthAPI
import BillingAPI
import Bus
import Foundation
import Kernel
import NotificationsAPI
import NotificationsDomain
import TestSupport
import Testing

@testable import NotificationsMail
@testable import OutgoingMail
@testable import Runtime
@testable import ServiceRuntime

/// What becomes of mails: against a real mail server that takes, refuses, postpones, says nothing and goes away.
@Suite(.timeLimit(.minutes(5))) struct MailDeliveryTests {
    @Test func `a mail is sent once however often it is asked for, and nothing personal stays`() async throws {
        let server = try await MailServer.start()
        try await withMailWorld { world in
            let id: OperationID = world.ids.make()
            let request = MailWorld.request(to: "ada", locale: "de-AT", id: id)
            for _ in 0..<3 { try await world.ask(request) }
            let jobs = try world.jobs(try MailWorld.transport(server))
            for _ in 0..<2 { try await world.work(jobs) }
            try await world.ask(request)
            try await world.work(jobs)
            let sent = try server.messages
            #expect(sent.map(\.to) == [["ada@example.com"]] && sent.map(\.from) == ["no-reply@mail.example.com"])
            let text = String(decoding: try #require(sent.first).content, as: UTF8.self)
            #expect(
                text.contains("\r\nMessage-ID: <\(id)@mail.example.com>\r\n") && text.contains("\r\nContent-Language: de\r\n")
            )
            #expect(text.hasPrefix("Date: Fri, 15 Jan 2027 08:00:00 +0000\r\n"), "by the product clock")
            #expect(try await world.row(id) == MailWorld.Row(state: 1, tries: 1, isReadable: false))
        }
    }

    @Test func `a mail of a kind that only newer replicas know waits for one of them`() async throws {
        let server = try await MailServer.start()
        try await withMailWorld { world in
            let id = try await world.ask(to: "ada")
            let jobs = try world.jobs(try MailWorld.transport(server))
            let kind = MailKind.verification.rawValue
            _ = try await world.database.execute("UPDATE mail SET kind = 1000")
            for _ in 0..<3 {
                try await world.work(jobs)
                world.clock.advance(by: .hours(1))
            }
            #expect(try server.messages.isEmpty)
            #expect(try await world.row(id).state == 0)
            _ = try await world.database.execute("UPDATE mail SET kind = \(kind)")
            try await world.work(jobs)
            #expect(try server.messages.map(\.to) == [["ada@example.com"]])
        }
    }

    @Test func `the receipt of a purchase goes to the address that auth has when it is handed over`() async throws {
        let server = try await MailServer.start()
        try await withMailWorld { world in
            let purchase: PurchaseID = world.ids.make()
            let event = PurchaseCompleted(
                userID: MailWorld.user,
                purchaseID: purchase,
                item: "token_pack_3",
                title: "3 recovery tokens",
                quantity: 1,
                priceMilli: 990,
                currency: "EUR",
                purchasedAt: world.clock.now()
            )
            let id = purchase.cast(to: Tag.Operation.self)
            for _ in 0..<2 { try await world.consume(event) }
            let transport = try MailWorld.transport(server)
            try await world.work(try world.jobs(transport))
            #expect(try await world.row(id).state == 0, "auth is away")
            world.clock.advance(by: .hours(2))
            let recipient = MailRecipient(address: "ada@example.com", locale: "de", isVerified: true)
            try await world.work(try world.jobs(transport, auth: MailWorld.AddressBook(recipient: .success(recipient))))
            let sent = try server.messages
            #expect(sent.map(\.to) == [["ada@example.com"]])
            let text = String(decoding: try #require(sent.first).content, as: UTF8.self)
            #expect(
                text.contains("Content-Language: de") && text.contains("0.99 EUR") && text.contains("3 Rettungs-Token"),
                "\(text)"
            )
            #expect(try await world.row(id) == MailWorld.Row(state: 1, tries: 2, isReadable: false))
        }
    }

    @Test func `there is no receipt for what coins bought, and none for a user without an address`() async throws {
        let server = try await MailServer.start()
        try await withMailWorld { world in
            var event = PurchaseCompleted(
                userID: MailWorld.user,
                purchaseID: world.ids.make(),
                item: "freeze",
                title: "1 freeze",
                coins: 100
            )
            try await world.consume(event)
            (event.purchaseID, event.coins) = (world.ids.make(), 0)
            try await world.consume(event)
            for recipient in [Result.success(MailRecipient()), .failure(ServiceError.notFound("account"))] {
                try await world.work(
                    try world.jobs(try MailWorld.transport(server), auth: MailWorld.AddressBook(recipient: recipient))
                )
            }
            #expect(try server.messages.isEmpty)
            let row = try await world.row(event.purchaseID.cast(to: Tag.Operation.self))
            #expect(row == MailWorld.Row(state: 2, tries: 1, problem: "the user has no address", isReadable: false))
            #expect(try await world.database.query("SELECT 1 FROM mail").count == 1)
        }
    }

    @Test func `another mail with the same operation is refused, and one without what it must say`() async throws {
        try await withMailWorld { world in
            let id: OperationID = world.ids.make()
            try await world.ask(MailWorld.request(to: "ada", id: id))
            let other = await #expect(throws: ServiceError.self) { try await world.ask(MailWorld.request(to: "eve", id: id)) }
            #expect(other?.reason == "OPERATION_CONFLICT")
            var empty = MailWorld.request(to: "ada", id: world.ids.make())
            empty.values = MailValues()
            let missing = await #expect(throws: ServiceError.self) { try await world.ask(empty) }
            #expect(missing?.reason == "VALIDATION_ERROR")
        }
    }

    @Test func `a refusal for good ends a mail, any other is tried again later and later until it is of no use`() async throws {
        let server = try await MailServer.start()
        try await withMailWorld { world in
            let unknown = try await world.ask(to: "unknown")
            let spam = try await world.ask(to: "spam")
            let limit = world.clock.now() + .hours(1)
            let waiting = try await world.ask(to: "greylisted", uselessAfter: limit)
            let jobs = try world.jobs(try MailWorld.transport(server))
            try await world.work(jobs)
            #expect(try await world.row(unknown) == MailWorld.Row(state: 2, tries: 1, problem: "550 5.1.1", isReadable: false))
            #expect(try await world.row(spam) == MailWorld.Row(state: 2, tries: 1, problem: "554 5.7.1", isReadable: false))
            #expect(try await world.row(waiting) == MailWorld.Row(state: 0, tries: 1, problem: "450 4.2.0", isReadable: true))
            try await world.work(jobs)
            #expect(try await world.row(waiting).tries == 1, "not before its time")
            for _ in 0..<6 {
                world.clock.advance(by: .minutes(5))
                try await world.work(jobs)
            }
            let tries = try await world.row(waiting).tries
            #expect((3...7).contains(tries), "\(tries) tries in half an hour")
            world.clock.set(limit)
            try await world.work(jobs)
            let row = try await world.row(waiting)
            #expect(row.state == 3 && !row.isReadable && row.tries == tries, "\(row)")
        }
    }

    @Test(arguments: ["silent", "cut"])
    func `a server that does not answer gets a mail twice at most, as the same mail`(name: String) async throws {
        let server = try await MailServer.start()
        try await withMailWorld { world in
            let id = try await world.ask(to: name)
            let jobs = try world.jobs(try MailWorld.transport(server, timeout: .seconds(2)))
            for _ in 0..<6 {
                try await world.work(jobs)
                world.clock.advance(by: .hours(2))
            }
            let row = try await world.row(id)
            #expect(row.state == 2 && row.tries == 2 && !row.isReadable, "\(row)")
            let sent = try server.messages
            #expect(sent.count == 2 && Set(sent.map(\.content)).count == 1, "the same bytes with the same Message-ID")
        }
    }

    @Test func `a replica that dies in the middle leaves the mail to another, and no third one sends it`() async throws {
        let server = try await MailServer.start()
        try await withMailWorld { world in
            let once = try await world.ask(to: "ada")
            let jobs = try world.jobs(try MailWorld.transport(server))
            #expect(try await world.mails.lease(world.ids.make(), now: world.clock.now())?.id == once)
            try await world.work(jobs)
            #expect(try server.messages.isEmpty, "it is leased")
            try await world.endLeases()
            try await world.work(jobs)
            #expect(try server.messages.count == 1)
            #expect(try await world.row(once).state == 1)

            let twice = try await world.ask(to: "ben")
            for _ in 0..<2 {
                #expect(try await world.mails.lease(world.ids.make(), now: world.clock.now())?.id == twice)
                try await world.endLeases()
            }
            try await world.work(jobs)
            #expect(try server.messages.count == 1)
            let row = try await world.row(twice)
            #expect(row.state == 2 && row.problem == "no answer in 2 tries", "\(row)")
        }
    }

    @Test func `a replica whose lease went to another changes nothing any more`() async throws {
        try await withMailWorld { world in
            let id = try await world.ask(to: "ada")
            let late = try #require(try await world.mails.lease(world.ids.make(), now: world.clock.now()))
            try await world.endLeases()
            let mine = try #require(try await world.mails.lease(world.ids.make(), now: world.clock.now()))
            #expect(try await !world.mails.end(late, .failed, problem: "late", now: world.clock.now()))
            try await world.mails.postpone(late, until: world.clock.now() + .hours(9), isAnswered: true, problem: "late")
            #expect(try await world.mails.end(mine, .sent, problem: nil, now: world.clock.now()))
            #expect(try await world.row(id).state == 1)
        }
    }

    @Test func `a server that is away for an hour delays mails, loses none and doubles none`() async throws {
        let server = try await MailServer.start()
        try await withMailWorld { world in
            let jobs = try world.jobs(try MailWorld.transport(server))
            await server.kill()
            var ids: [OperationID] = []
            for number in 0..<20 { ids.append(try await world.ask(to: "user\(number)")) }
            for _ in 0..<6 {
                try await world.work(jobs)
                world.clock.advance(by: .minutes(10))
            }
            try await server.start()
            for _ in 0..<8 {
                world.clock.advance(by: .minutes(30))
                try await world.work(jobs)
            }
            for id in ids { #expect(try await world.row(id).state == 1) }
            let sent = try server.messages.flatMap(\.to)
            #expect(sent.count == 20 && Set(sent).count == 20)
        }
    }

    @Test func `replicas share what is due, and each mail is sent by one`() async throws {
        let server = try await MailServer.start()
        try await withMailWorld { world in
            for number in 0..<40 { try await world.ask(to: "user\(number)") }
            let transport = try MailWorld.transport(server)
            let replicas = try (0..<4).map { _ in try world.jobs(transport) }
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for jobs in replicas { tasks.addTask { try await world.work(jobs) } }
                try await tasks.waitForAll()
            }
            let sent = try server.messages.flatMap(\.to)
            #expect(sent.count == 40 && Set(sent).count == 40)
        }
    }

    @Test func `without a server mails are files of a folder, and without one they wait`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("mails-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try await withMailWorld { world in
            let id = try await world.ask(to: "ada")
            try await world.work(try world.jobs(nil))
            #expect(try await world.row(id) == MailWorld.Row(state: 0, tries: 0, isReadable: true))
            try await world.work(try world.jobs(.folder(folder.path)))
            let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(files.count == 1 && files.allSatisfy { $0.hasSuffix("\(id).eml") }, "\(files)")
            let mode = try FileManager.default.attributesOfItem(atPath: folder.path)[.posixPermissions] as? Int
            let row = try await world.row(id)
            #expect(mode == 0o700 && row.state == 1)
        }
    }

    @Test func `rows of mails that ended are deleted after a week`() async throws {
        try await withMailWorld { world in
            let id = try await world.ask(to: "ada", uselessAfter: world.clock.now() + .days(400))
            let jobs = try world.jobs(nil)
            world.clock.advance(by: .days(7))
            try await world.work(jobs)
            #expect(try await world.row(id).state == 3, "no mail waits longer than a week")
            world.clock.advance(by: .days(7) + .seconds(1))
            try await world.work(jobs)
            #expect(try await world.database.query("SELECT 1 FROM mail").isEmpty)
        }
    }

    @Test func `pauses grow to an hour, and any pause below the bound may come`() {
        let chances: [UInt64] = (0..<1_000).map { UInt64($0) &* 0x9E37_79B9_7F4A_7C15 }
        for tries in 1...12 {
            let pauses = chances.map { MailRetry.pause(after: tries, chance: $0) }
            let bound = min(MailRetry.longest.microseconds, MailRetry.first.microseconds << Int64(tries - 1))
            let longest = pauses.max() ?? .zero
            #expect(pauses.allSatisfy { $0 >= .seconds(1) && $0.microseconds <= bound })
            #expect(longest.microseconds > bound * 9 / 10)
            let middle = pauses.map { Double($0.microseconds) }.reduce(0, +) / 1_000
            #expect(abs(middle / Double(bound) - 0.5) < 0.1, "spread over the whole of it")
        }
        #expect(MailRetry.pause(after: 1_000_000, chance: .max) <= MailRetry.longest)
    }

    @Test func `a server needs a sender, and must be one`() throws {
        func transport(_ values: [String: String]) throws -> MailTransport? {
            try MailTransport(Settings(values: values, declared: MailFeature.feature.settings))
        }
        #expect(try transport([:]) == nil)
        guard case .folder("/tmp/x")? = try transport(["notifications.mail-folder": "/tmp/x"]) else {
            Issue.record("no folder")
            return
        }
        guard
            case .server? = try transport([
                "notifications.mail-folder": "/tmp/x", "notifications.smtp-url": "smtp://mail.example.com",
            ])
        else {
            Issue.record("no server")
            return
        }
        let error = #expect(throws: Settings.Invalid.self) {
            _ = try transport(["notifications.smtp-url": "http://user:secret@x"])
        }
        #expect(error.map { "\($0)".contains("secret") } == false, "the URL may hold a password")
        #expect(throws: Settings.Invalid.self) {
            _ = try MailFeature.address(
                Settings(values: ["notifications.smtp-url": "smtp://mail.example.com"], declared: MailFeature.feature.settings)
            )
        }
    }
}
