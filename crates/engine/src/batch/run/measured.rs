//! SET STATISTICS IO and TIME: a step that tells what it took.

use std::time::{Duration, Instant};

use syntax::ast::StmtKind;
use types::{SqlError, msg};

use super::{Failure, Run, Step};
use crate::batch::reads::Reading;
use programs::counts::worker_time;
use programs::program::Op;

/// A step that is measured.
pub(super) struct Measuring {
    timer: Option<StatementTimer>,
    reading: Option<Reading>,
}

impl Run<'_> {
    /// A step begins whose cost is told.
    #[cold]
    pub(super) fn begin_measuring(&mut self, op: Op) -> Measuring {
        let timed = self.core.options.statistics_time && matches!(op, Op::Stmt(_));
        let timer = timed.then(StatementTimer::start);
        let counted = self.core.options.statistics_io && !self.makes_table(op);
        Measuring { timer, reading: counted.then(|| self.begin_reading()) }
    }

    /// It has ended: tells what it took unless it has failed.
    #[cold]
    pub(super) fn end_measuring(
        &mut self,
        at: usize,
        Measuring { timer, reading }: Measuring,
        stepped: Result<Step, Failure>,
    ) -> Result<Step, Failure> {
        if let Some(reading) = reading {
            self.end_reading(at, reading, stepped.is_err())?;
        }
        let step = stepped?;
        if let Some(timer) = timer {
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
