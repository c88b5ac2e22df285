//! FOR XML RAW and AUTO: elements of rows, or elements within elements by table; and how values and
//! names are written in XML.

use types::convert::{Mode, convert};
use types::look::pieces;
use types::{CancelCheck, DataType, Len, SqlError, Value};

use super::{DocumentColumn, Writer};
use crate::json::base64;

/// The attribute that brings the prefix of `xsi:nil`.
const XSI: &str = " xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"";

/// The options, and the elements. RAW has one level; AUTO one for each table, each inside of the
/// one before.
#[derive(Clone, Debug)]
pub struct XmlDocument {
    pub levels: Vec<XmlLevel>,
    /// ROOT, as it is written.
    pub root: Option<String>,
    /// Values are elements, not attributes.
    pub elements: bool,
    /// ELEMENTS XSINIL: NULLs are elements too.
    pub nil: bool,
    /// The namespaces that the outermost elements declare, as they are written.
    pub declared: String,
}

/// The elements of one table.
#[derive(Clone, Debug)]
pub struct XmlLevel {
    /// The element's name; empty for values without one around them.
    pub name: String,
    /// Names and values.
    pub columns: Vec<(String, DocumentColumn)>,
}

impl XmlDocument {
    pub(super) fn row(
        &self,
        writer: &mut Writer,
        row: &[Value],
        look: CancelCheck<'_>,
    ) -> Result<(), SqlError> {
        let last = self.levels.len() - 1;
        let columns =
            self.levels[..last].iter().map(|level| level.columns.iter().map(|(_, c)| c).collect());
        let changed = writer.changed(row, columns.chain([Vec::new()]));
        if writer.rows > 0 {
            self.close(writer, changed);
        }
        for (number, level) in self.levels.iter().enumerate().skip(changed) {
            self.open(writer, level, (number == 0, number < last), row, look)?;
        }
        Ok(())
    }

    /// Writes an element with its values; it is left open when others may follow in it.
    fn open(
        &self,
        writer: &mut Writer,
        level: &XmlLevel,
        (outermost, inner): (bool, bool),
        row: &[Value],
        look: CancelCheck<'_>,
    ) -> Result<(), SqlError> {
        let out = &mut writer.out;
        let named = !level.name.is_empty();
        if named {
            out.push('<');
            out.push_str(&level.name);
            if outermost && self.root.is_none() {
                out.push_str(&self.declared);
            }
        }
        if !self.elements {
            // No attribute can have xml: it is an element within.
            let mut body = String::new();
            for (name, column) in &level.columns {
                match &row[column.at] {
                    Value::Null => {}
                    Value::Str(text) if column.raw && text.is_empty() => {
                        body.push_str(&format!("<{name}/>"))
                    }
                    Value::Str(text) if column.raw => {
                        body.push_str(&format!("<{name}>{text}</{name}>"))
                    }
                    value => {
                        out.push_str(&format!(" {name}=\""));
                        escape(&value_text(value, column.ty, look)?, true, out, look)?;
                        out.push('"');
                    }
                }
            }
            match (inner, body.is_empty()) {
                (true, _) => out.push_str(&format!(">{body}")),
                (false, true) => out.push_str("/>"),
                (false, false) => out.push_str(&format!(">{body}</{}>", level.name)),
            }
            return Ok(());
        }
        let mut body = String::new();
        for (name, column) in &level.columns {
            let value = &row[column.at];
            if value.is_null() {
                if self.nil {
                    body.push_str(&format!("<{name} xsi:nil=\"true\"/>"));
                }
                continue;
            }
            body.push('<');
            body.push_str(name);
            body.push('>');
            match value.as_str() {
                Some(text) if column.raw => body.push_str(text),
                _ => escape(&value_text(value, column.ty, look)?, false, &mut body, look)?,
            }
            body.push_str(&format!("</{name}>"));
        }
        match (named, body.is_empty() && !inner) {
            (false, _) => out.push_str(&body),
            (true, true) => out.push_str("/>"),
            (true, false) => {
                out.push('>');
                out.push_str(&body);
                if !inner {
                    out.push_str(&format!("</{}>", level.name));
                }
            }
        }
        Ok(())
    }

    /// Closes the elements of a level and what is inside of them; those of the last level are
    /// closed already.
    fn close(&self, writer: &mut Writer, level: usize) {
        let last = self.levels.len() - 1;
        for level in self.levels[level.min(last)..last].iter().rev() {
            writer.out.push_str(&format!("</{}>", level.name));
        }
    }

    pub(super) fn finish(&self, mut writer: Writer) -> String {
        self.close(&mut writer, 0);
        rooted(writer.out, self.root.as_deref(), &self.declared)
    }
}

/// The text in its root element.
pub(super) fn rooted(body: String, root: Option<&str>, declared: &str) -> String {
    let Some(root) = root else { return body };
    // It may be long: nothing of it is copied.
    let mut out = body;
    out.insert_str(0, &format!("<{root}{declared}>"));
    out.push_str(&format!("</{root}>"));
    out
}

/// What the outermost elements declare: the namespaces of WITH XMLNAMESPACES, each a prefix and a
/// URI, the last one first; `nil`: the prefix of `xsi:nil`.
pub fn declarations<'n>(
    namespaces: impl DoubleEndedIterator<Item = (&'n str, &'n str)>,
    nil: bool,
) -> String {
    let mut out = String::from(if nil { XSI } else { "" });
    for (prefix, uri) in namespaces.rev() {
        match prefix {
            "" => out.push_str(" xmlns=\""),
            prefix => out.push_str(&format!(" xmlns:{prefix}=\"")),
        }
        escaped(uri, true, &mut out);
        out.push('"');
    }
    out
}

/// A value as XML writes it, nothing escaped yet.
pub(super) fn value_text(
    value: &Value,
    ty: DataType,
    look: CancelCheck<'_>,
) -> Result<String, SqlError> {
    let (value, ty) = match ty {
        DataType::SqlVariant => {
            let (value, ty, _) = types::variant::parts(value);
            (value, ty)
        }
        ty => (value, ty),
    };
    let text = |style| convert(value, ty, DataType::NVarChar(Len::Max), style, Mode::Explicit);
    Ok(match value {
        Value::Str(text) => text.to_string(),
        Value::Bytes(bytes) => {
            // Whole groups of three bytes.
            let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
            for (at, piece) in bytes.chunks(48 << 10).enumerate() {
                if at > 0 {
                    look()?;
                }
                out.push_str(&base64(piece));
            }
            out
        }
        _ => {
            let style = match value {
                Value::Float(_) | Value::Money(_) | Value::SmallMoney(_) => 2,
                Value::Real(_) => 1,
                Value::DateTimeOffset { offset: 0, .. } => 127,
                _ if ty.is_temporal() => 126,
                _ => 0,
            };
            text(style)?.as_str().unwrap_or_default().to_owned()
        }
    })
}

/// Appends text with what XML needs escaped, or does not have, as references; more of it in
/// attributes.
pub fn escaped(text: &str, attribute: bool, out: &mut String) {
    let mut written = 0;
    for (at, byte) in text.bytes().enumerate() {
        let code;
        let reference = match byte {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'"' if attribute => "&quot;",
            b'\t' | b'\n' if !attribute => continue,
            0..b' ' => {
                code = format!("&#x{byte:02X};");
                &code
            }
            // Of half of a character.
            0xF4 => match types::units::unpaired_at(text, at) {
                Some(unit) => {
                    code = format!("&#x{unit:04X};");
                    &code
                }
                None => continue,
            },
            _ => continue,
        };
        out.push_str(&text[written..at]);
        out.push_str(reference);
        written = at + if byte == 0xF4 { 4 } else { 1 };
    }
    out.push_str(&text[written..]);
}

/// [`escaped`] for a text that may be long.
pub(super) fn escape(
    text: &str,
    attribute: bool,
    out: &mut String,
    look: CancelCheck<'_>,
) -> Result<(), SqlError> {
    for piece in pieces(text, look) {
        escaped(piece?, attribute, out);
    }
    Ok(())
}

fn starts_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// Whether a character may stand inside of a name.
pub(super) fn continues_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '\u{b7}')
}

/// A name as XML takes it: `Order Date` is `Order_x0020_Date`.
pub fn xml_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for (i, c) in name.chars().enumerate() {
        if if i == 0 { starts_name(c) } else { continues_name(c) } {
            out.push(c);
        } else {
            let code = types::units::lone(c).map_or(u32::from(c), u32::from);
            out.push_str(&format!("_x{code:04X}_"));
        }
    }
    out
}
