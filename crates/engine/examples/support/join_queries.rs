//! Tables whose keys are skewed, repeated and dependent on each other, and random joins over them.
//! The same seed gives the same queries.

use fastrand::Rng;

/// What a query may be forced to.
pub const FORCED: [&str; 4] = ["HASH JOIN", "MERGE JOIN", "LOOP JOIN", "FORCE ORDER"];

/// Tables and the order of their clustered indexes; each has the columns x, y, z, k, v and some
/// more.
const TABLES: [&str; 7] = ["one", "many", "other", "skew", "uniq", "corr", "heap"];

/// Columns that two tables are joined by; `z` has few rows of a value, in the others a value may
/// have a third of all rows.
const KEYS: [&[&str]; 11] = [
    &["x"],
    &["k"],
    &["z"],
    &["x", "y"],
    &["k", "x"],
    &["k", "y"],
    &["x", "z"],
    &["k", "z"],
    &["y", "z"],
    &["x", "y", "z"],
    &["k", "x", "y", "z"],
];

/// The statements that make the tables, of so many rows each.
pub fn tables(rows: u32) -> String {
    let twice = rows / 2;
    format!(
        "SET NOCOUNT ON
         CREATE TABLE one (x int NOT NULL, y int NOT NULL, z int NOT NULL, k int, v int, PRIMARY KEY (x, y, z))
         CREATE TABLE many (x int NOT NULL, y int NOT NULL, z int NOT NULL, i int NOT NULL, k int, v int,
                            PRIMARY KEY (x, y, z, i))
         CREATE TABLE other (x int NOT NULL, z int NOT NULL, y int NOT NULL, i int NOT NULL, k int, v int,
                             PRIMARY KEY (x, z, y, i))
         CREATE TABLE skew (k int NOT NULL, i int NOT NULL, x int, y int, z int, v int, PRIMARY KEY (k, i))
         CREATE TABLE uniq (z int PRIMARY KEY, x int, y int, k int, v int)
         CREATE TABLE corr (y int NOT NULL, x int NOT NULL, i int NOT NULL, z int, k int, v int,
                            PRIMARY KEY (y, x DESC, i))
         CREATE TABLE heap (x int, y int, z int, k int, v int)
         CREATE INDEX of_heap ON heap (k, x)
         CREATE INDEX of_many ON many (z) INCLUDE (k)
         INSERT one SELECT value % 4, IIF(value % 5 = 0, value % 7, 1), value, IIF(value % 3 = 0, 7, value % 200), value % 100
         FROM GENERATE_SERIES(1, {rows})
         INSERT many SELECT z.value % 4, IIF(z.value % 5 = 0, z.value % 7, 1), z.value, i.value, IIF(z.value % 3 = 0, 7, z.value % 90),
             z.value % 100
         FROM GENERATE_SERIES(1, {twice}) z CROSS JOIN GENERATE_SERIES(1, 2) i
         INSERT other SELECT value % 4, value / 3, IIF(value % 5 = 0, value % 7, 1), value, IIF(value % 4 = 0, 7, value % 300),
             value % 100
         FROM GENERATE_SERIES(1, {rows})
         INSERT skew SELECT IIF(value % 3 = 0, 7, value % 300), value, value % 4, value % 7, value, value % 100
         FROM GENERATE_SERIES(1, {rows})
         INSERT uniq SELECT value, value % 4, IIF(value % 5 = 0, value % 7, 1), NULLIF(value % 400, 9), value % 100
         FROM GENERATE_SERIES(1, {rows})
         INSERT corr SELECT value % 11, value % 11 / 3, value, value / 2, value % 11 * 20, value % 100
         FROM GENERATE_SERIES(1, {rows})
         INSERT heap SELECT NULLIF(value % 5, 3), value % 9, value / 4, IIF(value % 10 < 3, 7, value % 500), value % 100
         FROM GENERATE_SERIES(1, {rows})"
    )
}

/// Makes queries.
pub struct Joins {
    rng: Rng,
}

impl Joins {
    /// Of a seed.
    pub fn new(seed: u64) -> Joins {
        Joins { rng: Rng::with_seed(seed) }
    }

    fn table(&mut self) -> &'static str {
        TABLES[self.rng.usize(..TABLES.len())]
    }

    fn keys(&mut self, among: &[&'static [&'static str]]) -> &'static [&'static str] {
        among[self.rng.usize(..among.len())]
    }

    /// The equalities of two tables by their aliases, in any order.
    fn on(&mut self, keys: &[&str], a: &str, b: &str) -> String {
        let mut equal: Vec<String> =
            keys.iter().map(|key| format!("{a}.{key} = {b}.{key}")).collect();
        self.rng.shuffle(&mut equal);
        equal.join(" AND ")
    }

    fn filter(&mut self, alias: &str) -> Option<String> {
        match self.rng.u8(..10) {
            0 => Some(format!("{alias}.v < {}", self.rng.u8(1..60))),
            1 => Some(format!("{alias}.k = 7")),
            2 => Some(format!("{alias}.k <> 7")),
            3 => Some(format!("{alias}.x = {}", self.rng.u8(..4))),
            4 => Some(format!("{alias}.z BETWEEN 20 AND {}", self.rng.u16(21..300))),
            _ => None,
        }
    }

    /// The next query, without OPTION.
    pub fn query(&mut self) -> String {
        let (first, second) = (self.table(), self.table());
        let keys = self.keys(&KEYS);
        let on = self.on(keys, "a", "b");
        let filters: Vec<String> =
            ["a", "b"].iter().filter_map(|alias| self.filter(alias)).collect();
        let and = |before: &str, list: &[String]| match list.is_empty() {
            true => String::new(),
            false => format!(" {before} {}", list.join(" AND ")),
        };
        match self.rng.u8(..10) {
            0 => format!(
                "SELECT COUNT_BIG(*), SUM(a.v + ISNULL(b.v, 0)) FROM {first} a LEFT JOIN {second} b ON {on}{}",
                and("WHERE", &filters[..filters.len().min(1)])
            ),
            kind @ (1 | 2) => {
                let not = if kind == 1 { "NOT " } else { "" };
                let inside = if self.rng.bool() { " AND b.v <= a.v" } else { "" };
                format!(
                    "SELECT COUNT_BIG(*), SUM(a.v) FROM {first} a WHERE {not}EXISTS (SELECT * FROM {second} b WHERE {on}{inside})"
                )
            }
            3..=5 => {
                // The third by a key of few rows, so that there is an end.
                let third = self.table();
                let few: Vec<&'static [&'static str]> =
                    KEYS.iter().copied().filter(|keys| keys.contains(&"z")).collect();
                let (inner, outer) = (self.keys(&few), self.keys(&few));
                let inner = self.on(inner, "a", "b");
                let to = if self.rng.bool() { "a" } else { "b" };
                let outer = self.on(outer, to, "c");
                format!(
                    "SELECT COUNT_BIG(*), SUM(a.v - c.v) FROM {first} a JOIN {second} b ON {inner} JOIN {third} c ON {outer}{}",
                    and("WHERE", &filters)
                )
            }
            6 => format!(
                "SELECT a.{key}, COUNT_BIG(*) FROM {first} a JOIN {second} b ON {on}{} GROUP BY a.{key} ORDER BY a.{key}",
                and("WHERE", &filters),
                key = keys[0]
            ),
            _ => format!(
                "SELECT COUNT_BIG(*), SUM(CAST(a.v * b.v AS bigint)) FROM {first} a JOIN {second} b ON {on}{}",
                and("WHERE", &filters)
            ),
        }
    }
}
