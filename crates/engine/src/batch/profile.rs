//! SET STATISTICS PROFILE and XML: after its own results a statement gives its plan with what its
//! operators did. Guarantee: the counters are those of the run whose rows were given; a statement
//! that failed gives none.

use syntax::ast::Stmt;
use types::{ResultRows, Value};

use super::run::{Failure, Run};
use explain::{MeasuredStatement, ShownPlan};
use programs::compiled::BoundOperation;
use session::output::{StatementKind, give_each};
use session::state::profile::Profile;

impl Run<'_> {
    /// A statement whose profile the session wants is done: shows it, and goes on with the counters
    /// of the statement around it.
    #[cold]
    pub(super) fn end_profile(
        &mut self,
        at: usize,
        stmt: &Stmt,
        around: Option<Box<Profile>>,
        done: Result<(), Failure>,
    ) -> Result<(), Failure> {
        let own = std::mem::replace(&mut self.core.run.profile, around);
        done?;
        self.show_profile(at, stmt, &own.unwrap_or_default())
    }

    fn show_profile(&mut self, at: usize, stmt: &Stmt, profile: &Profile) -> Result<(), Failure> {
        let go_on = || programs::compiled::go_on(self.core);
        let mut shown = ShownPlan::of_statement(stmt.span.text(&self.batch.text), &go_on);
        match &self.bound[at] {
            Some((_, BoundOperation::Query(plan))) => explain::query(plan, &mut shown)?,
            Some((_, BoundOperation::Dml(plan))) => explain::dml(plan, &mut shown)?,
            _ => return Ok(()),
        }
        let measured = MeasuredStatement { profile, rows: self.core.run.results.rowcount };
        let options = &self.core.options;
        let rows = options.statistics_profile.then(|| shown.profile(&measured, at)).transpose()?;
        let xml = options.statistics_xml.then(|| shown.xml(at, Some(&measured))).transpose()?;
        if let Some(rows) = rows {
            self.sink.columns(&explain::profile_columns())?;
            give_each(self.sink, &rows)?;
            self.done(StatementKind::Select, Some(rows.len() as u64))?;
        }
        if let Some(xml) = xml {
            self.sink.columns(&[explain::xml_column()])?;
            self.sink.rows(&ResultRows::one(&[Value::str(xml)]))?;
            self.done(StatementKind::Select, Some(1))?;
        }
        Ok(())
    }
}
