internal import Images
internal import MediaDomain

/// The same card as messengers and networks preview a link with it: 1200 × 630, as Open Graph's `summary_large_image` wants it.
extension CardPoster {
    static let wideWidth = 1_200
    static let wideHeight = 630

    var widePoster: Poster {
        Poster(
            width: Self.wideWidth,
            height: Self.wideHeight,
            background: palette.background,
            layers: wideLight + wideHeadline + widePeople + wideKind
        )
    }

    private var wideLight: [Poster.Layer] {
        [
            .glow(.init(x: 360, y: 270, radius: 480), palette.glow),
            .glow(.init(x: 1_160, y: 20, radius: 320), .white(card.style == .dark ? 0.06 : 0.2)),
        ]
    }

    private var wideHeadline: [Poster.Layer] {
        [
            line(card.subject.emoji, "Inter", size: 92, x: 360, y: .middle(92), width: 200),
            line("\(card.count)", "Inter Heavy", size: 270, least: 110, spacing: -7, x: 360, y: .middle(262), width: 600),
            line("DAY STREAK", "Inter Ultra-Bold", size: 58, least: 40, spacing: 10, x: 360, y: .baseline(450), width: 600),
            line(card.dateRange, "Inter Semi-Bold", size: 34, least: 24, .white(0.92), x: 360, y: .baseline(512), width: 600),
            line("StreakSnap", "Inter Bold", size: 30, .white(0.6), x: 360, y: .baseline(586), width: 400),
        ]
    }

    /// What the streak is about, below the one person.
    private var wideKind: [Poster.Layer] {
        guard !card.subject.line.isEmpty else { return [] }
        return [line(card.subject.line, "Inter Bold", size: 38, least: 24, x: 890, y: .baseline(492), width: 560)]
    }

    private var widePeople: [Poster.Layer] {
        let middles = card.people.count == 1 ? [315] : [190, 440]
        return zip(card.people, middles).enumerated().flatMap { index, pair in
            let (person, y) = pair
            let circle = Poster.Circle(x: 890, y: y - 30, radius: 84)
            var layers: [Poster.Layer] = [
                .disc(.init(x: 890, y: y - 30, radius: 91), .white()), .disc(circle, disc(of: person)),
                line(person.initials, "Inter Bold", size: 68, least: 36, x: 890, y: .middle(y - 30), width: 130),
            ]
            if index < avatars.count, let avatar = avatars[index] { layers.append(.photo(circle, avatar)) }
            layers.append(line(person.displayName, "Inter Bold", size: 36, least: 24, x: 890, y: .baseline(y + 106), width: 440))
            return layers
        }
    }
}
