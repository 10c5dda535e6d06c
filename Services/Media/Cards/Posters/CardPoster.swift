internal import Images
internal import Kernel
internal import MediaDomain

/// How a card looks (MC-1): 1080 × 1920, the size of a story. Everything that matters keeps clear of the upper and lower 250 pixels,
/// which apps cover with their own buttons.
struct CardPoster {
    static let width = 1_080
    static let height = 1_920
    private static let middle = width / 2

    let card: MilestoneCard
    /// The avatar of each person, in the card's order; nil where there is none.
    let avatars: [[UInt8]?]

    var poster: Poster {
        Poster(
            width: Self.width,
            height: Self.height,
            background: palette.background,
            layers: light + sparks + headline + people + [watermark]
        )
    }

    struct Palette {
        let background: Poster.Gradient
        /// The light behind the count.
        let glow: Poster.Colour
        /// The discs of people without avatar.
        let discs: [Poster.Colour]
    }

    var palette: Palette {
        switch card.style {
        case .orange:
            Palette(
                background: Poster.Gradient([.init(0xFF6B35), .init(0xFF3D00)]),
                glow: .init(0xFFC861, opacity: 0.62),
                discs: [.init(0x7A1E00), .init(0xB83200), .init(0x8F2D56)]
            )
        case .purple:
            Palette(
                background: Poster.Gradient([.init(0x7C3AED), .init(0x4F46E5)]),
                glow: .init(0xF0ABFC, opacity: 0.42),
                discs: [.init(0x3B1A8F), .init(0x2A2F8F), .init(0x86198F)]
            )
        case .green:
            Palette(
                background: Poster.Gradient([.init(0x22C55E), .init(0x166534)]),
                glow: .init(0xD9F99D, opacity: 0.45),
                discs: [.init(0x0F3D24), .init(0x115E59), .init(0x3F6212)]
            )
        case .dark:
            Palette(
                background: Poster.Gradient([.init(0x1C1C1E), .init(0x0A0A0A)]),
                glow: .init(0xFF6B35, opacity: 0.20),
                discs: [.init(0xFF6B35), .init(0x7C3AED), .init(0x16A34A), .init(0xDB2777)]
            )
        }
    }

    private var light: [Poster.Layer] {
        [
            .glow(.init(x: Self.middle, y: 700, radius: 820), palette.glow),
            .glow(.init(x: 1_000, y: 80, radius: 520), .white(card.style == .dark ? 0.06 : 0.22)),
        ]
    }

    /// The same emoji, far away, around the count.
    private var sparks: [Poster.Layer] {
        [(96, 340, 76, 0.34), (936, 250, 100, 0.42), (250, 180, 56, 0.26), (112, 1_190, 88, 0.32), (984, 1_206, 68, 0.34)]
            .map { x, y, size, opacity in
                line(card.sparks, "Inter", size: size, .white(opacity), x: x, y: .middle(y), width: size * 2)
            }
    }

    /// How far what is below the title moves down when the card says what the streak is about.
    private var shift: Int { card.subject.line.isEmpty ? 0 : 40 }

    private var headline: [Poster.Layer] {
        [
            line(card.subject.emoji, "Inter", size: 220, y: .middle(372), width: 400),
            line("\(card.count)", "Inter Heavy", size: 580, least: 200, spacing: -14, y: .middle(742), width: 940),
            line("DAY STREAK", "Inter Ultra-Bold", size: 92, least: 60, spacing: 16, y: .baseline(1_092), width: 920),
            .pill(x: Self.middle, y: 1_190 + 2 * shift, width: 620, height: 84, .white(0.16)),
            line(card.dateRange, "Inter Semi-Bold", size: 42, least: 28, .white(0.92), y: .baseline(dates), width: 560),
        ] + kind
    }

    private var dates: Int { 1_205 + 2 * shift }

    private var kind: [Poster.Layer] {
        guard !card.subject.line.isEmpty else { return [] }
        return [line(card.subject.line, "Inter Bold", size: 58, least: 34, y: .baseline(1_186), width: 920)]
    }

    private var people: [Poster.Layer] {
        let centres = card.people.count == 1 ? [Self.middle] : [300, 780]
        return zip(card.people, centres).enumerated().flatMap { index, pair in
            let (person, x) = pair
            let y = 1_420 + shift
            let circle = Poster.Circle(x: x, y: y, radius: 112)
            var layers: [Poster.Layer] = [
                .glow(.init(x: x, y: y + 14, radius: 168), .init(0x000000, opacity: 0.38)),
                .disc(.init(x: x, y: y, radius: 121), .white()), .disc(circle, disc(of: person)),
                line(person.initials, "Inter Bold", size: 92, least: 48, x: x, y: .middle(y), width: 170),
            ]
            if index < avatars.count, let avatar = avatars[index] { layers.append(.photo(circle, avatar)) }
            layers.append(line(person.displayName, "Inter Bold", size: 50, least: 34, x: x, y: .baseline(y + 200), width: 430))
            let (handle, below) = ("@\(person.username)", Poster.Height.baseline(y + 254))
            layers.append(line(handle, "Inter Medium", size: 36, least: 26, .white(0.75), x: x, y: below, width: 430))
            return layers
        }
    }

    private var watermark: Poster.Layer {
        line("StreakSnap", "Inter Bold", size: 44, .white(0.6), y: .baseline(1_806), width: 700)
    }

    func line(
        _ text: String,
        _ font: String,
        size: Int,
        least: Int? = nil,
        _ colour: Poster.Colour = .white(),
        spacing: Int = 0,
        x: Int = middle,
        y: Poster.Height,
        width: Int
    ) -> Poster.Layer {
        .line(
            Poster.Line(
                text,
                font: font,
                size: size,
                leastSize: least,
                colour: colour,
                spacing: spacing,
                x: x,
                y: y,
                width: width
            )
        )
    }

    /// The disc behind a person without avatar, the same on every card.
    func disc(of person: CardPerson) -> Poster.Colour {
        palette.discs[Int(truncatingIfNeeded: StableHash.fnv1a(person.id.description.utf8) % UInt64(palette.discs.count))]
    }
}
