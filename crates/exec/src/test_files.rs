//! Run files for the tests of this crate: on a simulated disk, beside a tempdb that is not there.

use std::path::Path;
use std::sync::Arc;

use catalog::errorlog::ErrorLog;
use disk::Disk;
use session::run_files::RunFiles;
use sim::SimDisk;

/// Run files on this disk, in the folder `/data`.
pub(crate) fn run_files(disk: &SimDisk) -> Arc<RunFiles> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    disk.create_dir_all(Path::new("/data")).expect("a folder");
    let errors = Arc::new(ErrorLog::new(disk.clone(), "/data/log".into()));
    let files = RunFiles::new(disk, errors);
    files.set_beside(Some("/data/tempdb.mdf".into()));
    Arc::new(files)
}
