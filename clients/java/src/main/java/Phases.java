// What the server does with its time in requests of Microsoft's JDBC driver (clients/phases): Phases DRIVER
// SELECTS INSERTS. For each statement and phase it prints a line, as python/phases.py does.

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.LinkedHashMap;
import java.util.Map;

public final class Phases {
    interface Execution {
        void run(int n) throws SQLException;
    }

    static final String PHASES =
            "select phase, request_count, total_us, total_cpu_us from sys.dm_ringwood_request_phases";
    // Rows of the table that is selected from.
    static final int ROWS = 10_000;

    static void run(Connection c, String... statements) throws SQLException {
        try (Statement s = c.createStatement()) {
            for (String statement : statements) {
                s.execute(statement);
            }
        }
    }

    // What the server has counted of each phase: requests, microseconds, those of the processor.
    static Map<String, long[]> read(Connection c) throws SQLException {
        Map<String, long[]> phases = new LinkedHashMap<>();
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery(PHASES)) {
            while (r.next()) {
                phases.put(r.getString(1), new long[] {r.getLong(2), r.getLong(3), r.getLong(4)});
            }
        }
        return phases;
    }

    static void measure(Connection c, String driver, String statement, int count, Execution execution)
            throws SQLException {
        int warmUp = Math.max(500, count / 10);
        for (int n = 0; n < warmUp; n++) {
            execution.run(n);
        }
        // The reading before counts as a request of the measurement: its plan is found by the one before it.
        read(c);
        Map<String, long[]> before = read(c);
        long begun = System.nanoTime();
        for (int n = warmUp; n < warmUp + count; n++) {
            execution.run(n);
        }
        double seconds = (System.nanoTime() - begun) / 1e9;
        for (Map.Entry<String, long[]> phase : read(c).entrySet()) {
            long[] then = before.get(phase.getKey());
            long[] now = phase.getValue();
            String measured = driver + "\t" + statement + "\t" + count + "\t" + seconds;
            String times = (now[1] - then[1]) + "\t" + (now[2] - then[2]);
            System.out.println(measured + "\t" + phase.getKey() + "\t" + (now[0] - then[0]) + "\t" + times);
        }
    }

    static void selectOne(PreparedStatement s, int n) throws SQLException {
        int key = (int) (1 + n * 7919L % ROWS);
        s.setInt(1, key);
        try (ResultSet r = s.executeQuery()) {
            if (!r.next() || r.getInt(2) != key * 7 || r.next()) {
                throw new SQLException("key " + key + " does not have its one row");
            }
        }
    }

    static void insertOne(PreparedStatement s, int n) throws SQLException {
        s.setInt(1, n);
        s.setString(2, String.format("entry %09d", n));
        if (s.executeUpdate() != 1) {
            throw new SQLException("entry " + n + " was not inserted");
        }
    }

    public static void main(String[] given) throws SQLException {
        String driver = given[0];
        String database = "phases_" + driver;
        // tempdb, where the checks of clients work, makes no commit durable.
        try (Connection c = Checks.connect()) {
            run(c, "create database " + database);
        }
        try (Connection c = Checks.connect("databaseName", database)) {
            run(
                    c,
                    "create table item (id int primary key, name varchar(40) not null, price int not null)",
                    "insert item select value, concat('item ', value), value * 7 from generate_series(1, "
                            + ROWS
                            + ")",
                    "create table entry (id int primary key, name varchar(40) not null)",
                    "dbcc traceon (15001, -1) with no_infomsgs");
            try (PreparedStatement s = c.prepareStatement("select name, price from item where id = ?")) {
                int count = Integer.parseInt(given[1]);
                measure(c, driver, "SELECT by key, prepared", count, n -> selectOne(s, n));
            }
            try (PreparedStatement s = c.prepareStatement("insert entry values (?, ?)")) {
                int count = Integer.parseInt(given[2]);
                measure(c, driver, "INSERT, prepared", count, n -> insertOne(s, n));
            }
        }
    }
}
