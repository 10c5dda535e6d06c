/// A page for links that open in a browser (AU-13). Nothing of it depends on the token: its script takes the token from the page's own address
/// and posts it when the user says so, never by itself, since mail scanners follow links.
struct BrowserPage: Sendable {
    /// What the page is for.
    enum Purpose: Sendable { case verification, passwordReset }

    let purpose: Purpose
    /// BCP 47 tag; English for languages that there is no text in.
    let language: String

    var html: String {
        let texts = language.lowercased().hasPrefix("de") ? BrowserTexts.german(purpose) : BrowserTexts.english(purpose)
        let answers = texts.answers.map { code, text in
            "<p class=\"answer\" data-code=\"\(code)\" role=\"status\" hidden>\(text)</p>"
        }
        let field =
            texts.field.map { label in
                """
                <label>\(label)<input type="password" name="new_password" minlength="8" maxlength="72" autocomplete="new-password" required></label>

                """
            } ?? ""
        let route = purpose == .verification ? "/api/auth/email/verify" : "/api/auth/password/reset"
        return """
            <!DOCTYPE html>
            <html lang="\(texts.language)">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="robots" content="noindex">
            <meta name="referrer" content="no-referrer">
            <title>\(texts.title) – StreakSnap</title>
            <style>\(Self.style)</style>
            </head>
            <body>
            <main>
            <p class="mark">StreakSnap</p>
            <h1>\(texts.title)</h1>
            <form data-route="\(route)">
            \(field)<button>\(texts.button)</button>
            </form>
            \(answers.joined(separator: "\n"))
            <noscript><p>\(texts.withoutScript)</p></noscript>
            </main>
            <script>\(Self.script)</script>
            </body>
            </html>

            """
    }

    /// The one style sheet. Its hash stands in the Content-Security-Policy of both pages; a test compares them.
    static let style = """
        *{box-sizing:border-box;margin:0}
        body{min-height:100vh;display:flex;align-items:center;justify-content:center;padding:4vh 5vw;background:#0a0a0a;color:#fff;
        font:400 1.125rem/1.5 Inter,system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
        main{width:100%;max-width:26rem}
        .mark{font-weight:700;opacity:.75;margin-bottom:.75rem}
        h1{font-size:2rem;line-height:1.15;letter-spacing:-.02em;margin-bottom:1.5rem}
        label{display:block;margin-bottom:1rem}
        input{display:block;width:100%;margin-top:.25rem;padding:.75rem;border:0;border-radius:.75rem;font:inherit}
        button{width:100%;padding:.875rem;border:0;border-radius:.75rem;background:#ff3d00;color:#fff;font:inherit;font-weight:600}
        button:disabled{opacity:.5}
        [hidden]{display:none}
        .answer{margin-top:1.5rem}
        """

    /// The one script, of both pages; its hash stands beside that of the style sheet.
    static let script = """
        const form = document.querySelector('form');
        const answers = [...document.querySelectorAll('.answer')];
        const show = code => {
          const known = answers.some(answer => answer.dataset.code === code) ? code : 'OTHER';
          for (const answer of answers) answer.hidden = answer.dataset.code !== known;
        };
        form.addEventListener('submit', async event => {
          event.preventDefault();
          const button = form.querySelector('button');
          button.disabled = true;
          const body = {token: decodeURIComponent(location.pathname.split('/').pop())};
          for (const input of form.querySelectorAll('input')) body[input.name] = input.value;
          try {
            const reply = await fetch(form.dataset.route, {
              method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body)
            });
            form.hidden = reply.ok;
            show(reply.ok ? 'OK' : (await reply.json()).error.code);
          } catch {
            show('OTHER');
          }
          button.disabled = false;
        });
        """
}
