// tedious: the shared list of checks (clients/README.md).
'use strict';
const { Connection, Request, TYPES, ISOLATION_LEVEL } = require('tedious');
const { equal, runAll } = require('./list');

const env = process.env;
const config = (options = {}, auth = {}) => ({
  server: env.RINGWOOD_HOST,
  authentication: { type: 'default', options: { userName: env.RINGWOOD_USER, password: env.RINGWOOD_PASSWORD, ...auth } },
  options: {
    port: Number(env.RINGWOOD_PORT), database: 'tempdb', encrypt: true, trustServerCertificate: true,
    rowCollectionOnRequestCompletion: true, connectTimeout: 15000, requestTimeout: 60000, ...options,
  },
});

const connect = (options, auth) => new Promise((resolve, reject) => {
  const connection = new Connection(config(options, auth));
  connection.on('error', () => {});
  connection.connect((e) => (e ? reject(e) : resolve(connection)));
});

const close = (c) => new Promise((resolve) => { c.once('end', resolve); c.close(); });

async function connected(work, options, auth) {
  const c = await connect(options, auth);
  try { return await work(c); } finally { await close(c); }
}

/** Runs a text; gives { rows, sets, count, errors, out }. Parameters: [name, type, value, options]. */
function run(c, text, parameters = [], how = 'execSql', prepare) {
  return new Promise((resolve, reject) => {
    const result = { sets: [], out: {}, messages: [] };
    const request = new Request(text, (e, count) => {
      if (e) { reject(e); } else { resolve({ ...result, count, rows: result.sets[0] || [] }); }
    });
    for (const [name, type, value, options] of parameters) {
      if (options && options.output) { request.addOutputParameter(name, type, value, options); } else { request.addParameter(name, type, value, options); }
    }
    request.on('columnMetadata', () => result.sets.push([]));
    request.on('row', (columns) => result.sets[result.sets.length - 1].push(columns.map((x) => x.value)));
    request.on('returnValue', (name, value) => { result.out[name] = value; });
    request.on('doneProc', (_n, _more, status) => { result.status = status; });
    if (prepare) { prepare(request); }
    c[how](request);
  });
}

async function raises(number, work) {
  let value;
  try { value = await work(); } catch (e) {
    const all = [e, ...(e.errors || []), e.cause].filter(Boolean);
    if (all.some((x) => x.number === number)) { return all.find((x) => x.number === number); }
    throw new Error(`wanted error ${number}, got ${e.number} ${e.code} ${e.message}`);
  }
  throw new Error(`wanted error ${number}, there was none (${JSON.stringify(value)})`);
}

async function refused(work) {
  try { await work(); } catch (e) { equal([e.code, /Login failed for user/.test(e.message)], ['ELOGIN', true], 'refused'); return; }
  throw new Error('the login was not refused');
}

const control = (c, method, ...args) => new Promise((resolve, reject) => {
  c[method]((e) => (e ? reject(e) : resolve()), ...args);
});

const day = (text) => new Date(`${text}Z`);
const types = [
  ['bit', TYPES.Bit, [true, false], '1'],
  ['tinyint', TYPES.TinyInt, [255, 0], '255'],
  ['smallint', TYPES.SmallInt, [-32768, 32767], '-32768'],
  ['int', TYPES.Int, [-2147483648, 2147483647], '-2147483648'],
  ['bigint', TYPES.BigInt, ['-9223372036854775808', '9223372036854775807'], '-9223372036854775808'],
  ['decimal(18,4)', TYPES.Decimal, [12345.5678, -0.0001], '12345.5678', { precision: 18, scale: 4 }],
  ['money', TYPES.Money, [-12.25, 99.5], '-12.25'],
  ['smallmoney', TYPES.SmallMoney, [214748.3647, -1], '214748.3647'],
  ['float', TYPES.Float, [1.7976931348623157e308, -2.25], '1.7976931348623157e308'],
  ['real', TYPES.Real, [2.25, -0.5], '2.25'],
  ['date', TYPES.Date, [day('0001-01-01T00:00:00'), day('9999-12-31T00:00:00')], "'0001-01-01'"],
  ['datetime2(3)', TYPES.DateTime2, [day('2024-02-29T23:59:59.999'), day('0001-01-01T00:00:00')], "'2024-02-29T23:59:59.999'", { scale: 3 }],
  ['datetime', TYPES.DateTime, [day('2024-02-29T12:30:15.250'), day('1753-01-01T00:00:00')], "'2024-02-29T12:30:15.250'"],
  ['smalldatetime', TYPES.SmallDateTime, [day('2079-06-06T23:59:00'), day('1900-01-01T00:00:00')], "'2079-06-06T23:59:00'"],
  ['datetimeoffset(3)', TYPES.DateTimeOffset, [day('2024-02-29T23:59:59.999')], "'2024-02-29T23:59:59.999+00:00'", { scale: 3 }],
  ['time(3)', TYPES.Time, [day('1970-01-01T23:59:59.999')], "'23:59:59.999'", { scale: 3 }],
  ['varchar(50)', TYPES.VarChar, ['caf\u00e9', ''], "'caf\u00e9'"],
  ['char(5)', TYPES.Char, ['ab   ', 'abcde'], "'ab'", { length: 5 }],
  ['nvarchar(50)', TYPES.NVarChar, ['\u0416\u4e2d\u{1f600}', "o'clock"], "N'\u0416\u4e2d\u{1f600}'"],
  ['nchar(4)', TYPES.NChar, ['\u20ac\u20ac\u20ac\u20ac', 'a   '], "N'\u20ac\u20ac\u20ac\u20ac'", { length: 4 }],
  ['varchar(max)', TYPES.VarChar, ['x'.repeat(100000), ''], "replicate(cast('x' as varchar(max)), 100000)"],
  ['nvarchar(max)', TYPES.NVarChar, ['\u4e2d'.repeat(100000), ''], "replicate(cast(N'\u4e2d' as nvarchar(max)), 100000)"],
  ['varbinary(20)', TYPES.VarBinary, [Buffer.from([0, 0xca, 0xfe, 0xff]), Buffer.alloc(0)], '0x00cafeff'],
  ['binary(4)', TYPES.Binary, [Buffer.from([1, 2, 3, 4])], '0x01020304', { length: 4 }],
  ['varbinary(max)', TYPES.VarBinary, [Buffer.alloc(100000, 7)], null],
  ['uniqueidentifier', TYPES.UniqueIdentifier, ['6F9619FF-8B86-D011-B42D-00C04FC964FF'], "'6F9619FF-8B86-D011-B42D-00C04FC964FF'"],
];

const checks = {
  async 'connect in every mode'() {
    for (const options of [{ encrypt: false }, { encrypt: true }, { encrypt: true, useUTC: false, packetSize: 16384 }]) {
      await connected(async (c) => equal((await run(c, 'select 1 + 1')).rows, [[2]]), options);
    }
    const cryptoCredentialsDetails = { ca: require('fs').readFileSync(env.RINGWOOD_CERTIFICATE) };
    const strict = { encrypt: 'strict', trustServerCertificate: false, serverName: 'localhost', cryptoCredentialsDetails };
    await connected(async (c) => equal((await run(c, 'select 1 + 1')).rows, [[2]]), strict);
  },
  async 'wrong password'() { await refused(() => connect({}, { password: 'wrong-password-1' })); },
  // tedious shows the last error of a failed login, without its number.
  async 'unknown database'() { await refused(() => connect({ database: 'no_such_database' })); },
  async 'types there and back'() {
    await connected(async (c) => {
      const wrong = [];
      for (const [ty, type, values, literal, options] of types) {
        try {
          await run(c, `create table #there (id int, v ${ty} null)`, [], 'execSqlBatch');
          for (const [at, value] of [...values, null].entries()) {
            await run(c, 'insert #there values (@id, @v)', [['id', TYPES.Int, at], ['v', type, value, options]]);
          }
          const got = (await run(c, 'select v from #there order by id')).rows.map((r) => r[0]);
          equal(got, [...values, null], 'read back');
          if (literal !== null) {
            equal((await run(c, `select count(*) from #there where id = 0 and v = ${literal}`)).rows, [[1]], 'equal at the server');
          }
        } catch (e) { wrong.push(`${ty}: ${e.message}`); }
        await run(c, 'drop table if exists #there', [], 'execSqlBatch');
      }
      if (wrong.length) { throw new Error(wrong.join('; ')); }
    });
  },
  async 'unicode and names'() {
    await connected(async (c) => {
      let names;
      const got = await run(c, "select N'\u00e4\u{1f600}' as [se\u00f1or \u4e2d], 1 as [b]]c]", [], 'execSql', (r) => r.on('columnMetadata', (m) => { names = m.map((x) => x.colName); }));
      equal(names, ['se\u00f1or \u4e2d', 'b]c']);
      equal(got.rows, [['\u00e4\u{1f600}', 1]]);
      const halves = [['v', TYPES.NVarChar, '\u{1f600}\ud83dx\ude42']];
      equal((await run(c, 'select @v, left(@v, 1), len(@v)', halves)).rows, [['\u{1f600}\ud83dx\ude42', '\ud83d', 5]], 'halves of characters');
    });
  },
  async 'big values'() {
    await connected(async (c) => {
      const text = '\u00e9'.repeat(3000000);
      const data = Buffer.alloc(3000000, 0x5a);
      const got = await run(c, 'select @t, @b, datalength(@t), datalength(@b)', [['t', TYPES.NVarChar, text], ['b', TYPES.VarBinary, data]]);
      equal([got.rows[0][0] === text, data.equals(got.rows[0][1]), got.rows[0][2], got.rows[0][3]].map(String), ['true', 'true', '6000000', '3000000']);
    });
  },
  async 'many rows'() {
    await connected(async (c) => {
      let n = 0;
      await run(c, 'select value from generate_series(1, 200000)', [], 'execSql', (r) => r.on('row', () => { n += 1; }));
      equal(n, 200000);
    }, { rowCollectionOnRequestCompletion: false });
  },
  async 'parameters'() {
    await connected(async (c) => {
      const got = await run(c, "select @a + @b, @s + N'!', coalesce(@n, 5)", [['a', TYPES.Int, 2], ['b', TYPES.Int, 3], ['s', TYPES.NVarChar, "it''s"], ['n', TYPES.Int, null]]);
      equal(got.rows, [[5, "it''s!", 5]]);
    });
  },
  async 'prepared'() {
    await connected(async (c) => {
      const request = new Request('select @a * 2', () => {});
      request.addParameter('a', TYPES.Int);
      await new Promise((resolve, reject) => { request.on('prepared', resolve); request.on('error', reject); c.prepare(request); });
      for (let i = 0; i < 50; i += 1) {
        const got = await new Promise((resolve, reject) => {
          let value;
          request.removeAllListeners('row');
          request.on('row', (columns) => { value = columns[0].value; });
          request.userCallback = undefined;
          request.callback = (e) => (e ? reject(e) : resolve(value));
          c.execute(request, { a: i });
        });
        equal(got, i * 2);
      }
      await new Promise((resolve, reject) => { request.callback = (e) => (e ? reject(e) : resolve()); c.unprepare(request); });
    });
  },
  async 'row counts and several result sets'() {
    await connected(async (c) => {
      equal((await run(c, 'declare @t table (id int); insert @t select value from generate_series(1, 40)')).count, 40);
      equal((await run(c, "select 1 a; select 'x' b, 2 c union all select 'y', 3; select 4 where 1 = 0")).sets, [[[1]], [['x', 2], ['y', 3]], []]);
    });
  },
  async 'procedure'() {
    await connected(async (c) => {
      await run(c, 'create or alter procedure dbo.twice_node @n int, @out int output as begin select @n as given; set @out = @n * 2; return 7 end', [], 'execSqlBatch');
      const got = await run(c, 'dbo.twice_node', [['n', TYPES.Int, 21], ['out', TYPES.Int, null, { output: true }]], 'callProcedure');
      equal([got.rows, got.out, got.status], [[[21]], { out: 42 }, 7]);
      await run(c, 'drop procedure dbo.twice_node');
    });
  },
  async 'transactions'() {
    await connected(async (c) => {
      await run(c, 'create table #t (id int)', [], 'execSqlBatch');
      const ids = async () => (await run(c, 'select id from #t order by id')).rows.map((r) => r[0]);
      await control(c, 'beginTransaction', '', ISOLATION_LEVEL.READ_COMMITTED);
      await run(c, 'insert #t values (1)');
      await control(c, 'rollbackTransaction');
      equal(await ids(), []);
      await control(c, 'beginTransaction', 'named', ISOLATION_LEVEL.SERIALIZABLE);
      await run(c, 'insert #t values (2)');
      await control(c, 'saveTransaction', 'here');
      await run(c, 'insert #t values (3)');
      await control(c, 'rollbackTransaction', 'here');
      await control(c, 'commitTransaction');
      equal(await ids(), [2]);
      await run(c, 'begin tran; insert #t values (4); rollback; begin tran; insert #t values (5); commit', [], 'execSqlBatch');
      await run(c, 'set implicit_transactions on', [], 'execSqlBatch');
      await run(c, 'insert #t values (6)', [], 'execSqlBatch');
      await run(c, 'rollback; set implicit_transactions off', [], 'execSqlBatch');
      equal(await ids(), [2, 5]);
    });
  },
  async 'errors'() {
    await connected(async (c) => {
      const e = await raises(208, () => run(c, '-- not here\nselect * from no_such_table', [], 'execSqlBatch'));
      equal([e.lineNumber, e.class], [2, 16], 'line and severity');
      await raises(2627, () => run(c, 'create table #k (id int primary key); insert #k values (1), (1)', [], 'execSqlBatch'));
      await raises(8134, () => run(c, 'select 1 / 0'));
      await raises(51000, () => run(c, "throw 51000, 'thrown', 1"));
      await raises(102, () => run(c, 'select 1 +'));
      equal((await run(c, 'select 5')).rows, [[5]]);
    });
  },
  async 'cancel'() {
    await connected(async (c) => {
      const began = Date.now();
      const running = run(c, "waitfor delay '00:00:30'");
      setTimeout(() => c.cancel(), 500);
      let cancelled = false;
      await running.catch((e) => { cancelled = e.code === 'ECANCEL'; });
      equal(cancelled && Date.now() - began < 5000, true, 'cancelled in time');
      equal((await run(c, 'select 6')).rows, [[6]]);
    });
  },
  async 'bulk load'() {
    await connected(async (c) => {
      await run(c, 'drop table if exists bulk_node; create table bulk_node (id int not null, name nvarchar(40), at datetime2)', [], 'execSqlBatch');
      const count = await new Promise((resolve, reject) => {
        const bulk = c.newBulkLoad('bulk_node', { keepNulls: true }, (e, n) => (e ? reject(e) : resolve(n)));
        bulk.addColumn('id', TYPES.Int, { nullable: false });
        bulk.addColumn('name', TYPES.NVarChar, { length: 40, nullable: true });
        bulk.addColumn('at', TYPES.DateTime2, { nullable: true });
        c.execBulkLoad(bulk, Array.from({ length: 5000 }, (_x, i) => [i, i % 3 ? `n\u00e4me ${i}` : null, day('2024-02-29T00:00:00')]));
      });
      equal(count, 5000);
      equal((await run(c, 'select count(*), count(name), max(name) from bulk_node')).rows, [[5000, 3333, 'n\u00e4me 998']]);
      await run(c, 'drop table bulk_node', [], 'execSqlBatch');
    });
  },
  async 'reset'() {
    await connected(async (c) => {
      await run(c, 'create table #left (id int); set datefirst 3; begin tran', [], 'execSqlBatch');
      await new Promise((resolve, reject) => { c.reset((e) => (e ? reject(e) : resolve())); });
      equal((await run(c, "select object_id('tempdb..#left'), @@datefirst, @@trancount")).rows, [[null, 7, 0]]);
    });
  },
  async 'a pool of node-mssql'() {
    const sql = require('mssql');
    const pool = await new sql.ConnectionPool({
      server: env.RINGWOOD_HOST, port: Number(env.RINGWOOD_PORT), user: env.RINGWOOD_USER, password: env.RINGWOOD_PASSWORD,
      database: 'tempdb', options: { encrypt: true, trustServerCertificate: true }, pool: { max: 4 },
    }).connect();
    const got = await Promise.all(Array.from({ length: 40 }, (_x, i) => pool.request().input('i', sql.Int, i).query('select @i * 2 as n')));
    equal(got.map((r) => r.recordset[0].n), Array.from({ length: 40 }, (_x, i) => i * 2));
    await pool.close();
  },
  async '32 connections'() {
    await Promise.all(Array.from({ length: 32 }, (_x, n) => connected(async (c) => {
      for (let i = 0; i < 20; i += 1) { equal((await run(c, 'select @a * 2', [['a', TYPES.Int, n * i]])).rows, [[n * i * 2]]); }
    })));
  },
};

runAll('tedious', checks);
