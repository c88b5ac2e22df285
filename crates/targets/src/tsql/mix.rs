//! A mix of short transactions in the manner of TPC-C, on the author's customers: new orders (45 of
//! 100), payments (43), and questions and deliveries (4 each). The control of a study of many VLFs:
//! such transactions change VLF seldom.

use super::{Server, drop_tables, sessions};
use crate::LabError;
use crate::work::Figure;

/// Items in stock.
const ITEMS: u32 = 5_000;

/// The tables beside `customer`.
pub(super) fn tables() -> String {
    drop_tables(&["district", "orders", "order_line", "stock", "history"]) + TABLES
}

const TABLES: &str = ";
    create table district (d_id int not null primary key, d_next int not null, d_ytd decimal(12,2) not null);
    create table orders (o_d int not null, o_id int not null, o_c int not null, o_lines int not null, o_state int not null,
        primary key (o_d, o_id));
    create table order_line (l_d int not null, l_o int not null, l_n int not null, l_item int not null, l_qty int not null,
        l_info char(24) not null, primary key (l_d, l_o, l_n));
    create table stock (s_item int not null primary key, s_qty int not null, s_ytd int not null, s_data char(50) not null);
    create table history (h_c int not null, h_d int not null, h_amount decimal(9,2) not null, h_data char(24) not null);
    set nocount on; declare @i int = 0;
    begin tran;
    while @i < 64 begin insert district values (@i, 1, 0); set @i += 1 end;
    set @i = 0;
    while @i < 5000 begin insert stock values (@i, 50, 0, 'stock'); set @i += 1 end;
    commit; checkpoint";

/// One session's transactions, in its own district.
fn session_text(session: u32, each: u64) -> String {
    format!(
        "set nocount on
         declare @i int = 0, @s bigint = {seed}, @k int, @c int, @o int, @n int, @lines int, @item int, @x int
         while @i < {each}
         begin
             set @s = (@s * 1103515245 + 12345) % 2147483648
             set @k = (@s / 65536) % 100
             set @c = 1 + (@s / 16) % 1000
             if @k < 45
             begin
                 begin tran
                 update district set d_next = d_next + 1 where d_id = {session}
                 select @o = d_next from district where d_id = {session}
                 set @lines = 5 + @k % 11
                 insert orders values ({session}, @o, @c, @lines, 0)
                 set @n = 0
                 while @n < @lines
                 begin
                     set @item = ((@s / 256) + @n * 97) % {ITEMS}
                     update stock set s_qty = s_qty - 1, s_ytd = s_ytd + 1 where s_item = @item
                     insert order_line values ({session}, @o, @n, @item, 1, 'line')
                     set @n += 1
                 end
                 commit
             end
             else if @k < 88
             begin
                 begin tran
                 update customer set c_balance = c_balance - 1, c_payment_cnt = (c_payment_cnt + 1) % 30000
                     where c_w_id = 1 and c_d_id = 1 and c_id = @c
                 update district set d_ytd = d_ytd + 1 where d_id = {session}
                 insert history values (@c, {session}, 1, 'payment')
                 commit
             end
             else if @k < 92
                 select @x = count(*) from order_line where l_d = {session} and l_o = @o
             else if @k < 96
                 update orders set o_state = 1 where o_d = {session} and o_id = @o
             else
                 select @x = count(*) from stock where s_item between @c and @c + 20 and s_qty < 10
             set @i += 1
         end",
        seed = 12_345 + u64::from(session) * 7_919,
    )
}

/// Sessions that run so many each, all at once: transactions a second.
pub(super) fn run(server: &dyn Server, count: u32, each: u64) -> Result<Vec<Figure>, LabError> {
    let seconds = sessions(server, count, &|session| session_text(session, each))?;
    Ok(vec![Figure::new("transactions/s", (u64::from(count) * each) as f64 / seconds)])
}
