//! FOR XML EXPLICIT: what the names of the columns say of the elements. A name is
//! `element!number!name!directive`; those of the first two columns are Tag and Parent.

use super::for_clause::{Item, Options, binary_address};
use super::unsupported;
use expr::document::{
    ExplicitColumn, ExplicitKind, ExplicitTag, XmlExplicit, declarations, xml_name,
};
use types::{SqlError, msg};

/// The document of a query's columns.
///
/// # Errors
/// 6802, 6812, 6817, 6820: names; 6803, 6804: types of the first two columns; 6829: binary values;
/// 40517: directives.
pub(super) fn document(items: &[Item<'_>], options: &Options) -> Result<XmlExplicit, SqlError> {
    for (at, name, message) in
        [(0, "TAG", msg::EXPLICIT_TAG_INTEGERS), (1, "PARENT", msg::EXPLICIT_PARENT_INTEGERS)]
    {
        let Some(item) = items.get(at) else {
            return Err(SqlError::of(msg::EXPLICIT_THREE_COLUMNS, []));
        };
        if !item.column.name.eq_ignore_ascii_case(name) {
            return Err(SqlError::of(
                msg::EXPLICIT_COLUMN_NAMED,
                [&(at + 1), &name, &item.column.name],
            ));
        }
        if !item.column.ty.is_integer() && !item.column.untyped {
            return Err(SqlError::of(message, []));
        }
    }
    if items.len() < 3 {
        return Err(SqlError::of(msg::EXPLICIT_THREE_COLUMNS, []));
    }
    let mut tags: Vec<ExplicitTag> = Vec::new();
    for item in &items[2..] {
        add(&mut tags, item, options)?;
    }
    let nil =
        tags.iter().flat_map(|tag| &tag.columns).any(|column| column.kind == ExplicitKind::Nil);
    let declared = declarations(std::iter::empty(), nil);
    Ok(XmlExplicit { tags, root: options.root.as_deref().map(xml_name), declared })
}

fn add(tags: &mut Vec<ExplicitTag>, item: &Item<'_>, options: &Options) -> Result<(), SqlError> {
    let name = &item.column.name;
    let invalid = || SqlError::of(msg::EXPLICIT_COLUMN_NAME, [&name]);
    let mut parts = name.split('!');
    let element = parts.next().unwrap_or_default();
    let id = parts
        .next()
        .and_then(|id| id.parse::<i64>().ok())
        .filter(|id| *id > 0)
        .ok_or_else(invalid)?;
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
                return Err(SqlError::of(msg::EXPLICIT_CDATA_NAMED, [&name]));
            }
            "hide" => ExplicitKind::Hide,
            "id" | "idref" | "nmtoken" if !own.is_empty() => ExplicitKind::Attribute,
            "xmltext" | "idrefs" | "nmtokens" => {
                return Err(unsupported(&format!("The directive {directive} of FOR XML EXPLICIT")));
            }
            _ => return Err(invalid()),
        },
        _ => {
            return Err(SqlError::of(msg::EXPLICIT_SEVERAL_DIRECTIVES, [&name]));
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
        Some(tag) if element.is_empty() || tag.name == xml_name(element) => {
            tag.columns.push(column)
        }
        Some(tag) => {
            return Err(SqlError::of(msg::EXPLICIT_TAG_REDECLARED, [&id, &tag.name, &element]));
        }
        None if element.is_empty() => return Err(invalid()),
        None => tags.push(ExplicitTag { id, name: xml_name(element), columns: vec![column] }),
    }
    Ok(())
}
