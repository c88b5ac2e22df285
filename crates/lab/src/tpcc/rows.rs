//! The rows of the nine tables at the beginning: clause 4.3.3.1 of the specification. Each
//! warehouse is made by itself, from a seed.

use super::random::Random;
use super::tables::{DISTRICTS, Sizes};
use crate::LabError;

/// A field.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Int(i32),
    /// A number and how many of its digits are behind the point.
    Decimal(i64, u8),
    Text(String),
    /// The time of the load.
    Now,
    Null,
}

/// What rows are given to.
pub type Sink<'a> = dyn FnMut(Vec<Cell>) -> Result<(), LabError> + 'a;

/// The tables in the order in which they are loaded.
pub const TABLES: [&str; 9] = [
    "item",
    "warehouse",
    "district",
    "customer",
    "history",
    "stock",
    "orders",
    "new_order",
    "order_line",
];

use Cell::{Decimal, Int, Now, Null, Text};

fn address(random: &mut Random) -> [Cell; 5] {
    let street = [random.text(10, 20), random.text(10, 20), random.text(10, 20)];
    let [first, second, city] = street.map(Text);
    let state = random.text(2, 2).to_ascii_uppercase();
    let zip = random.digits(4) + "11111";
    [first, second, city, Text(state), Text(zip)]
}

/// An order at the beginning: its customer and the number of its lines. Both tables of it are made
/// from the same.
fn orders_of(seed: u64, sizes: Sizes) -> Vec<(i32, i32)> {
    let mut random = Random::new(seed ^ 0x0bad_0de5, sizes);
    let customers = random.permutation(sizes.customers);
    customers.into_iter().map(|c| (c, random.number(5, 15))).collect()
}

/// The first order that is not delivered: the last 900 of 3,000.
fn first_new(sizes: Sizes) -> i32 {
    sizes.customers * 7 / 10 + 1
}

/// All rows of a table for one warehouse; those of `item` come with the first.
pub fn rows(
    table: &str,
    warehouse: i32,
    sizes: Sizes,
    seed: u64,
    sink: &mut Sink,
) -> Result<(), LabError> {
    let place = TABLES.iter().position(|t| *t == table).unwrap_or_default() as u64;
    let mixed = |district: i32| {
        let all = (seed << 40) ^ ((warehouse as u64) << 20) ^ ((district as u64) << 8);
        all.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    };
    let mut random = Random::new(mixed(0) ^ place, sizes);
    match table {
        "item" if warehouse == 1 => {
            (1..=sizes.items).try_for_each(|id| sink(item(&mut random, id)))
        }
        "item" => Ok(()),
        "warehouse" => sink(self::warehouse(&mut random, warehouse)),
        "stock" => (1..=sizes.items).try_for_each(|id| sink(stock(&mut random, warehouse, id))),
        _ => (1..=DISTRICTS).try_for_each(|d| {
            let mut random = Random::new(mixed(d) ^ place, sizes);
            district_rows(table, (warehouse, d), sizes, mixed(d), &mut random, sink)
        }),
    }
}

fn item(random: &mut Random, id: i32) -> Vec<Cell> {
    let (image, name) = (random.number(1, 10_000), random.text(14, 24));
    vec![
        Int(id),
        Int(image),
        Text(name),
        Decimal(random.number(100, 10_000).into(), 2),
        Text(random.data()),
    ]
}

fn warehouse(random: &mut Random, id: i32) -> Vec<Cell> {
    let mut row = vec![Int(id), Text(random.text(6, 10))];
    row.extend(address(random));
    row.extend([Decimal(random.number(0, 2_000).into(), 4), Decimal(30_000_000, 2)]);
    row
}

fn stock(random: &mut Random, warehouse: i32, id: i32) -> Vec<Cell> {
    let mut row = vec![Int(id), Int(warehouse), Int(random.number(10, 100))];
    row.extend((0..DISTRICTS).map(|_| Text(random.text(24, 24))));
    row.extend([Int(0), Int(0), Int(0), Text(random.data())]);
    row
}

fn district_rows(
    table: &str,
    (w, d): (i32, i32),
    sizes: Sizes,
    seed: u64,
    random: &mut Random,
    sink: &mut Sink,
) -> Result<(), LabError> {
    match table {
        "district" => {
            let mut row = vec![Int(d), Int(w), Text(random.text(6, 10))];
            row.extend(address(random));
            row.extend([
                Decimal(random.number(0, 2_000).into(), 4),
                Decimal(3_000_000, 2),
                Int(sizes.customers + 1),
            ]);
            sink(row)
        }
        "customer" => (1..=sizes.customers).try_for_each(|c| sink(customer(random, (w, d), c))),
        "history" => (1..=sizes.customers).try_for_each(|c| {
            sink(vec![
                Int(c),
                Int(d),
                Int(w),
                Int(d),
                Int(w),
                Now,
                Decimal(1_000, 2),
                Text(random.text(12, 24)),
            ])
        }),
        "orders" => (1..).zip(orders_of(seed, sizes)).try_for_each(|(o, (c, lines))| {
            let carrier = if o < first_new(sizes) { Int(random.number(1, 10)) } else { Null };
            sink(vec![Int(o), Int(d), Int(w), Int(c), Now, carrier, Int(lines), Int(1)])
        }),
        "new_order" => (first_new(sizes)..=sizes.customers)
            .try_for_each(|o| sink(vec![Int(o), Int(d), Int(w)])),
        _ => (1..).zip(orders_of(seed, sizes)).try_for_each(|(o, (_, lines))| {
            (1..=lines).try_for_each(|n| {
                let delivered = o < first_new(sizes);
                let amount = if delivered { 0 } else { random.number(1, 999_999) };
                sink(vec![
                    Int(o),
                    Int(d),
                    Int(w),
                    Int(n),
                    Int(random.number(1, sizes.items)),
                    Int(w),
                    if delivered { Now } else { Null },
                    Int(5),
                    Decimal(amount.into(), 2),
                    Text(random.text(24, 24)),
                ])
            })
        }),
    }
}

fn customer(random: &mut Random, (w, d): (i32, i32), c: i32) -> Vec<Cell> {
    let (first, last) = (random.text(8, 16), random.name_of(c));
    let mut row = vec![Int(c), Int(d), Int(w), Text(first), Text("OE".into()), Text(last)];
    row.extend(address(random));
    let credit = if random.percent(10) { "BC" } else { "GC" };
    row.extend([
        Text(random.digits(16)),
        Now,
        Text(credit.into()),
        Decimal(5_000_000, 2),
        Decimal(random.number(0, 5_000).into(), 4),
        Decimal(-1_000, 2),
        Decimal(1_000, 2),
        Int(1),
        Int(0),
        Text(random.text(300, 500)),
    ]);
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(table: &str, warehouse: i32) -> Vec<Vec<Cell>> {
        let mut rows = Vec::new();
        super::rows(table, warehouse, Sizes::SMALL, 5, &mut |row| {
            rows.push(row);
            Ok(())
        })
        .unwrap();
        rows
    }

    fn int(cell: &Cell) -> i32 {
        if let Int(n) = cell { *n } else { panic!("{cell:?}") }
    }

    #[test]
    fn the_tables_agree_with_each_other() {
        let (orders, lines) = (all("orders", 2), all("order_line", 2));
        assert_eq!(orders.iter().map(|o| int(&o[6])).sum::<i32>() as usize, lines.len());
        for d in 1..=DISTRICTS {
            let mut customers: Vec<i32> =
                orders.iter().filter(|o| int(&o[1]) == d).map(|o| int(&o[3])).collect();
            customers.sort_unstable();
            assert_eq!(customers, (1..=Sizes::SMALL.customers).collect::<Vec<_>>());
        }
        let new = all("new_order", 2).len() as i32;
        assert_eq!(new, DISTRICTS * Sizes::SMALL.customers * 3 / 10);
        assert_eq!(orders.iter().filter(|o| o[5] == Null).count() as i32, new);
        assert_eq!((all("item", 1).len() as i32, all("item", 2).len()), (Sizes::SMALL.items, 0));
        assert_eq!(all("stock", 1), all("stock", 1), "the same seed gives the same rows");
        assert_ne!(all("stock", 1)[0][3], all("stock", 2)[0][3]);
        let widths = TABLES.map(|t| all(t, 1)[0].len());
        assert_eq!(widths, [5, 9, 11, 21, 8, 17, 8, 3, 10]);
    }
}
