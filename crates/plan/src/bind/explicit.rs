//! FOR XML EXPLICIT: what the names of the columns say of the elements. A name is `element!number!name!directive`; those of the first
//! two columns are Tag and Parent.

use super::document::{Item, Options, binary_address};
use super::unsupported;
use expr::document::{ExplicitColumn, ExplicitKind, ExplicitTag, XmlExplicit, declarations, xml_name};
use types::SqlError;

/// The document of a query's columns.
///
/// # Errors
/// 6802, 6812, 6817, 6820: names; 6803, 6804: types of the first two columns; 6829: binary values; 40517: directives.
pub(super) fn document(items: &[Item<'_>], options: &Options) -> Result<XmlExplicit, SqlError> {
    for (at, name, number, what) in [
        (0, "TAG", 6803, "first column to hold positive integers that represent XML tag IDs."),
        (
            1,
            "PARENT",
            6804,
            "second column to hold NULL or nonnegative integers that represent XML parent tag IDs.",
        ),
    ] {
        let Some(item) = items.get(at) else {
            let text = "FOR XML EXPLICIT requires at least three columns, including the tag column, the parent column, \
                        and at least one data column.";
            return Err(SqlError::new(6801, 16, 1, text));
        };
        if !item.column.name.eq_ignore_ascii_case(name) {
            let text = format!(
                "FOR XML EXPLICIT requires column {} to be named '{name}' instead of '{}'.",
                at + 1,
                item.column.name
            );
            return Err(SqlError::new(6820, 16, 1, text));
        }
        if !item.column.ty.is_integer() && !item.column.untyped {
            return Err(SqlError::new(number, 16, 1, format!("FOR XML EXPLICIT requires the {what}")));
        }
    }
    if items.len() < 3 {
        let text = "FOR XML EXPLICIT requires at least three columns, including the tag column, the parent column, and at \
                    least one data column.";
        return Err(SqlError::new(6801, 16, 1, text));
    }
    let mut tags: Vec<ExplicitTag> = Vec::new();
    for item in &items[2..] {
        add(&mut tags, item, options)?;
    }
    let nil = tags.iter().flat_map(|tag| &tag.columns).any(|column| column.kind == ExplicitKind::Nil);
    let declared = declarations(std::iter::empty(), nil);
    Ok(XmlExplicit { tags, root: options.root.as_deref().map(xml_name), declared })
}

fn add(tags: &mut Vec<ExplicitTag>, item: &Item<'_>, options: &Options) -> Result<(), SqlError> {
    let name = &item.column.name;
    let invalid = || {
        let text = format!(
            "FOR XML EXPLICIT query contains the invalid column name '{name}'. Use the \
             TAGNAME!TAGID!ATTRIBUTENAME[!..] format where TAGID is a positive integer."
        );
        SqlError::new(6802, 16, 1, text)
    };
    let mut parts = name.split('!');
    let element = parts.next().unwrap_or_default();
    let id = parts.next().and_then(|id| id.parse::<i64>().ok()).filter(|id| *id > 0).ok_or_else(invalid)?;
    let own = parts.next().unwrap_or_default();
    let directives: Vec<String> = parts.map(str::to_ascii_lowercase).collect();
    let kind = match directives.as_slice() {
        [] if own.is_empty() => ExplicitKind::Element,
        [] => ExplicitKind::Attribute,
        [directive] => match directive.as_str() {
            "element" => ExplicitKind::Element,
            "elementxsinil" if !own.is_empty() => ExplicitKind::Nil,
            "xml" => ExplicitKind::Xml,
            "cdata" if own.is_empty() => ExplicitKind::Cdata,
            "cdata" => {
                let text =
                    format!("In the FOR XML EXPLICIT clause, CDATA attributes must be unnamed in '{name}'.");
                return Err(SqlError::new(6836, 16, 1, text));
            }
            "hide" => ExplicitKind::Hide,
            "id" | "idref" | "nmtoken" if !own.is_empty() => ExplicitKind::Attribute,
            "xmltext" | "idrefs" | "nmtokens" => {
                return Err(unsupported(&format!("The directive {directive} of FOR XML EXPLICIT")));
            }
            _ => return Err(invalid()),
        },
        _ => {
            let text = format!(
                "FOR XML EXPLICIT cannot combine multiple occurrences of ELEMENT, XML, XMLTEXT, and CDATA in column name \
                 '{name}'."
            );
            return Err(SqlError::new(6817, 16, 1, text));
        }
    };
    if item.document.ty.is_binary() && !options.base64 {
        return Err(binary_address(item, options));
    }
    let column = ExplicitColumn {
        column: item.document,
        name: if own.is_empty() { String::new() } else { xml_name(own) },
        kind,
    };
    match tags.iter_mut().find(|tag| tag.id == id) {
        Some(tag) if element.is_empty() || tag.name == xml_name(element) => tag.columns.push(column),
        Some(tag) => {
            let text = format!(
                "XML tag ID {id} that was originally declared as '{}' is being redeclared as '{element}'.",
                tag.name
            );
            return Err(SqlError::new(6812, 16, 1, text));
        }
        None if element.is_empty() => return Err(invalid()),
        None => tags.push(ExplicitTag { id, name: xml_name(element), columns: vec![column] }),
    }
    Ok(())
}
