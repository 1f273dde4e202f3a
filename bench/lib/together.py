"""Runs that need little of the machine, several at a time."""

import concurrent.futures

from lib import child


def option(parser):
    """How many at a time."""
    parser.add_argument("--at-once", type=int, default=1, metavar="N", help="so many runs at a time, spread over the cores [default: 1]")


def spread(work, jobs, cores, at_once):
    """`work(job, cores)` for every job; each place among the `at_once` has its own order of the cores, so that they share the
    clients and the servers. Results in the order of the jobs."""
    free = [cores[place % len(cores):] + cores[:place % len(cores)] for place in range(at_once)]

    def one(job):
        mine = free.pop()
        try:
            return work(job, mine)
        finally:
            free.append(mine)

    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        waiting = [pool.submit(one, job) for job in jobs]
        try:
            return [future.result() for future in waiting]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            child.interrupt_all()
            raise
