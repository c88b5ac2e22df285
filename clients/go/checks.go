// go-mssqldb: the shared list of checks (clients/README.md). A check is a function; it passes when it returns nil.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/golang-sql/civil"
	mssql "github.com/microsoft/go-mssqldb"
)

var ctx = context.Background()

// dsn is a connection string; settings are added to the defaults.
func dsn(settings map[string]string) string {
	query := url.Values{"database": {"tempdb"}, "encrypt": {"true"}, "TrustServerCertificate": {"true"}}
	password := os.Getenv("RINGWOOD_PASSWORD")
	for k, v := range settings {
		if k == "password" {
			password = v
		} else {
			query.Set(k, v)
		}
	}
	u := url.URL{
		Scheme:   "sqlserver",
		User:     url.UserPassword(os.Getenv("RINGWOOD_USER"), password),
		Host:     os.Getenv("RINGWOOD_HOST") + ":" + os.Getenv("RINGWOOD_PORT"),
		RawQuery: query.Encode(),
	}
	return u.String()
}

// with opens one connection and gives it to work.
func with(settings map[string]string, work func(*sql.Conn) error) error {
	db, err := sql.Open("sqlserver", dsn(settings))
	if err != nil {
		return err
	}
	defer db.Close()
	c, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return work(c)
}

func equal(got, want any, what string) error {
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("%s: got %.300v (%T), want %.300v (%T)", what, got, got, want, want)
	}
	return nil
}

// one gives the first row's values.
func one(c *sql.Conn, text string, args ...any) ([]any, error) {
	all, err := rows(c, text, args...)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("no row: " + text)
	}
	return all[0], nil
}

func scan(r *sql.Rows) ([][]any, error) {
	var all [][]any
	names, err := r.Columns()
	if err != nil {
		return nil, err
	}
	for r.Next() {
		values := make([]any, len(names))
		places := make([]any, len(names))
		for i := range values {
			places[i] = &values[i]
		}
		if err := r.Scan(places...); err != nil {
			return nil, err
		}
		all = append(all, values)
	}
	return all, r.Err()
}

func rows(c *sql.Conn, text string, args ...any) ([][]any, error) {
	r, err := c.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return scan(r)
}

func run(c *sql.Conn, text string, args ...any) error {
	_, err := c.ExecContext(ctx, text, args...)
	return err
}

// wants checks the server's error number, and gives the error.
func wants(number int32, err error) (mssql.Error, error) {
	var e mssql.Error
	if err == nil {
		return e, fmt.Errorf("wanted error %d, there was none", number)
	}
	if !errors.As(err, &e) {
		return e, fmt.Errorf("wanted error %d, got %v", number, err)
	}
	for _, each := range append(e.All, e) {
		if each.Number == number {
			return each, nil
		}
	}
	return e, fmt.Errorf("wanted error %d, got %d %s", number, e.Number, e.Message)
}

func connectInEveryMode() error {
	modes := []map[string]string{
		{"encrypt": "disable"},
		{"encrypt": "false"},
		{"encrypt": "true"},
		{"encrypt": "strict", "TrustServerCertificate": "false", "certificate": os.Getenv("RINGWOOD_CERTIFICATE"), "hostNameInCertificate": "localhost"},
	}
	for _, mode := range modes {
		err := with(mode, func(c *sql.Conn) error {
			got, err := one(c, "select 1 + 1")
			if err != nil {
				return err
			}
			return equal(got[0], int64(2), "1 + 1")
		})
		if err != nil {
			return fmt.Errorf("%v: %w", mode, err)
		}
	}
	return nil
}

func wrongPassword() error {
	_, err := wants(18456, with(map[string]string{"password": "wrong-password-1"}, func(*sql.Conn) error { return nil }))
	return err
}

func unknownDatabase() error {
	_, err := wants(4063, with(map[string]string{"database": "no_such_database"}, func(*sql.Conn) error { return nil }))
	return err
}

func moment(text string) time.Time {
	t, err := time.Parse("2006-01-02T15:04:05.9999999", text)
	if err != nil {
		panic(err)
	}
	return t
}

func typesThereAndBack() error {
	guid := mssql.UniqueIdentifier{0x6f, 0x96, 0x19, 0xff, 0x8b, 0x86, 0xd0, 0x11, 0xb4, 0x2d, 0x00, 0xc0, 0x4f, 0xc9, 0x64, 0xff}
	list := []struct {
		ty      string
		value   any
		read    any
		literal string
	}{
		{"bit", true, true, "1"},
		{"tinyint", int64(255), int64(255), "255"},
		{"smallint", int64(-32768), int64(-32768), "-32768"},
		{"int", int64(-2147483648), int64(-2147483648), "-2147483648"},
		{"bigint", int64(-9223372036854775808), int64(-9223372036854775808), "-9223372036854775808"},
		{"decimal(18,4)", "12345678901234.5678", []byte("12345678901234.5678"), "12345678901234.5678"},
		{"numeric(38,10)", "1234567890123456789012345678.0123456789", []byte("1234567890123456789012345678.0123456789"), "1234567890123456789012345678.0123456789"},
		{"money", "-12.3456", []byte("-12.3456"), "-12.3456"},
		{"smallmoney", "214748.3647", []byte("214748.3647"), "214748.3647"},
		{"float", 1.7976931348623157e308, 1.7976931348623157e308, "1.7976931348623157e308"},
		{"real", 2.25, 2.25, "2.25"},
		{"date", civil.Date{Year: 2024, Month: 2, Day: 29}, moment("2024-02-29T00:00:00"), "'2024-02-29'"},
		{"datetime2(7)", moment("2024-02-29T23:59:59.9999999"), moment("2024-02-29T23:59:59.9999999"), "'2024-02-29T23:59:59.9999999'"},
		{"datetime", mssql.DateTime1(moment("2024-02-29T12:30:15.25")), moment("2024-02-29T12:30:15.25"), "'2024-02-29T12:30:15.250'"},
		{"smalldatetime", moment("2079-06-06T23:59:00"), moment("2079-06-06T23:59:00"), "'2079-06-06T23:59:00'"},
		{"time(7)", civil.Time{Hour: 23, Minute: 59, Second: 59, Nanosecond: 999999900}, moment("0001-01-01T23:59:59.9999999"), "'23:59:59.9999999'"},
		{"varchar(50)", mssql.VarChar("cafe"), "cafe", "'cafe'"},
		{"nvarchar(50)", "\u0416\u4e2d\U0001f600", "\u0416\u4e2d\U0001f600", "N'\u0416\u4e2d\U0001f600'"},
		{"nchar(4)", "\u20ac\u20ac", "\u20ac\u20ac  ", "N'\u20ac\u20ac'"},
		{"varchar(max)", mssql.VarCharMax(strings.Repeat("x", 100000)), strings.Repeat("x", 100000), "replicate(cast('x' as varchar(max)), 100000)"},
		{"nvarchar(max)", mssql.NVarCharMax(strings.Repeat("\u4e2d", 100000)), strings.Repeat("\u4e2d", 100000), "replicate(cast(N'\u4e2d' as nvarchar(max)), 100000)"},
		{"varbinary(20)", []byte{0, 0xca, 0xfe, 0xff}, []byte{0, 0xca, 0xfe, 0xff}, "0x00cafeff"},
		{"varbinary(max)", []byte(strings.Repeat("z", 100000)), []byte(strings.Repeat("z", 100000)), ""},
		{"uniqueidentifier", guid, nil, "'6F9619FF-8B86-D011-B42D-00C04FC964FF'"},
	}
	return with(nil, func(c *sql.Conn) error {
		var wrong []string
		for _, t := range list {
			err := func() error {
				if err := run(c, "drop table if exists ##there_go; create table ##there_go (id int, v "+t.ty+" null)"); err != nil {
					return err
				}
				if err := run(c, "insert ##there_go values (@id, @v)", sql.Named("id", 0), sql.Named("v", t.value)); err != nil {
					return err
				}
				if err := run(c, "insert ##there_go values (1, null)"); err != nil {
					return err
				}
				got, err := rows(c, "select v from ##there_go order by id")
				if err != nil {
					return err
				}
				if t.read != nil {
					read := got[0][0]
					if at, is := read.(time.Time); is {
						read = at.UTC()
					}
					if err := equal(read, t.read, "read back"); err != nil {
						return err
					}
				}
				if err := equal(got[1][0], nil, "NULL"); err != nil {
					return err
				}
				if t.literal == "" {
					return nil
				}
				same, err := one(c, "select count(*) from ##there_go where v = "+t.literal)
				if err != nil {
					return err
				}
				return equal(same[0], int64(1), "equal at the server")
			}()
			if err != nil {
				wrong = append(wrong, t.ty+": "+err.Error())
			}
		}
		if len(wrong) > 0 {
			return errors.New(strings.Join(wrong, "; "))
		}
		return run(c, "drop table ##there_go")
	})
}

func bigValues() error {
	return with(nil, func(c *sql.Conn) error {
		text := strings.Repeat("\u00e9", 3_000_000)
		got, err := one(c, "select @p1, datalength(@p1)", text)
		if err != nil {
			return err
		}
		if got[0] != text {
			return errors.New("the text came back changed")
		}
		return equal(got[1], int64(6_000_000), "datalength")
	})
}

func manyRows() error {
	return with(nil, func(c *sql.Conn) error {
		r, err := c.QueryContext(ctx, "select value, replicate('x', value % 100) from generate_series(1, 200000)")
		if err != nil {
			return err
		}
		defer r.Close()
		n, total := 0, 0
		for r.Next() {
			var value int
			var text string
			if err := r.Scan(&value, &text); err != nil {
				return err
			}
			n, total = n+1, total+len(text)
		}
		return equal([]int{n, total}, []int{200_000, 9_900_000}, "rows")
	})
}

func parametersAndPrepared() error {
	return with(nil, func(c *sql.Conn) error {
		got, err := one(c, "select @a + @b, @s + N'!', coalesce(@n, 5)", sql.Named("a", 2), sql.Named("b", 3), sql.Named("s", "it''s"), sql.Named("n", nil))
		if err != nil {
			return err
		}
		if err := equal(got, []any{int64(5), "it''s!", int64(5)}, "parameters"); err != nil {
			return err
		}
		s, err := c.PrepareContext(ctx, "select @p1 * 2")
		if err != nil {
			return err
		}
		defer s.Close()
		for i := 0; i < 50; i++ {
			var n int
			if err := s.QueryRow(i).Scan(&n); err != nil {
				return err
			}
			if err := equal(n, i*2, "prepared"); err != nil {
				return err
			}
		}
		return nil
	})
}

func procedure() error {
	return with(nil, func(c *sql.Conn) error {
		err := run(c, "create or alter procedure dbo.twice_go @n int, @out int output as begin set @out = @n * 2; return 7 end")
		if err != nil {
			return err
		}
		var out int64
		var status mssql.ReturnStatus
		_, err = c.ExecContext(ctx, "dbo.twice_go", sql.Named("n", 21), sql.Named("out", sql.Out{Dest: &out}), &status)
		if err != nil {
			return err
		}
		if err := equal([]int64{out, int64(status)}, []int64{42, 7}, "output and status"); err != nil {
			return err
		}
		return run(c, "drop procedure dbo.twice_go")
	})
}

func severalResultSets() error {
	return with(nil, func(c *sql.Conn) error {
		r, err := c.QueryContext(ctx, "select 1 a; select 'x' b, 2 c union all select 'y', 3; select 4 where 1 = 0")
		if err != nil {
			return err
		}
		defer r.Close()
		var sets []int
		for {
			all, err := scan(r)
			if err != nil {
				return err
			}
			sets = append(sets, len(all))
			if !r.NextResultSet() {
				break
			}
		}
		return equal(sets, []int{1, 2, 0}, "rows of the sets")
	})
}

func transactions() error {
	return with(nil, func(c *sql.Conn) error {
		if err := run(c, "drop table if exists tx_go; create table tx_go (id int)"); err != nil {
			return err
		}
		for i, isolation := range []sql.IsolationLevel{sql.LevelDefault, sql.LevelReadUncommitted, sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable} {
			for _, commit := range []bool{false, true} {
				tx, err := c.BeginTx(ctx, &sql.TxOptions{Isolation: isolation})
				if err != nil {
					return err
				}
				if _, err := tx.Exec("insert tx_go values (@p1)", i); err != nil {
					return err
				}
				if commit {
					err = tx.Commit()
				} else {
					err = tx.Rollback()
				}
				if err != nil {
					return err
				}
			}
		}
		if err := run(c, "begin tran; insert tx_go values (10); rollback; begin tran; insert tx_go values (11); commit"); err != nil {
			return err
		}
		got, err := one(c, "select count(*), sum(id) from tx_go")
		if err != nil {
			return err
		}
		if err := equal(got, []any{int64(6), int64(21)}, "rows"); err != nil {
			return err
		}
		return run(c, "drop table tx_go")
	})
}

func errorsOfTheServer() error {
	return with(nil, func(c *sql.Conn) error {
		e, err := wants(208, run(c, "-- not here\nselect * from no_such_table"))
		if err != nil {
			return err
		}
		if err := equal([]int32{e.LineNo, int32(e.Class)}, []int32{2, 16}, "line and severity"); err != nil {
			return err
		}
		for number, text := range map[int32]string{
			2627:  "create table #k (id int primary key); insert #k values (1), (1)",
			8134:  "select 1 / 0",
			50000: "raiserror('of ours', 16, 1)",
			51000: "throw 51000, 'thrown', 1",
			102:   "select 1 +",
		} {
			r, err := c.QueryContext(ctx, text)
			if err == nil {
				_, err = scan(r)
				r.Close()
			}
			if _, err := wants(number, err); err != nil {
				return err
			}
		}
		got, err := one(c, "select 5")
		if err != nil {
			return err
		}
		return equal(got[0], int64(5), "the connection goes on")
	})
}

func cancel() error {
	return with(nil, func(c *sql.Conn) error {
		short, stop := context.WithTimeout(ctx, 500*time.Millisecond)
		defer stop()
		began := time.Now()
		_, err := c.ExecContext(short, "waitfor delay '00:00:30'")
		if err == nil || time.Since(began) > 5*time.Second {
			return fmt.Errorf("not cancelled in time: %v after %v", err, time.Since(began))
		}
		return nil
	})
}

func bulkLoad() error {
	return with(nil, func(c *sql.Conn) error {
		if err := run(c, "drop table if exists bulk_go; create table bulk_go (id int not null, name nvarchar(40), amount decimal(10,2), at datetime2)"); err != nil {
			return err
		}
		s, err := c.PrepareContext(ctx, mssql.CopyIn("bulk_go", mssql.BulkOptions{KeepNulls: true, RowsPerBatch: 1000}, "id", "name", "amount", "at"))
		if err != nil {
			return err
		}
		for i := 0; i < 5000; i++ {
			var name any
			if i%3 != 0 {
				name = fmt.Sprintf("n\u00e4me %d", i)
			}
			if _, err := s.Exec(i, name, float64(i)/4, moment("2024-02-29T00:00:00")); err != nil {
				return err
			}
		}
		result, err := s.Exec()
		if err != nil {
			return err
		}
		s.Close()
		if n, _ := result.RowsAffected(); n != 5000 {
			return fmt.Errorf("%d rows", n)
		}
		got, err := one(c, "select count(*), count(name), cast(sum(amount) as varchar(20)), max(name) from bulk_go")
		if err != nil {
			return err
		}
		if err := equal(got, []any{int64(5000), int64(3333), "3124375.00", "n\u00e4me 998"}, "loaded"); err != nil {
			return err
		}
		return run(c, "drop table bulk_go")
	})
}

func poolWithReset() error {
	db, err := sql.Open("sqlserver", dsn(nil))
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("set datefirst 3; create table #left (id int)"); err != nil {
		return err
	}
	var left sql.NullInt64
	var first int
	if err := db.QueryRow("select object_id('tempdb..#left'), @@datefirst").Scan(&left, &first); err != nil {
		return err
	}
	return equal([]any{left.Valid, first}, []any{false, 7}, "after the reset")
}

func connections32() error {
	db, err := sql.Open("sqlserver", dsn(nil))
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(32)
	var group sync.WaitGroup
	failed := make(chan error, 32)
	for n := 0; n < 32; n++ {
		group.Add(1)
		go func(n int) {
			defer group.Done()
			for i := 0; i < 20; i++ {
				var got int
				err := db.QueryRow("select @p1 * 2", n*i).Scan(&got)
				if err == nil {
					err = equal(got, n*i*2, "product")
				}
				if err != nil {
					failed <- err
					return
				}
			}
		}(n)
	}
	group.Wait()
	close(failed)
	return <-failed
}

func main() {
	list := []struct {
		name  string
		check func() error
	}{
		{"connect in every mode", connectInEveryMode},
		{"wrong password", wrongPassword},
		{"unknown database", unknownDatabase},
		{"types there and back", typesThereAndBack},
		{"big values", bigValues},
		{"many rows", manyRows},
		{"parameters and prepared statements", parametersAndPrepared},
		{"procedure", procedure},
		{"several result sets", severalResultSets},
		{"transactions", transactions},
		{"errors", errorsOfTheServer},
		{"cancel", cancel},
		{"bulk load", bulkLoad},
		{"pool with reset", poolWithReset},
		{"32 connections", connections32},
	}
	failed := 0
	for _, each := range list {
		done := make(chan error, 1)
		go func() { done <- each.check() }()
		var err error
		select {
		case err = <-done:
		case <-time.After(2 * time.Minute):
			err = errors.New("no end after 120 s")
		}
		if err != nil {
			failed++
			fmt.Printf("FAILED go-mssqldb: %s: %v\n", each.name, err)
		} else {
			fmt.Printf("ok go-mssqldb: %s\n", each.name)
		}
	}
	if failed > 0 {
		os.Exit(1)
	}
}
