//! SET STATISTICS IO and TIME: a step that tells what it took.

use std::time::{Duration, Instant};

use syntax::ast::StmtKind;
use types::{SqlError, msg};

use super::{Failure, Run, Step};
use programs::counts::worker_time;
use programs::program::Op;

impl Run<'_> {
    /// A step that tells what it took.
    #[cold]
    pub(super) fn measured(&mut self, at: usize, op: Op) -> Result<Step, Failure> {
        let timer = self.core.options.statistics_time.then(StatementTimer::start);
        let step = match self.core.options.statistics_io && !self.makes_table(op) {
            true => self.with_reads(at, |run| run.do_step(at, op))?,
            false => self.do_step(at, op)?,
        };
        if let Some(timer) = timer
            && matches!(op, Op::Stmt(_))
        {
            let message = self.placed(at, timer.message());
            self.sink.message(&message)?;
        }
        Ok(step)
    }

    /// Whether a step makes a table: what it reads of that is not told.
    fn makes_table(&self, op: Op) -> bool {
        let Op::Stmt(index) = op else { return false };
        let kind = &self.batch.program.stmts[index as usize].kind;
        matches!(kind, StmtKind::CreateTable(_) | StmtKind::Declare(_))
    }
}

/// SET STATISTICS TIME ON: what a statement took, on the wall and of this thread's processor.
struct StatementTimer {
    began: Instant,
    cpu: Duration,
}

impl StatementTimer {
    fn start() -> StatementTimer {
        StatementTimer { began: Instant::now(), cpu: worker_time() }
    }

    /// 3613 with SQL Server's text.
    fn message(&self) -> SqlError {
        let cpu = worker_time().saturating_sub(self.cpu).as_millis();
        let elapsed = self.began.elapsed().as_millis();
        SqlError::of(msg::EXECUTION_TIMES, [&cpu, &elapsed])
    }
}
