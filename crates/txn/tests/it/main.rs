//! The tests of this crate, one program: a file for each subject.

mod support;

mod backup;
mod crash;
mod database;
mod delayed;
mod discard;
mod full_log;
mod in_place;
mod owners;
mod panics;
mod refused_pages;
mod restore_files;
mod roots;
mod sessions;
mod several;
mod shrink;
mod snapshots;
mod space;
mod undo_ahead;
mod undo_space;
mod unflushed;
mod vacate;
