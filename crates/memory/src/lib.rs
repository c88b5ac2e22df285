//! The account of an instance's memory.
//!
//! There is one [`MemoryAccount`] for an instance. What grows with use is charged to it under a
//! [`Clerk`], by a [`Reservation`] that gives back when it is dropped, or tells it how much it
//! holds when it is asked (a [`UsageSource`]). Caches register how they give memory back
//! ([`Cache`]). What a request allocates without charging it is found by a meter of its thread
//! ([`meter`]). Guarantees: a charge that does not fit fails for the one that asks and changes
//! nothing for others; caches give way before that; the sum of the charges is exact when nobody is
//! in the middle of one.

mod account;
mod clerk;
pub mod meter;
mod reservation;
mod thread_charges;

pub use account::{Cache, MemoryAccount, OutOfMemory, UsageSource};
pub use clerk::Clerk;
pub use reservation::Reservation;
