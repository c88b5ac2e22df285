//! Texts become trees: the parser is quick-xml's, what it does not look at is tested here (names, characters, namespaces).
//! Guarantee: every error has SQL Server's number and the place in the text where it was seen.

use compact_str::CompactString;
use quick_xml::Reader;
use quick_xml::errors::{IllFormedError, SyntaxError};
use quick_xml::events::attributes::AttrError;
use quick_xml::events::{BytesDecl, BytesStart, Event};

use crate::MAX_DEPTH;
use crate::error::ReadError;
use crate::tree::{Attribute, Document, Element, Kind, Name};

/// What the text came as: its declaration may only name an encoding that this could have had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// nvarchar.
    Wide,
    /// varchar.
    Narrow,
    /// Bytes that were decoded as they say.
    Bytes,
}

/// What becomes of white space between tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whitespace {
    Dropped,
    Kept,
}

/// The namespace of the prefix `xml`.
pub(crate) const XML: &str = "http://www.w3.org/XML/1998/namespace";
const XMLNS: &str = "http://www.w3.org/2000/xmlns/";

/// Reads a document or a fragment.
///
/// # Errors
/// The 9400s; 6335 elements in too many others, 6359 a DTD.
pub fn read(text: &str, source: Source, whitespace: Whitespace) -> Result<Document, ReadError> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_comments = true;
    let mut reading = Reading {
        text,
        whitespace,
        document: Document::default(),
        open: vec![0],
        keep: vec![],
        run: String::new(),
        solid: false,
    };
    loop {
        let start = reader.buffer_position() as usize;
        let event = reader.read_event().map_err(|e| {
            let at = (reader.error_position() as usize).max(start);
            failed(&e, text, at)
        })?;
        let end = reader.buffer_position() as usize;
        match event {
            Event::Eof => break,
            Event::Decl(decl) => {
                if start > 0 || reading.document.nodes.len() > 1 {
                    return Err(ReadError::at(9438, "text/xmldecl not at the beginning of input", text, end));
                }
                check_encoding(&decl, source, text, end)?;
            }
            Event::DocType(_) => {
                let what = "Parsing XML with internal subset DTDs not allowed. Use CONVERT with style option 2 to enable limited \
                            internal subset DTD support.";
                return Err(ReadError::plain(6359, what));
            }
            event => reading.event(event, start, end)?,
        }
    }
    reading.end_text();
    if reading.open.len() > 1 {
        return Err(ReadError::at(9400, "unexpected end of input", text, text.len()));
    }
    Ok(reading.document)
}

struct Reading<'t> {
    text: &'t str,
    whitespace: Whitespace,
    document: Document,
    /// The elements that are open, the root first.
    open: Vec<u32>,
    /// Of each open element whether its xml:space keeps white space.
    keep: Vec<bool>,
    /// The text that is being read.
    run: String,
    /// Some of it is more than white space, or was written as a reference or CDATA.
    solid: bool,
}

impl Reading<'_> {
    fn error(&self, number: i32, what: &str, at: usize) -> ReadError {
        ReadError::at(number, what, self.text, at)
    }

    fn parent(&self) -> u32 {
        self.open.last().copied().unwrap_or(0)
    }

    fn event(&mut self, event: Event<'_>, start: usize, end: usize) -> Result<(), ReadError> {
        match event {
            Event::Start(tag) => self.start(&tag, start, end).map(drop),
            Event::Empty(tag) => {
                self.start(&tag, start, end)?;
                self.close();
                Ok(())
            }
            Event::End(_) => {
                self.end_text();
                self.close();
                Ok(())
            }
            Event::Text(text) => {
                let text =
                    text.xml10_content().map_err(|_| self.error(9420, "illegal xml character", start))?;
                self.check_characters(&text, start)?;
                self.solid |= !text.chars().all(is_space);
                self.run.push_str(&text);
                Ok(())
            }
            Event::CData(text) => {
                let text =
                    text.xml10_content().map_err(|_| self.error(9420, "illegal xml character", start))?;
                self.check_characters(&text, start)?;
                self.solid = true;
                self.run.push_str(&text);
                Ok(())
            }
            Event::GeneralRef(reference) => {
                let name = std::str::from_utf8(&reference).unwrap_or_default();
                let c = self.reference(name, end)?;
                self.solid = true;
                self.run.push(c);
                Ok(())
            }
            Event::Comment(text) => {
                let text =
                    text.decode().map_err(|_| self.error(9420, "illegal xml character", start))?.into_owned();
                self.check_characters(&text, start)?;
                self.end_text();
                self.document.add(self.parent(), Kind::Comment(text));
                Ok(())
            }
            Event::PI(instruction) => {
                let part = |bytes: &[u8]| std::str::from_utf8(bytes).unwrap_or_default().to_owned();
                let (target, content) = (part(instruction.target()), part(instruction.content()));
                if target.eq_ignore_ascii_case("xml") {
                    return Err(self.error(9438, "text/xmldecl not at the beginning of input", end));
                }
                self.end_text();
                let content = content.trim_start().to_owned();
                self.document.add(self.parent(), Kind::Instruction { target: target.into(), content });
                Ok(())
            }
            Event::Decl(_) | Event::DocType(_) | Event::Eof => Ok(()),
        }
    }

    /// The character that a reference stands for.
    fn reference(&self, name: &str, at: usize) -> Result<char, ReadError> {
        let number = match name.strip_prefix('#') {
            None => {
                return match name {
                    "lt" => Ok('<'),
                    "gt" => Ok('>'),
                    "amp" => Ok('&'),
                    "quot" => Ok('"'),
                    "apos" => Ok('\''),
                    _ => Err(self.error(9448, "well formed check: undeclared entity", at)),
                };
            }
            Some(digits) => match digits.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16)
                    .map_err(|_| self.error(9416, "hexadecimal digit expected", at))?,
                None => digits.parse().map_err(|_| self.error(9417, "decimal digit expected", at))?,
            },
        };
        let c = char::from_u32(number).filter(|c| is_xml(*c));
        c.ok_or_else(|| self.error(9420, "illegal xml character", at))
    }

    fn check_characters(&self, text: &str, start: usize) -> Result<(), ReadError> {
        match text.char_indices().find(|(_, c)| !is_xml(*c)) {
            None => Ok(()),
            Some((at, _)) => Err(self.error(9420, "illegal xml character", start + at)),
        }
    }

    /// The text so far becomes a node.
    fn end_text(&mut self) {
        let kept = self.whitespace == Whitespace::Kept || self.keep.last() == Some(&true);
        let text = std::mem::take(&mut self.run);
        if !text.is_empty() && (self.solid || kept) {
            self.document.add(self.parent(), Kind::Text(text));
        }
        self.solid = false;
    }

    fn close(&mut self) {
        if self.open.len() > 1 {
            self.open.pop();
            self.keep.pop();
        }
    }

    fn start(&mut self, tag: &BytesStart<'_>, start: usize, end: usize) -> Result<(), ReadError> {
        self.end_text();
        if self.open.len() > MAX_DEPTH {
            let what = "XML datatype instance has too many levels of nested nodes. Maximum allowed depth is 128 levels.";
            return Err(ReadError::plain(6335, what));
        }
        let name = std::str::from_utf8(tag.name().into_inner()).unwrap_or_default().to_owned();
        let mut spaces: Vec<(CompactString, CompactString)> = Vec::new();
        let mut given: Vec<(String, String)> = Vec::new();
        for attribute in tag.attributes() {
            let attribute = attribute.map_err(|e| self.bad_attribute(&e, start, end))?;
            let key = std::str::from_utf8(attribute.key.into_inner()).unwrap_or_default();
            let value =
                self.attribute_value(std::str::from_utf8(&attribute.value).unwrap_or_default(), end)?;
            if key == "xmlns" {
                spaces.push((CompactString::default(), value.into()));
            } else if let Some(prefix) = key.strip_prefix("xmlns:") {
                self.check_declared(prefix, &value, end)?;
                spaces.push((prefix.into(), value.into()));
            } else {
                given.push((key.to_owned(), value));
            }
        }
        let id = self.document.add(
            self.parent(),
            Kind::Element(Element { name: Name::default(), attributes: Vec::new(), spaces }),
        );
        let name = self.name(&name, id, true, end)?;
        let mut attributes: Vec<Attribute> = Vec::with_capacity(given.len());
        for (key, value) in given {
            let name = self.name(&key, id, false, end)?;
            if attributes.iter().any(|a| a.name.is(&name)) {
                return Err(self.error(9437, "duplicate attribute", end));
            }
            attributes.push(Attribute { name, value });
        }
        let space = attributes
            .iter()
            .find(|a| a.name.local == "space" && a.name.uri == XML)
            .map(|a| a.value == "preserve");
        let inherited = self.keep.last().copied().unwrap_or(false);
        if let Some(Kind::Element(element)) =
            self.document.nodes.get_mut(id as usize).map(|node| &mut node.kind)
        {
            (element.name, element.attributes) = (name, attributes);
        }
        self.open.push(id);
        self.keep.push(space.unwrap_or(inherited));
        Ok(())
    }

    fn check_declared(&self, prefix: &str, uri: &str, at: usize) -> Result<(), ReadError> {
        if (prefix == "xml") != (uri == XML) || prefix == "xmlns" || uri == XMLNS {
            return Err(self.error(9464, "XML namespace prefix 'xml' can only be associated with the URI http://www.w3.org/XML/1998/namespace", at));
        }
        if uri.is_empty() {
            return Err(self.error(9460, "non default namespace with empty uri", at));
        }
        if !is_name(prefix) {
            return Err(self.error(9455, "illegal qualified name character", at));
        }
        Ok(())
    }

    /// A name with its namespace; attributes without a prefix are in none.
    fn name(&self, text: &str, id: u32, element: bool, at: usize) -> Result<Name, ReadError> {
        let (prefix, local) = text.split_once(':').unwrap_or(("", text));
        if !is_name(local) || (text.contains(':') && !is_name(prefix)) {
            return Err(self.error(9455, "illegal qualified name character", at));
        }
        if prefix == "xml" {
            return Ok(Name { prefix: prefix.into(), local: local.into(), uri: XML.into() });
        }
        let mut uri = None;
        if element || !prefix.is_empty() {
            uri = self.document.spaces(id).into_iter().find(|space| space.0 == prefix).map(|space| space.1);
        }
        if uri.is_none() && !prefix.is_empty() {
            return Err(self.error(9459, "undeclared prefix", at));
        }
        Ok(Name { prefix: prefix.into(), local: local.into(), uri: uri.unwrap_or_default() })
    }

    /// An attribute's value: references resolved, white space is blanks.
    fn attribute_value(&self, raw: &str, at: usize) -> Result<String, ReadError> {
        self.check_characters(raw, at)?;
        if raw.contains('<') {
            return Err(self.error(9415, "well formed check: no '<' in attribute value", at));
        }
        let mut out = String::with_capacity(raw.len());
        let mut rest = raw;
        while let Some(found) = rest.find('&') {
            push_blanked(&rest[..found], &mut out);
            rest = &rest[found + 1..];
            let Some(end) = rest.find(';') else { return Err(self.error(9411, "semicolon expected", at)) };
            out.push(self.reference(&rest[..end], at)?);
            rest = &rest[end + 1..];
        }
        push_blanked(rest, &mut out);
        Ok(out)
    }

    fn bad_attribute(&self, error: &AttrError, start: usize, end: usize) -> ReadError {
        let at = |offset: usize| (start + 1 + offset).min(end);
        match error {
            AttrError::ExpectedEq(offset) => self.error(9414, "equal expected", at(*offset)),
            AttrError::ExpectedValue(offset) | AttrError::UnquotedValue(offset) => {
                self.error(9413, "A string literal was expected", at(*offset))
            }
            AttrError::ExpectedQuote(offset, _) => {
                self.error(9413, "A string literal was expected", at(*offset))
            }
            AttrError::Duplicated(offset, _) => self.error(9437, "duplicate attribute", at(*offset)),
        }
    }
}

fn push_blanked(text: &str, out: &mut String) {
    let text = text.replace("\r\n", " ");
    out.extend(text.chars().map(|c| if is_space(c) { ' ' } else { c }));
}

/// 9402: the declaration names an encoding that the text cannot have had.
fn check_encoding(decl: &BytesDecl<'_>, source: Source, text: &str, end: usize) -> Result<(), ReadError> {
    let Some(Ok(encoding)) = decl.encoding() else { return Ok(()) };
    let name = String::from_utf8_lossy(&encoding).to_ascii_lowercase();
    let wide = matches!(name.as_str(), "utf-16" | "ucs-2" | "iso-10646-ucs-2" | "unicode");
    let fits = match source {
        Source::Wide => wide,
        Source::Narrow => !wide,
        Source::Bytes => true,
    };
    if fits {
        Ok(())
    } else {
        Err(ReadError::at(9402, "unable to switch the encoding", text, end.saturating_sub(2)))
    }
}

fn failed(error: &quick_xml::Error, text: &str, at: usize) -> ReadError {
    use quick_xml::Error as E;
    let (number, what, at) = match error {
        E::IllFormed(IllFormedError::MismatchedEndTag { .. } | IllFormedError::UnmatchedEndTag(_)) => {
            // Behind the tag.
            let end = text.get(at..).and_then(|rest| rest.find('>')).map_or(text.len(), |found| at + found);
            return match text.get(at..end).and_then(|tag| tag.strip_prefix("</")).map(str::trim_end) {
                Some(name) if !name.split(':').all(is_name) => {
                    ReadError::at(9455, "illegal qualified name character", text, end)
                }
                _ => ReadError::at(9436, "end tag does not match start tag", text, end),
            };
        }
        E::IllFormed(IllFormedError::DoubleHyphenInComment) => (9424, "incorrect comment syntax", at),
        E::IllFormed(IllFormedError::UnclosedReference) => (9411, "semicolon expected", at),
        E::IllFormed(IllFormedError::MissingDeclVersion(_) | IllFormedError::UnknownVersion) => {
            (9441, "incorrect xml declaration syntax", at)
        }
        E::Syntax(SyntaxError::InvalidBangMarkup) => (9422, "incorrect document syntax", at),
        _ => (9400, "unexpected end of input", text.len()),
    };
    ReadError::at(number, what, text, at)
}

pub(crate) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// A character that a document may have.
fn is_xml(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
}

pub(crate) fn is_name_start(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

pub(crate) fn is_name_part(c: char) -> bool {
    is_name_start(c) || c.is_numeric() || matches!(c, '-' | '.' | '\u{B7}' | '\u{300}'..='\u{36F}')
}

/// A name without a colon.
pub(crate) fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(is_name_start) && chars.all(is_name_part)
}
