//! FOR JSON and FOR XML in the binder: the query is bound as without the clause, and above it one
//! node makes a text of its rows. Errors of names and options are raised here, so that the writer
//! cannot fail on them.

use super::Binder;
use super::explicit;
use super::for_clause::{Item, Options, binary_address, read_options};
use super::json::is_json;
use catalog::fold_name;
use compact_str::CompactString;
use expr::document::{
    Document, DocumentColumn, JsonDocument, JsonLevel, JsonMember, Leaf, PathColumn, XmlDocument,
    XmlLevel, XmlPath,
};
use expr::{ColId, Expr, Typed, bind_ops};
use logical::tree::input::Input;
use logical::tree::{BoundQuery, Logical, OutColumn};
use std::collections::HashMap;
use std::sync::Arc;
use syntax::ast::{self, ExprKind, ForClause, ForKind, QueryBody, SelectItem, TableRefKind};
use types::{Collation, DataType, Len, SqlError, msg};

/// CONVERT's style that keeps white space.
const KEEP_SPACE: i32 = 1;

/// Names of the column of a whole result, by which clients know it.
const JSON_COLUMN: &str = "JSON_F52E2B61-18A1-11d1-B105-00805F49916B";
/// The name of the column of FOR XML.
pub const XML_COLUMN: &str = "XML_F52E2B61-18A1-11d1-B105-00805F49916B";

impl Binder<'_> {
    /// Binds a query that ends in FOR JSON or FOR XML. As a whole statement its text goes out in
    /// pieces.
    pub(super) fn document(
        &mut self,
        query: &ast::Query,
        clause: &ForClause,
        whole: bool,
    ) -> Result<BoundQuery, SqlError> {
        let json = clause.kind == ForKind::Json;
        let options = read_options(clause)?;
        let bare = ast::Query { for_clause: None, ..query.clone() };
        let mut bound = self.plain_query(&bare)?;
        if whole {
            // A document within a statement is masked as a whole.
            self.mask_columns(&mut bound.logical, &mut bound.columns);
        }
        let select = match &query.body {
            QueryBody::Select(select) => Some(&**select),
            QueryBody::Set { .. } | QueryBody::Ordered(_) => None,
        };
        if !bound.assignments.is_empty() {
            return Err(not_allowed(clause.kind, "ASSIGNMENT"));
        }
        let items = self.document_items(select, &bound.columns, json)?;
        let names = select.map_or(&[][..], |select| &select.from);
        let document = match (json, options.mode.as_str()) {
            (true, "PATH") => {
                Document::Json(json_document(vec![json_level(&items, true)?], &options))
            }
            (true, _) => {
                let levels = levels(items, names, true)?;
                let level = |(name, items): (String, Vec<Item<'_>>)| {
                    Ok(JsonLevel { name, ..json_level(&items, false)? })
                };
                Document::Json(json_document(
                    levels.into_iter().map(level).collect::<Result<_, SqlError>>()?,
                    &options,
                ))
            }
            (false, "PATH") => Document::Path(xml_path(&items, &options)?),
            (false, "EXPLICIT") => Document::Explicit(explicit::document(&items, &options)?),
            (false, "RAW") => {
                let row = options.row.clone().unwrap_or_else(|| "row".into());
                Document::Xml(xml_document(vec![(row, items)], &options)?)
            }
            (false, _) => Document::Xml(xml_document(levels(items, names, false)?, &options)?),
        };
        let output = self.new_col();
        let pieces = whole && !options.typed;
        let name = match (whole, json) {
            (false, _) => "",
            (true, _) if options.typed => "",
            (true, true) => JSON_COLUMN,
            (true, false) => XML_COLUMN,
        };
        let cols = bound.columns.iter().map(|c| c.id).collect();
        let logical = Logical::Document {
            input: Input::new(bound.logical),
            cols,
            document: Arc::new(document),
            pieces,
            output,
        };
        let text = Typed::new(Expr::Col(output), DataType::NVarChar(Len::Max), true);
        let (logical, id, ty) = match options.typed {
            false => (logical, output, text.ty),
            true => {
                // Any text may stand in it, also such as no document can have.
                let xml = bind_ops::explicit(text, DataType::Xml, KEEP_SPACE, false)?.expr;
                let id = self.new_col();
                (
                    Logical::Project { input: Input::new(logical), exprs: vec![(id, xml)] },
                    id,
                    DataType::Xml,
                )
            }
        };
        let column = OutColumn::new(name, id, ty, true, Collation::DEFAULT);
        Ok(BoundQuery { logical, columns: vec![column], assignments: Vec::new() })
    }

    /// The columns with their places, and which of them are text of the document's language
    /// already.
    fn document_items<'q>(
        &mut self,
        select: Option<&ast::Select>,
        columns: &'q [OutColumn],
        json: bool,
    ) -> Result<Vec<Item<'q>>, SqlError> {
        let mut written = Vec::new();
        for item in select.map_or(&[][..], |select| &select.items) {
            match item {
                SelectItem::Expr { expr, .. } => written.push(Some(expr)),
                SelectItem::Wildcard { qualifier, .. } => {
                    let named = |s: &&super::source::Source| {
                        qualifier.as_ref().is_none_or(|q| s.is_named(q))
                    };
                    let sources = self.scope()?.sources.iter().filter(named);
                    let visible = sources.flat_map(|s| &s.columns).filter(|c| !c.hidden).count();
                    written.extend(std::iter::repeat_n(None, visible));
                }
                SelectItem::Assign { .. } => {}
            }
        }
        let sources = &self.scope()?.sources;
        let mut of_ids: HashMap<ColId, usize> = HashMap::new();
        for (at, source) in sources.iter().enumerate() {
            for column in &source.columns {
                of_ids.entry(column.id).or_insert(at);
            }
        }
        let mut items = Vec::with_capacity(columns.len());
        for (at, column) in columns.iter().enumerate() {
            let expr = written.get(at).copied().flatten();
            let raw = if json { expr.is_some_and(is_json) } else { column.ty == DataType::Xml };
            let of_name = |e: &ast::Expr| match &e.kind {
                ExprKind::Column(c) => {
                    let folded = fold_name(&c.name.value);
                    sources.iter().find(|s| {
                        c.qualifier.as_ref().is_none_or(|q| s.is_named(q))
                            && s.columns.iter().any(|c| c.folded == folded)
                    })
                }
                _ => None,
            };
            let of_id = of_ids.get(&column.id).map(|at| &sources[*at]);
            let source = of_id.or_else(|| expr.and_then(of_name)).map(|s| s.name.clone());
            items.push(Item {
                column,
                document: DocumentColumn { at, ty: column.ty, raw },
                source,
            });
        }
        Ok(items)
    }
}

/// The clause where a statement does not send the query's rows. Errors: 13602, 6819.
pub fn check_absent(query: &ast::Query, statement: &str) -> Result<(), SqlError> {
    match &query.for_clause {
        Some(clause) if clause.kind != ForKind::Browse => Err(not_allowed(clause.kind, statement)),
        _ => Ok(()),
    }
}

fn not_allowed(kind: ForKind, statement: &str) -> SqlError {
    let message =
        if kind == ForKind::Json { msg::FOR_JSON_NOT_ALLOWED } else { msg::FOR_XML_NOT_ALLOWED };
    SqlError::of(message, [&statement])
}

/// The columns by table, in the order in which the tables come first; a column of no table belongs
/// to the one before it.
fn levels<'q>(
    items: Vec<Item<'q>>,
    from: &[ast::TableRef],
    json: bool,
) -> Result<Vec<(String, Vec<Item<'q>>)>, SqlError> {
    let mut levels: Vec<(CompactString, Vec<Item<'q>>)> = Vec::new();
    let mut waiting = Vec::new();
    for item in items {
        let place = match &item.source {
            Some(source) => match levels.iter().position(|(name, _)| name == source) {
                Some(at) => at,
                None => {
                    levels.push((source.clone(), std::mem::take(&mut waiting)));
                    levels.len() - 1
                }
            },
            None if levels.is_empty() => {
                waiting.push(item);
                continue;
            }
            None => levels.len() - 1,
        };
        levels[place].1.push(item);
    }
    if levels.is_empty() {
        let message = if json { msg::JSON_AUTO_WITHOUT_TABLE } else { msg::XML_AUTO_WITHOUT_TABLE };
        return Err(SqlError::of(message, []));
    }
    let written = |name: &str| written_name(from, name).unwrap_or_else(|| name.to_owned());
    Ok(levels.into_iter().map(|(name, items)| (written(&name), items)).collect())
}

/// A source's name as FROM has it, in its own case.
fn written_name(from: &[ast::TableRef], folded: &str) -> Option<String> {
    from.iter().find_map(|table| {
        let own = |name: &str| (fold_name(name) == folded).then(|| name.to_owned());
        match &table.kind {
            TableRefKind::Named { alias: Some(alias), .. }
            | TableRefKind::Variable { alias: Some(alias), .. }
            | TableRefKind::Function { alias: Some(alias), .. }
            | TableRefKind::Method { alias: Some(alias), .. }
            | TableRefKind::Bulk { alias: Some(alias), .. }
            | TableRefKind::Derived { alias, .. }
            | TableRefKind::Values { alias, .. }
            | TableRefKind::Change { alias, .. }
            | TableRefKind::Pivot { alias, .. }
            | TableRefKind::Unpivot { alias, .. } => own(&alias.value),
            TableRefKind::Named { name, .. } | TableRefKind::Function { name, .. } => {
                own(&name.name.value)
            }
            TableRefKind::Variable { name, .. } => own(name),
            TableRefKind::Method { .. } | TableRefKind::Bulk { .. } => None,
            TableRefKind::Join { left, right, .. } | TableRefKind::Apply { left, right, .. } => {
                written_name(std::slice::from_ref(left), folded)
                    .or_else(|| written_name(std::slice::from_ref(right), folded))
            }
        }
    })
}

// ---- JSON ----

fn json_document(levels: Vec<JsonLevel>, options: &Options) -> JsonDocument {
    JsonDocument {
        levels,
        root: options.root.clone(),
        nulls: options.nulls,
        wrapper: !options.no_wrapper,
    }
}

/// The members of an object; with `paths` a name `a.b` is a member of a member.
fn json_level(items: &[Item<'_>], paths: bool) -> Result<JsonLevel, SqlError> {
    let mut members = Vec::new();
    for item in items {
        let name = item.column.name.as_str();
        if name.is_empty() {
            return Err(SqlError::of(msg::JSON_UNNAMED_COLUMN, []));
        }
        let steps: Vec<&str> = if paths { name.split('.').collect() } else { vec![name] };
        if steps.iter().any(|step| step.is_empty()) {
            return Err(SqlError::of(msg::JSON_NAME_INVALID, [&name]));
        }
        add_member(&mut members, &steps, item.document)
            .ok_or_else(|| SqlError::of(msg::JSON_NAME_CONFLICT, [&name]))?;
    }
    Ok(JsonLevel { name: String::new(), members })
}

/// `None` for a name that is there already, or parts of an object that do not stand together.
fn add_member(members: &mut Vec<JsonMember>, steps: &[&str], column: DocumentColumn) -> Option<()> {
    let (first, rest) = steps.split_first()?;
    let last = members.len().wrapping_sub(1);
    let known = members.iter().position(|member| member.name() == *first);
    match (known, rest) {
        (None, []) => members.push(JsonMember::Value { name: (*first).to_owned(), column }),
        (None, rest) => {
            let mut inner = Vec::new();
            add_member(&mut inner, rest, column)?;
            members.push(JsonMember::Object { name: (*first).to_owned(), members: inner });
        }
        (Some(at), rest @ [_, ..]) if at == last => match members.get_mut(at)? {
            JsonMember::Object { members, .. } => add_member(members, rest, column)?,
            JsonMember::Value { .. } => return None,
        },
        _ => return None,
    }
    Some(())
}

// ---- XML ----

fn xml_document(
    levels: Vec<(String, Vec<Item<'_>>)>,
    options: &Options,
) -> Result<XmlDocument, SqlError> {
    let mut out = Vec::with_capacity(levels.len());
    for (name, items) in levels {
        if name.is_empty() && !options.elements {
            return Err(row_omitted());
        }
        let mut columns = Vec::with_capacity(items.len());
        for item in items {
            if item.column.name.is_empty() {
                return Err(SqlError::of(msg::XML_UNNAMED_TABLE, []));
            }
            if item.document.ty.is_binary() && !options.base64 {
                return Err(binary_address(&item, options));
            }
            columns.push((options.name(&item.column.name, "column name")?, item.document));
        }
        let name = if name.is_empty() { name } else { options.name(&name, "row name")? };
        out.push(XmlLevel { name, columns });
    }
    let root = options.root.as_deref().map(|root| options.name(root, "root name")).transpose()?;
    let declared = options.declared();
    Ok(XmlDocument { levels: out, root, elements: options.elements, nil: options.nil, declared })
}

fn row_omitted() -> SqlError {
    SqlError::of(msg::XML_ROW_TAG_OMITTED, [])
}

fn xml_path(items: &[Item<'_>], options: &Options) -> Result<XmlPath, SqlError> {
    let row = options.row.clone().unwrap_or_else(|| "row".into());
    let mut columns: Vec<PathColumn> = Vec::with_capacity(items.len());
    for item in items {
        let column = PathColumn::parse(&item.column.name, item.document)?;
        let attribute = match &column.leaf {
            Leaf::Attribute(name) => Some(name),
            _ => None,
        };
        for step in column.steps.iter().chain(attribute) {
            if let Some((prefix, _)) = step.split_once(':') {
                options.check_prefix(prefix, &item.column.name, "column name")?;
            }
        }
        if let Leaf::Attribute(_) = column.leaf {
            if column.steps.is_empty() && row.is_empty() {
                return Err(row_omitted());
            }
            // An attribute belongs to the start tag: nothing may have been written into its element
            // before.
            let late = columns.iter().any(|before| {
                before.steps.starts_with(&column.steps)
                    && (before.steps.len() > column.steps.len()
                        || !matches!(before.leaf, Leaf::Attribute(_)))
            });
            if late {
                return Err(SqlError::of(msg::XML_ATTRIBUTE_AFTER_ELEMENT, [&item.column.name]));
            }
        }
        columns.push(column);
    }
    let row = if row.is_empty() { row } else { options.name(&row, "row name")? };
    let root = options.root.as_deref().map(|root| options.name(root, "root name")).transpose()?;
    Ok(XmlPath { columns, row, root, nil: options.nil, declared: options.declared() })
}
