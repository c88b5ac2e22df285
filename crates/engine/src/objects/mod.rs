//! Kinds of objects that have a file each: what one is and how it is kept, the view that shows them, the procedures that make and
//! remove them, and who may. The lists of views, of procedures and of rights ask here.

pub(crate) mod backup_device;

use plan::rights::ViewRight;

use crate::sysproc::call::{Body, Runs};
use crate::views::shown::Rows;
use crate::views::view::SystemView;

/// What a kind of object adds to the system.
pub(crate) struct Kind {
    /// Its views, what each needs, and which of its rows are shown.
    pub views: &'static [(&'static dyn SystemView, ViewRight, Rows)],
    /// Its procedures, and who may run each.
    pub procedures: &'static [(&'static str, Body, Runs)],
}

static KINDS: &[&Kind] = &[&backup_device::KIND];

/// The views of all kinds.
pub(crate) fn views() -> impl Iterator<Item = &'static (&'static dyn SystemView, ViewRight, Rows)> {
    KINDS.iter().flat_map(|kind| kind.views)
}

/// The procedures of all kinds.
pub(crate) fn procedures() -> impl Iterator<Item = &'static (&'static str, Body, Runs)> {
    KINDS.iter().flat_map(|kind| kind.procedures)
}
