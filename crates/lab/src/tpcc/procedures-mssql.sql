create procedure tpcc_new_order @w int, @d int, @c int, @count int, @all_local int, @lines varchar(300) as
begin
    set nocount on
    declare @o int, @w_tax decimal(4,4), @d_tax decimal(4,4), @discount decimal(4,4), @last varchar(16), @credit char(2)
    declare @n int, @at int, @item int, @supply int, @quantity int, @price decimal(5,2), @stock int, @dist char(24)
    declare @amount decimal(12,2), @total decimal(12,2)
    select @n = 1, @at = 1, @total = 0
    begin tran
    select @w_tax = w_tax from warehouse where w_id = @w
    update district set @o = d_next_o_id, @d_tax = d_tax, d_next_o_id = d_next_o_id + 1 where d_w_id = @w and d_id = @d
    select @discount = c_discount, @last = c_last, @credit = c_credit from customer where c_w_id = @w and c_d_id = @d and c_id = @c
    insert orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
        values (@o, @d, @w, @c, getdate(), null, @count, @all_local)
    insert new_order (no_o_id, no_d_id, no_w_id) values (@o, @d, @w)
    while @n <= @count
    begin
        select @item = cast(substring(@lines, @at, 6) as int), @supply = cast(substring(@lines, @at + 6, 6) as int),
            @quantity = cast(substring(@lines, @at + 12, 2) as int), @price = null
        select @price = i_price from item where i_id = @item
        if @price is null
        begin
            rollback
            return 1
        end
        update stock set s_quantity = case when s_quantity >= @quantity + 10 then s_quantity - @quantity else s_quantity - @quantity + 91 end,
            s_ytd = s_ytd + @quantity, s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + case when @supply = @w then 0 else 1 end,
            @dist = case @d when 1 then s_dist_01 when 2 then s_dist_02 when 3 then s_dist_03 when 4 then s_dist_04 when 5 then s_dist_05
                when 6 then s_dist_06 when 7 then s_dist_07 when 8 then s_dist_08 when 9 then s_dist_09 else s_dist_10 end
            where s_w_id = @supply and s_i_id = @item
        set @amount = @quantity * @price
        insert order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
            values (@o, @d, @w, @n, @item, @supply, null, @quantity, @amount, @dist)
        select @total = @total + @amount, @n = @n + 1, @at = @at + 14
    end
    commit
    select @o, cast(@total * (1 - @discount) * (1 + @w_tax + @d_tax) * 100 as bigint), @last, @credit
    return 0
end
GO
create procedure tpcc_payment @w int, @d int, @c_w int, @c_d int, @c int, @name varchar(16), @amount int as
begin
    set nocount on
    declare @paid decimal(12,2), @w_name varchar(10), @d_name varchar(10), @credit char(2), @balance decimal(12,2), @count int
    set @paid = @amount * 0.01
    begin tran
    update warehouse set w_ytd = w_ytd + @paid, @w_name = w_name where w_id = @w
    update district set d_ytd = d_ytd + @paid, @d_name = d_name where d_w_id = @w and d_id = @d
    if @c = 0
    begin
        select @count = count(*) from customer where c_w_id = @c_w and c_d_id = @c_d and c_last = @name
        set @count = (@count + 1) / 2
        select @c = c_id from (select c_id, row_number() over (order by c_first) as n from customer
            where c_w_id = @c_w and c_d_id = @c_d and c_last = @name) as named where n = @count
    end
    update customer set c_balance = c_balance - @paid, c_ytd_payment = c_ytd_payment + @paid, c_payment_cnt = c_payment_cnt + 1,
        @credit = c_credit, @balance = c_balance - @paid where c_w_id = @c_w and c_d_id = @c_d and c_id = @c
    if @credit = 'BC'
        update customer set c_data = left(cast(@c as varchar(12)) + ' ' + cast(@c_d as varchar(12)) + ' ' + cast(@c_w as varchar(12)) + ' '
            + cast(@d as varchar(12)) + ' ' + cast(@w as varchar(12)) + ' ' + cast(@paid as varchar(16)) + ' ' + c_data, 500)
            where c_w_id = @c_w and c_d_id = @c_d and c_id = @c
    insert history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
        values (@c, @c_d, @c_w, @d, @w, getdate(), @paid, @w_name + '    ' + @d_name)
    commit
    select @c, cast(@balance * 100 as bigint), @credit
    return 0
end
GO
create procedure tpcc_order_status @w int, @d int, @c int, @name varchar(16) as
begin
    set nocount on
    declare @o int, @count int
    if @c = 0
    begin
        select @count = count(*) from customer where c_w_id = @w and c_d_id = @d and c_last = @name
        set @count = (@count + 1) / 2
        select @c = c_id from (select c_id, row_number() over (order by c_first) as n from customer
            where c_w_id = @w and c_d_id = @d and c_last = @name) as named where n = @count
    end
    select top (1) @o = o_id from orders where o_w_id = @w and o_d_id = @d and o_c_id = @c order by o_id desc
    select cast(c_balance * 100 as bigint), c_first, c_middle, c_last from customer where c_w_id = @w and c_d_id = @d and c_id = @c
    select ol_i_id, ol_supply_w_id, ol_quantity, cast(ol_amount * 100 as bigint) from order_line
        where ol_w_id = @w and ol_d_id = @d and ol_o_id = @o
    return 0
end
GO
create procedure tpcc_delivery @w int, @carrier int as
begin
    set nocount on
    declare @d int, @o int, @c int, @total decimal(12,2)
    set @d = 1
    begin tran
    while @d <= 10
    begin
        set @o = null
        select top (1) @o = no_o_id from new_order with (updlock) where no_w_id = @w and no_d_id = @d order by no_o_id
        if @o is not null
        begin
            delete new_order where no_w_id = @w and no_d_id = @d and no_o_id = @o
            if @@rowcount = 1
            begin
                update orders set o_carrier_id = @carrier, @c = o_c_id where o_w_id = @w and o_d_id = @d and o_id = @o
                update order_line set ol_delivery_d = getdate() where ol_w_id = @w and ol_d_id = @d and ol_o_id = @o
                select @total = sum(ol_amount) from order_line where ol_w_id = @w and ol_d_id = @d and ol_o_id = @o
                update customer set c_balance = c_balance + @total, c_delivery_cnt = c_delivery_cnt + 1
                    where c_w_id = @w and c_d_id = @d and c_id = @c
            end
        end
        set @d = @d + 1
    end
    commit
    return 0
end
GO
create procedure tpcc_low_stock @w int, @d int, @from int, @to int, @threshold int as
begin
    set nocount on
    select count(distinct s_i_id) from order_line join stock on s_w_id = ol_w_id and s_i_id = ol_i_id
        where ol_w_id = @w and ol_d_id = @d and ol_o_id >= @from and ol_o_id < @to and s_quantity < @threshold
    return 0
end
GO
create procedure tpcc_stock_level @w int, @d int, @threshold int as
begin
    set nocount on
    declare @from int, @to int
    select @to = d_next_o_id, @from = d_next_o_id - 20 from district where d_w_id = @w and d_id = @d
    -- A procedure of its own: its plan is made for the values of parameters, which are known, those of variables are not.
    exec tpcc_low_stock @w, @d, @from, @to, @threshold
    return 0
end
