//! What a view that is a UNION ALL of tables is made of, and whether it is a partitioned view: then
//! each row has one table.
//! Guarantees: the rules are those of SQL Server, tested in its order; a view that passes them has
//! one column in the primary keys of all of its tables, and no two tables have a value of it in
//! common.

use std::sync::Arc;

use super::super::change::check_condition;
use super::super::new_row::not_modifiable;
use super::domain::{Domain, Routes};
use super::refusals::{self, table_name, view_name};
use bind::env::CompileEnv;
use bind::partitioned::{ViewMember, members_of, table_of};
use bind::{Binder, unsupported};
use catalog::{Catalog, Db, ModuleDef, TableDef};
use compact_str::CompactString;
use logical::rights::Chain;
use syntax::ast::{self, ReferentialAction};
use types::{DataType, SqlError};

/// A table of a view.
pub struct Member {
    pub db: Arc<Db>,
    pub table: Arc<TableDef>,
    /// For each column of the view the one of the table; none where it is computed.
    columns: Vec<Option<usize>>,
    query: Arc<ast::Query>,
}

/// A view that is a UNION ALL of tables.
pub struct UnionView {
    db: Arc<Db>,
    view: Arc<ModuleDef>,
    /// As messages name it.
    name: String,
    names: Arc<[CompactString]>,
    types: Vec<DataType>,
    members: Vec<Member>,
}

/// A view through which rows can be changed: each belongs to one of the tables.
pub struct PartitionedView {
    union: UnionView,
    /// The partitioning column's place in the view.
    key: usize,
    pub routes: Arc<Routes>,
}

/// What a statement does to the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Insert,
    Update,
    /// UPDATE of the partitioning column: a row may move to another table.
    Move,
    Delete,
}

impl Member {
    /// Binds one SELECT of a view. None: it reads no table as it is.
    fn of(
        env: &CompileEnv<'_>,
        (db, view): (&Arc<Db>, &Arc<ModuleDef>),
        query: ast::Query,
        names: &Arc<[CompactString]>,
    ) -> Result<Option<Member>, SqlError> {
        let query = Arc::new(query);
        let mut binder = Binder::new(env);
        binder.member = Some(ViewMember::new(db, view, query.clone(), names.clone()));
        let (logical, columns) = binder.view_query(db, view)?;
        let nested = binder
            .modules
            .iter()
            .any(|(_, used)| used.view().is_some() && !Arc::ptr_eq(used, view));
        let Some(get) = table_of(&logical).filter(|_| !nested) else { return Ok(None) };
        let columns = columns.iter().map(|column| get.position(column.id)).collect();
        Ok(Some(Member { db: get.db.clone(), table: get.table.clone(), columns, query }))
    }

    /// Whether it is this table.
    pub fn is(&self, db_id: i32, object_id: i32) -> bool {
        (self.db.id(), self.table.object_id) == (db_id, object_id)
    }

    /// As messages name it.
    fn name(&self) -> String {
        table_name(&self.db, &self.table)
    }

    /// The column of the table at this place of the view.
    ///
    /// # Errors
    /// Internal: it is computed.
    pub fn column(&self, at: usize) -> Result<usize, SqlError> {
        let column = self.columns.get(at).copied().flatten();
        column.ok_or_else(|| SqlError::internal("a column of a partitioned view is computed"))
    }

    /// The place in the view of a column of the table.
    pub fn place(&self, column: usize) -> Option<usize> {
        self.columns.iter().position(|own| *own == Some(column))
    }

    /// What the trusted constraints of single columns admit; none for a column that has several.
    fn domains(&self, env: &CompileEnv<'_>) -> Result<Vec<(usize, Option<Domain>)>, SqlError> {
        let catalog = self.db.catalog();
        let env = &CompileEnv { chain: Chain::Trusted, db: &self.db, catalog, ..env.clone() };
        let mut found: Vec<(usize, Option<Domain>)> = Vec::new();
        let checks = self.table.checks.iter();
        for check in
            checks.filter(|check| !check.disabled && !check.untrusted && !check.not_for_replication)
        {
            let (broken, mut used) = check_condition(env, &self.table, check)?;
            used.sort_unstable();
            used.dedup();
            let [at] = used[..] else { continue };
            match found.iter_mut().find(|(column, _)| *column == at) {
                Some((_, domain)) => *domain = None,
                None => {
                    let domain = Domain::of_condition(&broken, &self.table.columns[at]);
                    found.push((at, domain.map(Domain::complement)));
                }
            }
        }
        Ok(found)
    }

    /// The values of a column of the view, if it may be the one that tells the tables apart.
    fn domain(&self, at: usize, domains: &[(usize, Option<Domain>)]) -> Option<Domain> {
        let column = self.columns[at]?;
        let def = &self.table.columns[column];
        let plain = def.computed.is_none()
            && def.identity.is_none()
            && def.default.is_none()
            && def.ty != DataType::RowVersion;
        let (_, domain) = domains.iter().find(|(of, _)| plain && *of == column)?;
        domain.clone()
    }
}

impl UnionView {
    /// What a view is made of. None: one of its SELECTs reads no table as it is.
    ///
    /// # Errors
    /// Those of binding it.
    pub fn of(
        env: &CompileEnv<'_>,
        db: Arc<Db>,
        view: Arc<ModuleDef>,
    ) -> Result<Option<UnionView>, SqlError> {
        let Some(queries) = members_of(&view) else { return Ok(None) };
        let (_, columns) = Binder::new(env).view_query(&db, &view)?;
        let names: Arc<[CompactString]> =
            columns.iter().map(|column| column.name.clone()).collect();
        let mut members = Vec::with_capacity(queries.len());
        for query in queries {
            let Some(member) = Member::of(env, (&db, &view), query, &names)? else {
                return Ok(None);
            };
            members.push(member);
        }
        let types = columns.iter().map(|column| column.ty).collect();
        Ok(Some(UnionView { name: view_name(&db, &view), db, view, names, types, members }))
    }

    /// Whether a table's column is not one of the view as it is.
    fn derives(&self, member: &Member, at: usize) -> bool {
        let column = member.columns[at].map(|column| member.table.columns[column].ty);
        !column.is_some_and(|ty| ty.is_kind_of(self.types[at]))
    }

    fn differ(&self, at: usize) -> bool {
        let of = |member: &Member| {
            let column = member.columns[at].map(|column| &member.table.columns[column]);
            column.map(|column| (column.ty, column.collation))
        };
        let first = self.members.first().and_then(of);
        self.members.iter().any(|member| of(member) != first)
    }

    /// 4442, 4443.
    fn check_once(&self) -> Result<(), SqlError> {
        for (number, member) in self.members.iter().enumerate() {
            let (db, table) = (member.db.id(), member.table.object_id);
            if self.members[..number].iter().any(|other| other.is(db, table)) {
                return Err(refusals::table_twice(&self.name, &member.name()));
            }
        }
        for member in &self.members {
            for (at, column) in member.columns.iter().enumerate() {
                if let Some(twice) = *column
                    && member.columns[..at].contains(column)
                {
                    let last = self.members.last().map_or_else(String::new, Member::name);
                    let column = &member.table.columns[twice].name;
                    return Err(refusals::column_twice(&self.name, column, &last));
                }
            }
        }
        Ok(())
    }

    /// The places of the primary keys' columns, which are those of all tables.
    ///
    /// # Errors
    /// 4440, 4444, 4445.
    fn keys(&self) -> Result<Vec<usize>, SqlError> {
        let mut keys: Option<Vec<usize>> = None;
        let mut elsewhere = None;
        for member in &self.members {
            let primary = member.table.all_indexes().find(|index| index.primary_key.is_some());
            let primary =
                primary.ok_or_else(|| refusals::no_primary_key(&self.name, &member.name()))?;
            let place = |(column, _): &(usize, bool)| {
                member.place(*column).filter(|at| !self.derives(member, *at))
            };
            let places: Option<Vec<usize>> = primary.key.iter().map(place).collect();
            let mut places =
                places.ok_or_else(|| refusals::key_not_included(&self.name, &member.name()))?;
            places.sort_unstable();
            match &keys {
                None => keys = Some(places),
                Some(first) if *first == places => {}
                Some(_) => elsewhere = elsewhere.or(Some(member)),
            }
        }
        match elsewhere {
            None => Ok(keys.unwrap_or_default()),
            Some(member) => Err(refusals::key_elsewhere(&self.name, &member.name())),
        }
    }

    /// The view as a partitioned one.
    ///
    /// # Errors
    /// 4436, 4440 to 4445: why it is none.
    pub fn partitioned(self, env: &CompileEnv<'_>) -> Result<PartitionedView, SqlError> {
        self.check_once()?;
        let keys = self.keys()?;
        let mut domains = Vec::with_capacity(self.members.len());
        for member in &self.members {
            domains.push(member.domains(env)?);
        }
        let mut outside = false;
        for at in 0..self.types.len() {
            let own = self
                .members
                .iter()
                .zip(&domains)
                .map(|(member, domains)| member.domain(at, domains));
            let own: Option<Vec<Domain>> = own.collect();
            let Some(routes) = own.as_deref().and_then(Routes::of) else { continue };
            if !keys.contains(&at) {
                outside = true;
                continue;
            }
            let computed = |member: &&Member| {
                let mut columns = member.table.all_indexes().flat_map(|index| &index.key);
                columns.any(|(column, _)| member.table.columns[*column].computed.is_some())
            };
            if let Some(member) = self.members.iter().find(computed) {
                return Err(refusals::computed_index(&self.name, &member.name()));
            }
            return Ok(PartitionedView { union: self, key: at, routes: Arc::new(routes) });
        }
        Err(refusals::no_partitioning_column(&self.name, outside))
    }
}

impl PartitionedView {
    /// As messages name it.
    pub fn name(&self) -> &str {
        &self.union.name
    }

    /// How many columns it has.
    pub fn width(&self) -> usize {
        self.union.types.len()
    }

    /// The place of the partitioning column.
    pub fn key(&self) -> usize {
        self.key
    }

    /// Its tables.
    pub fn members(&self) -> &[Member] {
        &self.union.members
    }

    /// The table that stands for the view.
    pub fn standing(&self, at: usize) -> Box<ViewMember> {
        let UnionView { db, view, names, members, .. } = &self.union;
        ViewMember::new(db, view, members[at].query.clone(), names.clone())
    }

    /// Whether all columns of a table are of the same types as those of the first.
    pub fn is_like_first(&self, at: usize) -> bool {
        let (first, other) = (&self.members()[0], &self.members()[at]);
        (0..self.width()).all(|place| match (first.columns[place], other.columns[place]) {
            (Some(a), Some(b)) => {
                let (a, b) = (&first.table.columns[a], &other.table.columns[b]);
                a.ty == b.ty && a.collation == b.collation
            }
            _ => false,
        })
    }

    /// 4439 when the statement reads this table besides: database and object_id.
    ///
    /// # Errors
    /// 4439.
    pub fn check_not_member(&self, db_id: i32, object_id: i32) -> Result<(), SqlError> {
        match self.members().iter().find(|member| member.is(db_id, object_id)) {
            None => Ok(()),
            Some(member) => Err(refusals::source_reads(self.name(), &member.name())),
        }
    }

    /// Whether the tables let a change through that gives these columns of the view values.
    ///
    /// # Errors
    /// 271, 4431, 4433, 4434, 4438, 4450, 4452, 4453, 4454, 4456.
    pub fn check(&self, change: Change, set: &[usize]) -> Result<(), SqlError> {
        if change != Change::Move {
            self.check_derived(set.iter().copied())?;
        }
        let state = match change {
            Change::Insert => 17,
            Change::Update => 16,
            Change::Move => 14,
            Change::Delete => 18,
        };
        if self.members().iter().any(|member| member.table.columns.len() != self.width()) {
            return Err(refusals::columns_missing(self.name(), state));
        }
        match change {
            Change::Insert => {
                if self.union.differ(self.key) {
                    return Err(refusals::partitioning_types(self.name(), 18));
                }
                let numbered =
                    |member: &&Member| member.table.columns.iter().any(|c| c.identity.is_some());
                if let Some(member) = self.members().iter().find(numbered) {
                    return Err(refusals::identity(self.name(), &member.name()));
                }
                self.check_row_versions(4)?;
                self.check_instead(4)
            }
            Change::Update => {
                self.check_row_versions(1)?;
                self.check_instead(1)
            }
            Change::Move => {
                self.check_derived(0..self.width())?;
                self.check_row_versions(1)?;
                self.check_instead(1)?;
                self.check_moves()
            }
            Change::Delete => self.check_instead(2),
        }
    }

    /// 271.
    fn check_derived(&self, mut set: impl Iterator<Item = usize>) -> Result<(), SqlError> {
        let derived =
            |at: &usize| self.members().iter().any(|member| self.union.derives(member, *at));
        match set.find(derived) {
            None => Ok(()),
            Some(at) => Err(not_modifiable(&self.union.names[at])),
        }
    }

    /// 4431.
    fn check_row_versions(&self, state: u8) -> Result<(), SqlError> {
        match self.members().iter().find(|member| member.table.row_version().is_some()) {
            None => Ok(()),
            Some(member) => Err(refusals::row_version(self.name(), &member.name(), state)),
        }
    }

    /// 4434.
    fn check_instead(&self, state: u8) -> Result<(), SqlError> {
        let stands = |member: &&Member| has_trigger(&member.db.catalog(), &member.table, true);
        match self.members().iter().find(stands) {
            None => Ok(()),
            Some(member) => Err(refusals::instead_of(self.name(), &member.name(), state)),
        }
    }

    /// Whether rows may move from table to table.
    fn check_moves(&self) -> Result<(), SqlError> {
        let (view, names) = (self.name(), &self.union.names);
        if self.union.differ(self.key) {
            return Err(refusals::partitioning_types(view, 17));
        }
        for member in self.members() {
            let catalog = member.db.catalog();
            let numbered = member.table.columns.iter().position(|column| column.identity.is_some());
            if let Some(at) = numbered.and_then(|column| member.place(column)) {
                return Err(refusals::identity_moves(view, &names[at], &member.name()));
            }
            let acts = |action| action != ReferentialAction::NoAction;
            let children = catalog.foreign_keys_to(member.table.object_id);
            if children.iter().any(|(_, key)| acts(key.on_delete) || acts(key.on_update)) {
                return Err(refusals::cascades(&names[self.key], view, &member.name()));
            }
            if has_trigger(&catalog, &member.table, false) {
                return Err(refusals::triggers(&names[self.key], view, &member.name()));
            }
            if member.table.period().is_some() {
                return Err(unsupported("UPDATE that moves rows of system-versioned tables"));
            }
        }
        match (0..self.width()).any(|at| at != self.key && self.union.differ(at)) {
            true => Err(refusals::other_types(view)),
            false => Ok(()),
        }
    }
}

/// Whether a table has an enabled trigger that stands in the place of a change, or one that comes
/// after it.
fn has_trigger(catalog: &Catalog, table: &TableDef, instead: bool) -> bool {
    let triggers = catalog.triggers_of(table.object_id);
    triggers
        .iter()
        .any(|module| module.trigger().is_some_and(|trigger| trigger.instead_of == instead))
}
