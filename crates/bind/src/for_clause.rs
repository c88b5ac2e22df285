//! The clauses FOR JSON and FOR XML as they are written: their options, and a column of the query
//! with what the document asks of it. Guarantee: options that were read go together.

use super::unsupported;
use compact_str::CompactString;
use expr::document::{DocumentColumn, declarations, xml_name};
use logical::tree::OutColumn;
use syntax::ast::{self, ExprKind, ForClause, ForKind, OptionItem, OptionValue};
use types::{SqlError, msg};

/// The clause, read.
#[derive(Default)]
pub(super) struct Options {
    pub(super) mode: String,
    /// The name in the mode's parentheses.
    pub(super) row: Option<String>,
    pub(super) root: Option<String>,
    pub(super) nulls: bool,
    pub(super) no_wrapper: bool,
    pub(super) typed: bool,
    pub(super) elements: bool,
    pub(super) nil: bool,
    pub(super) base64: bool,
    /// WITH XMLNAMESPACES: prefixes and URIs.
    namespaces: Vec<(CompactString, CompactString)>,
}

impl Options {
    /// What the outermost elements declare.
    pub(super) fn declared(&self) -> String {
        let namespaces =
            self.namespaces.iter().map(|(prefix, uri)| (prefix.as_str(), uri.as_str()));
        declarations(namespaces, self.nil)
    }

    /// A name as XML takes it. Error: 6846 a prefix that is not declared.
    pub(super) fn name(&self, name: &str, of: &str) -> Result<String, SqlError> {
        match name.split_once(':') {
            Some((prefix, local)) if !self.namespaces.is_empty() => {
                self.check_prefix(prefix, name, of)?;
                Ok(format!("{prefix}:{}", xml_name(local)))
            }
            _ => Ok(xml_name(name)),
        }
    }

    pub(super) fn check_prefix(&self, prefix: &str, name: &str, of: &str) -> Result<(), SqlError> {
        if prefix == "xml" || self.namespaces.iter().any(|(known, _)| known == prefix) {
            return Ok(());
        }
        Err(SqlError::of(msg::XML_PREFIX_UNDECLARED, [&prefix, &of, &name]))
    }
}

/// A column of the query with what the document asks of it.
pub(super) struct Item<'q> {
    pub(super) column: &'q OutColumn,
    pub(super) document: DocumentColumn,
    /// The source it comes from, for AUTO.
    pub(super) source: Option<CompactString>,
}

/// Reads the clause.
///
/// # Errors
/// 102 and those of options that do not go together.
pub(super) fn read_options(clause: &ForClause) -> Result<Options, SqlError> {
    let json = clause.kind == ForKind::Json;
    let mut options = Options { namespaces: clause.namespaces.clone(), ..Options::default() };
    for (at, item) in clause.options.iter().enumerate() {
        let word = match &item.value {
            OptionValue::Word(word) => word.as_str(),
            _ => "",
        };
        match (json, item.name.as_str(), word) {
            (_, "PATH" | "AUTO", "") | (false, "RAW", "") if at == 0 => {
                options.mode = item.name.to_string();
                options.row = name_of(item)?;
                if options.row.is_some() && (json || item.name == "AUTO") {
                    return Err(syntax_near("("));
                }
            }
            (false, "EXPLICIT", "") if at == 0 && item.nested.is_empty() => {
                options.mode = item.name.to_string();
                if !options.namespaces.is_empty() {
                    return Err(SqlError::of(msg::XML_NAMESPACES_WITH_EXPLICIT, []));
                }
            }
            (false, "ELEMENTS", _) if options.mode == "EXPLICIT" => {
                return Err(SqlError::of(msg::ELEMENTS_NOT_ALLOWED, []));
            }
            (_, "ROOT", "") => options.root = Some(name_of(item)?.unwrap_or_else(|| "root".into())),
            (true, "INCLUDE_NULL_VALUES", "") => options.nulls = true,
            (true, "WITHOUT_ARRAY_WRAPPER", "") => options.no_wrapper = true,
            (false, "TYPE", "") => options.typed = true,
            (false, "ELEMENTS", "" | "ABSENT") => options.elements = true,
            (false, "ELEMENTS", "XSINIL") => (options.elements, options.nil) = (true, true),
            (false, "BINARY", "BASE64") => options.base64 = true,
            (false, "XMLDATA" | "XMLSCHEMA", _) => return Err(unsupported("A schema of FOR XML")),
            _ => return Err(syntax_near(&item.name)),
        }
    }
    if options.mode.is_empty() {
        return Err(syntax_near(if json { "JSON" } else { "XML" }));
    }
    if options.root.is_some() && options.no_wrapper {
        return Err(SqlError::of(msg::ROOT_WITHOUT_ARRAY_WRAPPER, []));
    }
    if options.root.as_deref() == Some("") && !json {
        return Err(SqlError::of(msg::XML_EMPTY_ROOT, []));
    }
    Ok(options)
}

fn syntax_near(word: &str) -> SqlError {
    SqlError::of(msg::SYNTAX_NEAR, [&word])
}

/// The string in an option's parentheses.
fn name_of(item: &OptionItem) -> Result<Option<String>, SqlError> {
    match item.nested.as_slice() {
        [] => Ok(None),
        [OptionItem { value: OptionValue::Expr(ast::Expr { kind, .. }), .. }] => match kind {
            ExprKind::Literal(ast::Literal::String { value, .. }) => Ok(Some(value.to_string())),
            _ => Err(syntax_near("(")),
        },
        _ => Err(syntax_near(",")),
    }
}

/// Binary values by address are not there: in RAW SQL Server has none either.
pub(super) fn binary_address(item: &Item<'_>, options: &Options) -> SqlError {
    if options.mode == "AUTO" {
        return unsupported("A binary column in FOR XML AUTO without BINARY BASE64");
    }
    SqlError::of(msg::XML_BINARY_ADDRESS, [&item.column.name])
}
