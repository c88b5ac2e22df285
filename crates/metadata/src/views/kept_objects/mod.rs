//! Kinds of objects of the instance that have a file each: what one is and how it is kept, and the
//! view that shows them. The lists of views and of rights ask here. The procedures that make and
//! remove them, and who may, are in a file of `procedures`.

pub mod backup_device;

use logical::rights::ViewRight;

use super::shown::VisibleRows;
use super::view::SystemView;

/// What a kind of object adds to the system.
pub struct Kind {
    /// Its views, what each needs, and which of its rows are shown.
    pub views: &'static [(&'static dyn SystemView, ViewRight, VisibleRows)],
}

static KINDS: &[&Kind] = &[&backup_device::KIND];

/// The views of all kinds.
pub fn views() -> impl Iterator<Item = &'static (&'static dyn SystemView, ViewRight, VisibleRows)> {
    KINDS.iter().flat_map(|kind| kind.views)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::backup_device::BackupDevice;
    use instance::own_files::{MIRRORED, keeps};
    use instance::persisted::file_name;

    #[test]
    fn the_files_of_all_kinds_are_the_instances_own() {
        let name = file_name::<BackupDevice>();
        assert!(keeps(Path::new(&name)) && MIRRORED.contains(&name.as_str()), "{name}");
    }
}
