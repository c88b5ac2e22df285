//! FROM: tables, views, derived tables, CTEs, VALUES, joins and APPLY become logical nodes and name sources.

use crate::TableUse;
use crate::access_hints::{Amount, Sample};
use crate::bind::nested_change::{Place, check_none};
use crate::bind::scope::{Clause, Scope, ScopeColumn, Source};
use crate::bind::synonym::{base_of, invalid_synonym};
use crate::bind::system_time::{Mention, not_versioned};
use crate::bind::updatable::Origin;
use crate::bind::view_rows::{NOEXPAND, keeps_no_rows};
use crate::bind::xml::columns_of_list;
use crate::bind::{Binder, unsupported};
use crate::hints::{Hints, Reading};
use crate::logical::{CteDef, Get, JoinHint, JoinKind, Logical, OutColumn};
use crate::view::{Argument, ViewDef};
use catalog::Db;
use catalog::ModuleDef;
use catalog::TableDef;
use catalog::errors;
use catalog::fold_name;
use catalog::other::OtherObject;
use catalog::security::Permission;
use expr::{Typed, bind_ops};
use std::sync::Arc;
use syntax::ast::{self, RowSchema, TableRefKind};
use types::{DataType, SqlError};

/// What a name in FROM means.
pub enum Named {
    Table(Arc<Db>, Arc<TableDef>),
    View(Arc<Db>, &'static dyn ViewDef),
    /// A user's view, procedure or trigger.
    Module(Arc<Db>, Arc<ModuleDef>),
}

impl Binder<'_> {
    /// Binds FROM into the current block.
    pub fn from_clause(&mut self, refs: &[ast::TableRef]) -> Result<Logical, SqlError> {
        let mut joined: Option<Logical> = None;
        for table in refs {
            let next = self.table_ref(table)?;
            joined = Some(match joined {
                None => next,
                Some(left) => inner(left, next),
            });
        }
        self.check_names()?;
        Ok(joined.unwrap_or(Logical::One))
    }

    /// 1011, 1013: two sources of one name.
    fn check_names(&mut self) -> Result<(), SqlError> {
        let scope = self.scope()?;
        for (i, a) in scope.sources.iter().enumerate() {
            for b in &scope.sources[i + 1..] {
                let same = a.name == b.name && !a.name.is_empty();
                if same && a.aliased && b.aliased {
                    let text = format!(
                        "The correlation name '{}' is specified multiple times in a FROM clause.",
                        a.name
                    );
                    return Err(SqlError::new(1011, 16, 1, text));
                }
                if same && a.schema == b.schema && a.database == b.database && a.aliased == b.aliased {
                    let text = format!(
                        "The objects \"{}\" and \"{}\" in the FROM clause have the same exposed names. Use \
                         correlation names to distinguish them.",
                        a.name, b.name
                    );
                    return Err(SqlError::new(1013, 16, 1, text));
                }
            }
        }
        Ok(())
    }

    pub(super) fn table_ref(&mut self, table: &ast::TableRef) -> Result<Logical, SqlError> {
        match &table.kind {
            TableRefKind::Named { name, alias, sample, hints, system_time } => {
                let mention = Mention { name, alias: alias.as_ref(), hints };
                let logical = self.named(&mention, system_time.as_deref())?;
                match sample {
                    None => Ok(logical),
                    Some(sample) => {
                        let of = self.scope()?.sources.last().map_or(0, |source| source.object_id);
                        sampled(logical, of, name, sample)
                    }
                }
            }
            TableRefKind::Variable { name, alias, hints } => {
                let (db, table) = self.table_variable(name)?;
                let name = variable_name(name);
                self.base_table(db, table, &name, alias.as_ref(), hints)
            }
            TableRefKind::Function { name, args, schema: RowSchema::Table(table), alias, columns } => {
                if !columns.is_empty() {
                    return Err(SqlError::new(102, 15, 1, "Incorrect syntax near '('."));
                }
                self.open_xml(name, args, self.columns_of_table(table)?, alias.as_ref())
            }
            TableRefKind::Function { name, args, schema: RowSchema::Columns(schema), alias, columns } => {
                if name.is_bare() && name.name.is("openxml") && columns.is_empty() {
                    return self.open_xml(name, args, columns_of_list(schema)?, alias.as_ref());
                }
                if !name.is_bare() || !name.name.is("openjson") || !columns.is_empty() {
                    return Err(SqlError::new(102, 15, 1, "Incorrect syntax near '('."));
                }
                self.open_json((name, args), schema, alias.as_ref())
            }
            TableRefKind::Function { name, args, alias, columns, .. } => {
                self.table_function(name, args, alias.as_ref(), columns)
            }
            TableRefKind::Derived { query, alias, columns } => {
                let known = self.query_sources.len();
                let bound = self.nested(|b| b.inner_query(query))?.0;
                self.add_derived(&alias.value, columns, &bound.columns)?;
                self.note_query(&alias.value, Origin::Derived, known, &bound.logical, &bound.columns);
                Ok(bound.logical)
            }
            TableRefKind::Bulk { file, options, alias, columns } => {
                self.bulk_rowset(file, options, alias.as_ref(), columns)
            }
            TableRefKind::Change { alias, columns, .. } => self.change_rows(alias, columns),
            TableRefKind::Values { rows, alias, columns } => {
                let (logical, out) = self.values(rows)?;
                self.add_derived(&alias.value, columns, &out)?;
                let known = self.query_sources.len();
                self.note_query(&alias.value, Origin::Derived, known, &logical, &out);
                Ok(logical)
            }
            TableRefKind::Join { kind, hint, left, right, on } => {
                self.join(*kind, *hint, left, right, on.as_ref())
            }
            TableRefKind::Apply { outer, left, right } => self.apply(*outer, left, right),
            TableRefKind::Method { call, alias, columns } => self.nodes_source(call, alias.as_ref(), columns),
            TableRefKind::Pivot { input, aggregate, column, values, alias } => {
                self.pivot(input, aggregate, column, values, alias)
            }
            TableRefKind::Unpivot { input, value, column, values, alias } => {
                self.unpivot(input, (value, column), values, alias)
            }
        }
    }

    /// Runs `f` in a new block from which the current one is not seen; also gives the block back.
    pub(super) fn nested<T>(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<(T, Scope), SqlError> {
        self.scopes.push(Scope::default());
        let result = f(self);
        let scope = self.scopes.pop().unwrap_or_default();
        Ok((result?, scope))
    }

    fn named(&mut self, mention: &Mention<'_>, time: Option<&ast::SystemTime>) -> Result<Logical, SqlError> {
        let Mention { name, alias, hints } = *mention;
        let moments = time.map(|time| self.moments(time)).transpose()?;
        if moments.is_some() && name.is_bare() && self.is_cte(&name.name.value) {
            return Err(not_versioned(&name.to_string()));
        }
        if name.is_bare()
            && let Some(rows) = self.recursion(name, alias)?
        {
            return Ok(rows);
        }
        if name.is_bare()
            && let Some(cte) = self.find_cte(&name.name.value)
        {
            return self.cte(&cte, alias);
        }
        if name.is_bare() && self.open_ctes.contains(&fold_name(&name.name.value)) {
            let text = format!(
                "Recursive common table expression '{name}' does not contain a top-level UNION ALL operator."
            );
            return Err(SqlError::new(252, 16, 1, text));
        }
        if let Some(rows) = self.changed_rows(name, alias)? {
            return Ok(rows);
        }
        let found = self.resolve(name)?;
        // A synonym's name is the table's here.
        let renamed = match &found {
            Named::Table(_, table) => !name.name.is(&table.name) && !table.name.starts_with('#'),
            Named::Module(..) | Named::View(..) => false,
        };
        let alias = alias.or(Some(&name.name).filter(|_| renamed));
        let mention = Mention { name, alias, hints };
        match found {
            Named::Table(..) if hints.iter().any(|hint| hint.name == NOEXPAND) => Err(keeps_no_rows(name)),
            Named::Table(db, table) => match self.moments_of_view(&table, moments.is_some())?.or(moments) {
                None => self.base_table(db, table, name, alias, hints),
                Some(moments) => self.versions((db, table), &mention, &moments),
            },
            Named::View(..) if moments.is_some() => Err(not_versioned(&name.to_string())),
            Named::View(db, view) => {
                if view.arguments().is_some() {
                    let text = format!("Parameters were not supplied for the function '{name}'.");
                    return Err(SqlError::new(216, 16, 1, text));
                }
                self.system_view(db, view, Vec::new(), name, alias)
            }
            Named::Module(db, module) if module.view().is_some() => match moments {
                None if hints.iter().any(|hint| hint.name == NOEXPAND) => {
                    self.kept_view((db, &module), &mention)
                }
                None => self.user_view(db, &module, name, alias),
                Some(moments) => self.view_at((db, &module), &mention, moments),
            },
            Named::Module(_, module) if module.kind.is_table_function() => {
                let text = format!("Parameters were not supplied for the function '{name}'.");
                Err(SqlError::new(216, 16, 1, text))
            }
            Named::Module(..) => Err(errors::invalid_object(&name.to_string())),
        }
    }

    /// The table variable of a name. Error: 1087.
    pub fn table_variable(&self, name: &str) -> Result<(Arc<Db>, Arc<TableDef>), SqlError> {
        let db = self.env.names.variables()?;
        match self.env.temps.find_variable(name, &db) {
            Some(table) => Ok((db, table)),
            None => {
                let text = format!("Must declare the table variable \"{name}\".");
                Err(SqlError::new(1087, 15, 2, text))
            }
        }
    }

    /// What an object name means. Error: 208.
    pub fn resolve(&self, name: &ast::ObjectName) -> Result<Named, SqlError> {
        self.resolve_through(name, true)
    }

    /// Through a synonym, or where that has led.
    fn resolve_through(&self, name: &ast::ObjectName, synonyms: bool) -> Result<Named, SqlError> {
        let missing = || errors::invalid_object(&name.to_string());
        if let Some(table) = self.view_rows(name) {
            return Ok(Named::Table(self.db.clone(), table));
        }
        if let Some(server) = &name.server {
            return Err(errors::no_server(&server.value));
        }
        let db = match &name.database {
            Some(db) => {
                let db = self.env.names.find_db(&db.value).ok_or_else(missing)?;
                db.check_usable()?;
                db
            }
            None if name.name.value.starts_with('#') => {
                self.env.names.find_db("tempdb").ok_or_else(missing)?
            }
            None => self.db.clone(),
        };
        let catalog = if db.id() == self.db.id() { self.catalog.clone() } else { db.catalog() };
        if name.name.value.starts_with('#')
            && let Some(table) = self.env.temps.find(&name.name.value, &db)
        {
            return Ok(Named::Table(db, table));
        }
        let schema = name.schema.as_ref().map_or("dbo", |s| s.value.as_str());
        if let Some(table) = catalog.tables.get(&(fold_name(schema), fold_name(&name.name.value))) {
            return Ok(Named::Table(db, table.clone()));
        }
        if let Some(module) = catalog.find_module(schema, &name.name.value) {
            return Ok(Named::Module(db, module.clone()));
        }
        if let (Some(OtherObject::Synonym(synonym)), true) =
            (catalog.find_other(schema, &name.name.value), synonyms)
        {
            return self.resolve_through(&base_of(&db, synonym), false).map_err(|_| invalid_synonym(name));
        }
        let view = self.env.names.view(schema, &name.name.value);
        view.map(|view| Named::View(db, view)).ok_or_else(missing)
    }

    pub(super) fn base_table(
        &mut self,
        db: Arc<Db>,
        table: Arc<TableDef>,
        name: &ast::ObjectName,
        alias: Option<&ast::Ident>,
        hints: &[ast::OptionItem],
    ) -> Result<Logical, SqlError> {
        table.check_enabled()?;
        let hints = match self.table_hint(&table, name, alias, hints)? {
            Some(hints) => Hints::parse(&table, &hints)?,
            None => Hints::parse(&table, hints)?,
        };
        let reading = hints.reading(self.env.options.isolation)?;
        self.rights.need_table(&db, &table, Permission::Select, &[]);
        let get = self.get(db, table, reading, hints);
        let mut source = table_source(&get, name, alias);
        source.columns = self.columns_of(&get.db, &get.table, get.first)?;
        let conditions = self.policy_conditions(&get)?;
        self.scope()?.sources.push(source);
        Ok(Logical::Get(Box::new(get)).filtered(conditions))
    }

    /// A table as a node, its columns numbered.
    pub fn get(&mut self, db: Arc<Db>, table: Arc<TableDef>, reading: Reading, hints: Hints) -> Get {
        let first = self.new_cols(table.columns.len() + 1);
        let lock = reading.table;
        if !self.tables.iter().any(|used| Arc::ptr_eq(&used.table, &table) && used.lock == lock) {
            self.tables.push(TableUse { db: db.clone(), table: table.clone(), lock });
        }
        self.rights.reads(&db, &table, first);
        self.note_masks(&db, &table, first);
        let values = self.values.clone();
        Get { db, table, first, mode: reading.mode, locks: reading.locks, hints, values }
    }

    pub(super) fn table_function(
        &mut self,
        name: &ast::ObjectName,
        args: &[ast::Expr],
        alias: Option<&ast::Ident>,
        columns: &[ast::Ident],
    ) -> Result<Logical, SqlError> {
        let schema = name.schema.as_ref().map_or("sys", |s| s.value.as_str());
        let view = self.env.names.view(schema, &name.name.value).filter(|v| v.arguments().is_some());
        let Some(view) = view else {
            if let Some(rows) = self.user_table_function(name, args, alias)? {
                self.rename_columns(columns)?;
                return Ok(rows);
            }
            let rows = match self.resolve(name) {
                Ok(Named::Module(_, module)) => module.view().is_some(),
                other => other.is_ok(),
            };
            if rows {
                let text = format!(
                    "Parameters supplied for object '{name}' which is not a function. If the parameters are intended as a \
                     table hint, a WITH keyword is required."
                );
                return Err(SqlError::new(215, 16, 1, text));
            }
            return Err(errors::invalid_object(&name.to_string()));
        };
        let wanted = view.arguments().unwrap_or(0);
        if !(wanted..=wanted + view.optional_arguments()).contains(&args.len()) {
            let (number, few) =
                if args.len() < wanted { (313, "An insufficient number of") } else { (8144, "Too many") };
            let text = if number == 313 {
                format!("{few} arguments were supplied for the procedure or function {name}.")
            } else {
                format!("Procedure or function {name} has too many arguments specified.")
            };
            return Err(SqlError::new(number, 16, 2, text));
        }
        let mut bound = Vec::with_capacity(args.len());
        let mut types = Vec::with_capacity(args.len());
        for arg in args {
            // DEFAULT stands for NULL.
            let (expr, ty) = match arg.kind {
                ast::ExprKind::Default => (expr::Expr::Const(types::Value::Null), types::DataType::Int),
                _ => self.expr(arg).map(|typed| (typed.expr, typed.ty))?,
            };
            bound.push(expr);
            types.push(ty);
        }
        let typed: Vec<Argument<'_>> = bound
            .iter()
            .zip(&types)
            .map(|(expr, ty)| {
                let constant = if let expr::Expr::Const(value) = expr { Some(value) } else { None };
                Argument { ty: *ty, constant }
            })
            .collect();
        let view = view.for_arguments(&typed)?.unwrap_or(view);
        let db = match &name.database {
            Some(db) => self.env.names.database(&db.value)?,
            None => self.db.clone(),
        };
        let rows = self.system_view(db, view, bound, name, alias)?;
        self.rename_columns(columns)?;
        Ok(rows)
    }

    /// Gives the columns of the source that was added last the names of `AS alias (a, b)`.
    pub(super) fn rename_columns(&mut self, names: &[ast::Ident]) -> Result<(), SqlError> {
        let Some(source) = self.scope()?.sources.last_mut().filter(|_| !names.is_empty()) else {
            return Ok(());
        };
        if names.len() != source.columns.len() {
            return Err(column_list_error(&source.name, names.len(), source.columns.len()));
        }
        for (column, name) in source.columns.iter_mut().zip(names) {
            *column = ScopeColumn::new(&name.value, column.id, column.ty, column.nullable, column.collation);
        }
        Ok(())
    }

    /// Binds the view or common table expression of a name as the first source of the current block: a target of a change.
    ///
    /// # Errors
    /// Those of its query.
    pub fn target_query(&mut self, name: &ast::ObjectName) -> Result<Logical, SqlError> {
        let logical = self.named(&Mention { name, alias: None, hints: &[] }, None)?;
        let sources = &mut self.scope()?.sources;
        sources.rotate_right(1);
        Ok(logical)
    }

    /// Whether a bare name means a common table expression.
    pub fn is_cte(&self, name: &str) -> bool {
        self.find_cte(name).is_some()
    }

    fn find_cte(&self, name: &str) -> Option<Arc<CteDef>> {
        let name = fold_name(name);
        self.ctes.iter().rev().find(|cte| cte.name == name).cloned()
    }

    fn cte(&mut self, cte: &Arc<CteDef>, alias: Option<&ast::Ident>) -> Result<Logical, SqlError> {
        // Inside, only the CTEs before it are in sight, and no block around it.
        let hidden = self.ctes.split_off(cte.visible);
        let scopes = std::mem::take(&mut self.scopes);
        let known = self.query_sources.len();
        self.open_ctes.push(cte.name.clone());
        let bound = match super::recursive::parts(cte) {
            Some((anchors, steps)) => self.nested(|b| b.recursive_cte(cte, &anchors, &steps)),
            None => {
                self.nested(|b| b.inner_query(&cte.query)).map_err(|e| super::recursive::in_subquery(cte, e))
            }
        };
        self.open_ctes.pop();
        self.scopes = scopes;
        self.ctes.truncate(cte.visible);
        self.ctes.extend(hidden);
        let (bound, _) = bound?;
        let name = alias.map_or(cte.name.as_str(), |a| a.value.as_str());
        self.add_derived(name, &cte.columns, &bound.columns)?;
        self.note_query(name, Origin::CommonTable, known, &bound.logical, &bound.columns);
        Ok(bound.logical)
    }

    /// A source that is a query: its columns need names.
    pub(super) fn add_derived(
        &mut self,
        alias: &str,
        names: &[ast::Ident],
        columns: &[OutColumn],
    ) -> Result<(), SqlError> {
        if !names.is_empty() && names.len() != columns.len() {
            return Err(column_list_error(alias, names.len(), columns.len()));
        }
        let mut offered: Vec<ScopeColumn> = Vec::with_capacity(columns.len());
        for (i, column) in columns.iter().enumerate() {
            let mut c = column.scope_column();
            if let Some(name) = names.get(i) {
                c = ScopeColumn::new(&name.value, c.id, c.ty, c.nullable, c.collation);
            }
            if c.name.is_empty() {
                let text = format!("No column name was specified for column {} of '{alias}'.", i + 1);
                return Err(SqlError::new(8155, 16, 2, text));
            }
            if offered.iter().any(|o| o.folded == c.folded) {
                let text = format!("The column '{}' was specified multiple times for '{alias}'.", c.name);
                return Err(SqlError::new(8156, 16, 1, text));
            }
            offered.push(c);
        }
        let source = Source {
            name: fold_name(alias),
            aliased: true,
            schema: None,
            database: None,
            columns: offered,
            object_id: 0,
            db_id: 0,
        };
        self.scope()?.sources.push(source);
        Ok(())
    }

    /// A VALUES constructor: columns take the type that their rows meet in.
    pub fn values(&mut self, rows: &[Vec<ast::Expr>]) -> Result<(Logical, Vec<OutColumn>), SqlError> {
        let width = rows.first().map_or(0, Vec::len);
        let mut bound: Vec<Vec<Typed>> = Vec::with_capacity(rows.len());
        for row in rows {
            if row.len() != width {
                let text =
                    "The number of columns for each row in a table value constructor must be the same.";
                return Err(SqlError::new(10709, 16, 1, text));
            }
            bound.push(row.iter().map(|e| self.expr(e)).collect::<Result<_, _>>()?);
        }
        let first = self.new_cols(width);
        let mut out = Vec::with_capacity(width);
        let mut exprs: Vec<Vec<expr::Expr>> = vec![Vec::with_capacity(width); rows.len()];
        for i in 0..width {
            let column: Vec<&Typed> = bound.iter().map(|row| &row[i]).collect();
            let (ty, label, collation) = bind_ops::unified_in_one(&column, "VALUES")?;
            let nullable = column.iter().any(|t| t.nullable);
            for (row, list) in bound.iter().zip(&mut exprs) {
                list.push(bind_ops::implicit_in(row[i].clone(), ty, collation)?);
            }
            let id = first + i as u32;
            out.push(OutColumn {
                name: "".into(),
                id,
                ty,
                nullable,
                collation,
                label,
                untyped: false,
                identity: None,
                base: false,
                computed: true,
                table: None,
            });
        }
        let cols = out.iter().map(|c| c.id).collect();
        Ok((Logical::Values { rows: exprs, cols }, out))
    }

    fn join(
        &mut self,
        kind: ast::JoinKind,
        hint: Option<ast::JoinHint>,
        left: &ast::TableRef,
        right: &ast::TableRef,
        on: Option<&ast::Expr>,
    ) -> Result<Logical, SqlError> {
        check_none(&[left, right], Place::Join)?;
        let before = self.scope()?.sources.len();
        let left_node = self.table_ref(left)?;
        let middle = self.scope()?.sources.len();
        let right_node = self.table_ref(right)?;
        let on = match on {
            None => Vec::new(),
            Some(e) => {
                self.check_names()?;
                self.on_clause(e)?
            }
        };
        let scope = self.scope()?;
        let nullable = |sources: &mut [Source]| {
            sources.iter_mut().flat_map(|s| &mut s.columns).for_each(|c| c.nullable = true);
        };
        if matches!(kind, ast::JoinKind::Left | ast::JoinKind::Full) {
            nullable(&mut scope.sources[middle..]);
        }
        if matches!(kind, ast::JoinKind::Right | ast::JoinKind::Full) {
            nullable(&mut scope.sources[before..middle]);
        }
        self.join_hints += u64::from(hint.is_some());
        let hint = match hint {
            Some(ast::JoinHint::Loop) => Some(JoinHint::Loop),
            Some(ast::JoinHint::Hash) => Some(JoinHint::Hash),
            Some(ast::JoinHint::Merge) => Some(JoinHint::Merge),
            // There is no other server: every join is remote or none is.
            Some(ast::JoinHint::Remote) | None => None,
        };
        let (kind, left, right) = match kind {
            ast::JoinKind::Inner | ast::JoinKind::Cross => (JoinKind::Inner, left_node, right_node),
            ast::JoinKind::Left => (JoinKind::Left, left_node, right_node),
            ast::JoinKind::Right => (JoinKind::Left, right_node, left_node),
            ast::JoinKind::Full => (JoinKind::Full, left_node, right_node),
        };
        Ok(Logical::Join { kind, left: Box::new(left), right: Box::new(right), on, hint })
    }

    fn on_clause(&mut self, e: &ast::Expr) -> Result<Vec<expr::Pred>, SqlError> {
        let scope = self.scope()?;
        let (clause, visible) = (scope.clause, scope.visible);
        scope.clause = Clause::On;
        scope.visible = true;
        let pred = self.pred(e);
        let scope = self.scope()?;
        scope.clause = clause;
        scope.visible = visible;
        let mut list = Vec::new();
        pred?.into_conjuncts(&mut list);
        Ok(list)
    }

    fn apply(
        &mut self,
        outer: bool,
        left: &ast::TableRef,
        right: &ast::TableRef,
    ) -> Result<Logical, SqlError> {
        check_none(&[left, right], Place::Join)?;
        let left = self.table_ref(left)?;
        // The right side is a block of its own that sees the sources to its left.
        let was = std::mem::replace(&mut self.scope()?.visible, true);
        let bound = self.nested(|b| b.table_ref(right));
        self.scope()?.visible = was;
        let (right, mut inner) = bound?;
        if outer {
            inner.sources.iter_mut().flat_map(|s| &mut s.columns).for_each(|c| c.nullable = true);
        }
        let scope = self.scope()?;
        scope.sources.append(&mut inner.sources);
        Ok(Logical::Apply { outer, left: Box::new(left), right: Box::new(right), args: inner.outer })
    }
}

/// A base table as a name source.
pub fn table_source(get: &Get, name: &ast::ObjectName, alias: Option<&ast::Ident>) -> Source {
    let columns = get.table.columns.iter().enumerate();
    let columns = columns.map(|(i, c)| ScopeColumn::of_table(c, get.first + i as u32));
    // A temporary table's own name is a longer one, which nobody writes.
    let called = if name.name.value.starts_with('#') { &name.name.value } else { &get.table.name };
    Source {
        name: fold_name(alias.map_or(called, |alias| &alias.value)),
        aliased: alias.is_some(),
        schema: Some(fold_name(&get.table.schema)),
        database: Some(
            name.database.as_ref().map_or_else(|| fold_name(&get.db.name()), |d| fold_name(&d.value)),
        ),
        columns: columns.collect(),
        object_id: get.table.object_id,
        db_id: get.db.id(),
    }
}

/// An inner join without a condition.
pub fn inner(left: Logical, right: Logical) -> Logical {
    Logical::Join {
        kind: JoinKind::Inner,
        left: Box::new(left),
        right: Box::new(right),
        on: Vec::new(),
        hint: None,
    }
}

/// The type of a column as messages name it.
pub fn type_name(ty: DataType) -> String {
    ty.to_string()
}

/// A table variable's name as that of an object.
pub fn variable_name(name: &str) -> ast::ObjectName {
    let name = ast::Ident { value: name.into(), quoted: false, span: ast::Span::default() };
    ast::ObjectName { server: None, database: None, schema: None, name }
}

/// 8158, 8159: a list of column names that is not as long as what it names.
fn column_list_error(alias: &str, names: usize, columns: usize) -> SqlError {
    let (number, few) = if names < columns { (8158, "more") } else { (8159, "fewer") };
    SqlError::new(
        number,
        16,
        1,
        format!("'{alias}' has {few} columns than were specified in the column list."),
    )
}

/// 494.
fn not_sampled() -> SqlError {
    SqlError::new(494, 16, 1, "The TABLESAMPLE clause can only be used with local tables.")
}

/// A table of which only some pages are read; `of`: the object that is named.
///
/// Errors: 494 it is none, 476 and 477 the amount, 497 a variable; 40517 with locks on rows.
fn sampled(
    logical: Logical,
    of: i32,
    name: &ast::ObjectName,
    sample: &ast::TableSample,
) -> Result<Logical, SqlError> {
    // A view may be no more than its table.
    let (mut get, conditions) = match logical {
        Logical::Get(get) if get.table.object_id == of => (get, Vec::new()),
        Logical::Filter { input, preds } => match *input {
            // What a policy lets through of the pages that are read.
            Logical::Get(get) if get.table.object_id == of => (get, preds),
            _ => return Err(not_sampled()),
        },
        _ => return Err(not_sampled()),
    };
    if get.locks.is_some() {
        return Err(unsupported("TABLESAMPLE with locks on rows"));
    }
    let number = |e: &ast::Expr| match e.kind {
        ast::ExprKind::Variable(_) => {
            let text = "Variables are not allowed in the TABLESAMPLE or REPEATABLE clauses.";
            Err(SqlError::new(497, 15, 1, text))
        }
        _ => super::literal::literal(e),
    };
    let whole = |e: &ast::Expr| {
        let text = format!(
            "Invalid ROWS value or REPEATABLE seed in the TABLESAMPLE clause for table \"{}\". The value or seed must be an \
             integer.",
            name.name
        );
        number(e)?.as_i64().ok_or_else(|| SqlError::new(477, 16, 1, text))
    };
    let amount = if sample.rows {
        Amount::Rows(u64::try_from(whole(&sample.amount)?).unwrap_or(0))
    } else {
        let value = number(&sample.amount)?;
        let ty = value.natural_type();
        let percent =
            types::convert::convert(&value, ty, types::DataType::Float, 0, types::convert::Mode::Implicit);
        let percent = match percent {
            Ok(types::Value::Float(percent)) if (0.0..=100.0).contains(&percent) => percent,
            _ => {
                let text = format!(
                    "Invalid PERCENT tablesample size \"{}\" for table \"{}\". The PERCENT tablesample size must be between 0 and 100.",
                    types::display::format_value(&value, ty),
                    name.name
                );
                return Err(SqlError::new(476, 16, 1, text));
            }
        };
        Amount::Share((percent / 100.0 * Sample::ALL as f64) as u64)
    };
    let seed = sample.repeatable.as_ref().map(whole).transpose()?;
    let access = &mut get.hints.access;
    access.sample = Some(Sample { amount, seed });
    // Pages of the base: rows of an index lie on others.
    (access.index, access.scan) = (Some(get.table.storage.index_id), true);
    Ok(Logical::Get(get).filtered(conditions))
}
