//! The nine tables: their definition, and how many rows they have.

/// The database.
pub const DATABASE: &str = "lab_tpcc";
/// Districts of a warehouse.
pub const DISTRICTS: i32 = 10;
/// Seed of the rows.
pub const SEED: u64 = 1;
/// Indexes besides the primary keys, made after the load.
pub const INDEXES: &str = include_str!("indexes.sql");

/// CREATE TABLE of all of them, with an engine's type of date and time.
pub fn schema(time: &str) -> String {
    include_str!("schema.sql").replace("TIME", time)
}

/// Rows that do not grow with the warehouses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Items, and rows of the stock of each warehouse.
    pub items: i32,
    /// Customers and orders of each district.
    pub customers: i32,
}

impl Sizes {
    /// The specification's.
    pub const STANDARD: Sizes = Sizes { items: 100_000, customers: 3_000 };
    /// For tests: does everything work?
    pub const SMALL: Sizes = Sizes { items: 200, customers: 30 };
}
