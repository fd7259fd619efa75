#!/usr/bin/env python3
"""Computes the servers and the database that many agents need with mcpkg on PostgreSQL: the model behind docs/explanation/scale.md.

    python3 benches/scale.py                    # the table of docs/explanation/scale.md
    python3 benches/scale.py --agents 50000     # for another number of agents
    python3 benches/scale.py --set read_server=90e-6 --set reads_per_hour=30

The tables MEASURED, ESTIMATED and ASSUMED hold the input figures. `--set` replaces any figure.
"""

import argparse
import math

# Measured with the servers and the database on one core. All figures but write_latency are seconds of CPU time.
MEASURED = {
    "read_server": 66e-6,  # the server's share of a prompts/get over HTTP that is not cached
    "read_database": 62e-6,  # PostgreSQL's share of the same request
    "write_server": 840e-6,  # the server's share of a create_prompt over HTTP
    "write_database": 2.0e-3,  # PostgreSQL's share of the same request
    "write_latency": 2.5e-3,  # elapsed seconds from begin to commit, in which a write holds its lock
}

# Estimated from other measurements and from what is known about PostgreSQL. All figures are bytes, except look_database
# (seconds of CPU time) and connections.
ESTIMATED = {
    "look_database": 200e-6,  # PostgreSQL's work for one server that reads a change after a notification
    "server_memory": 33e6,
    "stream_memory": 27e3,  # an open listen stream
    "connection_memory": 5e6,  # one connection in PostgreSQL
    "connections": 7,  # connections that one server keeps open; under load it opens up to 16 more
    "item_bytes": 4.2e3,  # a prompt of 1 KiB in PostgreSQL, with its revision, index words and indexes
    "event_bytes": 250,
    "wal_bytes": 6e3,  # the bytes that a write sends to a standby
}

# Assumptions about the agents, and about the machines that the operator uses.
ASSUMED = {
    "active": 0.3,  # the share of all agents that are active in the busiest hour
    "reads_per_hour": 60,  # reads of one active agent: prompts, resources, lists, searches and tool calls
    "writes_per_hour": 1,  # writes of one active agent
    "items_per_agent": 20,  # prompts, resources and files of skills in the database
    "events_kept_days": 90,
    "hours_per_day": 8,
    "streams": 1,  # open streams of one connected agent
    "connected": 0.6,  # the share of all agents that are connected
    "utilisation": 0.5,  # the share of each core that is used; the rest is a reserve for peaks and for a failed machine
    "peak": 3,  # the load in the busiest second, divided by the average load in the busiest hour
    "streams_per_server": 20_000,  # at most
    "cores_per_server": 2,
    "cores_of_a_database": 64,  # the largest machine for the database
    "standbys": 2,
}


def model(agents, f):
    """Returns what this many agents need, as a list of (name, value, unit). `f` holds the input figures."""
    busy = agents * f["active"] * f["peak"] / 3600
    reads, writes = busy * f["reads_per_hour"], busy * f["writes_per_hour"]
    server_cores = (reads * f["read_server"] + writes * f["write_server"]) / f["utilisation"]
    streams = agents * f["connected"] * f["streams"]
    servers = max(2, math.ceil(server_cores / f["cores_per_server"]), math.ceil(streams / f["streams_per_server"]))
    looks = writes * servers
    database_cores = (
        reads * f["read_database"] + writes * f["write_database"] + looks * f["look_database"]
    ) / f["utilisation"]
    connections = servers * f["connections"]
    items = agents * f["items_per_agent"]
    events = agents * f["active"] * f["writes_per_hour"] * f["hours_per_day"] * f["events_kept_days"]
    return [
        ("reads in the busiest second", reads, "/s"),
        ("writes in the busiest second", writes, "/s"),
        ("cores of servers", server_cores, ""),
        (f"servers of {f['cores_per_server']:.0f} cores, two at least", servers, ""),
        ("memory of the servers with all streams open", servers * f["server_memory"] + streams * f["stream_memory"], "B"),
        ("open streams", streams, ""),
        ("connections to the database", connections, ""),
        ("memory of the connections", connections * f["connection_memory"], "B"),
        ("looks for what was written, of all servers", looks, "/s"),
        ("cores of the database", database_cores, ""),
        (f"primaries of {f['cores_of_a_database']:.0f} cores that this fills", database_cores / f["cores_of_a_database"], ""),
        ("standbys (one synchronous)", f["standbys"], ""),
        ("writes under way, if all take the same lock: 1 at most", writes * f["write_latency"], ""),
        ("stored: items", items * f["item_bytes"], "B"),
        ("stored: events", events * f["event_bytes"], "B"),
        ("to each standby in the busiest second", writes * f["wal_bytes"], "B/s"),
    ]


def shown(value, unit):
    if unit.startswith("B"):
        for prefix in ("", "k", "M", "G", "T"):
            if value < 1000:
                return f"{value:.3g} {prefix}{unit}"
            value /= 1000
        return f"{value:.3g} P{unit}"
    text = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return text + unit


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", type=float, action="append", help="how many; 10,000 and 1,000,000 unless told")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=NUMBER", help="another figure")
    arguments = parser.parse_args()
    figures = {**MEASURED, **ESTIMATED, **ASSUMED}
    for pair in arguments.set:
        name, _, number = pair.partition("=")
        if name not in figures:
            parser.error(f"there is no figure '{name}'; there are {', '.join(figures)}")
        try:
            figures[name] = float(number)
        except ValueError:
            parser.error(f"'{number}' is not a number")
    columns = arguments.agents or [10_000, 1_000_000]
    tables = [model(agents, figures) for agents in columns]
    print("| what | " + " | ".join(f"{agents:,.0f} agents" for agents in columns) + " |")
    print("| --- |" + " --- |" * len(columns))
    for rows in zip(*tables):
        print(f"| {rows[0][0]} | " + " | ".join(shown(value, unit) for _, value, unit in rows) + " |")


if __name__ == "__main__":
    main()
