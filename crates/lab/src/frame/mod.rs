//! The frame in which studies run: the plan, the driver, the journal, and the run of several
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

pub use options::Options;
pub use order::drawn_seed;
pub(crate) use order::{balanced, seed_of};
pub use progress::duration;
pub use run::run;
