create index customer_name on customer (c_w_id, c_d_id, c_last, c_first, c_id);
create unique index orders_customer on orders (o_w_id, o_d_id, o_c_id, o_id);
