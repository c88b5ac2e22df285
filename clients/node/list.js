// What the checks of all clients of node share. A check is an async function; it passes when it returns.
'use strict';

const env = process.env;

/** Where the server is, for clients that take a host, a user and a password by these names. */
const place = { host: env.RINGWOOD_HOST, port: Number(env.RINGWOOD_PORT), password: env.RINGWOOD_PASSWORD };

function equal(got, want, what = '') {
  const text = (v) => JSON.stringify(v, (_k, x) => (typeof x === 'bigint' ? `${x}n` : x));
  if (text(got) !== text(want)) { throw new Error(`${what}: got ${text(got).slice(0, 300)}, want ${text(want).slice(0, 300)}`); }
}

/** Runs the checks one after the other and prints a line for each; ends the process. */
async function runAll(client, checks) {
  let failed = 0;
  for (const [name, check] of Object.entries(checks)) {
    const late = new Promise((_resolve, reject) => { setTimeout(() => reject(new Error('no end after 120 s')), 120000).unref(); });
    try {
      await Promise.race([check(), late]);
      console.log(`ok ${client}: ${name}`);
    } catch (e) {
      failed += 1;
      console.log(`FAILED ${client}: ${name}: ${String(e.message).split('\n').join(' ')}`);
    }
  }
  process.exit(failed ? 1 : 0);
}

module.exports = { equal, place, runAll };
