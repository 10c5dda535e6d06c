import Testing

/// Ids and dates are typed in the protos, so that no handler parses them and none is passed for another.
struct ProtoFieldTests {
    private let tree: SourceTree

    init() throws { tree = try SourceTree.loaded.get() }

    /// Names that are no ids of ours.
    private static let texts: [String: String] = [
        "CreateGuestSessionRequest.device_id": "made by the client, in any form",
        "Entitlements.product_id": "a name in the app stores",
        "UploadSnapRequest.streak_ids": "may say `all`",
        "UploadSnapRequest.prompt_id": "a name, `food-01`",
        "Achievement.id": "a name, `7_day_warrior`",
        "TodaysPrompt.id": "a name, `food-01`",
        "Snap.prompt_id": "a name, `food-01`",
        "PlanContributionRequest.prompt_id": "a name, `food-01`",
        "SnapWindowOpened.prompt_id": "a name, `food-01`",
        "SnapWindowClosing.prompt_id": "a name, `food-01`",
        "ConfirmPurchaseRequest.transaction_id": "the store's own",
        "CheckInPayment.transaction_id": "the store's own, or an operation's where coins or XP were paid",
        "EarnedBadge.id": "a name, `second_chance`",
        "BadgeItem.id": "a name, `week_warrior`",
        "UnlockItem.id": "a name, `flame_color_gold`",
        "Cluster.id": "a hash of its members",
        "HabitColumns.date": "the name of a column",
        "SyncRequest.device_id": "made by the app; the handler reads it",
        "SyncChange.change_id": "read one by one: a bad one is refused alone",
        "SyncChange.entity_id": "read one by one: a bad one is refused alone",
        "SyncChange.habit_id": "read one by one: a bad one is refused alone",
        "SyncChange.date": "read one by one: a bad one is refused alone",
        "SyncChange.ids": "read one by one: a bad one is refused alone",
        "SyncHabitFields.category_id": "read one by one: a bad one is refused alone",
        "SyncResult.change_id": "as the device sent it",
        "SyncDeletion.entity_id": "of a habit, a category or a completion",
        "AdminActionEntry.request_id": "as in the logs: a client may have made it",
        "BillingAdminActed.request_id": "as in the logs: a client may have made it",
        "SocialAdminActed.request_id": "as in the logs: a client may have made it",
        "StreaksAdminActed.request_id": "as in the logs: a client may have made it",
        "OutageDeclared.request_id": "as in the logs: a client may have made it",
    ]

    @Test func `ids and dates in the protos of services are typed`() {
        let protos = tree.files(below: "Proto/streaksnap/", ending: ".proto").filter { file in
            !["options", "common", "testing"].contains { file.path.hasPrefix("Proto/streaksnap/\($0)/") }
        }
        let fields = protos.flatMap { file in Self.fields(of: file.text).map { (file.path, $0) } }
        #expect(fields.count { $0.1.isTyped } > 150, "the rule finds the fields")
        let violations = fields.filter { !$0.1.isTyped && Self.texts[$0.1.name] == nil }.map { path, field in
            Violation(path: path, line: field.line, problem: "\(field.name) is neither {id: …} nor {date: true}")
        }
        expectNone(
            violations,
            "An id or a date is typed by its field's options; a text with such a name has its reason in the test."
        )
        let known = Set(fields.filter { !$0.1.isTyped }.map(\.1.name))
        #expect(Self.texts.keys.filter { !known.contains($0) } == [], "remove what is not there any more")
    }

    /// Parts of what auth answers that the pages do not show as JSON.
    private static let withoutExample: Set<String> = [
        "LinkPage.html", "AppFile.json", "AppFile.status", "ExportMyDataReply.json", "ExportMyDataReply.url",
        "ExportMyDataReply.status",
        // Between services.
        "MailRecipient.address", "MailRecipient.locale", "ProfileState.version", "ProfileState.username",
        "ProfileState.display_name",
        "ProfileState.avatar_key", "ProfileState.time_zone", "ProfileState.verified_email", "ProfileState.terms_version",
        "ProfileState.window_start_hour",
    ]

    @Test func `texts and numbers that auth answers have an example`() {
        let protos = tree.files(below: "Proto/streaksnap/auth/", ending: ".proto").filter { !$0.path.hasSuffix("_events.proto") }
        var fields: Set<String> = []
        let violations = protos.flatMap { file -> [Violation] in
            let lines = file.text.split(separator: "\n", omittingEmptySubsequences: false)
            var message = ""
            return lines.indices.compactMap { index in
                if let head = lines[index].firstMatch(of: #/^message (\w+)/#) { message = String(head.1) }
                guard let field = lines[index].firstMatch(of: #/^  (?:optional |repeated )?(?:string|int32|int64) (\w+) = /#),
                    !message.hasSuffix("Request")
                else { return nil }
                let name = "\(message).\(field.1)"
                fields.insert(name)
                let end = lines[index...].firstIndex { $0.hasSuffix(";") } ?? index
                let options = lines[index...end].joined(separator: " ")
                let isShown = options.contains("example") || options.contains("id: \"") || options.contains("date: true")
                guard !isShown, !Self.withoutExample.contains(name) else { return nil }
                return Violation(path: file.path, line: index + 1, problem: "\(name) has no example")
            }
        }
        expectNone(violations, "The pages show what a reply looks like.")
        #expect(fields.count > 40 && fields.isSuperset(of: Self.withoutExample), "the rule finds the fields")
    }

    @Test func `finds fields by their names, also over several lines`() {
        let proto = """
            message Card {
              // A comment about string old_id = 9;
              string card_id = 1 [(streaksnap.options.v1.field) = {id: "Card" required: true}];
              repeated string friend_ids = 2;
              optional string from_date = 3 [(streaksnap.options.v1.field) = {
                date: true
              }];
              string date = 4 [(streaksnap.options.v1.field).example = "2026-01-02"];
              string dates = 5;
              int32 id = 6;
            }
            message Other {
              string id = 1;
            }
            """
        #expect(
            Self.fields(of: proto).map { "\($0.line) \($0.name) \($0.isTyped)" } == [
                "3 Card.card_id true", "4 Card.friend_ids false", "5 Card.from_date true", "8 Card.date false",
                "13 Other.id false",
            ]
        )
    }

    private struct Field {
        let name: String
        let line: Int
        let isTyped: Bool
    }

    /// The text fields whose names are those of ids and dates.
    private static func fields(of proto: String) -> [Field] {
        var (message, fields) = ("", [Field]())
        let lines = proto.split(separator: "\n", omittingEmptySubsequences: false).map { $0.drop { $0 == " " } }
        for (index, line) in lines.enumerated() where !line.hasPrefix("//") {
            if let head = line.firstMatch(of: #/^message (\w+)/#) { message = String(head.1) }
            guard let field = line.firstMatch(of: #/^(?:optional |repeated )?string (\w+) = /#) else { continue }
            let name = String(field.1)
            let isNamed = ["id", "ids", "date"].contains { name == $0 || name.hasSuffix("_\($0)") }
            guard isNamed else { continue }
            // Up to the semicolon, which may stand on a later line.
            let end = lines[index...].firstIndex { $0.hasSuffix(";") } ?? index
            let options = lines[index...end].joined(separator: " ")
            let isTyped = options.contains("id: \"") || options.contains("date: true")
            fields.append(Field(name: "\(message).\(name)", line: index + 1, isTyped: isTyped))
        }
        return fields
    }
}
