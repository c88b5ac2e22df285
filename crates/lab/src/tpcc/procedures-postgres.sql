create function tpcc_customer(w int, d int, c int, name text) returns int language plpgsql as $$
declare
    count int;
begin
    if c <> 0 then
        return c;
    end if;
    select count(*) into count from customer where c_w_id = w and c_d_id = d and c_last = name;
    select c_id into c from customer where c_w_id = w and c_d_id = d and c_last = name order by c_first offset (count + 1) / 2 - 1 limit 1;
    return c;
end $$;
create function tpcc_new_order(w int, d int, c int, count int, all_local int, items int[], supplies int[], quantities int[])
    returns table (o int, total bigint, last text, credit text) language plpgsql as $$
declare
    tax_w numeric; tax_d numeric; discount numeric; price numeric; amount numeric; dist char(24); number int; sum numeric := 0;
begin
    select w_tax into tax_w from warehouse where w_id = w;
    update district set d_next_o_id = d_next_o_id + 1 where d_w_id = w and d_id = d returning d_next_o_id - 1, d_tax into o, tax_d;
    select c_discount, c_last, c_credit into discount, last, credit from customer where c_w_id = w and c_d_id = d and c_id = c;
    insert into orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
        values (o, d, w, c, now(), null, count, all_local);
    insert into new_order (no_o_id, no_d_id, no_w_id) values (o, d, w);
    for n in 1..count loop
        select i_price into price from item where i_id = items[n];
        if not found then
            raise exception 'no such item' using errcode = 'TP001';
        end if;
        update stock set s_quantity = case when s_quantity >= quantities[n] + 10 then s_quantity - quantities[n] else s_quantity - quantities[n] + 91 end,
            s_ytd = s_ytd + quantities[n], s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + case when supplies[n] = w then 0 else 1 end
            where s_w_id = supplies[n] and s_i_id = items[n]
            returning case d when 1 then s_dist_01 when 2 then s_dist_02 when 3 then s_dist_03 when 4 then s_dist_04 when 5 then s_dist_05
                when 6 then s_dist_06 when 7 then s_dist_07 when 8 then s_dist_08 when 9 then s_dist_09 else s_dist_10 end into dist;
        amount := quantities[n] * price;
        insert into order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
            values (o, d, w, n, items[n], supplies[n], null, quantities[n], amount, dist);
        sum := sum + amount;
    end loop;
    total := sum * (1 - discount) * (1 + tax_w + tax_d) * 100;
    return next;
end $$;
create function tpcc_payment(w int, d int, cw int, cd int, c int, name text, cents int)
    returns table (id int, balance bigint, credit text) language plpgsql as $$
declare
    paid numeric := cents * 0.01; name_w varchar(10); name_d varchar(10);
begin
    update warehouse set w_ytd = w_ytd + paid where w_id = w returning w_name into name_w;
    update district set d_ytd = d_ytd + paid where d_w_id = w and d_id = d returning d_name into name_d;
    id := tpcc_customer(cw, cd, c, name);
    update customer set c_balance = c_balance - paid, c_ytd_payment = c_ytd_payment + paid, c_payment_cnt = c_payment_cnt + 1
        where c_w_id = cw and c_d_id = cd and c_id = id returning c_credit, c_balance * 100 into credit, balance;
    if credit = 'BC' then
        update customer set c_data = left(concat_ws(' ', id, cd, cw, d, w, paid, c_data), 500) where c_w_id = cw and c_d_id = cd and c_id = id;
    end if;
    insert into history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
        values (id, cd, cw, d, w, now(), paid, name_w || '    ' || name_d);
    return next;
end $$;
create function tpcc_order_status(w int, d int, c int, name text)
    returns table (item int, supply int, quantity int, amount bigint) language plpgsql as $$
declare
    id int := tpcc_customer(w, d, c, name); o int; balance numeric; first varchar(16); middle char(2); last varchar(16);
begin
    select c_balance, c_first, c_middle, c_last into balance, first, middle, last from customer where c_w_id = w and c_d_id = d and c_id = id;
    select o_id into o from orders where o_w_id = w and o_d_id = d and o_c_id = id order by o_id desc limit 1;
    return query select ol_i_id, ol_supply_w_id, ol_quantity, cast(ol_amount * 100 as bigint) from order_line
        where ol_w_id = w and ol_d_id = d and ol_o_id = o;
end $$;
create function tpcc_delivery(w int, carrier int) returns int language plpgsql as $$
declare
    o int; c int; total numeric; delivered int := 0;
begin
    for d in 1..10 loop
        select no_o_id into o from new_order where no_w_id = w and no_d_id = d order by no_o_id limit 1 for update;
        if found then
            delete from new_order where no_w_id = w and no_d_id = d and no_o_id = o;
            update orders set o_carrier_id = carrier where o_w_id = w and o_d_id = d and o_id = o returning o_c_id into c;
            update order_line set ol_delivery_d = now() where ol_w_id = w and ol_d_id = d and ol_o_id = o;
            select sum(ol_amount) into total from order_line where ol_w_id = w and ol_d_id = d and ol_o_id = o;
            update customer set c_balance = c_balance + total, c_delivery_cnt = c_delivery_cnt + 1
                where c_w_id = w and c_d_id = d and c_id = c;
            delivered := delivered + 1;
        end if;
    end loop;
    return delivered;
end $$;
create function tpcc_stock_level(w int, d int, threshold int) returns bigint language plpgsql as $$
declare
    o int;
begin
    select d_next_o_id into o from district where d_w_id = w and d_id = d;
    return (select count(distinct s_i_id) from order_line join stock on s_w_id = ol_w_id and s_i_id = ol_i_id
        where ol_w_id = w and ol_d_id = d and ol_o_id >= o - 20 and ol_o_id < o and s_quantity < threshold);
end $$;
