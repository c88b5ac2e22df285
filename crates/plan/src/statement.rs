//! A statement while it is compiled: its binder, and what planning alone knows of it. Guarantee:
//! the binder sees none of this, so what a statement means does not depend on how it is planned.

use crate::random_plan::RandomChoices;
use crate::rule_set::RuleSet;
use crate::watched::WatchedTable;
use bind::Binder;
use bind::applied::AppliedRewrites;
use bind::env::CompileEnv;
use bind::options::JoinMethods;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A statement that is compiled. It is used as its binder, which gives new column and parameter
/// numbers to the planner, too.
pub struct Statement<'a> {
    binder: Binder<'a>,
    /// OPTION (FORCE ORDER): joins stay in the order in which they are written.
    pub(crate) force_order: bool,
    /// OPTION (LOOP JOIN, ...): the operators that joins may be made with.
    pub(crate) join_methods: JoinMethods,
    /// USE HINT ('RINGWOOD_ANY_PLAN_n'): any plan will do, and this chooses it.
    pub(crate) any_plan: Option<RandomChoices>,
    /// OPTION (QUERYRULEOFF name): rewrites that are left out.
    pub(crate) rules_off: RuleSet,
    /// What the rewrites have done.
    pub(crate) applied: AppliedRewrites,
    /// Tables whose rows and values decided how they are read.
    pub(crate) watched: Vec<WatchedTable>,
    /// So many plans around the one that is being made run it again and again.
    pub(crate) inner_plans: usize,
}

impl<'a> Statement<'a> {
    /// Before anything of it is bound.
    pub fn new(env: &'a CompileEnv<'a>) -> Statement<'a> {
        Statement {
            binder: Binder::new(env),
            force_order: false,
            join_methods: JoinMethods::ALL,
            any_plan: None,
            rules_off: RuleSet::default(),
            applied: AppliedRewrites::default(),
            watched: Vec::new(),
            inner_plans: 0,
        }
    }

    /// The statement is planned again together with a part of it that was planned by itself.
    pub fn watch_all(&mut self, watched: &[WatchedTable]) {
        for of_part in watched {
            if !self.watched.iter().any(|own| Arc::ptr_eq(&own.state, &of_part.state)) {
                self.watched.push(of_part.clone());
            }
        }
    }
}

impl<'a> Deref for Statement<'a> {
    type Target = Binder<'a>;

    #[inline]
    fn deref(&self) -> &Binder<'a> {
        &self.binder
    }
}

impl<'a> DerefMut for Statement<'a> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Binder<'a> {
        &mut self.binder
    }
}
