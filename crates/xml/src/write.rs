//! The text of trees, in SQL Server's form: elements without content are `<a/>`, namespaces are declared where they are first
//! needed.

use compact_str::CompactString;

use crate::tree::{Document, Kind, Name, NodeRef};

/// Appends a text as content: `&`, `<`, `>` and carriage returns are references.
pub fn escape_text(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\r' => out.push_str("&#x0D;"),
            c => out.push(c),
        }
    }
}

fn escape_attribute(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' => out.push_str("&#x09;"),
            '\n' => out.push_str("&#x0A;"),
            '\r' => out.push_str("&#x0D;"),
            c => out.push(c),
        }
    }
}

fn push_name(name: &Name, out: &mut String) {
    if !name.prefix.is_empty() {
        out.push_str(&name.prefix);
        out.push(':');
    }
    out.push_str(&name.local);
}

/// Writes nodes with the namespaces that are declared around them.
struct Writer<'d> {
    document: &'d Document,
    /// Declared so far, the innermost last: prefix, URI.
    spaces: Vec<(CompactString, CompactString)>,
    out: String,
}

/// What is still to be done.
enum Step {
    Open(u32),
    Close(u32, usize),
}

impl Writer<'_> {
    fn space(&self, prefix: &str) -> &str {
        let found = self.spaces.iter().rev().find(|space| space.0 == prefix);
        found.map_or("", |space| space.1.as_str())
    }

    fn declare(&mut self, prefix: &CompactString, uri: &CompactString) {
        self.out.push_str(if prefix.is_empty() { " xmlns" } else { " xmlns:" });
        self.out.push_str(prefix);
        self.out.push_str("=\"");
        escape_attribute(uri, &mut self.out);
        self.out.push('"');
        self.spaces.push((prefix.clone(), uri.clone()));
    }

    /// Declares the namespace of a name where it is not in force.
    fn need(&mut self, name: &Name) {
        if name.prefix != "xml" && self.space(&name.prefix) != name.uri {
            self.declare(&name.prefix, &name.uri);
        }
    }

    fn node(&mut self, id: u32) {
        let mut open = vec![Step::Open(id)];
        while let Some(step) = open.pop() {
            match step {
                Step::Open(id) => self.open(id, &mut open),
                Step::Close(id, spaces) => {
                    self.spaces.truncate(spaces);
                    if let Some(element) = self.document.element(id) {
                        self.out.push_str("</");
                        push_name(&element.name, &mut self.out);
                        self.out.push('>');
                    }
                }
            }
        }
    }

    fn open(&mut self, id: u32, open: &mut Vec<Step>) {
        let document = self.document;
        let node = document.node(id);
        match &node.kind {
            Kind::Root => {}
            Kind::Text(text) => return escape_text(text, &mut self.out),
            Kind::Comment(text) => {
                self.out.push_str("<!--");
                self.out.push_str(text);
                return self.out.push_str("-->");
            }
            Kind::Instruction { target, content } => {
                self.out.push_str("<?");
                self.out.push_str(target);
                if !content.is_empty() {
                    self.out.push(' ');
                    self.out.push_str(content);
                }
                return self.out.push_str("?>");
            }
            Kind::Element(element) => {
                let before = self.spaces.len();
                self.out.push('<');
                push_name(&element.name, &mut self.out);
                for (prefix, uri) in &element.spaces {
                    if self.space(prefix) != uri {
                        self.declare(prefix, uri);
                    }
                }
                self.need(&element.name);
                for attribute in element.attributes.iter().filter(|a| !a.name.prefix.is_empty()) {
                    self.need(&attribute.name);
                }
                for attribute in &element.attributes {
                    self.out.push(' ');
                    push_name(&attribute.name, &mut self.out);
                    self.out.push_str("=\"");
                    escape_attribute(&attribute.value, &mut self.out);
                    self.out.push('"');
                }
                if node.children.is_empty() {
                    self.out.push_str("/>");
                    return self.spaces.truncate(before);
                }
                self.out.push('>');
                open.push(Step::Close(id, before));
            }
        }
        open.extend(node.children.iter().rev().map(|child| Step::Open(*child)));
    }
}

impl Document {
    /// The text of a node; of an attribute its value.
    pub(crate) fn text_of(&self, at: NodeRef) -> String {
        if at.attribute > 0 {
            let mut out = String::new();
            escape_text(&self.string_value(at), &mut out);
            return out;
        }
        let mut writer = Writer { document: self, spaces: Vec::new(), out: String::new() };
        writer.node(at.node);
        writer.out
    }

    /// The whole text.
    pub fn text(&self) -> String {
        self.text_of(NodeRef::ROOT)
    }

    /// A node as a value of its own: the tags of what stands around it, itself, and where it is. [`Document::of_row`] reads it.
    pub fn row_text(&self, at: NodeRef) -> String {
        let mut around = Vec::new();
        let mut id = at.node;
        while id != 0 {
            id = self.node(id).parent;
            if id != 0 {
                around.push(id);
            }
        }
        let mut lone = Document::default();
        let mut under = 0;
        for id in around.iter().rev() {
            under = lone.add(under, self.node(*id).kind.clone());
        }
        lone.copy(self, at.node, under);
        format!("{}{}/{}{}{}", Document::ROW, around.len(), at.attribute, Document::ROW, lone.text())
    }

    /// Begins and ends what says where the node is; no XML has this character.
    const ROW: char = '\u{1}';

    /// The document of a row of nodes() and its node; another text is `None`.
    pub fn of_row(text: &str) -> Option<(Document, NodeRef)> {
        let (place, text) = text.strip_prefix(Document::ROW)?.split_once(Document::ROW)?;
        let (depth, attribute) = place.split_once('/')?;
        let (depth, attribute) = (depth.parse::<usize>().ok()?, attribute.parse::<u32>().ok()?);
        let mut document = crate::read(text, crate::Source::Wide, crate::Whitespace::Kept).ok()?;
        // The root is partial too: what stands beside is not there.
        document.partial.push(0);
        let mut node = 0;
        for level in 0..=depth {
            node = *document.node(node).children.first()?;
            if level < depth {
                document.partial.push(node);
            }
        }
        Some((document, NodeRef { made: 0, node, attribute }))
    }
}
