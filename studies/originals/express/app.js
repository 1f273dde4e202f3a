// The Express + PostgreSQL application of the write-up studies/originals/README.md names, as it behaved: one process,
// a pool of ten connections as node-postgres has it, errors sent with status 200.
//
// PORT, HOST [127.0.0.1], DATABASE_URL [what libpq's variables say], POOL [10], PG_SLEEP in seconds [0]: how long each
// query of /pg2 sleeps; the code that was published had 0.1.
"use strict";

const express = require("express");
const { Client, Pool } = require("pg");

const port = Number(process.env.PORT);
const host = process.env.HOST || "127.0.0.1";
const connectionString = process.env.DATABASE_URL;
const max = Number(process.env.POOL || 10);
const sleep_s = Number(process.env.PG_SLEEP || 0);
if (!Number.isInteger(port) || !(max >= 1) || !(sleep_s >= 0)) {
  console.error("PORT and POOL are whole numbers, PG_SLEEP is seconds: PORT=3000 POOL=10 PG_SLEEP=0.1 node app.js");
  process.exit(2);
}

const pool = new Pool({ connectionString, max });
// Of an idle connection that breaks; without a listener it would end the process.
pool.on("error", (error) => console.error(`a pooled connection broke: ${error.message}`));

const now = () => pool.query(sleep_s > 0 ? `SELECT NOW(), pg_sleep(${sleep_s})` : "SELECT NOW()");
const users = () => pool.query('SELECT id, username, birthday, "createdAt", "updatedAt" FROM users');
const tenTimes = (query) => Promise.all(Array.from({ length: 10 }, query));

// The table that the original's object mapper made, with its one row.
async function prepareUsers() {
  await pool.query(
    `CREATE TABLE IF NOT EXISTS users (id serial PRIMARY KEY, username varchar(255), birthday timestamptz,
     "createdAt" timestamptz NOT NULL DEFAULT now(), "updatedAt" timestamptz NOT NULL DEFAULT now())`,
  );
  await pool.query(
    "INSERT INTO users (username, birthday) SELECT 'janedoe', '1980-07-20T00:00:00Z' WHERE NOT EXISTS (SELECT FROM users)",
  );
}

// Whatever goes wrong is sent as if it had gone well.
const route = (answer) => async (_request, response) => {
  try {
    response.send(await answer());
  } catch (error) {
    response.send(error);
  }
};

// A timer that is set when the one before it has fired, and so on. Node's shortest is 1 ms.
const timers = async (count) => {
  for (let left = count; left > 0; left -= 1) await new Promise((fired) => setTimeout(fired, 0));
  return true;
};

const app = express();
app.get("/", (_request, response) => response.send("Hello World!"));
app.get("/pg1", route(async () => {
  const client = new Client({ connectionString });
  await client.connect();
  const result = await client.query("SELECT $1::text as message", ["Hello world!"]);
  await client.end();
  return result.rows[0].message;
}));
app.get("/pg2", route(async () => (await now()).rows[0].now));
app.get("/pg3", route(async () => JSON.stringify(await tenTimes(() => pool.query("SELECT NOW()")))));
app.get("/seq1", route(async () => JSON.stringify((await users()).rows)));
app.get("/seq2", route(async () => JSON.stringify((await tenTimes(users)).map((result) => result.rows))));
app.get("/promise", route(async () => `promise: ${await timers(51)}`));

// Without a database `/` and `/promise` work all the same, as they did.
const prepared = connectionString || process.env.PGHOST ? prepareUsers() : Promise.resolve();
prepared
  .catch((error) => console.error(`no table of users: ${error.message}`))
  .then(() => app.listen(port, host, () => console.log(`listening on http://${host}:${port}/`)));
