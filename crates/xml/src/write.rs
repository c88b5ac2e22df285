//! The text of trees, in SQL Server's form: elements without content are `<a/>`, namespaces are
//! declared where they are first needed. A tree can be written with changes made to it.

use std::collections::HashSet;

use compact_str::CompactString;

use crate::pace::{Pace, Stopped, pieces};
use crate::spaces::Spaces;
use crate::tree::{Document, Kind, Name, NodeRef};

/// The reference that a character of content is written as.
fn content_reference(byte: u8) -> Option<&'static str> {
    match byte {
        b'&' => Some("&amp;"),
        b'<' => Some("&lt;"),
        b'>' => Some("&gt;"),
        b'\r' => Some("&#x0D;"),
        _ => None,
    }
}

fn attribute_reference(byte: u8) -> Option<&'static str> {
    match byte {
        b'"' => Some("&quot;"),
        b'\t' => Some("&#x09;"),
        b'\n' => Some("&#x0A;"),
        byte => content_reference(byte),
    }
}

fn escape(
    text: &str,
    reference: fn(u8) -> Option<&'static str>,
    out: &mut String,
    pace: &Pace<'_>,
) -> Result<(), Stopped> {
    for piece in pieces(text, pace) {
        let piece = piece?;
        let mut written = 0;
        for (at, byte) in piece.bytes().enumerate() {
            if let Some(reference) = reference(byte) {
                out.push_str(&piece[written..at]);
                out.push_str(reference);
                written = at + 1;
            }
        }
        out.push_str(&piece[written..]);
    }
    Ok(())
}

/// Appends a text as content: `&`, `<`, `>` and carriage returns are references.
pub(crate) fn escape_text(text: &str, out: &mut String, pace: &Pace<'_>) -> Result<(), Stopped> {
    escape(text, content_reference, out, pace)
}

fn push_name(name: &Name, out: &mut String) {
    if !name.prefix.is_empty() {
        out.push_str(&name.prefix);
        out.push(':');
    }
    out.push_str(&name.local);
}

/// Where nodes are put in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InsertPosition {
    First(u32),
    Last(u32),
    Before(u32),
    After(u32),
}

/// What is put in.
#[derive(Debug)]
pub(crate) enum InsertedContent<'e> {
    Node(&'e Document, u32),
    Text(String),
}

/// Changes of a document that is written.
#[derive(Debug, Default)]
pub(crate) struct Edits<'e> {
    /// Nodes and attributes that are gone.
    pub gone: HashSet<NodeRef>,
    /// The value of a node or attribute.
    pub replaced: Option<(NodeRef, String)>,
    pub inserted: Option<(InsertPosition, Vec<InsertedContent<'e>>)>,
    /// Attributes for an element: the first comes behind its first one, its namespaces counted, the
    /// second behind its second one, and so on.
    pub attributes: Option<(u32, Vec<(&'e Document, NodeRef)>)>,
}

impl Edits<'_> {
    fn is_gone(&self, node: u32, attribute: u32) -> bool {
        !self.gone.is_empty() && self.gone.contains(&NodeRef { made: 0, node, attribute })
    }

    /// The value that a node or attribute has.
    fn value<'v>(&'v self, node: u32, attribute: u32, value: &'v str) -> &'v str {
        match &self.replaced {
            Some((at, new)) if (at.node, at.attribute) == (node, attribute) => new,
            _ => value,
        }
    }

    fn puts_into(&self, id: u32) -> bool {
        match &self.inserted {
            Some((InsertPosition::First(at) | InsertPosition::Last(at), list)) => {
                *at == id && !list.is_empty()
            }
            // Beside one of its children: there is one.
            _ => false,
        }
    }
}

/// Writes nodes with the namespaces that are declared around them.
pub(crate) struct Writer<'p> {
    spaces: Spaces,
    out: String,
    pace: &'p Pace<'p>,
}

/// An element whose end tag is still to be written.
struct OpenElement {
    id: u32,
    end: u32,
    spaces: usize,
}

impl<'p> Writer<'p> {
    pub fn new(pace: &'p Pace<'p>) -> Writer<'p> {
        Writer { spaces: Spaces::default(), out: String::new(), pace }
    }

    fn declare(&mut self, prefix: &CompactString, uri: &CompactString) -> Result<(), Stopped> {
        self.out.push_str(if prefix.is_empty() { " xmlns" } else { " xmlns:" });
        self.out.push_str(prefix);
        self.out.push_str("=\"");
        escape(uri, attribute_reference, &mut self.out, self.pace)?;
        self.out.push('"');
        self.spaces.declare(prefix, uri);
        Ok(())
    }

    fn has(&self, prefix: &str, uri: &str) -> bool {
        self.spaces.find(prefix).map_or("", CompactString::as_str) == uri
    }

    /// Declares the namespace of a name where it is not in force.
    fn need(&mut self, name: &Name) -> Result<(), Stopped> {
        if name.prefix != "xml" && !self.has(&name.prefix, &name.uri) {
            self.declare(&name.prefix, &name.uri)?;
        }
        Ok(())
    }

    /// A start tag up to before its `>`.
    fn tag(&mut self, document: &Document, id: u32, edits: &Edits<'_>) -> Result<(), Stopped> {
        let name = document.name_of(document.node(id).name());
        self.out.push('<');
        push_name(name, &mut self.out);
        for declared in document.declared_by(id) {
            self.pace.step(declared.prefix.len() + 16)?;
            if !self.has(&declared.prefix, &declared.uri) {
                self.declare(&declared.prefix, &declared.uri)?;
            }
        }
        self.need(name)?;
        let added =
            edits.attributes.as_ref().filter(|(at, _)| *at == id).map(|(_, list)| list.as_slice());
        let added = || {
            added
                .unwrap_or_default()
                .iter()
                .filter_map(|(from, at)| Some((*from, from.attribute(*at)?)))
        };
        let own = || (1..).zip(document.attributes(id)).filter(|(at, _)| !edits.is_gone(id, *at));
        let names = own().map(|(_, a)| document.name_of(a.name));
        for name in names.chain(added().map(|(from, a)| from.name_of(a.name))) {
            self.pace.step(16)?;
            if !name.prefix.is_empty() {
                self.need(name)?;
            }
        }
        let mut new = (1..).zip(added()).peekable();
        for (before, (at, attribute)) in (document.declared_by(id).len()..).zip(own()) {
            while let Some((_, (from, new))) = new.next_if(|(place, _)| *place <= before) {
                self.attribute(from.name_of(new.name), from.part(new.value))?;
            }
            let value = edits.value(id, at, document.part(attribute.value));
            self.attribute(document.name_of(attribute.name), value)?;
        }
        for (_, (from, new)) in new {
            self.attribute(from.name_of(new.name), from.part(new.value))?;
        }
        Ok(())
    }

    fn attribute(&mut self, name: &Name, value: &str) -> Result<(), Stopped> {
        self.out.push(' ');
        push_name(name, &mut self.out);
        self.out.push_str("=\"");
        escape(value, attribute_reference, &mut self.out, self.pace)?;
        self.out.push('"');
        Ok(())
    }

    fn end_tag(&mut self, document: &Document, open: &OpenElement) {
        self.spaces.back_to(open.spaces);
        if document.is_element(open.id) {
            self.out.push_str("</");
            push_name(document.name_of(document.node(open.id).name()), &mut self.out);
            self.out.push('>');
        }
    }

    /// Puts in what comes at a spot.
    fn put_in(&mut self, spot: InsertPosition, edits: &Edits<'_>) -> Result<(), Stopped> {
        let Some((at, list)) = &edits.inserted else { return Ok(()) };
        if *at != spot {
            return Ok(());
        }
        for inserted in list {
            match inserted {
                InsertedContent::Node(document, id) => {
                    self.node(document, *id, &Edits::default())?
                }
                InsertedContent::Text(text) => escape_text(text, &mut self.out, self.pace)?,
            }
        }
        Ok(())
    }

    /// A node and all that stands in it.
    pub fn node(&mut self, document: &Document, id: u32, edits: &Edits<'_>) -> Result<(), Stopped> {
        let mut open: Vec<OpenElement> = Vec::new();
        let (mut at, end) = (id, document.node(id).end);
        loop {
            // What ends here.
            while let Some(last) = open.pop_if(|last| last.end <= at) {
                self.put_in(InsertPosition::Last(last.id), edits)?;
                self.end_tag(document, &last);
                self.put_in(InsertPosition::After(last.id), edits)?;
            }
            if at >= end {
                return Ok(());
            }
            let node = document.node(at);
            self.pace.step(32)?;
            if edits.is_gone(at, 0) {
                at = node.end.max(at + 1);
                continue;
            }
            self.put_in(InsertPosition::Before(at), edits)?;
            match node.kind() {
                Kind::Root | Kind::Element => {
                    let spaces = self.spaces.mark();
                    if node.kind() == Kind::Element {
                        self.tag(document, at, edits)?;
                        if !self.has_content(document, at, edits)? {
                            self.out.push_str("/>");
                            self.spaces.back_to(spaces);
                            self.put_in(InsertPosition::After(at), edits)?;
                            at = node.end.max(at + 1);
                            continue;
                        }
                        self.out.push('>');
                    }
                    self.put_in(InsertPosition::First(at), edits)?;
                    open.push(OpenElement { id: at, end: node.end, spaces });
                }
                _ => {
                    self.leaf(document, at, edits)?;
                    self.put_in(InsertPosition::After(at), edits)?;
                }
            }
            at += 1;
        }
    }

    /// Whether anything is written in an element.
    fn has_content(
        &self,
        document: &Document,
        id: u32,
        edits: &Edits<'_>,
    ) -> Result<bool, Stopped> {
        if edits.puts_into(id) {
            return Ok(true);
        }
        for child in document.children(id) {
            if !edits.is_gone(child, 0) {
                return Ok(true);
            }
            self.pace.step(16)?;
        }
        Ok(false)
    }

    /// A node that is neither root nor element.
    fn leaf(&mut self, document: &Document, id: u32, edits: &Edits<'_>) -> Result<(), Stopped> {
        let node = document.node(id);
        let text = edits.value(id, 0, document.part(node.span));
        if node.kind() == Kind::Text {
            return escape_text(text, &mut self.out, self.pace);
        }
        self.pace.step(text.len())?;
        if node.kind() == Kind::Comment {
            self.out.push_str("<!--");
            self.out.push_str(text);
            self.out.push_str("-->");
            return Ok(());
        }
        self.out.push_str("<?");
        self.out.push_str(&document.name_of(node.name()).local);
        if !text.is_empty() {
            self.out.push(' ');
            self.out.push_str(text);
        }
        self.out.push_str("?>");
        Ok(())
    }

    /// All that was written.
    pub fn finish(self) -> String {
        self.out
    }
}

impl Document {
    /// Appends the text of a node.
    pub(crate) fn write(&self, id: u32, out: &mut String, pace: &Pace<'_>) -> Result<(), Stopped> {
        let mut writer = Writer { out: std::mem::take(out), ..Writer::new(pace) };
        let written = writer.node(self, id, &Edits::default());
        *out = writer.finish();
        written
    }

    /// The whole text, with changes.
    pub(crate) fn edited(&self, edits: &Edits<'_>, pace: &Pace<'_>) -> Result<String, Stopped> {
        let mut writer = Writer::new(pace);
        writer.node(self, 0, edits)?;
        Ok(writer.finish())
    }

    /// The whole text. What it says when it was told to stop is of no use.
    pub fn text(&self, pace: &Pace<'_>) -> String {
        self.edited(&Edits::default(), pace).unwrap_or_default()
    }

    /// A node as a value of its own: the tags of what stands around it, itself, and where it is.
    /// [`Document::of_row`] reads it.
    pub fn row_text(&self, at: NodeRef, pace: &Pace<'_>) -> String {
        self.row(at, pace).unwrap_or_default()
    }

    fn row(&self, at: NodeRef, pace: &Pace<'_>) -> Result<String, Stopped> {
        let mut around = Vec::new();
        let mut id = at.node;
        while id != 0 {
            id = self.node(id).parent;
            if id != 0 {
                around.push(id);
            }
        }
        let mut writer = Writer::new(pace);
        writer.out = format!("{}{}/{}{}", Document::ROW, around.len(), at.attribute, Document::ROW);
        for id in around.iter().rev() {
            writer.tag(self, *id, &Edits::default())?;
            writer.out.push('>');
        }
        writer.node(self, at.node, &Edits::default())?;
        for id in around {
            writer.end_tag(self, &OpenElement { id, end: 0, spaces: 0 });
        }
        Ok(writer.finish())
    }

    /// Begins and ends what says where the node is; no XML has this character.
    const ROW: char = '\u{1}';

    /// The document of a row of nodes() and its node; another text is `None`.
    pub fn of_row(text: &str, pace: &Pace<'_>) -> Option<(Document, NodeRef)> {
        let (place, text) = text.strip_prefix(Document::ROW)?.split_once(Document::ROW)?;
        let (depth, attribute) = place.split_once('/')?;
        let (depth, attribute) = (depth.parse::<u32>().ok()?, attribute.parse::<u32>().ok()?);
        let mut document =
            crate::read(text, crate::TextSource::Wide, crate::Whitespace::Kept, pace).ok()?;
        // The root is partial too: what stands beside is not there. Each one around is the only
        // child of the one before.
        document.partial = depth + 1;
        let node = document.partial;
        Some((document, NodeRef { made: 0, node, attribute }))
    }
}
