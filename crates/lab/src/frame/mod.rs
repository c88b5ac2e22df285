//! The frame in which studies run: what a study is, the driver, the journal, and the run of several
//! studies on several targets and devices.

mod assemble;
mod checks;
mod claims;
mod driver;
mod journal;
mod late;
mod normalised;
mod options;
mod order;
mod plan;
mod position;
mod progress;
mod repeats;
mod rounds;
mod run;
pub mod simulate;
mod steps;
mod study;

pub use claims::{bound_text, larger_is_better};
pub use journal::{Journal, Request, RunRecord};
pub use options::Options;
pub use order::{balanced, drawn_seed, seed_of};
pub use plan::plan;
pub use progress::duration;
pub use rounds::Rounds;
pub use run::run;
pub use study::{
    Arm, Baseline, CellRef, Check, Claim, Compare, Count, Needs, Normalised, OF_THE_LARGEST, On,
    Printed, Published, PublishedWait, Repeat, Scale, Step, Study,
};
