//! What modules, constraints and computed columns name, read from their trees each time it is asked
//! for; nothing else keeps it. Guarantee: each object, type and column that a text names by a name
//! that can be told from the text is there once; what a text builds and runs is not. An object that
//! is not there (yet) is named without an id.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use compact_str::CompactString;
use syntax::ast::{self, ColumnRef, Ident, ObjectName, TypeName};
use syntax::mentions::{self, Listener, Use};

use super::modules::columns_of_view;
use catalog::{Catalog, Db, ModuleDef, ModuleKind, TableDef, fold_name};
use session::state::SessionCore;

/// What becomes of an object or a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    pub selected: bool,
    pub updated: bool,
    /// By `*`.
    pub select_all: bool,
}

/// What is named.
#[derive(Clone, Debug)]
pub struct Reference {
    pub server: Option<CompactString>,
    pub database: Option<CompactString>,
    pub schema: Option<CompactString>,
    pub name: CompactString,
    pub is_type: bool,
    /// object_id or user_type_id, where it is known.
    pub id: Option<i32>,
    /// Which procedure it is depends on who calls.
    pub by_caller: bool,
    /// It may be a function or a method of a column.
    pub ambiguous: bool,
    pub uses: Uses,
    /// By column_id.
    pub columns: BTreeMap<i32, Uses>,
    /// Every column that was named is there.
    pub all_columns_found: bool,
}

/// Who names.
#[derive(Clone, Debug)]
pub struct Referrer {
    pub id: i32,
    /// A computed column.
    pub column: i32,
    /// A trigger of the database.
    pub is_ddl_trigger: bool,
    /// What it names cannot be changed under it.
    pub bound: bool,
    /// Only columns of its own table are told, not the table.
    pub is_expression: bool,
    pub references: Vec<Reference>,
}

/// All that name anything, in the order of their ids; `only`: the object that is asked for.
pub fn all(session: &SessionCore, db: &Arc<Db>, only: Option<i32>) -> Vec<Referrer> {
    let catalog = db.catalog();
    let mut reader = Reader::new(session, db, catalog.clone());
    let mut referrers = Vec::new();
    for module in catalog.modules.values().filter(|m| only.is_none_or(|id| id == m.object_id)) {
        referrers.push(Referrer {
            id: module.object_id,
            column: 0,
            is_ddl_trigger: module.is_ddl_trigger(),
            bound: module.has_option("SCHEMABINDING"),
            is_expression: false,
            references: reader.of_module(module),
        });
    }
    for table in catalog.by_id.values() {
        expressions(&mut reader, table, only, &mut referrers);
    }
    referrers.retain(|referrer| !referrer.references.is_empty());
    referrers.sort_by_key(|referrer| (referrer.id, referrer.column));
    referrers
}

/// Constraints and computed columns of a table.
fn expressions(
    reader: &mut Reader<'_>,
    table: &Arc<TableDef>,
    only: Option<i32>,
    to: &mut Vec<Referrer>,
) {
    let wanted = |id: i32| only.is_none_or(|only| only == id);
    let mut add = |id: i32, column: i32, references: Vec<Reference>| {
        to.push(Referrer {
            id,
            column,
            is_ddl_trigger: false,
            bound: true,
            is_expression: true,
            references,
        });
    };
    for check in table.checks.iter().filter(|check| wanted(check.object_id)) {
        add(check.object_id, 0, reader.of_expr(table, &check.condition));
    }
    for column in &table.columns {
        let default = column.default.as_ref().filter(|default| wanted(default.object_id));
        if let Some(default) = default
            && let Some(expr) = parsed(&default.text)
        {
            add(default.object_id, 0, reader.of_expr(table, &expr));
        }
        let computed = column.computed.as_ref().filter(|_| wanted(table.object_id));
        if let Some(expr) = computed.and_then(|computed| parsed(&computed.text)) {
            add(table.object_id, column.column_id, reader.of_expr(table, &expr));
        }
    }
}

/// The expression of a definition.
fn parsed(text: &str) -> Option<ast::Expr> {
    let stmts = syntax::parse(&format!("SELECT {text}")).ok()?;
    let ast::StmtKind::Select(query) = stmts.into_iter().next()?.kind else { return None };
    match &query.body.first_select().items[..] {
        [ast::SelectItem::Expr { expr, .. }] => Some(expr.clone()),
        _ => None,
    }
}

/// A source in sight.
struct Source {
    /// Folded: its alias or its name.
    name: CompactString,
    schema: Option<CompactString>,
    /// None for a query or a table variable, whose columns are not known here.
    reference: Option<usize>,
}

/// Columns by folded name.
type Columns = Arc<Vec<(CompactString, i32)>>;

struct Reader<'s> {
    session: &'s SessionCore,
    db: &'s Arc<Db>,
    catalog: Arc<Catalog>,
    columns: HashMap<i32, Columns>,
    references: Vec<Reference>,
    blocks: Vec<Vec<Source>>,
    /// The object that was told last.
    last: Option<usize>,
    in_trigger: bool,
}

impl<'s> Reader<'s> {
    fn new(session: &'s SessionCore, db: &'s Arc<Db>, catalog: Arc<Catalog>) -> Reader<'s> {
        Reader {
            session,
            db,
            catalog,
            columns: HashMap::new(),
            references: Vec::new(),
            blocks: Vec::new(),
            last: None,
            in_trigger: false,
        }
    }

    fn of_module(&mut self, module: &ModuleDef) -> Vec<Reference> {
        self.in_trigger = module.kind == ModuleKind::Trigger;
        mentions::of_statement(&module.stmt, self);
        self.in_trigger = false;
        self.take()
    }

    /// Of an expression over the columns of a table.
    fn of_expr(&mut self, table: &TableDef, expr: &ast::Expr) -> Vec<Reference> {
        let own = Reference {
            server: None,
            database: None,
            schema: Some(table.schema.clone()),
            name: table.name.clone(),
            is_type: false,
            id: Some(table.object_id),
            by_caller: false,
            ambiguous: false,
            uses: Uses::default(),
            columns: BTreeMap::new(),
            all_columns_found: true,
        };
        self.references.push(own);
        let source = Source { name: fold_name(&table.name), schema: None, reference: Some(0) };
        self.blocks.push(vec![source]);
        mentions::of_expr(expr, self);
        let mut found = self.take();
        // Its own table only where it names columns of it.
        found.retain(|reference| {
            reference.id != Some(table.object_id) || !reference.columns.is_empty()
        });
        found
    }

    fn take(&mut self) -> Vec<Reference> {
        self.blocks.clear();
        self.last = None;
        std::mem::take(&mut self.references)
    }

    /// The columns of a table, view or table function.
    fn columns_of(&mut self, id: i32) -> Columns {
        if let Some(known) = self.columns.get(&id) {
            return known.clone();
        }
        let list: Vec<(CompactString, i32)> =
            match (self.catalog.by_id.get(&id), self.catalog.modules.get(&id)) {
                (Some(table), _) => {
                    table.columns.iter().map(|c| (fold_name(&c.name), c.column_id)).collect()
                }
                (_, Some(module)) if module.kind != ModuleKind::Procedure => {
                    let columns =
                        columns_of_view(self.session, self.db, &module.clone()).unwrap_or_default();
                    columns.iter().zip(1..).map(|(c, id)| (fold_name(&c.name), id)).collect()
                }
                _ => Vec::new(),
            };
        let list: Columns = Arc::new(list);
        self.columns.insert(id, list.clone());
        list
    }

    /// The object of a name in this database.
    fn find(&self, schema: &str, name: &str) -> Option<i32> {
        let catalog = &self.catalog;
        let table = catalog.find(schema, name).map(|table| table.object_id);
        let module = || catalog.find_module(schema, name).map(|module| module.object_id);
        table
            .or_else(module)
            .or_else(|| catalog.find_other(schema, name).map(|other| other.object_id()))
    }

    /// The reference to a name, which may be known already.
    fn reference(&mut self, name: &ObjectName, is_type: bool, id: Option<i32>) -> usize {
        let text = |part: &Option<Ident>| part.as_ref().map(|ident| ident.value.clone());
        let same = |a: &Option<CompactString>, b: &Option<Ident>| match (a, b) {
            (Some(a), Some(b)) => fold_name(a) == fold_name(&b.value),
            (None, None) => true,
            _ => false,
        };
        let known = self.references.iter().position(|r| {
            r.is_type == is_type
                && fold_name(&r.name) == fold_name(&name.name.value)
                && same(&r.schema, &name.schema)
                && same(&r.database, &name.database)
                && same(&r.server, &name.server)
        });
        known.unwrap_or_else(|| {
            self.references.push(Reference {
                server: text(&name.server),
                database: text(&name.database),
                schema: text(&name.schema),
                name: name.name.value.clone(),
                is_type,
                id,
                by_caller: false,
                ambiguous: false,
                uses: Uses::default(),
                columns: BTreeMap::new(),
                all_columns_found: true,
            });
            self.references.len() - 1
        })
    }

    /// Whether a name means nothing of a user: a temporary object, a system view, function or
    /// procedure, `inserted` and `deleted`.
    fn is_foreign(&self, name: &ObjectName, how: Use, id: Option<i32>) -> bool {
        let own = name.name.value.as_str();
        let schema = name.schema.as_ref().map_or("", Ident::as_str);
        let changed = name.is_bare() && (name.name.is("inserted") || name.name.is("deleted"));
        let of_system =
            || super::find(if schema.is_empty() { "dbo" } else { schema }, own).is_some();
        own.starts_with('#')
            || (changed && self.in_trigger)
            || ["sys", "information_schema"].contains(&schema.to_lowercase().as_str())
            || (id.is_none()
                && (of_system()
                    || (how == Use::Call && name.is_bare())
                    || (how == Use::Execute && self.session.host().above().is_procedure(own))
                    || (how == Use::Execute && own.eq_ignore_ascii_case("sp_executesql"))))
    }

    /// The source of a name, from the innermost block outwards.
    fn source_named(&self, name: &ObjectName) -> Option<Option<usize>> {
        let wanted = fold_name(&name.name.value);
        let schema = name.schema.as_ref().map(|schema| fold_name(&schema.value));
        let is = |source: &&Source| {
            source.name == wanted
                && (schema.is_none() || source.schema.is_none() || source.schema == schema)
        };
        self.blocks
            .iter()
            .rev()
            .find_map(|block| block.iter().find(is))
            .map(|source| source.reference)
    }

    fn use_column(&mut self, reference: usize, column: i32, written: bool, all: bool) {
        let uses = self.references[reference].columns.entry(column).or_default();
        uses.selected |= !written;
        uses.updated |= written;
        uses.select_all |= all;
    }

    /// A column by the name of its source, or of the first source that has it.
    fn find_column(&mut self, qualifier: Option<&ObjectName>, name: &str) -> Option<(usize, i32)> {
        let folded = fold_name(name);
        let position = |columns: &Columns| {
            columns.iter().find(|(known, _)| *known == folded).map(|(_, id)| *id)
        };
        if let Some(qualifier) = qualifier {
            let at = self.source_named(qualifier)??;
            let id = self.references[at].id?;
            let found = position(&self.columns_of(id));
            self.references[at].all_columns_found &= found.is_some();
            return found.map(|column| (at, column));
        }
        for depth in (0..self.blocks.len()).rev() {
            let sources: Vec<Option<usize>> =
                self.blocks[depth].iter().map(|source| source.reference).collect();
            for at in sources.iter().flatten() {
                let Some(id) = self.references[*at].id else { continue };
                if let Some(column) = position(&self.columns_of(id)) {
                    return Some((*at, column));
                }
            }
            // It may be of what is not known.
            if sources.iter().any(|at| at.is_none_or(|at| self.references[at].id.is_none())) {
                return None;
            }
        }
        None
    }
}

impl Listener for Reader<'_> {
    fn enter(&mut self) {
        self.blocks.push(Vec::new());
    }

    fn leave(&mut self) {
        self.blocks.pop();
    }

    fn source(&mut self, alias: &str) {
        if let Some(block) = self.blocks.last_mut() {
            block.push(Source { name: fold_name(alias), schema: None, reference: None });
        }
    }

    fn object(&mut self, name: &ObjectName, alias: Option<&Ident>, how: Use) {
        self.last = None;
        let schema = name.schema.as_ref().map_or("", Ident::as_str);
        let here = name.server.is_none()
            && name
                .database
                .as_ref()
                .is_none_or(|db| fold_name(&db.value) == fold_name(&self.db.name()));
        let id = if here { self.find(schema, &name.name.value) } else { None };
        let shown = alias.map_or(name.name.as_str(), Ident::as_str);
        if self.is_foreign(name, how, id) {
            self.source(shown);
            return;
        }
        // `column.method()`, or a function that is not there.
        let ambiguous = how == Use::Call && id.is_none() && here;
        if ambiguous && let Some(first) = &name.schema {
            let table = name.database.clone().map(ObjectName::bare);
            let is_source = self.source_named(&ObjectName::bare(first.clone())).is_some();
            let column = self.find_column(table.as_ref(), first.as_str());
            if let Some((at, column)) = column {
                self.use_column(at, column, false, false);
            }
            if is_source || column.is_some() {
                return;
            }
        }
        let by_caller = how == Use::Execute && name.schema.is_none();
        let at = self.reference(name, false, id.filter(|_| !by_caller));
        let reference = &mut self.references[at];
        reference.by_caller |= by_caller;
        reference.ambiguous |= ambiguous;
        reference.uses.selected |= how == Use::Read;
        reference.uses.updated |= how == Use::Write;
        self.last = Some(at);
        if how != Use::Execute
            && how != Use::Sequence
            && let Some(block) = self.blocks.last_mut()
        {
            let schema = alias
                .is_none()
                .then(|| name.schema.as_ref().map(|s| fold_name(&s.value)))
                .flatten();
            block.push(Source { name: fold_name(shown), schema, reference: Some(at) });
        }
    }

    fn column(&mut self, column: &ColumnRef, written: bool) {
        if let Some((at, id)) = self.find_column(column.qualifier.as_deref(), column.name.as_str())
        {
            self.use_column(at, id, written, false);
        }
    }

    fn own_column(&mut self, name: &Ident) {
        let Some(at) = self.last else { return };
        let Some(id) = self.references[at].id else { return };
        let folded = fold_name(&name.value);
        let found =
            self.columns_of(id).iter().find(|(known, _)| *known == folded).map(|(_, id)| *id);
        if let Some(column) = found {
            self.use_column(at, column, true, false);
        }
    }

    fn star(&mut self, qualifier: Option<&ObjectName>) {
        let sources: Vec<usize> = match qualifier {
            Some(name) => self.source_named(name).flatten().into_iter().collect(),
            None => self
                .blocks
                .last()
                .iter()
                .flat_map(|b| b.iter())
                .filter_map(|s| s.reference)
                .collect(),
        };
        for at in sources {
            self.references[at].uses.select_all = true;
            let Some(id) = self.references[at].id else { continue };
            for (_, column) in self.columns_of(id).iter() {
                self.use_column(at, *column, false, true);
            }
        }
    }

    fn data_type(&mut self, name: &TypeName) {
        let schema = name.name.schema.as_ref().map_or("", Ident::as_str);
        let own = name.name.name.as_str();
        let alias = self.catalog.find_type(schema, own).map(|alias| alias.type_id);
        let id = alias.or_else(|| self.catalog.find_table_type(schema, own).map(|def| def.type_id));
        if id.is_some() {
            self.reference(&name.name, true, id);
        }
    }
}
