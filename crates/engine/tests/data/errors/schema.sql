CREATE TABLE t (id int CONSTRAINT pk_t PRIMARY KEY, a int NULL CONSTRAINT a_is_small CHECK (a < 1000), b varchar(10) NULL, c decimal(5,2) NULL, d date NULL, x varbinary(10) NULL)
INSERT t VALUES (1, 10, 'one', 1.5, '2024-01-31', 0x01), (2, NULL, 'two', NULL, NULL, NULL), (3, 30, 'x', 3.25, '2024-12-31', 0x03)
CREATE TABLE parent (id int CONSTRAINT pk_parent PRIMARY KEY, name varchar(20) NULL)
CREATE TABLE child (id int PRIMARY KEY, parent_id int NULL CONSTRAINT has_parent REFERENCES parent)
INSERT parent VALUES (1, 'first'), (2, 'second')
INSERT child VALUES (10, 1)
CREATE TABLE counted (id int IDENTITY PRIMARY KEY, v int NULL)
CREATE TABLE alone (k int NOT NULL CONSTRAINT k_once UNIQUE, v varchar(20) NULL)
INSERT alone VALUES (1, 'one'), (2, 'two')
CREATE UNIQUE INDEX v_once ON alone (v)
CREATE TABLE computed (a int NULL, b AS a + 1)
CREATE TABLE small (n tinyint NULL, s smallint NULL, i int NULL, m smallmoney NULL, c char(3) NULL)
CREATE TABLE guarded (id int PRIMARY KEY, v int NULL)
CREATE TABLE cs (ci varchar(10) COLLATE Latin1_General_CI_AS, cs varchar(10) COLLATE Latin1_General_CS_AS)
CREATE SEQUENCE numbers AS tinyint START WITH 1 INCREMENT BY 1 MINVALUE 1 MAXVALUE 3
CREATE TYPE pairs AS TABLE (a int NOT NULL PRIMARY KEY, b int NULL)
CREATE SYNONYM other_t FOR t
CREATE SYNONYM nothing FOR nowhere
GO
CREATE VIEW some_t AS SELECT id, a, b FROM t WHERE id < 3 WITH CHECK OPTION
GO
CREATE VIEW grouped AS SELECT a, COUNT(*) AS n FROM t GROUP BY a
GO
CREATE VIEW united AS SELECT id FROM t UNION SELECT id FROM parent
GO
CREATE VIEW joined AS SELECT p.id, p.name, c.id AS child_id, c.id + 1 AS more FROM parent p JOIN child c ON c.parent_id = p.id
GO
CREATE VIEW bound WITH SCHEMABINDING AS SELECT id, v FROM dbo.guarded
GO
CREATE PROCEDURE takes_one @x int AS RETURN @x
GO
CREATE PROCEDURE gives_one @x int, @y int OUTPUT AS SET @y = @x + 1
GO
CREATE PROCEDURE nests AS EXEC nests
GO
CREATE PROCEDURE takes_pairs @p pairs READONLY AS SELECT COUNT(*) FROM @p
GO
CREATE FUNCTION twice (@x int) RETURNS int AS BEGIN RETURN @x * 2 END
GO
CREATE FUNCTION up_to (@n int) RETURNS TABLE AS RETURN SELECT id FROM dbo.t WHERE id <= @n
GO
CREATE TRIGGER refuses ON guarded AFTER DELETE AS ROLLBACK
GO
CREATE TRIGGER raises ON guarded AFTER UPDATE AS RAISERROR ('Not this way.', 16, 1)
