#!/usr/bin/env python3
"""A TCP proxy that delivers every byte later: `delay.py ADDRESS PORT TO_ADDRESS:TO_PORT MILLISECONDS`.

Bytes keep their order, and as many as fit into 4 MiB may be on the way in each direction.
"""

import asyncio
import sys

ON_THE_WAY_MAX = 4 << 20
PIECE = 64 << 10


async def carry(reader, writer, delay_s):
    """Writes what is read, later."""
    loop = asyncio.get_running_loop()
    pieces = asyncio.Queue(maxsize=ON_THE_WAY_MAX // PIECE)

    async def deliver():
        while (piece := await pieces.get()) is not None:
            due, data = piece
            await asyncio.sleep(max(0.0, due - loop.time()))
            writer.write(data)
            await writer.drain()
        writer.close()

    delivery = asyncio.create_task(deliver())
    try:
        while data := await reader.read(PIECE):
            await pieces.put((loop.time() + delay_s, data))
        await pieces.put(None)
        await delivery
    except ConnectionError:
        delivery.cancel()
        writer.close()


async def main(listen, port, to_host, to_port, delay_s):
    """Serves until it is ended."""

    async def connected(reader, writer):
        try:
            to_reader, to_writer = await asyncio.open_connection(to_host, to_port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(carry(reader, to_writer, delay_s), carry(to_reader, writer, delay_s))

    async with await asyncio.start_server(connected, listen, port) as server:
        print("ready", flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    LISTEN, PORT, TO, MILLISECONDS = sys.argv[1:]
    HOST, _, TO_PORT = TO.rpartition(":")
    asyncio.run(main(LISTEN, int(PORT), HOST, int(TO_PORT), float(MILLISECONDS) / 1e3))
