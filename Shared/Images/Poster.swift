/// A picture described: a background and what is laid over it, from back to front. Lengths are pixels, y grows downwards.
public struct Poster: Sendable {
    /// Width in pixels, 1…4096.
    public var width: Int
    /// Height in pixels, 1…4096.
    public var height: Int
    /// Fills all of it.
    public var background: Gradient
    /// What lies over the background.
    public var layers: [Layer]

    /// A poster.
    public init(width: Int, height: Int, background: Gradient, layers: [Layer]) {
        self.width = width
        self.height = height
        self.background = background
        self.layers = layers
    }

    /// A colour of sRGB.
    public struct Colour: Sendable, Hashable {
        /// 0…255 each.
        public var red, green, blue: UInt8
        /// 0 (not to be seen) … 1 (opaque).
        public var opacity: Double

        /// A colour from `0xRRGGBB`.
        public init(_ hex: UInt32, opacity: Double = 1) {
            self.red = UInt8(truncatingIfNeeded: hex >> 16)
            self.green = UInt8(truncatingIfNeeded: hex >> 8)
            self.blue = UInt8(truncatingIfNeeded: hex)
            self.opacity = min(max(opacity, 0), 1)
        }

        /// White, or a veil of it.
        public static func white(_ opacity: Double = 1) -> Colour { Colour(0xFFFFFF, opacity: opacity) }
    }

    /// From one corner to the opposite one, over up to a few stops at equal distances.
    public struct Gradient: Sendable, Hashable {
        /// At least one; opaque.
        public var stops: [Colour]

        /// A gradient from the top left corner to the bottom right one.
        public init(_ stops: [Colour]) { self.stops = stops }
    }

    /// A circle.
    public struct Circle: Sendable, Hashable {
        /// Its middle and radius.
        public var x, y, radius: Int

        /// A circle around a point.
        public init(x: Int, y: Int, radius: Int) {
            self.x = x
            self.y = y
            self.radius = radius
        }
    }

    /// One line of text, centred on a point. It never leaves its width: a line that is too long is set smaller, and when
    /// that is not enough, ended with an ellipsis.
    public struct Line: Sendable, Hashable {
        /// Plain text: markup means nothing in it. Right-to-left scripts, CJK and emoji are laid out as they should be.
        public var text: String
        /// Family and weight, `Inter Semi-Bold`; what the family lacks comes from the Noto fonts.
        public var font: String
        /// Height of the em in pixels, and the least it may be shrunk to.
        public var size, leastSize: Int
        /// Of the text; emoji keep their own colours and take the opacity.
        public var colour: Colour
        /// Added between letters, in pixels at `size`.
        public var spacing: Int
        /// Middle of the line.
        public var x: Int
        /// Where it stands.
        public var y: Height
        /// Most pixels of width.
        public var width: Int

        /// A line of text.
        public init(
            _ text: String,
            font: String,
            size: Int,
            leastSize: Int? = nil,
            colour: Colour = .white(),
            spacing: Int = 0,
            x: Int,
            y: Height,
            width: Int
        ) {
            self.text = text
            self.font = font
            self.size = size
            self.leastSize = leastSize ?? size
            self.colour = colour
            self.spacing = spacing
            self.x = x
            self.y = y
            self.width = width
        }
    }

    /// How a line of text stands.
    public enum Height: Sendable, Hashable {
        /// Letters stand on this line. Scripts that know no such line are centred where capitals would be.
        case baseline(Int)
        /// What can be seen of the text is centred here.
        case middle(Int)
    }

    /// One thing on the poster.
    public enum Layer: Sendable {
        /// Light that fades towards the edge of the circle.
        case glow(Circle, Colour)
        /// A disc of one colour, with soft edges.
        case disc(Circle, Colour)
        /// A bar with round ends: its middle, width and height.
        case pill(x: Int, y: Int, width: Int, height: Int, Colour)
        /// A photo cut to a disc; JPEG, PNG, WebP or HEIC. One that cannot be decoded leaves what lies below it.
        case photo(Circle, [UInt8])
        /// A line of text.
        case line(Line)
    }
}
