//! A small shop, for plans of queries.

use super::text::Bench;

/// Customers, orders and lines: as many lines for each order as its number says.
pub fn shop() -> Bench {
    let mut b = Bench::new();
    b.run(
        "SET NOCOUNT ON
         CREATE TABLE customer (c int PRIMARY KEY, name varchar(20), town int)
         CREATE TABLE orders (o int PRIMARY KEY, c int, price int)
         CREATE TABLE line (o int, n int, part int, quantity int, PRIMARY KEY (o, n))
         CREATE TABLE part (part int PRIMARY KEY, kind varchar(10))
         DECLARE @i int = 1, @n int
         WHILE @i <= 200 BEGIN
             INSERT customer VALUES (@i, CONCAT('customer ', @i), @i % 7)
             INSERT part VALUES (@i, CHAR(97 + @i % 5))
             SET @i += 1
         END
         SET @i = 1
         WHILE @i <= 1000 BEGIN
             INSERT orders VALUES (@i, 1 + @i * 7 % 190, @i % 100)
             SET @n = 1
             WHILE @n <= @i % 5 BEGIN
                 INSERT line VALUES (@i, @n, 1 + (@i * 3 + @n) % 200, (@i * @n) % 50)
                 SET @n += 1
             END
             SET @i += 1
         END",
    );
    b
}
