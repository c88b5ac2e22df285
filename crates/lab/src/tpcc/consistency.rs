//! Consistency conditions 1 to 4 of the specification (clauses 3.3.2.1 to 3.3.2.4), as queries that
//! count what breaks them.

use super::terminal::Terminal;
use crate::LabError;

/// The conditions in words, and the query of each.
const CONDITIONS: [(&str, &str); 4] = [
    (
        "1: the districts' D_YTD sum up to W_YTD",
        "select count(*) from warehouse join (select d_w_id, sum(d_ytd) as paid from district group by d_w_id) as d on d_w_id = w_id \
         where w_ytd <> paid",
    ),
    (
        "2: D_NEXT_O_ID - 1 is the largest O_ID and NO_O_ID",
        "select count(*) from district \
         join (select o_w_id, o_d_id, max(o_id) as last_o from orders group by o_w_id, o_d_id) as o on o_w_id = d_w_id and o_d_id = d_id \
         left join (select no_w_id, no_d_id, max(no_o_id) as last_no from new_order group by no_w_id, no_d_id) as n \
             on no_w_id = d_w_id and no_d_id = d_id \
         where d_next_o_id - 1 <> last_o or (last_no is not null and d_next_o_id - 1 <> last_no)",
    ),
    (
        "3: NO_O_ID of a district are without gaps",
        "select count(*) from (select no_w_id, no_d_id from new_order group by no_w_id, no_d_id \
         having max(no_o_id) - min(no_o_id) + 1 <> count(*)) as gaps",
    ),
    (
        "4: O_OL_CNT of a district sum up to its order lines",
        "select count(*) from (select o_w_id, o_d_id, sum(o_ol_cnt) as lines from orders group by o_w_id, o_d_id) as o \
         left join (select ol_w_id, ol_d_id, count(*) as there from order_line group by ol_w_id, ol_d_id) as l \
             on ol_w_id = o_w_id and ol_d_id = o_d_id \
         where there is null or lines <> there",
    ),
];

/// Errors: a condition that does not hold, by its name.
pub fn check(terminal: &mut dyn Terminal) -> Result<(), LabError> {
    for (name, query) in CONDITIONS {
        let broken = terminal.number(query)?;
        if broken != 0 {
            return Err(LabError::Request(format!(
                "consistency condition {name}: broken {broken} times"
            )));
        }
    }
    Ok(())
}

/// Orders that were ever entered, all districts together.
pub fn orders(terminal: &mut dyn Terminal) -> Result<i64, LabError> {
    terminal.number("select cast(sum(d_next_o_id - 1) as bigint) from district")
}
