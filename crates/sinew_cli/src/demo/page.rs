//! The demo's page: one HTML file without scripts, beside the pictures and models it shows.

/// One character on the page.
pub struct Exhibit {
    pub title: String,
    pub about: &'static str,
    /// The command that makes the model.
    pub command: String,
    /// File names beside the page.
    pub film: String,
    pub sheet: String,
    pub model: String,
    /// What the bake reports, in words.
    pub facts: Vec<(&'static str, String)>,
}

const STYLE: &str = "
  :root { color-scheme: light dark; }
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 66rem; margin: 2rem auto; padding: 0 1rem; }
  h1 { margin-bottom: 0; }
  section { margin: 3rem 0; }
  h2 { margin-bottom: .25rem; }
  p { max-width: 44rem; }
  img { max-width: 100%; height: auto; border-radius: 6px; }
  pre { background: color-mix(in srgb, currentColor 8%, transparent); padding: .5rem .75rem; border-radius: 6px;
        overflow-x: auto; }
  table { border-collapse: collapse; margin: .5rem 0; }
  th, td { text-align: left; font-weight: normal; padding: .15rem 1.5rem .15rem 0; vertical-align: top; }
  th { opacity: .7; }
";

/// The whole page.
pub fn page(exhibits: &[Exhibit]) -> String {
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Sinew</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<h1>Sinew</h1>\n\
         <p>Skinned characters brought to life. On the left, each clip as its skeleton moves it; on the right, with a preset \
         of effects. The effects are in the <code>.glb</code> files beside this page as morph targets, so any engine that \
         plays glTF shows them.</p>\n"
    );
    for exhibit in exhibits {
        let Exhibit { title, about, command, film, sheet, model, facts } = exhibit;
        let [title, about, command, film, sheet, model] =
            [title, *about, command, film, sheet, model].map(|text: &str| escaped(text));
        html.push_str(&format!(
            "<section>\n<h2>{title}</h2>\n<p>{about}</p>\n<img src=\"{film}\" alt=\"{title}: base and result, moving\">\n\
             <pre>{command}</pre>\n<table>\n<tr><th>file</th><td><a href=\"{model}\">{model}</a></td></tr>\n"
        ));
        for (what, value) in facts {
            html.push_str(&format!("<tr><th>{}</th><td>{}</td></tr>\n", escaped(what), escaped(value)));
        }
        html.push_str(&format!(
            "</table>\n<img src=\"{sheet}\" alt=\"{title}: contact sheet, base over result\">\n</section>\n"
        ));
    }
    html.push_str(
        "<section>\n<h2>Your own character</h2>\n<pre>sinew bake hero.glb --preset lively -o lively.glb\n\
         sinew render hero.glb --preset lively --compare -o lively.gif</pre>\n</section>\n</body>\n</html>\n",
    );
    html
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_shows_everything_and_asks_for_nothing_from_elsewhere() {
        let exhibit = Exhibit {
            title: "A <b> & \"c\"".into(),
            about: "about",
            command: "sinew bake a > b".into(),
            film: "a.gif".into(),
            sheet: "a.png".into(),
            model: "a.glb".into(),
            facts: vec![("error", "0.1 %".into())],
        };
        let html = page(&[exhibit]);
        for part in
            ["<h2>A &lt;b&gt; &amp; &quot;c&quot;</h2>", "src=\"a.gif\"", "src=\"a.png\"", "href=\"a.glb\"", "0.1 %"]
        {
            assert!(html.contains(part), "{part}");
        }
        assert!(!html.contains("http") && !html.contains("<script") && html.contains("sinew bake a &gt; b"));
        for tag in ["section", "table", "tr", "pre", "h2", "p"] {
            let count = |mark: &str| html.matches(&format!("<{mark}>")).count();
            assert_eq!(count(tag), count(&format!("/{tag}")), "{tag}");
        }
    }
}
