//! A change of a partitioned view while it is compiled: once for each of its tables, each time with
//! a binder of its own, for which the view is that table.

use super::super::change::CompileCascade;
use super::members::PartitionedView;
use bind::Binder;
use bind::env::CompileEnv;
use plan::statement::Statement;
use syntax::ast;
use types::SqlError;

/// What the compilations of one statement have in common.
pub struct ChangingMember<'a> {
    pub env: &'a CompileEnv<'a>,
    pub options: &'a [ast::OptionItem],
    /// The statement gives variables values.
    pub assigns: bool,
    pub cascade: CompileCascade,
    pub view: &'a PartitionedView,
}

impl<'a> ChangingMember<'a> {
    /// A binder for which the view is one of its tables.
    ///
    /// # Errors
    /// Those of the OPTION clause.
    pub fn binder(&self, at: usize) -> Result<Statement<'a>, SqlError> {
        let mut binder = Statement::new(self.env);
        plan::apply_options(&mut binder, self.options, self.assigns)?;
        binder.member = Some(self.view.standing(at));
        Ok(binder)
    }

    /// Compiles the statement for each table.
    ///
    /// # Errors
    /// Those of compiling it; 4439 when it reads a table besides.
    pub fn each<T>(
        &self,
        mut compile: impl FnMut(usize, &mut Statement<'a>) -> Result<T, SqlError>,
    ) -> Result<Vec<T>, SqlError> {
        let one = |at| -> Result<T, SqlError> {
            let mut binder = self.binder(at)?;
            let plan = compile(at, &mut binder)?;
            self.check_reads(at, &binder)?;
            Ok(plan)
        };
        (0..self.view.members().len()).map(one).collect()
    }

    /// The target is one mention of its table: there is no other one of a table of the view.
    fn check_reads(&self, at: usize, binder: &Binder<'_>) -> Result<(), SqlError> {
        let reads = binder.member.as_ref().map_or(&[][..], |member| member.reads());
        let mut target = self.view.members().get(at);
        reads.iter().try_for_each(|(db, table)| match target {
            Some(own) if own.is(*db, *table) => {
                target = None;
                Ok(())
            }
            _ => self.view.check_not_member(*db, *table),
        })
    }
}
