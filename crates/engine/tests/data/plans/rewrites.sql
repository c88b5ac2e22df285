-- Rewrites: join order, common factors of OR, scalar subqueries as joins, EXISTS as semi join.
CREATE TABLE region (r int CONSTRAINT pk_region PRIMARY KEY, name varchar(20))
CREATE TABLE nation (n int CONSTRAINT pk_nation PRIMARY KEY, r int, name varchar(20))
CREATE TABLE customer (c int CONSTRAINT pk_customer PRIMARY KEY, n int, name varchar(20), balance int)
CREATE TABLE orders (o int CONSTRAINT pk_orders PRIMARY KEY, c int, price int, day date)
CREATE TABLE line (o int, l int, part int, quantity int, CONSTRAINT pk_line PRIMARY KEY (o, l))
CREATE TABLE part (part int CONSTRAINT pk_part PRIMARY KEY, kind varchar(10), size int)
GO
SET NOCOUNT ON
DECLARE @i int = 1
WHILE @i <= 5 BEGIN INSERT region VALUES (@i, 'r'); SET @i += 1 END
SET @i = 1
WHILE @i <= 25 BEGIN INSERT nation VALUES (@i, 1 + @i % 5, 'n'); SET @i += 1 END
SET @i = 1
WHILE @i <= 200 BEGIN INSERT customer VALUES (@i, 1 + @i % 25, 'c', @i); INSERT part VALUES (@i, 'k', @i); SET @i += 1 END
SET @i = 1
WHILE @i <= 1000 BEGIN
    INSERT orders VALUES (@i, 1 + @i % 200, @i, '20260101')
    INSERT line VALUES (@i, 1, 1 + @i % 200, @i % 50), (@i, 2, 1 + @i % 199, @i % 40)
    SET @i += 1
END
-- plans
SELECT l.o, COUNT(*) FROM line l JOIN orders o ON l.o = o.o GROUP BY l.o
GO
SELECT l.l, o.price FROM line l JOIN orders o ON l.o = o.o ORDER BY o.o
GO
SELECT l.l, o.price FROM line l JOIN orders o ON l.o = o.o ORDER BY o.o OPTION (HASH JOIN)
GO
SELECT COUNT(*) FROM customer c, line l, orders o, nation n, region r
WHERE c.c = o.c AND l.o = o.o AND c.n = n.n AND n.r = r.r AND r.name = 'r'
GO
SELECT COUNT(*) FROM customer c, line l, orders o, nation n, region r
WHERE c.c = o.c AND l.o = o.o AND c.n = n.n AND n.r = r.r AND r.name = 'r'
OPTION (FORCE ORDER)
GO
SELECT SUM(l.quantity) FROM line l, part p
WHERE (p.part = l.part AND p.kind = 'a' AND l.quantity BETWEEN 1 AND 11)
   OR (p.part = l.part AND p.kind = 'b' AND l.quantity BETWEEN 10 AND 20)
GO
SELECT SUM(l.quantity) FROM line l, part p
WHERE p.part = l.part AND p.kind = 'k'
  AND l.quantity < (SELECT 0.2 * AVG(i.quantity) FROM line i WHERE i.part = p.part)
GO
SELECT o.o FROM orders o WHERE o.o = 7 AND o.price < (SELECT SUM(l.quantity) FROM line l WHERE l.o = o.o)
GO
SELECT COUNT(*) FROM customer c WHERE (SELECT COUNT(*) FROM orders o WHERE o.c = c.c) > 3
GO
SELECT COUNT(*) FROM orders o WHERE EXISTS (SELECT * FROM line l WHERE l.o = o.o AND l.quantity > 30)
GO
SELECT COUNT(*) FROM customer c LEFT JOIN orders o ON o.c = c.c AND o.price > 900, nation n WHERE n.n = c.n
GO
