//! What Ringwood tells of itself in rows and values: system views, functions of the session and the
//! catalog, system procedures that are T-SQL, kinds of objects that have a file each. Entry points:
//! [`views::find`], [`functions::find`], [`scripts::find`], [`status::of`]. Guarantees: names and
//! types of columns are SQL Server's; nobody is shown what he may not see; nothing here changes a
//! definition or a row.

pub mod functions;
pub mod names;
pub mod product;
pub mod results;
pub mod scripts;
pub mod status;
pub mod views;
