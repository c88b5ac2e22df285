//! Texts become trees: the parser is quick-xml's, what it does not look at is tested here (names,
//! characters, namespaces). Guarantee: every error has SQL Server's number and the place in the
//! text where it was seen.

mod refused;

use std::collections::HashSet;

use compact_str::CompactString;
use messages::{self as msg, Message};
use quick_xml::Reader;
use quick_xml::events::attributes::AttrError;
use quick_xml::events::{BytesStart, Event};

use crate::MAX_DEPTH;
use crate::build::{BuildError, Builder};
use crate::error::ReadError;
use crate::pace::{Pace, pieces};
use crate::spaces::Spaces;
use crate::tree::{Document, Kind, Name, Span};

use refused::{check_encoding, failed};

/// What the text came as: its declaration may only name an encoding that this could have had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextSource {
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
pub fn read(
    text: &str,
    source: TextSource,
    whitespace: Whitespace,
    pace: &Pace<'_>,
) -> Result<Document, ReadError> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_comments = true;
    let mut reading = DocumentReader {
        text,
        whitespace,
        pace,
        built: Builder::default(),
        spaces: Spaces::default(),
        open: Vec::new(),
        run: 0,
        solid: false,
    };
    loop {
        let start = reader.buffer_position() as usize;
        let event = reader.read_event().map_err(|e| {
            let at = (reader.error_position() as usize).max(start);
            failed(&e, text, at)
        })?;
        let end = reader.buffer_position() as usize;
        pace.step(32)?;
        match event {
            Event::Eof => break,
            Event::Decl(decl) => {
                if start > 0 || !reading.built.is_empty() {
                    return Err(ReadError::at(msg::XML_DECLARATION_PLACE, text, end));
                }
                check_encoding(&decl, source, text, end)?;
            }
            Event::DocType(_) => {
                return Err(ReadError::of(msg::XML_DTD_NOT_ALLOWED, []));
            }
            event => reading.event(event, start, end)?,
        }
    }
    reading.end_text()?;
    if !reading.open.is_empty() {
        return Err(ReadError::at(msg::XML_UNEXPECTED_END, text, text.len()));
    }
    Ok(reading.built.finish())
}

impl From<BuildError> for ReadError {
    fn from(error: BuildError) -> ReadError {
        match error {
            BuildError::Stopped => ReadError::stopped(),
            BuildError::TooLong => ReadError::of(msg::XML_TOO_LONG, []),
        }
    }
}

/// An element that is open.
struct OpenElement {
    /// Its xml:space keeps white space.
    keeps: bool,
    /// Where its namespaces begin.
    spaces: usize,
}

/// The names of a tag's attributes, as they are written.
#[derive(Default)]
struct SeenAttributes<'a> {
    few: Vec<&'a [u8]>,
    many: HashSet<&'a [u8]>,
}

impl<'a> SeenAttributes<'a> {
    /// False for a name that was there before.
    fn add(&mut self, name: &'a [u8]) -> bool {
        if self.few.len() < 16 {
            let new = !self.few.contains(&name);
            self.few.push(name);
            return new;
        }
        if self.many.is_empty() {
            self.many.extend(self.few.iter().copied());
        }
        self.many.insert(name)
    }
}

struct DocumentReader<'t> {
    text: &'t str,
    whitespace: Whitespace,
    pace: &'t Pace<'t>,
    built: Builder,
    spaces: Spaces,
    /// The elements that are open, the outermost first.
    open: Vec<OpenElement>,
    /// Where the text that is being read begins.
    run: usize,
    /// Some of it is more than white space, or was written as a reference or CDATA.
    solid: bool,
}

impl DocumentReader<'_> {
    fn error(&self, message: Message<2>, at: usize) -> ReadError {
        ReadError::at(message, self.text, at)
    }

    fn event(&mut self, event: Event<'_>, start: usize, end: usize) -> Result<(), ReadError> {
        match event {
            Event::Start(tag) => self.start(&tag, start, end),
            Event::Empty(tag) => {
                self.start(&tag, start, end)?;
                self.close();
                Ok(())
            }
            Event::End(_) => {
                self.end_text()?;
                self.close();
                Ok(())
            }
            Event::Text(text) => self.characters(&text, start, false),
            Event::CData(text) => self.characters(&text, start, true),
            Event::GeneralRef(reference) => {
                let name = std::str::from_utf8(&reference).unwrap_or_default();
                let c = self.reference(name, end)?;
                self.solid = true;
                Ok(self.built.put(c.encode_utf8(&mut [0; 4]))?)
            }
            Event::Comment(text) => {
                self.end_text()?;
                let mark = self.built.text_mark();
                self.put_raw(&text, start, false)?;
                self.leaf(Kind::Comment, 0, mark)
            }
            Event::PI(instruction) => {
                self.instruction(instruction.target(), instruction.content(), end)
            }
            Event::Decl(_) | Event::DocType(_) | Event::Eof => Ok(()),
        }
    }

    /// Puts a part of the text as it is written; the ends of lines become one character where
    /// `lines` says so.
    fn put_raw(&mut self, raw: &[u8], start: usize, lines: bool) -> Result<(), ReadError> {
        // A text's parts are texts: it is cut at signs of ASCII.
        let raw = std::str::from_utf8(raw).unwrap_or_default();
        let mut at = start;
        let mut return_before = false;
        for piece in pieces(raw, self.pace) {
            let piece = piece?;
            self.check_characters(piece, at)?;
            at += piece.len();
            if !lines || !(return_before || piece.contains('\r')) {
                self.built.put(piece)?;
                continue;
            }
            let mut parts = piece.split('\r');
            let mut first = parts.next().unwrap_or_default();
            if return_before {
                first = first.strip_prefix('\n').unwrap_or(first);
            }
            self.built.put(first)?;
            for part in parts {
                self.built.put("\n")?;
                self.built.put(part.strip_prefix('\n').unwrap_or(part))?;
            }
            return_before = piece.ends_with('\r');
        }
        Ok(())
    }

    fn characters(&mut self, raw: &[u8], start: usize, cdata: bool) -> Result<(), ReadError> {
        let mark = self.built.text_mark();
        self.put_raw(raw, start, true)?;
        if !self.solid {
            let put = self.built.since(mark);
            self.solid = cdata || !self.built.text_of(put).bytes().all(|b| is_space(char::from(b)));
        }
        Ok(())
    }

    fn instruction(&mut self, target: &[u8], content: &[u8], end: usize) -> Result<(), ReadError> {
        let part = |bytes| std::str::from_utf8(bytes).unwrap_or_default();
        let (target, content) = (part(target), part(content));
        if target.eq_ignore_ascii_case("xml") {
            return Err(self.error(msg::XML_DECLARATION_PLACE, end));
        }
        self.end_text()?;
        let name = self.built.named(Name { local: target.into(), ..Name::default() })?;
        let mark = self.built.text_mark();
        self.built.put_all(content.trim_start(), self.pace)?;
        self.leaf(Kind::Instruction, name, mark)
    }

    fn leaf(&mut self, kind: Kind, name: u32, mark: usize) -> Result<(), ReadError> {
        self.built.leaf(kind, name, mark)?;
        self.run = self.built.text_mark();
        Ok(())
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
                    _ => Err(self.error(msg::XML_ENTITY_UNDECLARED, at)),
                };
            }
            Some(digits) => match digits.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16)
                    .map_err(|_| self.error(msg::XML_HEXADECIMAL_EXPECTED, at))?,
                None => digits.parse().map_err(|_| self.error(msg::XML_DECIMAL_EXPECTED, at))?,
            },
        };
        let c = char::from_u32(number).filter(|c| is_xml(*c));
        c.ok_or_else(|| self.error(msg::XML_ILLEGAL_CHARACTER, at))
    }

    fn check_characters(&self, text: &str, start: usize) -> Result<(), ReadError> {
        match text.char_indices().find(|(_, c)| !is_xml(*c)) {
            None => Ok(()),
            Some((at, _)) => Err(self.error(msg::XML_ILLEGAL_CHARACTER, start + at)),
        }
    }

    /// The text so far becomes a node.
    fn end_text(&mut self) -> Result<(), ReadError> {
        let kept =
            self.whitespace == Whitespace::Kept || self.open.last().is_some_and(|open| open.keeps);
        let some = self.built.text_mark() > self.run;
        if some && (self.solid || kept) {
            self.built.leaf(Kind::Text, 0, self.run)?;
        } else {
            self.built.forget(self.run);
        }
        self.solid = false;
        self.run = self.built.text_mark();
        Ok(())
    }

    fn close(&mut self) {
        if let Some(open) = self.open.pop() {
            self.spaces.back_to(open.spaces);
            self.built.close();
        }
        self.run = self.built.text_mark();
    }

    fn start(&mut self, tag: &BytesStart<'_>, start: usize, end: usize) -> Result<(), ReadError> {
        self.end_text()?;
        if self.built.depth() > MAX_DEPTH {
            return Err(ReadError::of(msg::XML_TOO_DEEP, [&MAX_DEPTH]));
        }
        self.built.open()?;
        let spaces = self.spaces.mark();
        let given = self.written_attributes(tag, start, end)?;
        let own = std::str::from_utf8(tag.name().into_inner()).unwrap_or_default();
        let name = self.name(own, true, end)?;
        let name = self.built.named(name)?;
        self.built.set_name(name);
        let mut keeps = self.open.last().is_some_and(|open| open.keeps);
        // Two prefixes may mean the same.
        let prefixed = given.iter().filter(|(key, _)| key.contains(':')).count();
        let mut seen: HashSet<(CompactString, CompactString)> = HashSet::new();
        for (key, value) in given {
            self.pace.step(32)?;
            let name = self.name(key, false, end)?;
            if prefixed > 1
                && !name.uri.is_empty()
                && !seen.insert((name.local.clone(), name.uri.clone()))
            {
                return Err(self.error(msg::XML_ATTRIBUTE_TWICE, end));
            }
            if name.local == "space" && name.uri == XML {
                keeps = self.built.text_of(value) == "preserve";
            }
            let name = self.built.named(name)?;
            self.built.attribute(name, value)?;
        }
        self.open.push(OpenElement { keeps, spaces });
        self.run = self.built.text_mark();
        Ok(())
    }

    /// The attributes of a tag as they are written, their values resolved; what declares namespaces
    /// is declared.
    fn written_attributes<'a>(
        &mut self,
        tag: &'a BytesStart<'_>,
        start: usize,
        end: usize,
    ) -> Result<Vec<(&'a str, Span)>, ReadError> {
        let mut given: Vec<(&'a str, Span)> = Vec::new();
        let mut seen = SeenAttributes::default();
        let written: &'a [u8] = tag;
        for attribute in tag.attributes().with_checks(false) {
            let attribute = attribute.map_err(|e| self.bad_attribute(&e, start, end))?;
            let raw: &'a [u8] = attribute.key.into_inner();
            self.pace.step(raw.len() + 32)?;
            if !seen.add(raw) {
                // Where it stands in its tag.
                let offset = (raw.as_ptr() as usize).saturating_sub(written.as_ptr() as usize);
                return Err(self.bad_attribute(&AttrError::Duplicated(offset, 0), start, end));
            }
            let key = std::str::from_utf8(raw).unwrap_or_default();
            let mark = self.built.text_mark();
            self.put_value(std::str::from_utf8(&attribute.value).unwrap_or_default(), end)?;
            let value = self.built.since(mark);
            let prefix = match key.strip_prefix("xmlns") {
                Some("") => "",
                Some(rest) if rest.starts_with(':') => &rest[1..],
                _ => {
                    given.push((key, value));
                    continue;
                }
            };
            let uri = CompactString::from(self.built.text_of(value));
            self.built.forget(mark);
            if key.len() > 5 {
                self.check_declared(prefix, &uri, end)?;
            }
            let prefix = CompactString::from(prefix);
            self.spaces.declare(&prefix, &uri);
            self.built.declare(prefix, uri);
        }
        Ok(given)
    }

    fn check_declared(&self, prefix: &str, uri: &str, at: usize) -> Result<(), ReadError> {
        if (prefix == "xml") != (uri == XML) || prefix == "xmlns" || uri == XMLNS {
            return Err(self.error(msg::XML_PREFIX_XML, at));
        }
        if uri.is_empty() {
            return Err(self.error(msg::XML_NAMESPACE_EMPTY, at));
        }
        if !is_name(prefix) {
            return Err(self.error(msg::XML_NAME_CHARACTER, at));
        }
        Ok(())
    }

    /// A name with its namespace; attributes without a prefix are in none.
    fn name(&self, text: &str, element: bool, at: usize) -> Result<Name, ReadError> {
        let (prefix, local) = text.split_once(':').unwrap_or(("", text));
        if !is_name(local) || (text.contains(':') && !is_name(prefix)) {
            return Err(self.error(msg::XML_NAME_CHARACTER, at));
        }
        if prefix == "xml" {
            return Ok(Name { prefix: prefix.into(), local: local.into(), uri: XML.into() });
        }
        let mut uri = None;
        if element || !prefix.is_empty() {
            uri = self.spaces.find(prefix).cloned();
        }
        if uri.is_none() && !prefix.is_empty() {
            return Err(self.error(msg::XML_PREFIX_NOT_DECLARED, at));
        }
        Ok(Name { prefix: prefix.into(), local: local.into(), uri: uri.unwrap_or_default() })
    }

    /// Puts an attribute's value: references resolved, white space is blanks.
    fn put_value(&mut self, raw: &str, at: usize) -> Result<(), ReadError> {
        let mut rest = raw;
        while !rest.is_empty() {
            let (plain, after) = match rest.find('&') {
                Some(found) => (&rest[..found], Some(&rest[found + 1..])),
                None => (rest, None),
            };
            self.put_blanked(plain, at)?;
            let Some(after) = after else { return Ok(()) };
            let Some(end) = after.find(';') else {
                return Err(self.error(msg::XML_SEMICOLON_EXPECTED, at));
            };
            self.pace.step(16)?;
            let c = self.reference(&after[..end], at)?;
            self.built.put(c.encode_utf8(&mut [0; 4]))?;
            rest = &after[end + 1..];
        }
        Ok(())
    }

    /// Puts a part of an attribute's value that has no references.
    fn put_blanked(&mut self, text: &str, at: usize) -> Result<(), ReadError> {
        let mut return_before = false;
        for piece in pieces(text, self.pace) {
            let piece = piece?;
            self.check_characters(piece, at)?;
            if piece.contains('<') {
                return Err(self.error(msg::XML_LESS_IN_ATTRIBUTE, at));
            }
            if !piece.contains(|c| c != ' ' && is_space(c)) {
                self.built.put(piece)?;
            } else {
                let from = usize::from(return_before && piece.starts_with('\n'));
                let blanked = piece[from..].replace("\r\n", " ").replace(is_space, " ");
                self.built.put(&blanked)?;
            }
            return_before = piece.ends_with('\r');
        }
        Ok(())
    }

    fn bad_attribute(&self, error: &AttrError, start: usize, end: usize) -> ReadError {
        let at = |offset: usize| (start + 1 + offset).min(end);
        match error {
            AttrError::ExpectedEq(offset) => self.error(msg::XML_EQUAL_EXPECTED, at(*offset)),
            AttrError::ExpectedValue(offset) | AttrError::UnquotedValue(offset) => {
                self.error(msg::XML_STRING_EXPECTED, at(*offset))
            }
            AttrError::ExpectedQuote(offset, _) => {
                self.error(msg::XML_STRING_EXPECTED, at(*offset))
            }
            AttrError::Duplicated(offset, _) => self.error(msg::XML_ATTRIBUTE_TWICE, at(*offset)),
        }
    }
}

pub(crate) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// A character that a document may have.
pub fn is_xml(c: char) -> bool {
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
