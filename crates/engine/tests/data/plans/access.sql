-- How a table is read: seeks of the clustered key, of an index with and without a look at the row, scans, orders.
CREATE TABLE t (id int CONSTRAINT pk_t PRIMARY KEY, a int, b varchar(20), c int, d datetime)
CREATE INDEX by_a ON t (a)
CREATE INDEX by_c_b ON t (c, b)
CREATE INDEX by_d ON t (d)
GO
SET NOCOUNT ON
DECLARE @i int = 1
WHILE @i <= 2000 BEGIN INSERT t VALUES (@i, @i % 500, 'x', @i % 20, DATEADD(minute, @i, '20260101')); SET @i += 1 END
GO
CREATE TABLE many (id int PRIMARY KEY, e int, f int, g varchar(10))
CREATE INDEX by_e ON many (e)
CREATE INDEX by_f ON many (f)
GO
SET NOCOUNT ON
INSERT many SELECT value, value % 100, value * 7919 % 20000, 'x' FROM GENERATE_SERIES(1, 20000)
-- plans
SELECT b FROM t WHERE id = 5
GO
SELECT b FROM t WHERE id > 5 AND id <= 9
GO
SELECT b FROM t WHERE a = 7
GO
SELECT a FROM t WHERE a = 7
GO
SELECT c, b FROM t WHERE c = 3 AND b LIKE 'x'
GO
SELECT COUNT(*) FROM t WHERE d > GETDATE()
GO
SELECT TOP (3) id FROM t ORDER BY id DESC
GO
SELECT a FROM t ORDER BY a
GO
SELECT b FROM t WHERE b = 'x'
GO
UPDATE t SET b = 'y' WHERE id = 3
GO
DELETE t WHERE a = 4
GO
GO
SELECT b FROM t WHERE id = (SELECT MAX(id) FROM t)
GO
SELECT b FROM t WHERE id IN (5, 9) OR id > 1990
GO
SELECT b FROM t WHERE c = 3 AND b IN ('x', 'y') ORDER BY b
GO
SELECT c FROM t WHERE a = 7 OR d < '20260101 00:05' OR id = 9
GO
SELECT g FROM many WHERE e = 3 AND f < 200
GO
SELECT g FROM many WITH (UPDLOCK) WHERE e = 3 AND f < 200
GO
UPDATE t SET b = 'y' WHERE id IN (3, 5)
