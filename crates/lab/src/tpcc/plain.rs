//! The five transactions statement by statement, as an application without stored procedures runs
//! them: clauses 2.4.2, 2.5.2, 2.6.2, 2.7.4 and 2.8.2. What is shown to a terminal's user is read
//! and dropped.

use super::inputs::{CustomerKey, Input, OrderLine};
use super::tables::DISTRICTS;
use super::terminal::Param::{Int, Text};
use super::terminal::{Datum, Row, Statement, Terminal, TxnEnd, TxnFailure};
use crate::LabError;

/// Both languages have the same text.
const fn both(id: usize, text: &'static str) -> Statement {
    Statement { id, mssql: text, postgres: text }
}

/// All statements; each is at the place of its id.
pub static STATEMENTS: [Statement; 24] = [
    both(0, "select cast(w_tax * 10000 as int) from warehouse where w_id = ?1"),
    Statement {
        id: 1,
        mssql: "update district set d_next_o_id = d_next_o_id + 1 output deleted.d_next_o_id, cast(deleted.d_tax * 10000 as int) where d_w_id = ?1 and d_id = ?2",
        postgres: "update district set d_next_o_id = d_next_o_id + 1 where d_w_id = ?1 and d_id = ?2 returning d_next_o_id - 1, cast(d_tax * 10000 as int)",
    },
    both(
        2,
        "select cast(c_discount * 10000 as int), c_last, c_credit from customer where c_w_id = ?1 and c_d_id = ?2 and c_id = ?3",
    ),
    both(
        3,
        "insert into orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) values (?1, ?2, ?3, ?4, current_timestamp, null, ?5, ?6)",
    ),
    both(4, "insert into new_order (no_o_id, no_d_id, no_w_id) values (?1, ?2, ?3)"),
    both(5, "select cast(i_price * 100 as int), i_name, i_data from item where i_id = ?1"),
    Statement {
        id: 6,
        mssql: "update stock set s_quantity = case when s_quantity >= ?1 + 10 then s_quantity - ?1 else s_quantity - ?1 + 91 end, s_ytd = s_ytd + ?1, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ?2 output inserted.s_quantity, case ?3 when 1 then inserted.s_dist_01 when 2 then inserted.s_dist_02 when 3 then inserted.s_dist_03 when 4 then inserted.s_dist_04 when 5 then inserted.s_dist_05 when 6 then inserted.s_dist_06 when 7 then inserted.s_dist_07 when 8 then inserted.s_dist_08 when 9 then inserted.s_dist_09 else inserted.s_dist_10 end, inserted.s_data where s_w_id = ?4 and s_i_id = ?5",
        postgres: "update stock set s_quantity = case when s_quantity >= ?1 + 10 then s_quantity - ?1 else s_quantity - ?1 + 91 end, s_ytd = s_ytd + ?1, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ?2 where s_w_id = ?4 and s_i_id = ?5 returning s_quantity, case ?3::int4 when 1 then s_dist_01 when 2 then s_dist_02 when 3 then s_dist_03 when 4 then s_dist_04 when 5 then s_dist_05 when 6 then s_dist_06 when 7 then s_dist_07 when 8 then s_dist_08 when 9 then s_dist_09 else s_dist_10 end, s_data",
    },
    Statement {
        id: 7,
        mssql: "insert into order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) values (?1, ?2, ?3, ?4, ?5, ?6, null, ?7, ?8 * 0.01, ?9)",
        postgres: "insert into order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) values (?1, ?2, ?3, ?4, ?5, ?6, null, ?7, ?8::int4 * 0.01, ?9)",
    },
    Statement {
        id: 8,
        mssql: "update warehouse set w_ytd = w_ytd + ?1 * 0.01 output inserted.w_name, inserted.w_street_1, inserted.w_street_2, inserted.w_city, inserted.w_state, inserted.w_zip where w_id = ?2",
        postgres: "update warehouse set w_ytd = w_ytd + ?1::int4 * 0.01 where w_id = ?2 returning w_name, w_street_1, w_street_2, w_city, w_state, w_zip",
    },
    Statement {
        id: 9,
        mssql: "update district set d_ytd = d_ytd + ?1 * 0.01 output inserted.d_name, inserted.d_street_1, inserted.d_street_2, inserted.d_city, inserted.d_state, inserted.d_zip where d_w_id = ?2 and d_id = ?3",
        postgres: "update district set d_ytd = d_ytd + ?1::int4 * 0.01 where d_w_id = ?2 and d_id = ?3 returning d_name, d_street_1, d_street_2, d_city, d_state, d_zip",
    },
    both(
        10,
        "select c_id from customer where c_w_id = ?1 and c_d_id = ?2 and c_last = ?3 order by c_first",
    ),
    Statement {
        id: 11,
        mssql: "update customer set c_balance = c_balance - ?1 * 0.01, c_ytd_payment = c_ytd_payment + ?1 * 0.01, c_payment_cnt = c_payment_cnt + 1 output inserted.c_first, inserted.c_middle, inserted.c_last, inserted.c_credit, cast(inserted.c_balance * 100 as bigint) where c_w_id = ?2 and c_d_id = ?3 and c_id = ?4",
        postgres: "update customer set c_balance = c_balance - ?1::int4 * 0.01, c_ytd_payment = c_ytd_payment + ?1::int4 * 0.01, c_payment_cnt = c_payment_cnt + 1 where c_w_id = ?2 and c_d_id = ?3 and c_id = ?4 returning c_first, c_middle, c_last, c_credit, cast(c_balance * 100 as bigint)",
    },
    Statement {
        id: 12,
        mssql: "update customer set c_data = left(?1 + c_data, 500) where c_w_id = ?2 and c_d_id = ?3 and c_id = ?4",
        postgres: "update customer set c_data = left(?1 || c_data, 500) where c_w_id = ?2 and c_d_id = ?3 and c_id = ?4",
    },
    Statement {
        id: 13,
        mssql: "insert into history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) values (?1, ?2, ?3, ?4, ?5, current_timestamp, ?6 * 0.01, ?7)",
        postgres: "insert into history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) values (?1, ?2, ?3, ?4, ?5, current_timestamp, ?6::int4 * 0.01, ?7)",
    },
    both(
        14,
        "select cast(c_balance * 100 as bigint), c_first, c_middle, c_last from customer where c_w_id = ?1 and c_d_id = ?2 and c_id = ?3",
    ),
    Statement {
        id: 15,
        mssql: "select top (1) o_id, o_carrier_id, cast(o_entry_d as varchar(40)) from orders where o_w_id = ?1 and o_d_id = ?2 and o_c_id = ?3 order by o_id desc",
        postgres: "select o_id, o_carrier_id, cast(o_entry_d as varchar(40)) from orders where o_w_id = ?1 and o_d_id = ?2 and o_c_id = ?3 order by o_id desc limit 1",
    },
    both(
        16,
        "select ol_i_id, ol_supply_w_id, ol_quantity, cast(ol_amount * 100 as bigint), cast(ol_delivery_d as varchar(40)) from order_line where ol_w_id = ?1 and ol_d_id = ?2 and ol_o_id = ?3",
    ),
    Statement {
        id: 17,
        mssql: "select top (1) no_o_id from new_order with (updlock) where no_w_id = ?1 and no_d_id = ?2 order by no_o_id",
        postgres: "select no_o_id from new_order where no_w_id = ?1 and no_d_id = ?2 order by no_o_id limit 1 for update",
    },
    Statement {
        id: 18,
        mssql: "delete from new_order output deleted.no_o_id where no_w_id = ?1 and no_d_id = ?2 and no_o_id = ?3",
        postgres: "delete from new_order where no_w_id = ?1 and no_d_id = ?2 and no_o_id = ?3 returning no_o_id",
    },
    Statement {
        id: 19,
        mssql: "update orders set o_carrier_id = ?1 output inserted.o_c_id where o_w_id = ?2 and o_d_id = ?3 and o_id = ?4",
        postgres: "update orders set o_carrier_id = ?1 where o_w_id = ?2 and o_d_id = ?3 and o_id = ?4 returning o_c_id",
    },
    Statement {
        id: 20,
        mssql: "update order_line set ol_delivery_d = current_timestamp where ol_w_id = ?1 and ol_d_id = ?2 and ol_o_id = ?3; select cast(sum(ol_amount) * 100 as bigint) from order_line where ol_w_id = ?1 and ol_d_id = ?2 and ol_o_id = ?3",
        postgres: "with delivered as (update order_line set ol_delivery_d = current_timestamp where ol_w_id = ?1 and ol_d_id = ?2 and ol_o_id = ?3 returning ol_amount) select cast(sum(ol_amount) * 100 as bigint) from delivered",
    },
    Statement {
        id: 21,
        mssql: "update customer set c_balance = c_balance + ?1 * 0.01, c_delivery_cnt = c_delivery_cnt + 1 where c_w_id = ?2 and c_d_id = ?3 and c_id = ?4",
        postgres: "update customer set c_balance = c_balance + ?1::int4 * 0.01, c_delivery_cnt = c_delivery_cnt + 1 where c_w_id = ?2 and c_d_id = ?3 and c_id = ?4",
    },
    both(22, "select d_next_o_id from district where d_w_id = ?1 and d_id = ?2"),
    both(
        23,
        "select count(distinct s_i_id) from order_line join stock on s_w_id = ol_w_id and s_i_id = ol_i_id where ol_w_id = ?1 and ol_d_id = ?2 and ol_o_id >= ?3 and ol_o_id < ?4 and s_quantity < ?5",
    ),
];

const WAREHOUSE_TAX: usize = 0;
const NEXT_ORDER: usize = 1;
const DISCOUNT: usize = 2;
const INSERT_ORDER: usize = 3;
const INSERT_NEW_ORDER: usize = 4;
const ITEM: usize = 5;
const TAKE_STOCK: usize = 6;
const INSERT_LINE: usize = 7;
const PAY_WAREHOUSE: usize = 8;
const PAY_DISTRICT: usize = 9;
const BY_NAME: usize = 10;
const PAY_CUSTOMER: usize = 11;
const BAD_CREDIT: usize = 12;
const INSERT_HISTORY: usize = 13;
const BALANCE: usize = 14;
const LAST_ORDER: usize = 15;
const LINES: usize = 16;
const OLDEST: usize = 17;
const DELETE_NEW_ORDER: usize = 18;
const CARRIER: usize = 19;
const DELIVER_LINES: usize = 20;
const DELIVER_TO: usize = 21;
const NEXT_FREE: usize = 22;
const LOW_STOCK: usize = 23;

type Result<T> = std::result::Result<T, TxnFailure>;

fn missing(what: &str) -> TxnFailure {
    TxnFailure::Other(LabError::Request(format!("tpcc: no {what}")))
}

/// The row of a statement that finds one.
fn one(terminal: &mut dyn Terminal, id: usize, params: &[super::terminal::Param]) -> Result<Row> {
    let statement = &STATEMENTS[id];
    terminal.query(statement, params)?.into_iter().next().ok_or_else(|| missing(statement.mssql))
}

fn small(datum: Option<&Datum>) -> Result<i32> {
    let value = datum.ok_or_else(|| missing("such column"))?.int()?;
    i32::try_from(value).map_err(|_| missing("number of 32 bits"))
}

fn text(datum: Option<&Datum>) -> &str {
    if let Some(Datum::Text(text)) = datum { text } else { "" }
}

/// Runs a transaction to its end. After a failure the caller takes it back.
pub fn run(terminal: &mut dyn Terminal, input: &Input) -> Result<TxnEnd> {
    terminal.begin()?;
    let done = match input {
        Input::NewOrder { w, d, c, lines } => new_order(terminal, (*w, *d, *c), lines)?,
        Input::Payment { w, d, c_w, c_d, who, amount } => {
            payment(terminal, (*w, *d), (*c_w, *c_d), who, *amount)?
        }
        Input::OrderStatus { w, d, who } => order_status(terminal, (*w, *d), who)?,
        Input::Delivery { w, carrier } => delivery(terminal, *w, *carrier)?,
        Input::StockLevel { w, d, threshold } => {
            let next = small(one(terminal, NEXT_FREE, &[Int(*w), Int(*d)])?.first())?;
            one(
                terminal,
                LOW_STOCK,
                &[Int(*w), Int(*d), Int(next - 20), Int(next), Int(*threshold)],
            )?;
            TxnEnd::Committed
        }
    };
    match done {
        TxnEnd::Committed => terminal.commit()?,
        TxnEnd::RolledBack => terminal.rollback()?,
    }
    Ok(done)
}

fn new_order(
    terminal: &mut dyn Terminal,
    (w, d, c): (i32, i32, i32),
    lines: &[OrderLine],
) -> Result<TxnEnd> {
    one(terminal, WAREHOUSE_TAX, &[Int(w)])?;
    let order = small(one(terminal, NEXT_ORDER, &[Int(w), Int(d)])?.first())?;
    one(terminal, DISCOUNT, &[Int(w), Int(d), Int(c)])?;
    let all_local = i32::from(lines.iter().all(|l| l.supply == w));
    let count = lines.len() as i32;
    let header = [Int(order), Int(d), Int(w), Int(c), Int(count), Int(all_local)];
    terminal.query(&STATEMENTS[INSERT_ORDER], &header)?;
    terminal.query(&STATEMENTS[INSERT_NEW_ORDER], &[Int(order), Int(d), Int(w)])?;
    for (number, line) in (1..).zip(lines) {
        let Some(item) = terminal.query(&STATEMENTS[ITEM], &[Int(line.item)])?.into_iter().next()
        else {
            return Ok(TxnEnd::RolledBack);
        };
        let amount = line.quantity * small(item.first())?;
        let remote = i32::from(line.supply != w);
        let stock = [Int(line.quantity), Int(remote), Int(d), Int(line.supply), Int(line.item)];
        let stock = one(terminal, TAKE_STOCK, &stock)?;
        let row = [
            Int(order),
            Int(d),
            Int(w),
            Int(number),
            Int(line.item),
            Int(line.supply),
            Int(line.quantity),
            Int(amount),
            Text(text(stock.get(1))),
        ];
        terminal.query(&STATEMENTS[INSERT_LINE], &row)?;
    }
    Ok(TxnEnd::Committed)
}

/// The customer's id; of those of one name the one in the middle by first name.
fn find(terminal: &mut dyn Terminal, w: i32, d: i32, who: &CustomerKey) -> Result<i32> {
    match who {
        CustomerKey::Id(id) => Ok(*id),
        CustomerKey::Name(name) => {
            let found = terminal.query(&STATEMENTS[BY_NAME], &[Int(w), Int(d), Text(name)])?;
            let middle = found
                .len()
                .div_ceil(2)
                .checked_sub(1)
                .ok_or_else(|| missing("customer of a name"))?;
            small(found[middle].first())
        }
    }
}

fn payment(
    terminal: &mut dyn Terminal,
    (w, d): (i32, i32),
    (c_w, c_d): (i32, i32),
    who: &CustomerKey,
    amount: i32,
) -> Result<TxnEnd> {
    let warehouse = one(terminal, PAY_WAREHOUSE, &[Int(amount), Int(w)])?;
    let district = one(terminal, PAY_DISTRICT, &[Int(amount), Int(w), Int(d)])?;
    let c = find(terminal, c_w, c_d, who)?;
    let key = [Int(c_w), Int(c_d), Int(c)];
    let customer = one(terminal, PAY_CUSTOMER, &[Int(amount), key[0], key[1], key[2]])?;
    if text(customer.get(3)) == "BC" {
        let note = format!("{c} {c_d} {c_w} {d} {w} {}.{:02} ", amount / 100, amount % 100);
        terminal.query(&STATEMENTS[BAD_CREDIT], &[Text(&note), key[0], key[1], key[2]])?;
    }
    let data = format!("{}    {}", text(warehouse.first()), text(district.first()));
    let history = [Int(c), Int(c_d), Int(c_w), Int(d), Int(w), Int(amount), Text(&data)];
    terminal.query(&STATEMENTS[INSERT_HISTORY], &history)?;
    Ok(TxnEnd::Committed)
}

fn order_status(
    terminal: &mut dyn Terminal,
    (w, d): (i32, i32),
    who: &CustomerKey,
) -> Result<TxnEnd> {
    let c = find(terminal, w, d, who)?;
    one(terminal, BALANCE, &[Int(w), Int(d), Int(c)])?;
    let order = small(one(terminal, LAST_ORDER, &[Int(w), Int(d), Int(c)])?.first())?;
    terminal.query(&STATEMENTS[LINES], &[Int(w), Int(d), Int(order)])?;
    Ok(TxnEnd::Committed)
}

fn delivery(terminal: &mut dyn Terminal, w: i32, carrier: i32) -> Result<TxnEnd> {
    for d in 1..=DISTRICTS {
        let oldest = terminal.query(&STATEMENTS[OLDEST], &[Int(w), Int(d)])?;
        let Some(oldest) = oldest.first() else { continue };
        let order = small(oldest.first())?;
        let key = [Int(w), Int(d), Int(order)];
        if terminal.query(&STATEMENTS[DELETE_NEW_ORDER], &key)?.is_empty() {
            continue;
        }
        let c = small(one(terminal, CARRIER, &[Int(carrier), key[0], key[1], key[2]])?.first())?;
        let amount = small(one(terminal, DELIVER_LINES, &key)?.first())?;
        terminal.query(&STATEMENTS[DELIVER_TO], &[Int(amount), Int(w), Int(d), Int(c)])?;
    }
    Ok(TxnEnd::Committed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_at_their_places() {
        for (place, statement) in STATEMENTS.iter().enumerate() {
            assert_eq!(statement.id, place);
            let text = statement.t_sql();
            assert!(!text.contains('?') && text.contains("@P1"), "{text}");
        }
        assert_eq!(
            STATEMENTS[ITEM].pg_sql(),
            "select cast(i_price * 100 as int), i_name, i_data from item where i_id = $1"
        );
    }
}
