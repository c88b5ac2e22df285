//! FOR XML EXPLICIT: each row says which element it is and in which one it stands; the names of the
//! columns say what their values are in it.

use types::{CancelCheck, SqlError, Value, msg};

use super::xml::{escape, rooted, value_text};
use super::{DocumentColumn, Writer};

/// The elements that rows may be. The rows' first two columns are the number of the row's element
/// and of the one around it.
#[derive(Clone, Debug)]
pub struct XmlExplicit {
    pub tags: Vec<ExplicitTag>,
    /// ROOT, as it is written.
    pub root: Option<String>,
    /// The namespace of `xsi:nil`, where a column may need it.
    pub declared: String,
}

/// An element.
#[derive(Clone, Debug)]
pub struct ExplicitTag {
    pub id: i64,
    pub name: String,
    pub columns: Vec<ExplicitColumn>,
}

/// A column of an element.
#[derive(Clone, Debug)]
pub struct ExplicitColumn {
    pub column: DocumentColumn,
    /// Of the attribute or element; empty for what stands in the element itself.
    pub name: String,
    pub kind: ExplicitKind,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplicitKind {
    Attribute,
    /// An element, or text without a name.
    Element,
    /// As an element, NULL too.
    Nil,
    /// XML as it is.
    Xml,
    Cdata,
    /// Not shown.
    Hide,
}

impl XmlExplicit {
    pub(super) fn row(
        &self,
        writer: &mut Writer,
        row: &[Value],
        look: CancelCheck<'_>,
    ) -> Result<(), SqlError> {
        let number = row.first().and_then(Value::as_i64).filter(|number| *number > 0);
        let number = number.ok_or_else(|| SqlError::of(msg::EXPLICIT_TAG_INTEGERS, []))?;
        let tag = self
            .place(number)
            .ok_or_else(|| SqlError::of(msg::EXPLICIT_UNDECLARED_TAG, [&number]))?;
        let depth = match row.get(1).and_then(Value::as_i64) {
            None | Some(0) => 0,
            Some(parent) if parent < 0 => {
                return Err(SqlError::of(msg::EXPLICIT_PARENT_INTEGERS, []));
            }
            Some(parent) => self.depth_of(writer, number, parent)?,
        };
        self.close_to(writer, depth);
        if let Some((_, start @ true)) = writer.open.last_mut() {
            *start = false;
            writer.out.push('>');
        }
        self.open(writer, tag, depth == 0, row, look)
    }

    fn place(&self, id: i64) -> Option<usize> {
        self.tags.iter().position(|tag| tag.id == id)
    }

    /// How many elements stay open for a child of a parent: those up to the innermost one with its
    /// number.
    fn depth_of(&self, writer: &Writer, own: i64, parent: i64) -> Result<usize, SqlError> {
        let Some(place) = self.place(parent) else {
            return Err(SqlError::of(msg::EXPLICIT_UNDECLARED_PARENT, [&parent]));
        };
        if own == parent {
            return Err(SqlError::of(msg::EXPLICIT_CIRCULAR, []));
        }
        let found = writer.open.iter().rposition(|(tag, _)| *tag == place);
        found.map(|at| at + 1).ok_or_else(|| SqlError::of(msg::EXPLICIT_PARENT_NOT_OPEN, [&parent]))
    }

    fn close_to(&self, writer: &mut Writer, depth: usize) {
        while writer.open.len() > depth {
            let Some((tag, start)) = writer.open.pop() else { return };
            match start {
                true => writer.out.push_str("/>"),
                false => writer.out.push_str(&format!("</{}>", self.tags[tag].name)),
            }
        }
    }

    fn open(
        &self,
        writer: &mut Writer,
        at: usize,
        outermost: bool,
        row: &[Value],
        look: CancelCheck<'_>,
    ) -> Result<(), SqlError> {
        let tag = &self.tags[at];
        let out = &mut writer.out;
        out.push('<');
        out.push_str(&tag.name);
        if outermost && self.root.is_none() {
            out.push_str(&self.declared);
        }
        let attribute = |column: &&ExplicitColumn| column.kind == ExplicitKind::Attribute;
        for column in tag.columns.iter().filter(attribute) {
            let value = &row[column.column.at];
            if !value.is_null() {
                out.push_str(&format!(" {}=\"", column.name));
                escape(&value_text(value, column.column.ty, look)?, true, out, look)?;
                out.push('"');
            }
        }
        let mut body = String::new();
        for column in tag.columns.iter().filter(|column| !attribute(column)) {
            write(column, &row[column.column.at], &mut body, look)?;
        }
        writer.open.push((at, body.is_empty()));
        if !body.is_empty() {
            out.push('>');
            out.push_str(&body);
        }
        Ok(())
    }

    pub(super) fn finish(&self, mut writer: Writer) -> String {
        self.close_to(&mut writer, 0);
        rooted(writer.out, self.root.as_deref(), &self.declared)
    }
}

/// Writes a value that is no attribute.
fn write(
    column: &ExplicitColumn,
    value: &Value,
    out: &mut String,
    look: CancelCheck<'_>,
) -> Result<(), SqlError> {
    let name = &column.name;
    if value.is_null() {
        if column.kind == ExplicitKind::Nil {
            out.push_str(&format!("<{name} xsi:nil=\"true\"/>"));
        }
        return Ok(());
    }
    if column.kind == ExplicitKind::Hide {
        return Ok(());
    }
    let text = value_text(value, column.column.ty, look)?;
    if column.kind == ExplicitKind::Cdata {
        // What would end the section begins another.
        out.push_str(&format!("<![CDATA[{}]]>", text.replace("]]>", "]]]]><![CDATA[>")));
        return Ok(());
    }
    if !name.is_empty() {
        out.push_str(&format!("<{name}>"));
    }
    match column.kind == ExplicitKind::Xml || column.column.raw {
        true => out.push_str(&text),
        false => escape(&text, false, out, look)?,
    }
    if !name.is_empty() {
        out.push_str(&format!("</{name}>"));
    }
    Ok(())
}
