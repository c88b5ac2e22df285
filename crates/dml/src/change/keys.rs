//! Foreign keys of a change, both ways, as queries and statements over the rows that it keeps.
//!
//! A test comes after its statement has written its rows, and reads the newest rows with locks: one
//! that another transaction is changing is waited for. So of two transactions, one that adds a row
//! and one that takes its parent away, the second always sees the first. The other table is sought
//! wherever an index has the key (`key_test`).

use std::sync::Arc;

use super::TableChange;
use super::key_test::{KeyTest, KeyTestRows, or_no_plan};
use bind::env::{CompileEnv, VarScope};
use bind::module::{CHANGED_ROWS, ChangedTable, ROW_NUMBER};
use catalog::names::quote;
use catalog::{Catalog, Db, ForeignKeyDef, TableDef};
use exec::operators::context::ExecCtx;
use plan::{Needs, QueryPlan, compile_query};
use session::state::changes::Action;
use syntax::ast::{ReferentialAction, Stmt, StmtKind};
use types::{SqlError, msg};

/// A statement that a cascade runs.
pub trait CascadePlan: std::fmt::Debug + Send + Sync {
    /// What it needs when it runs.
    fn needs(&self) -> &Needs;

    /// Runs it.
    ///
    /// # Errors
    /// Its own.
    fn cascade(&self, ctx: &mut ExecCtx<'_>) -> Result<(), SqlError>;
}

/// How a cascade's statement is compiled.
pub type CompileCascade = fn(&Stmt, &CompileEnv<'_>) -> Result<Arc<dyn CascadePlan>, SqlError>;

/// What becomes of rows whose parent goes or changes.
#[derive(Debug)]
pub struct Cascade(Arc<dyn CascadePlan>);

/// The steps that foreign keys add to a change.
#[derive(Default)]
pub struct ForeignKeySteps {
    pub cascades: Vec<Cascade>,
    pub tests: Vec<KeyTest>,
}

impl Cascade {
    /// The cascade of a compiled statement.
    pub fn new(plan: Arc<dyn CascadePlan>) -> Cascade {
        Cascade(plan)
    }

    /// What its statement needs.
    pub fn needs(&self) -> &Needs {
        self.0.needs()
    }

    /// Changes the rows.
    pub fn run(&self, ctx: &mut ExecCtx<'_>) -> Result<(), SqlError> {
        self.0.cascade(ctx)
    }
}

/// The columns of a foreign key by name, the child's and the parent's, pair by pair.
struct ColumnPairs(Vec<(String, String)>);

impl ColumnPairs {
    fn of(
        key: &ForeignKeyDef,
        child: &TableDef,
        parent: &TableDef,
    ) -> Result<ColumnPairs, SqlError> {
        let name = |table: &TableDef, id: i32| {
            let at = table
                .position(id)
                .ok_or_else(|| SqlError::internal("a foreign key has lost a column"))?;
            Ok::<_, SqlError>(quote(&table.columns[at].name))
        };
        let pairs =
            key.columns.iter().map(|(own, other)| Ok((name(child, *own)?, name(parent, *other)?)));
        pairs.collect::<Result<_, SqlError>>().map(ColumnPairs)
    }

    /// `a.[x] = b.[y] AND ...`: the child's alias, the parent's.
    fn equal(&self, child: &str, parent: &str) -> String {
        let all = self.0.iter().map(|(c, p)| format!("{child}.{c} = {parent}.{p}"));
        all.collect::<Vec<_>>().join(" AND ")
    }

    /// The child's columns are all there.
    fn given(&self, child: &str) -> String {
        let all = self.0.iter().map(|(c, _)| format!("{child}.{c} IS NOT NULL"));
        all.collect::<Vec<_>>().join(" AND ")
    }

    /// The rows of a change, or their different keys, of the child's columns or else the parent's.
    fn rows(&self, changes: &str, child: bool, rows: KeyTestRows) -> String {
        if rows == KeyTestRows::Each {
            return changes.to_string();
        }
        let names = self.0.iter().map(|(c, p)| if child { c.as_str() } else { p.as_str() });
        format!("(SELECT DISTINCT {} FROM {changes})", names.collect::<Vec<_>>().join(", "))
    }

    /// The parent's key in one row is that in another.
    fn same(&self, a: &str, b: &str) -> String {
        self.0.iter().map(|(_, p)| format!("{a}.{p} = {b}.{p}")).collect::<Vec<_>>().join(" AND ")
    }

    /// `child.[x] = value of column, ...` for SET.
    fn sets(&self, child: &str, value: impl Fn(&str) -> String) -> String {
        let all = self.0.iter().map(|(c, p)| format!("{child}.{c} = {}", value(p)));
        all.collect::<Vec<_>>().join(", ")
    }
}

fn name_of(db: &Db, table: &TableDef) -> String {
    format!("{}.{}.{}", quote(&db.name()), quote(&table.schema), quote(&table.name))
}

/// The foreign keys that a change must keep.
pub fn compile(
    env: &CompileEnv<'_>,
    catalog: &Catalog,
    change: &TableChange<'_>,
    compile_cascade: CompileCascade,
) -> Result<ForeignKeySteps, SqlError> {
    let own = change.table.foreign_keys.iter().any(|key| !key.disabled);
    let referenced =
        catalog.referenced_by.get(&change.table.object_id).is_some_and(|list| !list.is_empty());
    let mut keys = ForeignKeySteps::default();
    if !own && !referenced {
        return Ok(keys);
    }
    let vars = VarScope::new();
    let changes = ChangedTable {
        table: change.table.clone(),
        deleted: change.action != Action::Insert,
        inserted: change.action != Action::Delete,
        instead_of: None,
        rows: CHANGED_ROWS,
    };
    let env = CompileEnv { vars: &vars, values: &[], changes: Some(changes), ..env.clone() };
    let steps = Steps { env: &env, catalog, change, compile_cascade };
    if change.action != Action::Insert {
        for (child, key) in catalog.foreign_keys_to(change.table.object_id) {
            steps.children_of_old(&child, &key, &mut keys)?;
        }
    }
    if change.action != Action::Delete {
        for key in &change.table.foreign_keys {
            steps.parents_of_new(key, &mut keys)?;
        }
    }
    Ok(keys)
}

struct Steps<'a> {
    env: &'a CompileEnv<'a>,
    catalog: &'a Catalog,
    change: &'a TableChange<'a>,
    compile_cascade: CompileCascade,
}

impl Steps<'_> {
    fn sets(&self, mut columns: impl Iterator<Item = i32>) -> bool {
        let table = self.change.table;
        self.change.action != Action::Update
            || columns
                .any(|id| table.position(id).is_some_and(|at| self.change.columns.contains(&at)))
    }

    /// New keys of this table have a parent.
    fn parents_of_new(
        &self,
        key: &ForeignKeyDef,
        keys: &mut ForeignKeySteps,
    ) -> Result<(), SqlError> {
        let TableChange { db, table, verb, .. } = self.change;
        if key.disabled || !self.sets(key.columns.iter().map(|(own, _)| *own)) {
            return Ok(());
        }
        let parent = self.catalog.by_id.get(&key.parent);
        let parent =
            parent.ok_or_else(|| SqlError::internal("a foreign key has lost its table"))?;
        let pairs = ColumnPairs::of(key, table, parent)?;
        let text = |hint: &str, rows| {
            orphans(db, &pairs.rows("inserted", true, rows), (&**parent, hint), &pairs)
        };
        let helps = is_sought(parent, key.columns.iter().map(|(_, other)| *other));
        let error = no_parent(verb, db, key, table, parent);
        keys.tests.push(KeyTest::compile(text, (parent, helps), self.env, error)?);
        Ok(())
    }

    /// Rows of a child follow, or there are none.
    fn children_of_old(
        &self,
        child: &Arc<TableDef>,
        key: &ForeignKeyDef,
        keys: &mut ForeignKeySteps,
    ) -> Result<(), SqlError> {
        let TableChange { db, table, action, verb, .. } = self.change;
        if key.disabled || !self.sets(key.columns.iter().map(|(_, other)| *other)) {
            return Ok(());
        }
        let pairs = ColumnPairs::of(key, child, table)?;
        let wanted = if *action == Action::Delete { key.on_delete } else { key.on_update };
        let name = name_of(db, child);
        let found = pairs.equal("c", "d");
        let helps = is_sought(child, key.columns.iter().map(|(own, _)| *own));
        if wanted == ReferentialAction::NoAction {
            // An UPDATE may have given the key to another row, a MERGE may have added one with it.
            let is_kept = *action == Action::Update || *verb == "MERGE";
            let text = |hint: &str, rows| {
                let kept = match is_kept {
                    true => format!(
                        " AND NOT EXISTS (SELECT 1 FROM {} AS p WITH (READCOMMITTEDLOCK{hint}) WHERE {})",
                        name_of(db, table),
                        pairs.same("p", "d")
                    ),
                    false => String::new(),
                };
                format!(
                    "SELECT TOP (1) 1 AS x FROM {} AS d WHERE EXISTS (SELECT 1 FROM {name} AS c \
                     WITH (READCOMMITTEDLOCK{hint}) WHERE {found}){kept}",
                    pairs.rows("deleted", false, rows)
                )
            };
            let error = has_children(verb, db, key, child, table);
            keys.tests.push(KeyTest::compile(text, (child, helps), self.env, error)?);
            return Ok(());
        }
        let text = |hint: &str| match (wanted, action) {
            (ReferentialAction::SetNull | ReferentialAction::SetDefault, _) => {
                let value = if wanted == ReferentialAction::SetNull { "NULL" } else { "DEFAULT" };
                let moved = match action {
                    Action::Update => format!(
                        " INNER JOIN inserted AS i ON i.[{ROW_NUMBER}] = d.[{ROW_NUMBER}] WHERE NOT ({})",
                        pairs.same("i", "d")
                    ),
                    _ => String::new(),
                };
                let sets = pairs.sets("c", |_| value.to_string());
                format!(
                    "UPDATE c SET {sets} FROM {name} AS c{hint} INNER JOIN deleted AS d ON {found}{moved}"
                )
            }
            (_, Action::Delete) => {
                format!("DELETE c FROM {name} AS c{hint} INNER JOIN deleted AS d ON {found}")
            }
            _ => format!(
                "UPDATE c SET {} FROM {name} AS c{hint} INNER JOIN deleted AS d ON {found} \
                 INNER JOIN inserted AS i ON i.[{ROW_NUMBER}] = d.[{ROW_NUMBER}] WHERE NOT ({})",
                pairs.sets("c", |parent| format!("i.{parent}")),
                pairs.same("i", "d")
            ),
        };
        keys.cascades.push(self.cascade(text, helps)?);
        Ok(())
    }

    /// A cascade's statement, as a text for the hint of the child, which is sought where `helps`.
    fn cascade(&self, text: impl Fn(&str) -> String, helps: bool) -> Result<Cascade, SqlError> {
        let compiled =
            |hint: &str| (self.compile_cascade)(&parse(&text(hint))?, self.env).map(Cascade);
        if helps && let Some(sought) = or_no_plan(compiled(" WITH (FORCESEEK)"))? {
            return Ok(sought);
        }
        compiled("")
    }
}

/// Whether an index begins with all of these columns, told by their ids. One that begins with some
/// of them may lead to any number of rows for each key: whether it is of use the costs say.
fn is_sought(table: &TableDef, columns: impl Iterator<Item = i32>) -> bool {
    let columns: Vec<i32> = columns.collect();
    let is_one = |(at, _): &(usize, bool)| columns.contains(&table.columns[*at].column_id);
    table.all_indexes().any(|index| {
        let first = index.key.get(..columns.len());
        index.filter.is_none()
            && !index.options.disabled
            && first.is_some_and(|first| first.iter().all(is_one))
    })
}

pub(super) fn parse(text: &str) -> Result<Stmt, SqlError> {
    let stmts = syntax::parse(text).map_err(catalog::errors::syntax_error)?;
    stmts.into_iter().next().ok_or_else(|| SqlError::internal("a foreign key made no statement"))
}

pub(super) fn query(text: &str, env: &CompileEnv<'_>) -> Result<Arc<QueryPlan>, SqlError> {
    match &parse(text)?.kind {
        StmtKind::Select(query) => compile_query(query, env),
        _ => Err(SqlError::internal("a foreign key made no query")),
    }
}

/// Rows of a source whose key is given and has no parent.
fn orphans(
    db: &Db,
    source: &str,
    (parent, hint): (&TableDef, &str),
    pairs: &ColumnPairs,
) -> String {
    format!(
        "SELECT TOP (1) 1 AS x FROM {source} AS c WHERE {} AND NOT EXISTS (SELECT 1 FROM {} AS p \
         WITH (READCOMMITTEDLOCK{hint}) WHERE {})",
        pairs.given("c"),
        name_of(db, parent),
        pairs.equal("c", "p")
    )
}

/// The one column of a key, as messages show it.
fn column(key: &ForeignKeyDef, table: &TableDef, id: i32) -> String {
    let at = table.position(id).filter(|_| key.columns.len() == 1);
    at.map_or(String::new(), |at| format!(", column '{}'", table.columns[at].name))
}

fn no_parent(
    verb: &str,
    db: &Db,
    key: &ForeignKeyDef,
    child: &TableDef,
    parent: &TableDef,
) -> SqlError {
    let same = if child.object_id == parent.object_id { " SAME TABLE" } else { "" };
    SqlError::of(
        msg::CONSTRAINT_CONFLICT,
        [
            &verb,
            &format_args!("FOREIGN KEY{same}"),
            &key.name,
            &db.name(),
            &parent.full_name(),
            &column(key, parent, key.columns.first().map_or(0, |(_, other)| *other)),
        ],
    )
}

fn has_children(
    verb: &str,
    db: &Db,
    key: &ForeignKeyDef,
    child: &TableDef,
    parent: &TableDef,
) -> SqlError {
    let same = if child.object_id == parent.object_id { "SAME TABLE " } else { "" };
    SqlError::of(
        msg::CONSTRAINT_CONFLICT,
        [
            &verb,
            &format_args!("{same}REFERENCE"),
            &key.name,
            &db.name(),
            &child.full_name(),
            &column(key, child, key.columns.first().map_or(0, |(own, _)| *own)),
        ],
    )
}

/// Tests all rows of a table against one of its foreign keys.
///
/// # Errors
/// 547.
pub fn test_rows(
    env: &CompileEnv<'_>,
    ctx: &mut ExecCtx<'_>,
    db: &Arc<Db>,
    child: &TableDef,
    parent: &TableDef,
    key: &ForeignKeyDef,
) -> Result<(), SqlError> {
    let pairs = ColumnPairs::of(key, child, parent)?;
    let broken = query(&orphans(db, &name_of(db, child), (parent, ""), &pairs), env)?;
    KeyTest::new(broken, no_parent("ALTER TABLE", db, key, child, parent)).run(ctx)
}
