//! FOR XML PATH: column names are paths that say where a value stands in its row's element.

use types::{CancelCheck, SqlError, Value, msg};

use super::xml::{continues_name, escape, rooted, value_text};
use super::{DocumentColumn, Writer};

/// The options and the columns.
#[derive(Clone, Debug)]
pub struct XmlPath {
    pub columns: Vec<PathColumn>,
    /// The row's element; empty for none.
    pub row: String,
    pub root: Option<String>,
    /// ELEMENTS XSINIL.
    pub nil: bool,
    /// The namespaces that the outermost elements declare, as they are written.
    pub declared: String,
}

/// A column with its path taken apart.
#[derive(Clone, Debug)]
pub struct PathColumn {
    pub column: DocumentColumn,
    /// Elements around the value.
    pub steps: Vec<String>,
    pub leaf: Leaf,
}

/// What a value is in its element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leaf {
    /// Its text.
    Text,
    /// `@name`.
    Attribute(String),
    /// `data()`: one of a list of values with blanks between.
    Data,
    /// `comment()`.
    Comment,
    /// `processing-instruction(name)`.
    Instruction(String),
    /// No name, `*`, `node()`: text, or XML as it is, beside the elements.
    Inline,
}

impl PathColumn {
    /// Reads a column's name. Error: 6850 for a name that XML does not take.
    pub fn parse(name: &str, column: DocumentColumn) -> Result<PathColumn, SqlError> {
        let mut steps: Vec<String> = name.split('/').map(str::to_owned).collect();
        let last = steps.pop().unwrap_or_default();
        let instruction =
            last.strip_prefix("processing-instruction(").and_then(|rest| rest.strip_suffix(')'));
        let leaf = match (last.as_str(), instruction) {
            (_, Some(target)) => Leaf::Instruction(target.to_owned()),
            ("" | "*" | "node()", _) => Leaf::Inline,
            ("text()", _) => Leaf::Text,
            ("data()", _) => Leaf::Data,
            ("comment()", _) => Leaf::Comment,
            (own, _) => match own.strip_prefix('@') {
                Some(attribute) => {
                    check_name(attribute, name)?;
                    Leaf::Attribute(attribute.to_owned())
                }
                None => {
                    steps.push(own.to_owned());
                    Leaf::Text
                }
            },
        };
        if !name.is_empty() {
            steps.iter().try_for_each(|step| check_name(step, name))?;
        }
        Ok(PathColumn { column, steps, leaf })
    }
}

fn check_name(step: &str, whole: &str) -> Result<(), SqlError> {
    let fault = step.chars().enumerate().find(|(i, c)| {
        let sound =
            if *i == 0 { c.is_alphabetic() || *c == '_' } else { continues_name(*c) || *c == ':' };
        !sound
    });
    let fault = if step.is_empty() { Some('/') } else { fault.map(|(_, c)| c) };
    match fault {
        None => Ok(()),
        Some(c) => Err(SqlError::of(
            msg::XML_INVALID_IDENTIFIER,
            [&whole, &c, &format_args!("{:04X}", c as u32)],
        )),
    }
}

/// The elements that are open within a row.
struct OpenElements<'p> {
    steps: Vec<&'p str>,
    /// The innermost start tag still takes attributes.
    tag: bool,
}

impl<'p> OpenElements<'p> {
    fn end_tag(&mut self, out: &mut String) {
        if std::mem::take(&mut self.tag) {
            out.push('>');
        }
    }

    fn close_to(&mut self, depth: usize, out: &mut String) {
        while self.steps.len() > depth {
            let Some(step) = self.steps.pop() else { return };
            if std::mem::take(&mut self.tag) {
                out.push_str("/>");
            } else {
                out.push_str(&format!("</{step}>"));
            }
        }
    }

    fn open(&mut self, step: &'p str, out: &mut String) {
        self.end_tag(out);
        out.push('<');
        out.push_str(step);
        self.steps.push(step);
        self.tag = true;
    }

    /// Closes and opens elements until these are the open ones.
    fn go_to(&mut self, base: usize, steps: &'p [String], out: &mut String) -> bool {
        let same =
            self.steps[base..].iter().zip(steps).take_while(|(a, b)| **a == b.as_str()).count();
        let moved = self.steps.len() > base + same || steps.len() > same;
        self.close_to(base + same, out);
        for step in &steps[same..] {
            self.open(step, out);
        }
        moved
    }
}

impl XmlPath {
    pub(super) fn row(
        &self,
        writer: &mut Writer,
        row: &[Value],
        look: CancelCheck<'_>,
    ) -> Result<(), SqlError> {
        let out = &mut writer.out;
        let mut open = OpenElements { steps: Vec::new(), tag: false };
        if !self.row.is_empty() {
            open.open(&self.row, out);
            writer.after_data = false;
            if self.root.is_none() {
                out.push_str(&self.declared);
            }
        }
        let base = open.steps.len();
        for path in &self.columns {
            let value = &row[path.column.at];
            if value.is_null() {
                if self.nil && !matches!(path.leaf, Leaf::Attribute(_)) && !path.steps.is_empty() {
                    open.go_to(base, &path.steps, out);
                    out.push_str(" xsi:nil=\"true\"");
                    writer.after_data = false;
                } else if path.leaf == Leaf::Inline && path.steps.is_empty() {
                    // It parts the elements around it all the same.
                    open.close_to(base, out);
                }
                continue;
            }
            let moved = open.go_to(base, &path.steps, out);
            let follows_data = std::mem::take(&mut writer.after_data) && !moved;
            write_leaf(path, value, follows_data, &mut open, (&mut *out, look))?;
            writer.after_data = path.leaf == Leaf::Data;
        }
        open.close_to(0, out);
        if base > 0 {
            writer.after_data = false;
        }
        Ok(())
    }

    pub(super) fn finish(&self, writer: Writer) -> String {
        rooted(writer.out, self.root.as_deref(), &self.declared)
    }
}

fn write_leaf(
    path: &PathColumn,
    value: &Value,
    follows_data: bool,
    open: &mut OpenElements<'_>,
    (out, look): (&mut String, CancelCheck<'_>),
) -> Result<(), SqlError> {
    if let Leaf::Attribute(name) = &path.leaf {
        out.push_str(&format!(" {name}=\""));
        escape(&value_text(value, path.column.ty, look)?, true, out, look)?;
        out.push('"');
        return Ok(());
    }
    open.end_tag(out);
    let text = value_text(value, path.column.ty, look)?;
    match &path.leaf {
        Leaf::Comment => out.push_str(&format!("<!--{text}-->")),
        Leaf::Instruction(target) => out.push_str(&format!("<?{target} {text}?>")),
        _ => {
            if follows_data && path.leaf == Leaf::Data {
                out.push(' ');
            }
            match path.column.raw {
                true => out.push_str(&text),
                false => escape(&text, false, out, look)?,
            }
        }
    }
    Ok(())
}
