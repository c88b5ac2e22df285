//! What the five transactions are asked for, and in which mix: clauses 2.4.1, 2.5.1, 2.6.1, 2.7.1,
//! 2.8.1 and 5.2.4 of the specification. Keying and think times are none.

use super::random::Random;
use super::tables::{DISTRICTS, Sizes};

/// The transaction types, in the order of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

impl Kind {
    pub const ALL: [Kind; 5] =
        [Kind::NewOrder, Kind::Payment, Kind::OrderStatus, Kind::Delivery, Kind::StockLevel];

    /// As results name it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::NewOrder => "new order",
            Kind::Payment => "payment",
            Kind::OrderStatus => "order status",
            Kind::Delivery => "delivery",
            Kind::StockLevel => "stock level",
        }
    }
}

/// A line of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OrderLine {
    pub item: i32,
    /// The warehouse that supplies it.
    pub supply: i32,
    pub quantity: i32,
}

/// How a customer is found.
#[derive(Clone, Debug)]
pub enum CustomerKey {
    Id(i32),
    Name(String),
}

/// What a transaction is asked for. Warehouse and district are those of the terminal, amounts are
/// in hundredths.
#[derive(Clone, Debug)]
pub enum Input {
    /// The last line names no item where the order is to be rolled back.
    NewOrder {
        w: i32,
        d: i32,
        c: i32,
        lines: Vec<OrderLine>,
    },
    Payment {
        w: i32,
        d: i32,
        c_w: i32,
        c_d: i32,
        who: CustomerKey,
        amount: i32,
    },
    OrderStatus {
        w: i32,
        d: i32,
        who: CustomerKey,
    },
    Delivery {
        w: i32,
        carrier: i32,
    },
    StockLevel {
        w: i32,
        d: i32,
        threshold: i32,
    },
}

impl Input {
    pub fn kind(&self) -> Kind {
        match self {
            Input::NewOrder { .. } => Kind::NewOrder,
            Input::Payment { .. } => Kind::Payment,
            Input::OrderStatus { .. } => Kind::OrderStatus,
            Input::Delivery { .. } => Kind::Delivery,
            Input::StockLevel { .. } => Kind::StockLevel,
        }
    }
}

/// The inputs of one terminal, whose home is one warehouse. The mix is a deck of cards: 10 new
/// orders, 10 payments and one of each other in 23, dealt in random order (clause 5.2.4.2).
pub struct Terminal {
    random: Random,
    home: i32,
    warehouses: i32,
    deck: Vec<Kind>,
}

impl Terminal {
    pub fn new(seed: u64, sizes: Sizes, home: i32, warehouses: i32) -> Terminal {
        Terminal { random: Random::new(seed, sizes), home, warehouses, deck: vec![] }
    }

    /// The next transaction.
    pub fn next(&mut self) -> Input {
        if self.deck.is_empty() {
            self.deck =
                [vec![Kind::NewOrder; 10], vec![Kind::Payment; 10], Kind::ALL[2..].to_vec()]
                    .concat();
            self.random.shuffle(&mut self.deck);
        }
        let (w, random) = (self.home, &mut self.random);
        let d = random.number(1, DISTRICTS);
        match self.deck.pop() {
            Some(Kind::Payment) => self.payment(d),
            Some(Kind::OrderStatus) => Input::OrderStatus { w, d, who: who(random) },
            Some(Kind::Delivery) => Input::Delivery { w, carrier: random.number(1, 10) },
            Some(Kind::StockLevel) => Input::StockLevel { w, d, threshold: random.number(10, 20) },
            Some(Kind::NewOrder) | None => self.new_order(d),
        }
    }

    /// Another warehouse than the home, where there is one.
    fn other(&mut self) -> i32 {
        if self.warehouses == 1 {
            return self.home;
        }
        let other = self.random.number(1, self.warehouses - 1);
        if other >= self.home { other + 1 } else { other }
    }

    fn new_order(&mut self, d: i32) -> Input {
        let c = self.random.customer();
        let count = self.random.number(5, 15);
        let mut lines: Vec<OrderLine> = (0..count)
            .map(|_| {
                let item = self.random.item();
                // One line of a hundred is supplied by another warehouse.
                let supply = if self.random.percent(1) { self.other() } else { self.home };
                OrderLine { item, supply, quantity: self.random.number(1, 10) }
            })
            .collect();
        // Terminals take the rows of the stock in one order, or they would wait for each other in a
        // circle.
        lines.sort_unstable_by_key(|l| (l.supply, l.item));
        // One order of a hundred names an item at its end that is not there.
        if self.random.percent(1)
            && let Some(last) = lines.last_mut()
        {
            last.item = i32::from(i16::MAX) * 30;
        }
        Input::NewOrder { w: self.home, d, c, lines }
    }

    fn payment(&mut self, d: i32) -> Input {
        let w = self.home;
        // 15 of a hundred customers pay at another warehouse than theirs.
        let (c_w, c_d) = if self.random.percent(85) {
            (w, d)
        } else {
            (self.other(), self.random.number(1, DISTRICTS))
        };
        let who = who(&mut self.random);
        Input::Payment { w, d, c_w, c_d, who, amount: self.random.number(100, 500_000) }
    }
}

/// 60 of a hundred customers are found by their last name.
fn who(random: &mut Random) -> CustomerKey {
    if random.percent(60) {
        CustomerKey::Name(random.name())
    } else {
        CustomerKey::Id(random.customer())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mix_and_its_shares_are_the_standard_s() {
        let mut terminal = Terminal::new(7, Sizes::STANDARD, 2, 4);
        let (mut kinds, mut missing, mut remote, mut lines, mut foreign, mut by_name) =
            ([0; 5], 0, 0, 0, 0, 0);
        let count = 23 * 1_000;
        for _ in 0..count {
            let input = terminal.next();
            kinds[input.kind() as usize] += 1;
            match input {
                Input::NewOrder { w, lines: all, .. } => {
                    assert!(w == 2 && (5..=15).contains(&all.len()));
                    missing += i32::from(all.last().unwrap().item > Sizes::STANDARD.items);
                    remote += all.iter().filter(|l| l.supply != w).count();
                    lines += all.len();
                    assert!(all[..all.len() - 1].iter().all(|l| l.item <= Sizes::STANDARD.items));
                }
                Input::Payment { c_w, who, amount, .. } => {
                    foreign += i32::from(c_w != 2);
                    by_name += i32::from(matches!(who, CustomerKey::Name(_)));
                    assert!((100..=500_000).contains(&amount));
                }
                _ => {}
            }
        }
        assert_eq!(kinds, [10_000, 10_000, 1_000, 1_000, 1_000]);
        assert!((60..150).contains(&missing), "about 1 of a hundred of 10,000: {missing}");
        assert!((0.005..0.015).contains(&(remote as f64 / lines as f64)), "{remote} of {lines}");
        assert!((1_300..1_700).contains(&foreign), "{foreign}");
        assert!((5_700..6_300).contains(&by_name), "{by_name}");
    }
}
