/// The built-in prompts (PW-1), 21 of each category. Their order is part of what users see: append, never insert.
enum PromptTexts {
    static let perCategory = 21

    static func texts(_ category: DailyPrompt.Category) -> [(text: String, emoji: String)] {
        switch category {
        case .food: food
        case .color: color
        case .view: view
        case .mood: mood
        case .object: object
        case .activity: activity
        }
    }

    private static let food: [(text: String, emoji: String)] = [
        ("Show your lunch plate", "🍽️"),
        ("Your first bite of the day", "🥐"),
        ("Something you cooked yourself", "🍳"),
        ("What is in your mug right now", "☕"),
        ("The best thing in your fridge", "🧊"),
        ("A snack you would not share", "🍪"),
        ("Something green you are eating", "🥗"),
        ("Dinner before anyone touches it", "🍝"),
        ("A fruit from close up", "🍓"),
        ("Leftovers with dignity", "🥡"),
        ("The spice you reach for most", "🌶️"),
        ("Something sweet after a long day", "🍫"),
        ("Your plate when you have finished", "🥄"),
        ("What the table looks like right now", "🧂"),
        ("A sandwich, cut your way", "🥪"),
        ("Something that grew in the ground", "🥕"),
        ("Your water for the day", "💧"),
        ("Food from a place you like", "🍜"),
        ("Something still in the oven or pan", "🥘"),
        ("The cheapest tasty thing today", "🍟"),
        ("Breakfast at whatever hour", "🥞"),
    ]

    private static let color: [(text: String, emoji: String)] = [
        ("Something blue", "🔵"),
        ("The reddest thing near you", "🔴"),
        ("A yellow that makes you look twice", "🟡"),
        ("Three greens in one frame", "🟢"),
        ("Only black and white", "⚫"),
        ("Something orange you did not buy", "🟠"),
        ("Purple, anywhere", "🟣"),
        ("A color you are wearing", "👕"),
        ("Two colors that should not match", "🎨"),
        ("The color of the sky this minute", "🌤️"),
        ("Something golden", "✨"),
        ("Silver, steel or chrome", "🪙"),
        ("Pink where you did not expect it", "🌸"),
        ("The brownest thing in the room", "🟤"),
        ("A rainbow of small things", "🌈"),
        ("White on white", "⚪"),
        ("Your favorite color today", "💛"),
        ("A color that has faded", "🧥"),
        ("Neon or something that glows", "💡"),
        ("Stripes of any color", "🦓"),
        ("The color of your mood", "🖌️"),
    ]

    private static let view: [(text: String, emoji: String)] = [
        ("Your view right now", "👀"),
        ("Straight up from where you stand", "⬆️"),
        ("Out of the nearest window", "🪟"),
        ("The street outside", "🏙️"),
        ("What is behind you", "🔙"),
        ("The way home", "🛣️"),
        ("A view through something", "🕳️"),
        ("The horizon, or what hides it", "🌅"),
        ("Down at your shoes", "👟"),
        ("A corner you never look at", "📐"),
        ("Clouds, or the lack of them", "☁️"),
        ("The longest shadow you can find", "🌗"),
        ("Something seen in a mirror", "🪞"),
        ("A door you pass every day", "🚪"),
        ("Stairs from below or above", "🪜"),
        ("Lights after dark", "🌃"),
        ("A reflection in glass or water", "🌊"),
        ("The highest thing you can see", "🗼"),
        ("Your seat and what it looks at", "🪑"),
        ("The nearest tree, all of it", "🌳"),
        ("A place that is usually full", "🚏"),
    ]

    private static let mood: [(text: String, emoji: String)] = [
        ("How you are feeling, no words", "😊"),
        ("Something that made you smile", "😄"),
        ("Your face before coffee", "🥱"),
        ("A calm spot", "🧘"),
        ("Today in one gesture", "👐"),
        ("Something that is too much", "😵"),
        ("The mood of your desk", "🗂️"),
        ("What you are looking forward to", "🤩"),
        ("A small victory", "🏆"),
        ("Something that annoys you a little", "😤"),
        ("Cozy, as you understand it", "🛋️"),
        ("The most serious face you can make", "😐"),
        ("A bit of luck", "🍀"),
        ("What energy looks like today", "⚡"),
        ("Something you are proud of", "🥹"),
        ("How tired are you really", "😴"),
        ("A thing you are grateful for", "🙏"),
        ("Your Monday face, on any day", "🫠"),
        ("Something that feels like home", "🏠"),
        ("A secret smile", "🤭"),
        ("What the weather does to you", "🌦️"),
    ]

    private static let object: [(text: String, emoji: String)] = [
        ("Something old", "🏺"),
        ("The thing you use most", "🔧"),
        ("What is in your pocket or bag", "🎒"),
        ("Your keys and their company", "🔑"),
        ("Something you should throw away", "🗑️"),
        ("A present you kept", "🎁"),
        ("The smallest thing you own", "🤏"),
        ("Something round", "⚽"),
        ("A book you have not finished", "📖"),
        ("Whatever is on the nearest shelf", "🧸"),
        ("Something with a scratch", "🩹"),
        ("The newest thing you have", "🆕"),
        ("Something handmade", "🧶"),
        ("A thing with buttons", "🎛️"),
        ("A pair of anything", "🧦"),
        ("Something that makes a sound", "🔔"),
        ("What keeps you warm", "🧣"),
        ("A plant or a flower", "🪴"),
        ("Something you always lose", "🕶️"),
        ("A ticket, a note or a receipt", "🧾"),
        ("The oldest picture you can find", "🖼️"),
    ]

    private static let activity: [(text: String, emoji: String)] = [
        ("What you are doing", "🏃"),
        ("Your hands at work", "🙌"),
        ("On the way somewhere", "🚶"),
        ("Waiting for something", "⏳"),
        ("The last five minutes of work or class", "💻"),
        ("Something you are learning", "📚"),
        ("A tiny workout", "💪"),
        ("Tidying up, before or after", "🧹"),
        ("How you take a break", "☕"),
        ("The screen you look at too much", "📱"),
        ("Playing anything", "🎲"),
        ("Making something", "✂️"),
        ("Music you are listening to", "🎧"),
        ("With whom you are right now", "👯"),
        ("Shopping, however small", "🛒"),
        ("Getting ready", "🪥"),
        ("The ride: bus, bike, car or feet", "🚲"),
        ("Watering, feeding or caring for something", "🐾"),
        ("Writing something by hand", "✍️"),
        ("Doing nothing at all", "🛌"),
        ("The last thing before bed", "🌙"),
    ]
}
