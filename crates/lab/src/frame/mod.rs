//! The frame in which studies run: what a study is, the driver, the journal, and the run of several studies on several
//! targets and devices.

mod assemble;
mod claims;
mod driver;
mod journal;
mod progress;
mod rounds;
mod run;
mod study;

pub use claims::{bound_text, larger_is_better};
pub use journal::{Journal, Request, RunRecord};
pub use progress::duration;
pub use rounds::Rounds;
pub use run::{Options, plan, run};
pub use study::{Arm, Baseline, CellRef, Claim, Compare, Needs, Printed, Published, Scale, Step, Study};
