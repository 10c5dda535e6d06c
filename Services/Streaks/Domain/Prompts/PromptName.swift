/// How prompts are named where a snap says which one it answers (PW-1).
public enum PromptName {
    private static let builtIn = Set(DailyPrompt.all.map(\.id))

    /// Of a streak's own prompts: `custom-1` is the first.
    public static func custom(_ number: Int) -> String { "custom-\(number)" }

    /// Whether there is such a prompt, or may be one of a streak's own: those change, and a photo of theirs may come later.
    public static func isKnown(_ name: String) -> Bool {
        builtIn.contains(name) || (1...CustomPrompts.mostEntries).contains { custom($0) == name }
    }
}
