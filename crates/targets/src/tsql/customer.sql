CREATE TABLE customer
(
c_id int,
c_d_id tinyint,
c_w_id int,
c_first char(16),
c_middle char(2),
c_last char(16),
c_street_1 char(20),
c_street_2 char(20),
c_city char(20),
c_state char(2),
c_zip char(9),
c_phone char(16),
c_since datetime,
c_credit char(2),
c_credit_lim numeric(12,2),
c_discount numeric(4,4),
c_balance numeric(12,2),
c_ytd_payment numeric(12,2),
c_payment_cnt smallint,
c_delivery_cnt smallint,
c_data char(500)
)
