-- Plans of short transactions: keys of several columns of which some are fixed by the query and the others come from a join, indexes
-- that hold the clustered key, orders behind fixed columns.
CREATE TABLE customer (w int, d int, id int, last varchar(16), first varchar(16), balance decimal(12, 2), data varchar(100),
    CONSTRAINT pk_customer PRIMARY KEY (w, d, id))
CREATE TABLE stock (w int, i int, quantity int, data char(50), CONSTRAINT pk_stock PRIMARY KEY (w, i))
CREATE TABLE orders (w int, d int, id int, c int, carrier int, CONSTRAINT pk_orders PRIMARY KEY (w, d, id))
CREATE TABLE line (w int, d int, o int, n int, i int, amount decimal(6, 2), CONSTRAINT pk_line PRIMARY KEY (w, d, o, n))
CREATE TABLE event (id bigint CONSTRAINT pk_event PRIMARY KEY, kind int, at datetime2, note varchar(50))
CREATE TABLE named (name varchar(20), v int, w int, CONSTRAINT pk_named PRIMARY KEY (name))
CREATE INDEX customer_name ON customer (w, d, last)
CREATE INDEX orders_customer ON orders (w, d, c)
CREATE INDEX event_kind ON event (kind)
CREATE INDEX event_at ON event (at) INCLUDE (kind)
CREATE INDEX named_v ON named (v)
GO
SET NOCOUNT ON
SELECT TOP (20000) ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) - 1 AS n INTO n
    FROM sys.all_objects a CROSS JOIN sys.all_objects b CROSS JOIN sys.all_objects c
INSERT customer SELECT n % 4 + 1, n / 4 % 10 + 1, n / 40 + 1, CONCAT('name', n / 40 % 50), 'f', 0, 'x' FROM n WHERE n < 12000
INSERT stock SELECT n % 4 + 1, n / 4 + 1, n % 100, 'x' FROM n
INSERT orders SELECT w, d, id, id * 7 % 300 + 1, NULL FROM customer
INSERT line SELECT w, d, id, 1, id * 13 % 5000 + 1, 1 FROM orders
INSERT line SELECT w, d, id, 2, id * 17 % 5000 + 1, 1 FROM orders
INSERT event SELECT n, n % 1000, DATEADD(second, n, '20260101'), 'x' FROM n
INSERT named SELECT CONCAT('n', n), n % 500, n FROM n WHERE n < 5000
-- plans
SELECT l.i, l.amount FROM orders AS o JOIN line AS l ON l.w = 2 AND l.d = 3 AND l.o = o.id WHERE o.w = 2 AND o.d = 3 AND o.c = 71
GO
DECLARE @w int, @d int SELECT l.i FROM orders AS o JOIN line AS l ON l.o = o.id WHERE o.w = @w AND o.d = @d AND o.id = 5 AND l.w = @w AND l.d = @d
GO
SELECT COUNT(DISTINCT s.i) FROM line AS l JOIN stock AS s ON s.w = 1 AND s.i = l.i
    WHERE l.w = 1 AND l.d = 2 AND l.o >= 280 AND l.o < 300 AND s.quantity < 15
GO
DECLARE @w int, @d int, @from int, @to int SELECT COUNT(DISTINCT s.i) FROM line AS l JOIN stock AS s ON s.w = l.w AND s.i = l.i
    WHERE l.w = @w AND l.d = @d AND l.o >= @from AND l.o < @to AND s.quantity < 15
GO
SELECT id FROM customer WHERE w = 1 AND d = 2 AND last = 'name7' ORDER BY id
GO
SELECT TOP (1) id FROM customer WHERE w = 1 AND d = 2 AND last = 'name7' AND id > 100 ORDER BY id DESC
GO
SELECT id, balance FROM customer WHERE w = 1 AND d = 2 AND last = 'name7' ORDER BY first
GO
SELECT TOP (1) id FROM orders WHERE w = 1 AND d = 2 AND c = 8 ORDER BY id DESC
GO
SELECT MAX(id) FROM orders WHERE w = 1 AND d = 2 AND c = 8
GO
SELECT id FROM event WHERE kind = 5 AND id > 500 ORDER BY id
GO
SELECT id, kind FROM event WHERE at > '20260101 05:00' AND id < 19000
GO
SELECT kind, id, COUNT(*) FROM event GROUP BY kind, id
GO
SELECT id FROM event WITH (UPDLOCK) WHERE kind = 5 AND id > 500
GO
SELECT name FROM named WHERE v = 3
GO
SELECT v, name FROM named WHERE v = 3 AND name > 'n2' ORDER BY name
GO
SELECT c.id, s.i FROM customer AS c INNER LOOP JOIN stock AS s ON s.w = 3 AND s.i = c.id WHERE c.w = 3
GO
SELECT COUNT(*) FROM customer AS c INNER LOOP JOIN event AS e ON e.id = c.id
GO
DELETE l FROM orders AS o JOIN line AS l ON l.o = o.id AND l.w = o.w AND l.d = 3 WHERE o.w = 2 AND o.d = 3 AND o.c = 71
GO
UPDATE orders SET carrier = 3 WHERE w = 1 AND d = 2 AND c = 8 AND id = 9
