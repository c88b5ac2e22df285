// MikroORM over tedious: the schema of a small shop made, compared with what the server says it is, changed, filled and queried.
'use strict';
const { EntitySchema, MikroORM } = require('@mikro-orm/mssql');
const { equal, place, runAll } = require('./list');

/** The entities; a customer has more columns later on. */
const entities = (more = {}) => [
  new EntitySchema({
    name: 'Customer',
    tableName: 'customer',
    properties: {
      id: { type: 'number', primary: true },
      name: { type: 'string', length: 40, index: true },
      since: { type: 'Date', length: 3, nullable: true },
      orders: { kind: '1:m', entity: () => 'Order', mappedBy: 'customer' },
      ...more,
    },
  }),
  new EntitySchema({
    name: 'Order',
    tableName: 'order',
    properties: {
      id: { type: 'number', primary: true },
      amount: { type: 'decimal', precision: 12, scale: 2 },
      customer: { kind: 'm:1', entity: () => 'Customer', deleteRule: 'cascade' },
    },
  }),
];

async function connected(work, more) {
  const orm = await MikroORM.init({
    ...place,
    user: process.env.RINGWOOD_USER,
    dbName: 'shop_mikroorm',
    entities: entities(more),
    driverOptions: { connection: { options: { encrypt: true, trustServerCertificate: true } } },
    logger: () => {},
  });
  try { return await work(orm); } finally { await orm.close(true); }
}

/** What would have to be done to the database for it to be as the entities are. */
const missing = async (orm) => (await orm.schema.getUpdateSchemaSQL()).trim();

const CITY = { city: { type: 'string', length: 20, nullable: true } };

runAll('mikroorm', {
  async 'a database and a schema are made'() {
    await connected((orm) => orm.schema.createSchema());
  },
  // It asks INFORMATION_SCHEMA for columns in small letters, and reads the rows by these names.
  async 'a schema that is there is compared'() {
    await connected(async (orm) => equal(await missing(orm), ''));
  },
  async 'a schema is changed'() {
    await connected(async (orm) => {
      const statements = await missing(orm);
      equal(/add \[city\] nvarchar\(20\)/.test(statements), true, statements);
      await orm.schema.updateSchema();
      equal(await missing(orm), '');
    }, CITY);
  },
  async 'rows there and back'() {
    await connected(async (orm) => {
      const em = orm.em.fork();
      em.persist(em.create('Customer', { name: 'n\u00e4me', city: 'Burley', orders: [{ amount: '1.50' }, { amount: '2.25' }] }));
      await em.flush();
      const found = await orm.em.fork().findOneOrFail('Customer', { name: 'n\u00e4me' }, { populate: ['orders'] });
      equal(found.city, 'Burley');
      equal(found.orders.getItems().map((order) => Number(order.amount)).sort(), [1.5, 2.25]);
      await orm.em.fork().transactional(async (inner) => {
        await inner.nativeDelete('Customer', found.id);
        throw new Error('no');
      }).catch((e) => equal(e.message, 'no'));
      equal(await orm.em.fork().count('Order'), 2);
      equal(await orm.em.fork().nativeDelete('Customer', found.id), 1);
      equal(await orm.em.fork().count('Order'), 0);
    }, CITY);
  },
});
