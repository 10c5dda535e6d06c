import Testing

@testable import Runtime

/// What stands after the name of a command.
struct ProgramCommandTests {
    private let command = ProgramCommand(
        "photo",
        words: "FILE [TITLE]",
        about: "makes a photo",
        settings: [
            Setting(option: "seed", default: 1, in: 0...9, help: "Another picture."),
            Setting(option: "gray", default: false, help: "A switch."),
        ]
    ) { _, _ in .init("") }

    private func given(_ arguments: [String]) throws -> (words: [String], settings: Settings) {
        let given = try GivenArguments(arguments, declared: command.settings, takesWords: true)
        try command.check(given.words)
        let environment = ["STREAKSNAP_SEED": "5", "STREAKSNAP_CONFIG": "/nowhere"]
        return (given.words, try Settings(given, environment: environment, declared: command.settings))
    }

    @Test(arguments: [
        ["a.jpg", "--seed", "3", "--gray"], ["--seed", "3", "--gray", "a.jpg"], ["--gray", "a.jpg", "--seed=3"],
        ["--gray", "yes", "a.jpg", "--seed", "3"],
    ])
    func `words and options may stand in any order`(arguments: [String]) throws {
        let (words, settings) = try given(arguments)
        #expect(words == ["a.jpg"])
        #expect(try settings.get(Setting(option: "seed", default: 1, help: "")) == 3)
        #expect(try settings.get(Setting(option: "gray", default: false, help: "")))
    }

    @Test func `an option has no variable, and its error names the argument alone`() throws {
        let (words, settings) = try given(["a.jpg", "Title", "--gray=no"])
        #expect(words == ["a.jpg", "Title"])
        #expect(try settings.get(Setting(option: "seed", default: 1, help: "")) == 1)
        let wrong = try given(["a.jpg", "--seed", "10"]).settings
        let error = #expect(throws: Settings.Invalid.self) { try wrong.checkAll() }
        #expect(error?.description == "--seed must be from 0 to 9, not 10.")
    }

    @Test(arguments: [
        ([], "FILE is missing."), (["a", "b", "c"], "Nothing follows [TITLE] but settings, not “c”."),
        (["a", "--colour", "red"], "Unknown argument --colour; --help lists the settings."),
        (["a", "--seed"], "--seed needs a value; --help lists the settings."),
    ])
    func `what cannot be is refused by name`(arguments: [String], text: String) {
        let error = #expect(throws: Settings.Invalid.self) { try given(arguments) }
        #expect(error?.description == text)
    }

    @Test func `its help says how it is called, and what it may be given`() {
        #expect(command.help == "    photo FILE [TITLE]          makes a photo\n")
        let page = command.helpPage("streaksnap photo")
        #expect(page.hasPrefix("streaksnap photo FILE [TITLE] [--OPTION VALUE …]: makes a photo\n"))
        #expect(page.contains("  --seed VALUE [1]\n      Another picture.\n") && !page.contains("STREAKSNAP_"))
    }
}
