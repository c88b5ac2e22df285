// Microsoft's JDBC driver: the shared list of checks (clients/README.md). A check passes when it returns.

import com.microsoft.sqlserver.jdbc.SQLServerBulkCopy;
import com.microsoft.sqlserver.jdbc.SQLServerBulkCopyOptions;
import com.microsoft.sqlserver.jdbc.SQLServerConnectionPoolDataSource;
import com.microsoft.sqlserver.jdbc.SQLServerException;
import java.math.BigDecimal;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

public final class Checks {
    interface Check {
        void run() throws Exception;
    }

    static String url(String... settings) {
        Map<String, String> all = new LinkedHashMap<>();
        all.put("user", System.getenv("RINGWOOD_USER"));
        all.put("password", System.getenv("RINGWOOD_PASSWORD"));
        all.put("databaseName", "tempdb");
        all.put("encrypt", "true");
        all.put("trustServerCertificate", "true");
        all.put("loginTimeout", "15");
        for (int i = 0; i < settings.length; i += 2) {
            all.put(settings[i], settings[i + 1]);
        }
        StringBuilder text = new StringBuilder("jdbc:sqlserver://" + System.getenv("RINGWOOD_HOST") + ":" + System.getenv("RINGWOOD_PORT"));
        all.forEach((k, v) -> text.append(';').append(k).append("={").append(v).append('}'));
        return text.toString();
    }

    static Connection connect(String... settings) throws SQLException {
        return DriverManager.getConnection(url(settings));
    }

    static void equal(Object got, Object want, String what) {
        boolean same = got instanceof byte[] a && want instanceof byte[] b ? Arrays.equals(a, b) : Objects.equals(got, want);
        if (!same) {
            throw new AssertionError(what + ": got " + cut(got) + ", want " + cut(want));
        }
    }

    static String cut(Object o) {
        String text = String.valueOf(o);
        return text.length() > 200 ? text.substring(0, 200) + "..." : text;
    }

    static SQLException wants(int number, Check work) throws Exception {
        try {
            work.run();
        } catch (SQLException e) {
            for (SQLException each = e; each != null; each = each.getNextException()) {
                if (each.getErrorCode() == number) {
                    return each;
                }
            }
            throw new AssertionError("wanted error " + number + ", got " + e.getErrorCode() + " " + e.getMessage());
        }
        throw new AssertionError("wanted error " + number + ", there was none");
    }

    /** To the end of the batch: an error of a later statement comes with its result, behind those of the statements before. */
    static void run(Connection c, String text) throws SQLException {
        try (Statement s = c.createStatement()) {
            s.execute(text);
            while (s.getMoreResults() || s.getUpdateCount() != -1) {
                // Results are not looked at.
            }
        }
    }

    static List<List<Object>> rows(Connection c, String text, Object... parameters) throws SQLException {
        try (PreparedStatement s = c.prepareStatement(text)) {
            for (int i = 0; i < parameters.length; i++) {
                s.setObject(i + 1, parameters[i]);
            }
            try (ResultSet r = s.executeQuery()) {
                return all(r);
            }
        }
    }

    static List<List<Object>> all(ResultSet r) throws SQLException {
        List<List<Object>> all = new ArrayList<>();
        int n = r.getMetaData().getColumnCount();
        while (r.next()) {
            List<Object> row = new ArrayList<>();
            for (int i = 1; i <= n; i++) {
                row.add(r.getObject(i));
            }
            all.add(row);
        }
        return all;
    }

    static Object one(Connection c, String text, Object... parameters) throws SQLException {
        return rows(c, text, parameters).get(0).get(0);
    }

    static void connectInEveryMode() throws Exception {
        String[][] modes = {
            {"encrypt", "false"},
            {"encrypt", "true"},
            {"encrypt", "true", "packetSize", "512"},
            {"encrypt", "true", "packetSize", "16000"},
            {"encrypt", "strict", "trustServerCertificate", "false", "serverCertificate", System.getenv("RINGWOOD_CERTIFICATE")},
        };
        for (String[] mode : modes) {
            try (Connection c = connect(mode)) {
                equal(one(c, "select 1 + 1"), 2, String.join(" ", mode));
            }
        }
    }

    static void typesThereAndBack() throws Exception {
        String x = "x".repeat(100_000);
        String zhong = "\u4e2d".repeat(100_000);
        Object[][] list = {
            {"bit", true, "1"},
            {"tinyint", (short) 255, "255"},
            {"smallint", (short) -32768, "-32768"},
            {"int", Integer.MIN_VALUE, "-2147483648"},
            {"bigint", Long.MIN_VALUE, "-9223372036854775808"},
            {"decimal(18,4)", new BigDecimal("12345678901234.5678"), "12345678901234.5678"},
            {"numeric(38,10)", new BigDecimal("1234567890123456789012345678.0123456789"), "1234567890123456789012345678.0123456789"},
            {"money", new BigDecimal("-922337203685477.5808"), "-922337203685477.5808"},
            {"smallmoney", new BigDecimal("214748.3647"), "214748.3647"},
            {"float", 1.7976931348623157e308, "1.7976931348623157e308"},
            {"real", 2.25f, "2.25"},
            {"date", java.sql.Date.valueOf("2024-02-29"), "'2024-02-29'"},
            {"datetime2(7)", Timestamp.valueOf("2024-02-29 23:59:59.9999999"), "'2024-02-29T23:59:59.9999999'"},
            {"datetime", Timestamp.valueOf("2024-02-29 12:30:15.25"), "'2024-02-29T12:30:15.250'"},
            {"smalldatetime", Timestamp.valueOf("2079-06-06 23:59:00"), "'2079-06-06T23:59:00'"},
            {"datetimeoffset(7)", microsoft.sql.DateTimeOffset.valueOf(Timestamp.valueOf("2024-02-29 23:59:59.9999999"), 120), null},
            {"varchar(50)", "caf\u00e9", "'caf\u00e9'"},
            {"char(5)", "ab   ", "'ab'"},
            {"nvarchar(50)", "\u0416\u4e2d\ud83d\ude00", "N'\u0416\u4e2d\ud83d\ude00'"},
            {"nchar(4)", "\u20ac\u20ac  ", "N'\u20ac\u20ac'"},
            {"varchar(max)", x, "replicate(cast('x' as varchar(max)), 100000)"},
            {"nvarchar(max)", zhong, "replicate(cast(N'\u4e2d' as nvarchar(max)), 100000)"},
            {"varbinary(20)", new byte[] {0, (byte) 0xca, (byte) 0xfe}, "0x00cafe"},
            {"binary(4)", new byte[] {1, 2, 3, 4}, "0x01020304"},
            {"varbinary(max)", new byte[100_000], null},
            {"uniqueidentifier", "6F9619FF-8B86-D011-B42D-00C04FC964FF", "'6F9619FF-8B86-D011-B42D-00C04FC964FF'"},
        };
        List<String> wrong = new ArrayList<>();
        try (Connection c = connect()) {
            for (Object[] t : list) {
                try {
                    run(c, "drop table if exists #there");
                    run(c, "create table #there (id int, v " + t[0] + " null)");
                    try (PreparedStatement s = c.prepareStatement("insert #there values (?, ?)")) {
                        s.setInt(1, 0);
                        s.setObject(2, t[1]);
                        s.executeUpdate();
                        s.setInt(1, 1);
                        s.setNull(2, t[1] instanceof byte[] ? Types.VARBINARY : Types.VARCHAR);
                        s.executeUpdate();
                    }
                    List<List<Object>> got = rows(c, "select v from #there order by id");
                    equal(got.get(0).get(0), t[1], "read back");
                    equal(got.get(1).get(0), null, "NULL");
                    if (t[2] != null) {
                        equal(one(c, "select count(*) from #there where v = " + t[2]), 1, "equal at the server");
                    }
                } catch (SQLException | AssertionError e) {
                    wrong.add(t[0] + ": " + e.getMessage());
                }
            }
        }
        if (!wrong.isEmpty()) {
            throw new AssertionError(String.join("; ", wrong));
        }
    }

    static void bigValues() throws Exception {
        try (Connection c = connect()) {
            String text = "\u00e9".repeat(3_000_000);
            List<Object> row = rows(c, "select ?, datalength(?)", text, text).get(0);
            equal(row.get(0).equals(text), true, "text");
            equal(((Number) row.get(1)).longValue(), 6_000_000L, "datalength");
        }
    }

    static void manyRows() throws Exception {
        try (Connection c = connect("responseBuffering", "adaptive"); Statement s = c.createStatement();
                ResultSet r = s.executeQuery("select value, replicate('x', value % 100) from generate_series(1, 200000)")) {
            int n = 0;
            long total = 0;
            while (r.next()) {
                n++;
                total += r.getString(2).length();
            }
            equal(n, 200_000, "rows");
            equal(total, 9_900_000L, "characters");
        }
    }

    static void parametersAndPrepared() throws Exception {
        try (Connection c = connect()) {
            equal(rows(c, "select ? + ?, ? + N'!', coalesce(?, 5)", 2, 3, "it''s", 4).get(0), List.of(5, "it''s!", 4), "parameters");
            run(c, "create table #p (id int primary key, v varchar(20))");
            try (PreparedStatement s = c.prepareStatement("insert #p values (?, ?)")) {
                for (int i = 0; i < 500; i++) {
                    s.setInt(1, i);
                    s.setString(2, "v" + i);
                    s.addBatch();
                }
                equal(Arrays.stream(s.executeBatch()).sum(), 500, "batch");
            }
            try (PreparedStatement s = c.prepareStatement("select v from #p where id = ?")) {
                for (int i = 0; i < 500; i += 7) {
                    s.setInt(1, i);
                    try (ResultSet r = s.executeQuery()) {
                        r.next();
                        equal(r.getString(1), "v" + i, "prepared");
                    }
                }
            }
        }
    }

    static void procedures() throws Exception {
        try (Connection c = connect()) {
            run(c, "create or alter procedure dbo.twice_java @n int, @out int output as begin select @n as given; set @out = @n * 2; return 7 end");
            try (CallableStatement s = c.prepareCall("{? = call dbo.twice_java(?, ?)}")) {
                s.registerOutParameter(1, Types.INTEGER);
                s.setInt(2, 21);
                s.registerOutParameter(3, Types.INTEGER);
                try (ResultSet r = s.executeQuery()) {
                    equal(all(r), List.of(List.of((Object) 21)), "rows");
                }
                equal(s.getInt(3), 42, "output");
                equal(s.getInt(1), 7, "status");
            }
            run(c, "drop procedure dbo.twice_java");
        }
    }

    static void severalResultSets() throws Exception {
        try (Connection c = connect(); Statement s = c.createStatement()) {
            boolean set = s.execute("select 1 a; select 'x' b, 2 c union all select 'y', 3; select 4 where 1 = 0");
            List<Integer> sizes = new ArrayList<>();
            while (set) {
                try (ResultSet r = s.getResultSet()) {
                    sizes.add(all(r).size());
                }
                set = s.getMoreResults();
            }
            equal(sizes, List.of(1, 2, 0), "rows of the sets");
        }
    }

    static void generatedKeys() throws Exception {
        try (Connection c = connect()) {
            run(c, "create table #g (id int identity(10, 1) primary key, v int)");
            try (PreparedStatement s = c.prepareStatement("insert #g (v) values (?)", Statement.RETURN_GENERATED_KEYS)) {
                s.setInt(1, 5);
                equal(s.executeUpdate(), 1, "rows");
                try (ResultSet r = s.getGeneratedKeys()) {
                    r.next();
                    equal(r.getInt(1), 10, "key");
                }
            }
        }
    }

    static void transactions() throws Exception {
        try (Connection c = connect()) {
            run(c, "create table #t (id int)");
            c.setAutoCommit(false);
            run(c, "insert #t values (1)");
            c.rollback();
            run(c, "insert #t values (2)");
            Savepoint here = c.setSavepoint("here");
            run(c, "insert #t values (3)");
            c.rollback(here);
            c.commit();
            c.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            run(c, "insert #t values (4)");
            c.setAutoCommit(true);
            run(c, "begin tran; insert #t values (5); rollback; begin tran; insert #t values (6); commit");
            equal(rows(c, "select id from #t order by id"), List.of(List.of((Object) 2), List.of((Object) 4), List.of((Object) 6)), "rows");
        }
    }

    static void errors() throws Exception {
        try (Connection c = connect()) {
            SQLException e = wants(208, () -> run(c, "-- not here\nselect * from no_such_table"));
            if (e instanceof SQLServerException s) {
                equal(s.getSQLServerError().getLineNumber(), 2L, "line");
                equal(s.getSQLServerError().getErrorSeverity(), 16, "severity");
            }
            equal(wants(2627, () -> run(c, "create table #k (id int primary key); insert #k values (1), (1)")).getSQLState(), "23000", "SQLSTATE");
            wants(8134, () -> one(c, "select 1 / 0"));
            wants(50000, () -> run(c, "raiserror('of ours', 16, 1)"));
            wants(51000, () -> run(c, "throw 51000, 'thrown', 1"));
            wants(102, () -> run(c, "select 1 +"));
            equal(one(c, "select 5"), 5, "the connection goes on");
        }
    }

    static void cancel() throws Exception {
        try (Connection c = connect()) {
            Statement s = c.createStatement();
            Thread other = new Thread(() -> {
                try {
                    Thread.sleep(500);
                    s.cancel();
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            });
            long began = System.nanoTime();
            other.start();
            boolean cancelled = false;
            try {
                s.execute("waitfor delay '00:00:30'");
            } catch (SQLException e) {
                cancelled = true;
            }
            other.join();
            equal(cancelled && System.nanoTime() - began < 5_000_000_000L, true, "cancelled in time");
            Statement timed = c.createStatement();
            timed.setQueryTimeout(1);
            try {
                timed.execute("waitfor delay '00:00:30'");
                throw new AssertionError("no timeout");
            } catch (SQLException e) {
                equal(one(c, "select 6"), 6, "the connection goes on");
            }
        }
    }

    static void bulkLoad() throws Exception {
        try (Connection c = connect(); Connection from = connect()) {
            run(c, "drop table if exists bulk_java; create table bulk_java (id int not null, name nvarchar(40), amount decimal(10,2), at datetime2)");
            try (Statement s = from.createStatement();
                    ResultSet r = s.executeQuery("select value, case when value % 3 > 0 then N'n\u00e4me ' + cast(value as nvarchar(10)) end,"
                            + " cast(value / 4.0 as decimal(10,2)), cast('2024-02-29' as datetime2) from generate_series(0, 4999)");
                    SQLServerBulkCopy bulk = new SQLServerBulkCopy(c)) {
                SQLServerBulkCopyOptions options = new SQLServerBulkCopyOptions();
                options.setKeepNulls(true);
                bulk.setBulkCopyOptions(options);
                bulk.setDestinationTableName("bulk_java");
                bulk.writeToServer(r);
            }
            equal(rows(c, "select count(*), count(name), sum(amount), max(name) from bulk_java").get(0),
                    List.of(5000, 3333, new BigDecimal("3124375.00"), "n\u00e4me 998"), "loaded");
            run(c, "drop table bulk_java");
        }
    }

    static void metadata() throws Exception {
        try (Connection c = connect()) {
            run(c, "drop table if exists md_child; drop table if exists md_parent;"
                    + " create table md_parent (id int primary key, name nvarchar(30) not null default N'x');"
                    + " create table md_child (a int, b varchar(10), parent int references md_parent (id), primary key (a, b)); create index md_ix on md_child (parent)");
            try {
                try (ResultSet r = c.getMetaData().getTables(null, "dbo", "md\\_%", new String[] {"TABLE"})) {
                    equal(all(r).stream().map(row -> row.get(2)).toList(), List.of("md_child", "md_parent"), "tables");
                }
                try (ResultSet r = c.getMetaData().getColumns(null, "dbo", "md_parent", null)) {
                    equal(all(r).stream().map(row -> row.get(3) + " " + row.get(5)).toList(), List.of("id int", "name nvarchar"), "columns");
                }
                try (ResultSet r = c.getMetaData().getPrimaryKeys(null, "dbo", "md_child")) {
                    equal(all(r).stream().map(row -> row.get(3)).toList(), List.of("a", "b"), "key");
                }
                try (ResultSet r = c.getMetaData().getImportedKeys(null, "dbo", "md_child")) {
                    equal(all(r).stream().map(row -> row.get(2) + " " + row.get(7)).toList(), List.of("md_parent parent"), "foreign keys");
                }
                try (ResultSet r = c.getMetaData().getIndexInfo(null, "dbo", "md_child", false, false)) {
                    equal(all(r).stream().map(row -> String.valueOf(row.get(5))).filter(n -> n.equals("md_ix")).toList(), List.of("md_ix"), "indexes");
                }
                try (ResultSet r = c.getMetaData().getTypeInfo()) {
                    equal(all(r).size() > 30, true, "types");
                }
                try (PreparedStatement s = c.prepareStatement("select id, name from md_parent where id = ?")) {
                    equal(s.getMetaData().getColumnTypeName(2), "nvarchar", "metadata of a prepared statement");
                    equal(s.getParameterMetaData().getParameterTypeName(1), "int", "metadata of a parameter");
                }
            } finally {
                run(c, "drop table if exists md_child; drop table if exists md_parent");
            }
        }
    }

    /** Server cursors: result sets that scroll and are changed in place, by aliases and over a join. */
    static void cursors() throws Exception {
        try (Connection c = connect()) {
            run(c, "drop table if exists cur_b; drop table if exists cur_a");
            run(c, "create table cur_a (id int primary key, word nvarchar(20), n decimal(9, 2))");
            run(c, "create table cur_b (id int primary key, a int)");
            run(c, "insert cur_a select value, concat('w', value), value from generate_series(1, 300)");
            run(c, "insert cur_b select value, value from generate_series(1, 300)");
            try (PreparedStatement s =
                            c.prepareStatement(
                                    "select id, word as label, n, n * 2 as twice from cur_a where id > ? order by id",
                                    ResultSet.TYPE_SCROLL_SENSITIVE,
                                    ResultSet.CONCUR_UPDATABLE)) {
                s.setInt(1, 100);
                ResultSet r = s.executeQuery();
                equal(r.getMetaData().getTableName(2), "cur_a", "table of a column");
                equal(r.last(), true, "last");
                equal(r.getInt("id"), 300, "last row");
                r.absolute(150);
                equal(r.getString("label"), "w250", "absolute");
                r.updateString("label", "changed");
                r.updateBigDecimal(3, new BigDecimal("7.50"));
                r.updateRow();
                r.previous();
                equal(r.getInt(1), 249, "previous");
                r.next();
                r.refreshRow();
                equal(r.getString(2), "changed", "changed in place");
                r.next();
                r.deleteRow();
                r.moveToInsertRow();
                r.updateInt(1, 1000);
                r.updateString(2, "new");
                r.insertRow();
                r.moveToCurrentRow();
                try {
                    r.updateInt("twice", 1);
                    throw new AssertionError("an expression was updated");
                } catch (SQLException e) {
                    // The driver knows by COLINFO.
                }
            }
            equal(one(c, "select concat(word, ' ', n) from cur_a where id = 250"), "changed 7.50", "the change");
            equal(one(c, "select count(*) from cur_a where id = 251"), 0, "the deletion");
            equal(one(c, "select word from cur_a where id = 1000"), "new", "the insertion");
            try (Statement s = c.createStatement(ResultSet.TYPE_SCROLL_SENSITIVE, ResultSet.CONCUR_UPDATABLE)) {
                ResultSet r = s.executeQuery("select b.id, a.word from cur_b b join cur_a a on a.id = b.a where b.id < 20");
                equal(r.getMetaData().getTableName(1) + r.getMetaData().getTableName(2), "cur_bcur_a", "tables of a join");
                r.first();
                r.updateString(2, "joined");
                r.updateRow();
            }
            equal(one(c, "select word from cur_a where id = 1"), "joined", "a change through a join");
            run(c, "drop table cur_b; drop table cur_a");
        }
    }

    static void pool() throws Exception {
        SQLServerConnectionPoolDataSource source = new SQLServerConnectionPoolDataSource();
        source.setURL(url());
        var pooled = source.getPooledConnection();
        try (Connection c = pooled.getConnection()) {
            run(c, "create table #left (id int)");
            run(c, "set datefirst 3");
        }
        try (Connection c = pooled.getConnection()) {
            equal(one(c, "select object_id('tempdb..#left')"), null, "temporary table");
            equal(((Number) one(c, "select @@datefirst")).intValue(), 7, "SET option");
        }
        pooled.close();
    }

    static void connections32() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(32);
        List<Future<?>> all = new ArrayList<>();
        for (int n = 0; n < 32; n++) {
            int number = n;
            all.add(threads.submit(() -> {
                try (Connection c = connect()) {
                    for (int i = 0; i < 20; i++) {
                        equal(one(c, "select ? * 2", number * i), number * i * 2, "product");
                    }
                }
                return null;
            }));
        }
        for (Future<?> each : all) {
            each.get(60, TimeUnit.SECONDS);
        }
        threads.shutdown();
    }

    public static void main(String[] args) throws Exception {
        Map<String, Check> list = new LinkedHashMap<>();
        list.put("connect in every mode", Checks::connectInEveryMode);
        list.put("wrong password", () -> wants(18456, () -> connect("password", "wrong-password-1")));
        list.put("unknown database", () -> wants(4060, () -> connect("databaseName", "no_such_database")));
        list.put("types there and back", Checks::typesThereAndBack);
        list.put("big values", Checks::bigValues);
        list.put("many rows", Checks::manyRows);
        list.put("parameters and prepared statements", Checks::parametersAndPrepared);
        list.put("procedure", Checks::procedures);
        list.put("several result sets", Checks::severalResultSets);
        list.put("generated keys", Checks::generatedKeys);
        list.put("transactions", Checks::transactions);
        list.put("errors", Checks::errors);
        list.put("cancel", Checks::cancel);
        list.put("bulk load", Checks::bulkLoad);
        list.put("metadata", Checks::metadata);
        list.put("cursors", Checks::cursors);
        list.put("pool with reset", Checks::pool);
        list.put("32 connections", Checks::connections32);
        int failed = 0;
        ExecutorService runner = Executors.newCachedThreadPool(r -> {
            Thread t = new Thread(r);
            t.setDaemon(true);
            return t;
        });
        for (Map.Entry<String, Check> each : list.entrySet()) {
            try {
                runner.submit(() -> {
                    each.getValue().run();
                    return null;
                }).get(120, TimeUnit.SECONDS);
                System.out.println("ok mssql-jdbc: " + each.getKey());
            } catch (Exception e) {
                failed++;
                Throwable cause = e.getCause() == null ? e : e.getCause();
                System.out.println("FAILED mssql-jdbc: " + each.getKey() + ": " + cause);
            }
        }
        System.exit(failed > 0 ? 1 : 0);
    }

    private Checks() {}
}
