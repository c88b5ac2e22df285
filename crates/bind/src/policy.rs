//! Row-level security: the conditions that a security policy adds to a table or view that is read,
//! bound where that is. Guarantees: a table without a policy costs one look into a map; what a
//! predicate's function reads has its own policies; the engine's own statements (constraints,
//! cascades, indexed views) see all rows.

use crate::Binder;
use crate::base_table::table_source;
use crate::scope::{Clause, Scope};
use crate::source::Source;
use catalog::policy::{PolicyDef, PredicateDef, PredicateKind};
use catalog::{Db, ModuleDef};
use expr::{Expr, Pred};
use logical::rights::{Chain, Rights};
use logical::tree::{Get, Logical};
use std::sync::Arc;
use syntax::ast;
use types::{SqlError, msg};

impl Binder<'_> {
    /// The conditions that rows of a table must satisfy to be read.
    ///
    /// # Errors
    /// Those of binding a predicate; 33512 of one without schema binding.
    pub fn policy_conditions(&mut self, get: &Get) -> Result<Vec<Pred>, SqlError> {
        let Some(policy) = self.policy_of(&get.db, get.table.object_id) else {
            return Ok(Vec::new());
        };
        let name =
            ast::Ident { value: get.table.name.clone(), quoted: true, span: ast::Span::default() };
        let name = ast::ObjectName { server: None, database: None, schema: None, name };
        let mut source = table_source(get, &name, None);
        source.columns = self.columns_of(&get.db, &get.table, get.first)?;
        let full = format!("{}.{}", get.db.name(), get.table.full_name());
        self.conditions_of(&policy, (&get.db, get.table.object_id, &full), &source)
    }

    /// The rows of a view that its policy lets through.
    ///
    /// # Errors
    /// As [`Binder::policy_conditions`].
    pub(super) fn let_through(
        &mut self,
        (db, view): (&Arc<Db>, &ModuleDef),
        source: &Source,
        rows: Logical,
    ) -> Result<Logical, SqlError> {
        let Some(policy) = self.policy_of(db, view.object_id) else { return Ok(rows) };
        let full = format!("{}.{}", db.name(), view.full_name());
        Ok(rows.filtered(self.conditions_of(&policy, (db, view.object_id, &full), source)?))
    }

    /// Whether a security policy says which rows of a table are read.
    pub fn has_policy(&self, get: &Get) -> bool {
        self.policy_of(&get.db, get.table.object_id).is_some()
    }

    /// The policy that holds for an object here.
    fn policy_of(&self, db: &Arc<Db>, object_id: i32) -> Option<Arc<PolicyDef>> {
        if !self.policies || self.open_policies.contains(&(db.id(), object_id)) {
            return None;
        }
        match db.id() == self.db.id() {
            true => self.catalog.policies.get(&object_id).cloned(),
            false => db.catalog().policies.get(&object_id).cloned(),
        }
    }

    fn conditions_of(
        &mut self,
        policy: &PolicyDef,
        object: (&Arc<Db>, i32, &str),
        source: &Source,
    ) -> Result<Vec<Pred>, SqlError> {
        self.open_policies.push((object.0.id(), object.1));
        let filters =
            policy.on(object.1).filter(|predicate| predicate.kind == PredicateKind::Filter);
        let bound = filters.map(|predicate| self.predicate(policy, predicate, object, source));
        let bound = bound.collect::<Result<Vec<_>, _>>();
        self.open_policies.pop();
        let mut out = Vec::new();
        bound?.into_iter().for_each(|pred| pred.into_conjuncts(&mut out));
        Ok(out)
    }

    fn predicate(
        &mut self,
        policy: &PolicyDef,
        predicate: &PredicateDef,
        (db, _, name): (&Arc<Db>, i32, &str),
        source: &Source,
    ) -> Result<Pred, SqlError> {
        let known = (self.query_sources.len(), self.subqueries.len());
        let outside = self.step_into(db.clone(), &policy.schema);
        // Who reads the table needs no right to what the policy is made of.
        let rights =
            policy.bound.then(|| std::mem::replace(&mut self.rights, Rights::new(Chain::Trusted)));
        self.scopes.push(Scope {
            sources: vec![source.clone()].into(),
            visible: true,
            clause: Clause::Where,
            ..Scope::default()
        });
        let bound = self.pred(&predicate.condition);
        if let Some(rights) = rights {
            self.rights = rights;
        }
        self.step_out(outside);
        self.query_sources.truncate(known.0);
        match bound {
            Ok(pred) => Ok(self.in_place(pred, known.1)),
            Err(_) if !policy.bound => Err(SqlError::of(msg::POLICY_BINDING_FAILED, [&name])),
            Err(e) => Err(e),
        }
    }

    /// EXISTS over a query without tables is the query's own condition. `known`: subqueries before
    /// it.
    fn in_place(&mut self, pred: Pred, known: usize) -> Pred {
        let Pred::Exists(sub) = &pred else { return pred };
        if sub.id != known || self.subqueries.len() != known + 1 {
            return pred;
        }
        let Some(conditions) = self.subqueries.last().and_then(|of| without_tables(&of.logical))
        else {
            return pred;
        };
        let mut conditions = conditions.to_vec();
        for condition in &mut conditions {
            condition.leaves_mut(&mut |leaf| {
                if let Expr::Param(slot) = leaf
                    && let Some((_, value)) = sub.args.iter().find(|(of, _)| of == slot)
                {
                    *leaf = value.clone();
                }
            });
        }
        self.subqueries.pop();
        Pred::And(conditions)
    }
}

/// The conditions of a query that reads no table.
fn without_tables(logical: &Logical) -> Option<&[Pred]> {
    match logical {
        Logical::Project { input, .. } => without_tables(input),
        Logical::Filter { input, preds } if matches!(**input, Logical::One) => Some(preds),
        Logical::One => Some(&[]),
        _ => None,
    }
}
