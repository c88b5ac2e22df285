-- The statements of TPC-C as a client sends them: numbers as int or bigint, texts as nvarchar, over columns of int and varchar.
CREATE TABLE item (i_id int NOT NULL, i_name varchar(24), i_price decimal(5,2), CONSTRAINT pk_item PRIMARY KEY (i_id))
CREATE TABLE customer (c_id int NOT NULL, c_d_id int NOT NULL, c_w_id int NOT NULL, c_first varchar(16), c_last varchar(16) NOT NULL, c_credit char(2),
    c_balance decimal(12,2), c_data varchar(500), CONSTRAINT pk_customer PRIMARY KEY (c_w_id, c_d_id, c_id))
CREATE TABLE stock (s_i_id int NOT NULL, s_w_id int NOT NULL, s_quantity int NOT NULL, s_data varchar(50), CONSTRAINT pk_stock PRIMARY KEY (s_w_id, s_i_id))
CREATE TABLE orders (o_id int NOT NULL, o_d_id int NOT NULL, o_w_id int NOT NULL, o_c_id int NOT NULL, o_carrier_id int NULL,
    CONSTRAINT pk_orders PRIMARY KEY (o_w_id, o_d_id, o_id))
CREATE TABLE new_order (no_o_id int NOT NULL, no_d_id int NOT NULL, no_w_id int NOT NULL, CONSTRAINT pk_new_order PRIMARY KEY (no_w_id, no_d_id, no_o_id))
CREATE TABLE order_line (ol_o_id int NOT NULL, ol_d_id int NOT NULL, ol_w_id int NOT NULL, ol_number int NOT NULL, ol_i_id int NOT NULL, ol_delivery_d datetime2 NULL,
    ol_amount decimal(6,2), CONSTRAINT pk_order_line PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number))
CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first, c_id)
CREATE UNIQUE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)
GO
SET NOCOUNT ON
SELECT TOP (12000) ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) - 1 AS n INTO n
    FROM sys.all_objects a CROSS JOIN sys.all_objects b CROSS JOIN sys.all_objects c
INSERT item SELECT n, 'x', 1 FROM n WHERE n < 2000
INSERT stock SELECT n / 4, n % 4 + 1, n % 100, 'x' FROM n WHERE n < 8000
INSERT customer SELECT n / 40 + 1, n / 4 % 10 + 1, n % 4 + 1, CONCAT('f', n), CONCAT('NAME', n / 40 % 100), 'GC', 0, 'x' FROM n
INSERT orders SELECT c_id, c_d_id, c_w_id, c_id * 7 % 300 + 1, NULL FROM customer
INSERT new_order SELECT o_id, o_d_id, o_w_id FROM orders WHERE o_id > 210
INSERT order_line SELECT o_id, o_d_id, o_w_id, k, (o_id * 13 + k * 17) % 2000, NULL, 1 FROM orders CROSS JOIN (VALUES (1), (2), (3), (4), (5)) x (k)
-- plans
DECLARE @P1 int, @P2 int, @P3 nvarchar(4000)
select c_id from customer where c_w_id = @P1 and c_d_id = @P2 and c_last = @P3 order by c_first
GO
DECLARE @P1 bigint, @P2 bigint, @P3 bigint
select c_last from customer where c_w_id = @P1 and c_d_id = @P2 and c_id = @P3
GO
DECLARE @P1 int, @P2 int, @P3 int
select top (1) o_id, o_carrier_id from orders where o_w_id = @P1 and o_d_id = @P2 and o_c_id = @P3 order by o_id desc
GO
DECLARE @P1 int, @P2 int, @P3 int
select ol_i_id, ol_amount from order_line where ol_w_id = @P1 and ol_d_id = @P2 and ol_o_id = @P3
GO
DECLARE @P1 int, @P2 int
select top (1) no_o_id from new_order with (updlock) where no_w_id = @P1 and no_d_id = @P2 order by no_o_id
GO
DECLARE @P1 int, @P2 int, @P3 int
delete from new_order output deleted.no_o_id where no_w_id = @P1 and no_d_id = @P2 and no_o_id = @P3
GO
DECLARE @P1 int, @P2 int, @P3 int
update order_line set ol_delivery_d = current_timestamp where ol_w_id = @P1 and ol_d_id = @P2 and ol_o_id = @P3
GO
DECLARE @P1 int, @P2 int, @P3 int
select cast(sum(ol_amount) * 100 as bigint) from order_line where ol_w_id = @P1 and ol_d_id = @P2 and ol_o_id = @P3
GO
DECLARE @P1 int, @P2 int, @P3 int, @P4 int, @P5 int
select count(distinct s_i_id) from order_line join stock on s_w_id = ol_w_id and s_i_id = ol_i_id
    where ol_w_id = @P1 and ol_d_id = @P2 and ol_o_id >= @P3 and ol_o_id < @P4 and s_quantity < @P5
GO
DECLARE @P1 int, @P2 int, @P3 int
select c_id from (select c_id, row_number() over (order by c_first) as n from customer
    where c_w_id = @P1 and c_d_id = @P2 and c_last = 'NAME7') as named where n = @P3
GO
DECLARE @P1 int, @P2 int
select max(o_id) from orders where o_w_id = @P1 and o_d_id = @P2
GO
DECLARE @P1 nvarchar(24)
select i_id from item where i_id = @P1
