import Kernel
import Testing

struct HTMLTextTests {
    @Test func `what HTML takes for markup is escaped, and nothing else`() {
        #expect(
            "<b title='1' alt=\"2\">&amp;</b>".escapedForHTML
                == "&lt;b title=&#39;1&#39; alt=&quot;2&quot;&gt;&amp;amp;&lt;/b&gt;"
        )
        #expect("Zoë & 👩‍👩‍👧 – 日本\n".escapedForHTML == "Zoë &amp; 👩‍👩‍👧 – 日本\n")
        #expect("".escapedForHTML.isEmpty)
        // A sign after a mark that joins it is one character with it for Swift, and markup for a browser.
        #expect("\u{200D}<\u{301}script>".escapedForHTML == "\u{200D}&lt;\u{301}script&gt;")
    }
}
