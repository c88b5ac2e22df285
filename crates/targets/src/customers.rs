//! Customer rows of the studies by the rules of TPC-C (standard specification 5.11, clause
//! 4.3.3.1), as a delimited text file that every target can bulk load. The same seed gives the same
//! rows, so that all targets work on the same data.

use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Customers of one district.
const CUSTOMERS: u64 = 3_000;
/// Districts of one warehouse.
const DISTRICTS: u64 = 10;
/// Syllables of C_LAST (clause 4.3.2.3).
const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
const ALPHANUMERIC: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// C_LAST of a number of three digits (clause 4.3.2.3).
pub fn last_name(number: usize) -> String {
    [number / 100 % 10, number / 10 % 10, number % 10].map(|i| SYLLABLES[i]).concat()
}

/// Field separator of the file.
pub(crate) const FIELD: char = '|';

struct Generator {
    random: fastrand::Rng,
    line: String,
}

impl Generator {
    fn field(&mut self, text: &str) {
        if !self.line.is_empty() {
            self.line.push(FIELD);
        }
        self.line.push_str(text);
    }

    fn alphanumeric(&mut self, shortest: usize, longest: usize) {
        self.line.push(FIELD);
        for _ in 0..self.random.usize(shortest..=longest) {
            self.line.push(char::from(ALPHANUMERIC[self.random.usize(..ALPHANUMERIC.len())]));
        }
    }

    fn digits(&mut self, count: usize, suffix: &str) {
        self.line.push(FIELD);
        for _ in 0..count {
            self.line.push(char::from(b'0' + self.random.u8(..10)));
        }
        self.line.push_str(suffix);
    }

    /// C_LAST: the first 1,000 customers of a district have the names 0..999, the others
    /// NURand(255, 0, 999).
    fn last_name(&mut self, customer: u64) {
        let number = if customer <= 1_000 {
            customer - 1
        } else {
            let low = self.random.u64(0..=255);
            let high = self.random.u64(0..=999);
            ((low | high) + 157) % 1_000
        } as usize;
        self.field(&last_name(number));
    }

    fn row(&mut self, warehouse: u64, district: u64, customer: u64) -> &str {
        self.line.clear();
        self.field(&customer.to_string());
        self.field(&district.to_string());
        self.field(&warehouse.to_string());
        self.alphanumeric(8, 16);
        self.field("OE");
        self.last_name(customer);
        self.alphanumeric(10, 20);
        self.alphanumeric(10, 20);
        self.alphanumeric(10, 20);
        let state = [b'A' + self.random.u8(..26), b'A' + self.random.u8(..26)].map(char::from);
        self.field(&state.iter().collect::<String>());
        self.digits(4, "11111");
        self.digits(16, "");
        self.field("2010-01-01 00:00:00.000");
        let credit = if self.random.u8(..10) == 0 { "BC" } else { "GC" };
        self.field(credit);
        self.field("50000.00");
        let discount = format!("0.{:04}", self.random.u32(0..=5_000));
        self.field(&discount);
        self.field("-10.00");
        self.field("10.00");
        self.field("1");
        self.field("0");
        self.alphanumeric(300, 500);
        &self.line
    }
}

/// Writes `rows` customers to `path`: fields separated by `|`, rows ended by a line feed.
/// Warehouses are filled one after another, so 3,000,000 rows are 100 warehouses.
pub fn write_customers(path: &Path, rows: u64, seed: u64) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, std::fs::File::create(path)?);
    let mut generator =
        Generator { random: fastrand::Rng::with_seed(seed), line: String::with_capacity(800) };
    for row in 0..rows {
        let customer = row % CUSTOMERS + 1;
        let district = row / CUSTOMERS % DISTRICTS + 1;
        let warehouse = row / (CUSTOMERS * DISTRICTS) + 1;
        let line = generator.row(warehouse, district, customer);
        out.write_all(line.as_bytes())?;
        out.write_all(b"\n")?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_follow_the_rules_and_repeat_by_seed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("customer.txt");
        write_customers(&path, 3_100, 7).unwrap();
        let first = std::fs::read_to_string(&path).unwrap();
        write_customers(&path, 3_100, 7).unwrap();
        assert_eq!(first, std::fs::read_to_string(&path).unwrap());
        let rows: Vec<Vec<&str>> = first.lines().map(|l| l.split(FIELD).collect()).collect();
        assert_eq!(rows.len(), 3_100);
        assert_eq!((rows[0][5], rows[371][5]), ("BARBARBAR", "PRICALLYOUGHT"));
        assert_eq!(&rows[3_000][..3], &["1", "2", "1"]);
        for row in &rows {
            assert_eq!(row.len(), 21);
            assert!(
                (300..=500).contains(&row[20].len())
                    && row[10].ends_with("11111")
                    && row[10].len() == 9
            );
            assert!((8..=16).contains(&row[3].len()) && row[11].len() == 16);
        }
        let bad = rows.iter().filter(|r| r[13] == "BC").count();
        assert!((200..420).contains(&bad), "about a tenth has bad credit, found {bad}");
    }
}
