// A small application on Node's own HTTP server: the 50 cheapest of 2,000 orders, sorted for each request, as JSON. PORT
// [required].
"use strict";

const http = require("http");

const orders = Array.from({ length: 2000 }, (_, number) => ({ number, name: `order ${number}`, price: (number * 7919) % 2003 }));
const server = http.createServer((_request, response) => {
  const cheapest = [...orders].sort((one, other) => one.price - other.price).slice(0, 50);
  const body = JSON.stringify(cheapest);
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  response.end(body);
});
server.listen(Number(process.env.PORT), "127.0.0.1");
