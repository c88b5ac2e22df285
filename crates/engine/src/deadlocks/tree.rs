//! An element of a deadlock's graph, and how it is written as XML.

use std::fmt::Write as _;

/// An element: attributes, text, and elements in it.
#[derive(Debug, Default)]
pub(super) struct Element {
    pub name: &'static str,
    pub attributes: Vec<(&'static str, String)>,
    pub text: String,
    pub children: Vec<Element>,
}

/// A text as content of XML: what XML 1.0 has no characters for is left out.
fn escape(text: &str, quote: bool, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' if quote => out.push_str("&quot;"),
            '\t' | '\n' if !quote => out.push(c),
            '\t' | '\n' | '\r' => {
                let _ = write!(out, "&#x{:X};", u32::from(c));
            }
            '\0'..'\u{20}' | '\u{fffe}' | '\u{ffff}' => {}
            c => out.push(c),
        }
    }
}

impl Element {
    pub fn new(name: &'static str) -> Element {
        Element { name, ..Element::default() }
    }

    /// With one more attribute.
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Element {
        self.attributes.push((name, value.into()));
        self
    }

    /// With this text.
    pub fn saying(mut self, text: impl Into<String>) -> Element {
        self.text = text.into();
        self
    }

    /// With these elements in it.
    pub fn holding(mut self, children: impl IntoIterator<Item = Element>) -> Element {
        self.children.extend(children);
        self
    }

    /// It as XML.
    pub fn xml(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    /// Graphs are five elements deep, whatever the deadlock.
    fn write(&self, out: &mut String) {
        let _ = write!(out, "<{}", self.name);
        for (name, value) in &self.attributes {
            let _ = write!(out, " {name}=\"");
            escape(value, true, out);
            out.push('"');
        }
        if self.text.is_empty() && self.children.is_empty() {
            out.push_str("/>");
            return;
        }
        out.push('>');
        escape(&self.text, false, out);
        self.children.iter().for_each(|child| child.write(out));
        let _ = write!(out, "</{}>", self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xml_escapes_what_it_must() {
        let inner = Element::new("b").saying("x < y\n & \u{1}z\r");
        let outer = Element::new("a").with("n", "\"<&>\"\n").holding([inner, Element::new("c")]);
        let expected =
            "<a n=\"&quot;&lt;&amp;&gt;&quot;&#xA;\"><b>x &lt; y\n &amp; z&#xD;</b><c/></a>";
        assert_eq!(outer.xml(), expected);
    }
}
