//! FROM: what each of its references is, joins and APPLY; they become logical nodes and sources of
//! names. The sources themselves are bound in the files of their kinds. Guarantees: no two sources
//! of a block go by the same name (1011, 1013); the columns of an outer side may be NULL.

use crate::Binder;
use crate::nested_change::{Place, check_none};
use crate::resolve::Named;
use crate::resolve::variable_name;
use crate::sample::sampled;
use crate::scope::{Clause, Scope};
use crate::source::NameClash;
use crate::system_time::{Mention, not_versioned};
use crate::updatable::Origin;
use crate::view_rows::{NOEXPAND, keeps_no_rows};
use crate::xml::columns_of_list;
use catalog::errors;
use catalog::fold_name;
use logical::tree::input::Input;
use logical::tree::{JoinHint, JoinKind, Logical};
use syntax::ast::{self, RowSchema, TableRefKind};
use types::{SqlError, msg};

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
        match self.scope()?.sources.clash() {
            None => Ok(()),
            Some(NameClash::Alias(name)) => {
                Err(SqlError::of(msg::DUPLICATE_CORRELATION_NAME, [&name]))
            }
            Some(NameClash::Exposed(first, second)) => {
                Err(SqlError::of(msg::SAME_EXPOSED_NAMES, [&first, &second]))
            }
        }
    }

    pub(super) fn table_ref(&mut self, table: &ast::TableRef) -> Result<Logical, SqlError> {
        self.count_node()?;
        self.deeper(|b| b.source(table))
    }

    fn source(&mut self, table: &ast::TableRef) -> Result<Logical, SqlError> {
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
            TableRefKind::Function {
                name,
                args,
                schema: RowSchema::Table(table),
                alias,
                columns,
            } => {
                if !columns.is_empty() {
                    return Err(SqlError::of(msg::SYNTAX_NEAR, [&"("]));
                }
                self.open_xml(name, args, self.columns_of_table(table)?, alias.as_ref())
            }
            TableRefKind::Function {
                name,
                args,
                schema: RowSchema::Columns(schema),
                alias,
                columns,
            } => {
                if name.is_bare() && name.name.is("openxml") && columns.is_empty() {
                    return self.open_xml(name, args, columns_of_list(schema)?, alias.as_ref());
                }
                if !name.is_bare() || !name.name.is("openjson") || !columns.is_empty() {
                    return Err(SqlError::of(msg::SYNTAX_NEAR, [&"("]));
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
                self.note_query(
                    &alias.value,
                    Origin::Derived,
                    known,
                    &bound.logical,
                    &bound.columns,
                );
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
            TableRefKind::Method { call, alias, columns } => {
                self.nodes_source(call, alias.as_ref(), columns)
            }
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

    fn named(
        &mut self,
        mention: &Mention<'_>,
        time: Option<&ast::SystemTime>,
    ) -> Result<Logical, SqlError> {
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
            return Err(SqlError::of(msg::RECURSIVE_WITHOUT_UNION_ALL, [&name]));
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
            Named::Table(..) if hints.iter().any(|hint| hint.name == NOEXPAND) => {
                Err(keeps_no_rows(name))
            }
            Named::Table(db, table) => {
                match self.moments_of_view(&table, moments.is_some())?.or(moments) {
                    None => self.base_table(db, table, name, alias, hints),
                    Some(moments) => self.versions((db, table), &mention, &moments),
                }
            }
            Named::View(..) if moments.is_some() => Err(not_versioned(&name.to_string())),
            Named::View(db, view) => {
                if view.arguments().is_some() {
                    return Err(SqlError::of(msg::FUNCTION_WITHOUT_PARAMETERS, [&name]));
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
                Err(SqlError::of(msg::FUNCTION_WITHOUT_PARAMETERS, [&name]))
            }
            Named::Module(..) => Err(errors::invalid_object(&name.to_string())),
        }
    }

    /// Binds the view or common table expression of a name as the first source of the current
    /// block: a target of a change.
    ///
    /// # Errors
    /// Those of its query.
    pub fn target_query(&mut self, name: &ast::ObjectName) -> Result<Logical, SqlError> {
        let logical = self.named(&Mention { name, alias: None, hints: &[] }, None)?;
        let sources = &mut self.scope()?.sources;
        sources.rotate_right(1);
        Ok(logical)
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
        let end = scope.sources.len();
        if matches!(kind, ast::JoinKind::Right | ast::JoinKind::Full) {
            scope.sources.make_nullable(before..middle);
        }
        if matches!(kind, ast::JoinKind::Left | ast::JoinKind::Full) {
            scope.sources.make_nullable(middle..end);
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
        Ok(Logical::Join { kind, left: Input::new(left), right: Input::new(right), on, hint })
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
        let applying = std::mem::replace(&mut self.scope()?.applying, true);
        let bound = self.nested(|b| b.table_ref(right));
        self.scope()?.visible = was;
        self.scope()?.applying = applying;
        let (right, mut inner) = bound?;
        if outer {
            let end = inner.sources.len();
            inner.sources.make_nullable(0..end);
        }
        let scope = self.scope()?;
        scope.sources.append(inner.sources);
        Ok(Logical::Apply {
            outer,
            left: Input::new(left),
            right: Input::new(right),
            args: inner.outer,
        })
    }
}

/// An inner join without a condition.
pub fn inner(left: Logical, right: Logical) -> Logical {
    Logical::Join {
        kind: JoinKind::Inner,
        left: Input::new(left),
        right: Input::new(right),
        on: Vec::new(),
        hint: None,
    }
}
