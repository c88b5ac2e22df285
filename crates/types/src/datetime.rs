//! The civil calendar and SQL Server's date and time rules.

/// 100 ns ticks of a day.
pub const DAY_TICKS: u64 = 864_000_000_000;
/// 1/300 s ticks of a day.
pub const DAY_TICKS_300: u32 = 25_920_000;
/// 9999-12-31 in days since 0001-01-01.
pub const MAX_DAY: i32 = 3_652_058;
