/// The catalogue's products in German.
enum GermanProducts {
    /// The name of a product by its English one, which stands for it in events, entries and mails; a product that is not known here keeps it: the
    /// catalogue may have new ones before there is a translation.
    static func name(_ english: String) -> String { names[english] ?? english }

    static let names = [
        "Premium, weekly": "Premium, wöchentlich", "Premium, monthly": "Premium, monatlich",
        "Premium, annual": "Premium, jährlich", "3 recovery tokens": "3 Rettungs-Token",
        "10 recovery tokens": "10 Rettungs-Token", "Streak freeze": "Streak-Freeze", "5 streak freezes": "5 Streak-Freezes",
        "Streak repair": "Streak-Reparatur", "Streak shield": "Streak-Schild", "XP booster": "XP-Booster",
        "Streak insurance": "Streak-Versicherung", "Double day": "Doppelter Tag", "Streak restore": "Streak-Rettung",
        "Time machine": "Zeitmaschine",
    ]
}
