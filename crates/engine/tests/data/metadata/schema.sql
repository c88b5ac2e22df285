CREATE SCHEMA sales
GO
CREATE TABLE dbo.customer (
    id int IDENTITY(1, 1) NOT NULL CONSTRAINT pk_customer PRIMARY KEY,
    name nvarchar(50) NOT NULL,
    email varchar(100) NULL CONSTRAINT uq_customer_email UNIQUE,
    credit decimal(10, 2) NOT NULL CONSTRAINT df_customer_credit DEFAULT 0 CONSTRAINT ck_customer_credit CHECK (credit >= 0),
    created datetime2(3) NOT NULL CONSTRAINT df_customer_created DEFAULT sysutcdatetime(),
    note nvarchar(max) NULL
)
GO
CREATE TABLE sales.orders (
    order_id bigint NOT NULL CONSTRAINT pk_orders PRIMARY KEY,
    customer_id int NOT NULL CONSTRAINT fk_orders_customer REFERENCES dbo.customer (id) ON DELETE CASCADE,
    placed date NOT NULL,
    state char(1) NOT NULL CONSTRAINT df_orders_state DEFAULT 'N'
)
GO
CREATE TABLE sales.lines (
    order_id bigint NOT NULL,
    line_no smallint NOT NULL,
    product varchar(20) NOT NULL,
    quantity int NULL,
    CONSTRAINT pk_lines PRIMARY KEY (order_id, line_no),
    CONSTRAINT fk_lines_orders FOREIGN KEY (order_id) REFERENCES sales.orders (order_id) ON UPDATE CASCADE
)
GO
CREATE INDEX ix_orders_customer ON sales.orders (customer_id, placed DESC) INCLUDE (state)
GO
CREATE UNIQUE INDEX ix_lines_product ON sales.lines (product, order_id)
GO
CREATE TABLE dbo.kinds (
    c_bit bit, c_tinyint tinyint, c_smallint smallint, c_int int, c_bigint bigint, c_decimal decimal(18, 4),
    c_float float, c_real real, c_money money, c_smallmoney smallmoney, c_char char(5), c_varchar varchar(20),
    c_varcharmax varchar(max), c_nchar nchar(4), c_nvarchar nvarchar(30), c_nvarcharmax nvarchar(max),
    c_binary binary(3), c_varbinary varbinary(40), c_varbinarymax varbinary(max), c_date date, c_time time(3),
    c_datetime datetime, c_smalldatetime smalldatetime, c_datetime2 datetime2(7), c_offset datetimeoffset(0),
    c_guid uniqueidentifier
)
GO
CREATE VIEW sales.totals AS
    SELECT o.customer_id, c.name, COUNT(*) AS orders FROM sales.orders o JOIN dbo.customer c ON c.id = o.customer_id
    GROUP BY o.customer_id, c.name
GO
CREATE PROCEDURE dbo.add_order @customer int, @placed date = NULL, @order bigint OUTPUT AS
    SET @order = @customer
GO
CREATE TRIGGER dbo.customer_changed ON dbo.customer AFTER UPDATE AS
    PRINT 'changed'
GO
INSERT dbo.customer (name, email) VALUES ('a', 'a@b'), ('c', NULL)
GO
INSERT sales.orders (order_id, customer_id, placed) VALUES (10, 1, '2026-01-01'), (11, 1, '2026-01-02'), (12, 2, '2026-01-03')
GO
