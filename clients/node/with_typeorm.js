// TypeORM over node-mssql: the schema of a small shop made, compared with what the server says it is, changed, filled and queried.
'use strict';
const sql = require('mssql');
const { DataSource, EntitySchema } = require('typeorm');
const { equal, place, runAll } = require('./list');

const DATABASE = 'shop_typeorm';
const options = { encrypt: true, trustServerCertificate: true };

/** The entities; a customer has more columns later on. */
const entities = (more = {}) => [
  new EntitySchema({
    name: 'Customer',
    tableName: 'customer',
    columns: {
      id: { type: 'int', primary: true, generated: true },
      name: { type: 'nvarchar', length: 40 },
      since: { type: 'datetime2', precision: 3, nullable: true },
      credit: { type: 'decimal', precision: 12, scale: 2, default: 0 },
      ...more,
    },
    indices: [{ columns: ['name'], unique: true }],
    relations: { orders: { type: 'one-to-many', target: 'Order', inverseSide: 'customer', cascade: true } },
  }),
  new EntitySchema({
    name: 'Order',
    tableName: 'order',
    columns: {
      id: { type: 'int', primary: true, generated: true },
      amount: { type: 'decimal', precision: 12, scale: 2 },
    },
    relations: { customer: { type: 'many-to-one', target: 'Customer', inverseSide: 'orders', nullable: false, onDelete: 'CASCADE' } },
  }),
];

async function connected(work, more) {
  const source = new DataSource({ type: 'mssql', ...place, username: process.env.RINGWOOD_USER, database: DATABASE, entities: entities(more), options });
  await source.initialize();
  try { return await work(source); } finally { await source.destroy(); }
}

/** What would have to be done to the database for it to be as the entities are. */
const missing = async (source) => (await source.driver.createSchemaBuilder().log()).upQueries.map((query) => query.query);

const CITY = { city: { type: 'nvarchar', length: 20, nullable: true } };

runAll('typeorm', {
  async 'a schema is made'() {
    const { host, port, password } = place;
    const master = await new sql.ConnectionPool({ server: host, port, user: process.env.RINGWOOD_USER, password, database: 'master', options }).connect();
    await master.request().batch(`drop database if exists ${DATABASE}; create database ${DATABASE}`);
    await master.close();
    await connected((source) => source.synchronize());
  },
  // Its first question is SELECT "NAME", "COLLATION_NAME" FROM "sys"."databases": it reads the rows by these names.
  async 'a schema that is there is compared'() {
    await connected(async (source) => {
      equal(await missing(source), []);
      await source.synchronize();
    });
  },
  async 'a schema is changed'() {
    await connected(async (source) => {
      const statements = await missing(source);
      equal([statements.length, /ADD "city" nvarchar\(20\)/.test(statements[0])], [1, true], statements.join('; '));
      await source.synchronize();
      equal(await missing(source), []);
    }, CITY);
  },
  async 'rows there and back'() {
    await connected(async (source) => {
      const customers = source.getRepository('Customer');
      await customers.save({ name: 'n\u00e4me', city: 'Burley', orders: [{ amount: 1.5 }, { amount: 2.25 }] });
      const [found] = await customers.find({ relations: { orders: true }, order: { orders: { id: 'ASC' } } });
      equal([found.name, found.city, Number(found.credit)], ['n\u00e4me', 'Burley', 0]);
      equal(found.orders.map((order) => Number(order.amount)), [1.5, 2.25]);
      await source.transaction(async (manager) => {
        await manager.getRepository('Customer').delete(found.id);
        throw new Error('no');
      }).catch((e) => equal(e.message, 'no'));
      equal([await customers.count(), await source.getRepository('Order').count()], [1, 2]);
      await customers.delete(found.id);
      equal(await source.getRepository('Order').count(), 0);
    }, CITY);
  },
});
