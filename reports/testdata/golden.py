#!/usr/bin/env python3
"""Computes the figures of the real shops from their CSV files.

    python3 reports/testdata/golden.py DATA_FOLDER OUTPUT_FOLDER

reads DATA_FOLDER/uci, contoso and grocery and writes golden_uci.json and so on,
which golden_test.go compares with the reports. It needs only
the standard library and takes a few seconds. It shares no code with the service:
its formulas are written from the definitions of the figures.

Money is in cents. Days are in UTC, the time zone of all shops.

    revenue         sum of quantity * unit_price - discount, without tax
    orders          orders with an item in the group
    avg_order_value revenue / orders
    gross_profit    revenue - sum of quantity * unit_cost, both of lines with a unit cost
    margin_percent  100 * gross_profit / revenue of lines with a unit cost
    costed_percent  100 * revenue of lines with a unit cost / revenue
    gross_sales     sum of quantity * unit_price
    net_revenue     revenue - refunds
    total           net_revenue + tax + shipping; no shop has tax or shipping
    refunds         by the day of refunded_at and the channel of the order, spread
                    over its lines by net value (by quantity if all net values are zero)

Ratios are rounded half away from zero to two digits. A division by zero gives 0.00.
"""
import csv
import gzip
import itertools
import json
import os
import sqlite3
import sys

SCHEMA = """
create table products (sku text primary key, name text, cost integer, category text, seller text);
create table orders (number text primary key, at text, day text, channel text, customer text);
create table items (number text, line integer, sku text, quantity integer, price integer, cost integer, discount integer,
                    primary key (number, line));
create table refunds (id integer primary key, number text, day text, amount integer);
create table shares (refund integer, number text, line integer, amount integer);
create index orders_customer on orders (customer, at);
create index refunds_number on refunds (number);
create index shares_line on shares (number, line);
"""

# The order lines and refund lines with all columns that reports group or filter by.
LINES = """
create table lines as
    select o.*, substr(o.day, 1, 7) as month, i.line, i.sku, p.name, p.category, p.seller, quantity, price, discount,
           quantity * price - discount as revenue, coalesce(i.cost, p.cost) as cost
      from items i join orders o using (number) left join products p using (sku);
create index lines_number on lines (number);
create index lines_day on lines (day);
create view refunded_lines as
    select r.id, r.day, substr(r.day, 1, 7) as month, o.channel, o.customer, p.category, p.seller, i.sku, coalesce(i.cost, p.cost) as cost, s.amount
      from shares s join refunds r on r.id = s.refund join items i on i.number = s.number and i.line = s.line
      join orders o on o.number = s.number left join products p using (sku);
"""


def rows(folder, name):
    """Yields the rows of a CSV file, or of the same file compressed by gzip."""
    path = os.path.join(folder, name)
    opened = open(path, encoding="utf-8", newline="") if os.path.exists(path) else gzip.open(path + ".gz", "rt", encoding="utf-8", newline="")
    with opened as f:
        yield from csv.DictReader(f)


def cents(text):
    """Returns 1230 for "12.3", and None for an empty text."""
    if text == "":
        return None
    whole, _, part = text.partition(".")
    assert whole.isdigit() and len(part) <= 2, text
    return int(whole) * 100 + int((part + "00")[:2])


def money(n):
    return f"{'-' if n < 0 else ''}{abs(n) // 100}.{abs(n) % 100:02}"


def ratio(n, d):
    """Returns n / d rounded half away from zero, or 0 if d is 0."""
    if d == 0:
        return 0
    whole = (2 * abs(n) + abs(d)) // (2 * abs(d))
    return whole if (n < 0) == (d < 0) else -whole


def percent_change(now, before):
    """Returns by how many percent now differs from before, or null if only before is zero."""
    return "null" if before == 0 and now else money(ratio(10000 * (now - before), before))


def spread(amount, weights):
    """Splits amount by weight into whole cents. The remaining cents go to the largest remainders."""
    total = sum(weights)
    shares = [amount * w // total for w in weights]
    order = sorted(range(len(weights)), key=lambda i: (-(amount * weights[i] % total), i))
    for i in order[: amount - sum(shares)]:
        shares[i] += 1
    return shares


def load(folder):
    db = sqlite3.connect(":memory:")
    db.row_factory = sqlite3.Row
    db.executescript(SCHEMA)
    names = {kind: {r["id"]: r["name"] for r in rows(folder, kind)} for kind in ("categories.csv", "sellers.csv")}
    db.executemany("insert into products values (?, ?, ?, ?, ?)", (
        (p["sku"], p["name"], cents(p["cost"]), names["categories.csv"].get(p["category"]), names["sellers.csv"].get(p["seller"]))
        for p in rows(folder, "products.csv")))
    discounts = {}
    for o in rows(folder, "orders.csv"):
        assert o["tax_total"] == "" and o["placed_at"].endswith("Z"), o
        discounts[o["number"]] = cents(o["discount_total"])
        db.execute("insert into orders values (?, ?, ?, ?, ?)", (o["number"], o["placed_at"], o["placed_at"][:10], o["channel"], o["customer"]))
    for number, lines in itertools.groupby(rows(folder, "order_items.csv"), lambda i: i["order_number"]):
        lines = [(number, n, i["sku"], int(i["quantity"]), cents(i["unit_price"]), cents(i["unit_cost"]), cents(i["discount"]) or 0)
                 for n, i in enumerate(lines, 1)]
        # The discounts of the lines add up to the discount of the order.
        assert discounts[number] in (None, sum(line[6] for line in lines)), number
        db.executemany("insert into items values (?, ?, ?, ?, ?, ?, ?)", lines)
    for n, r in enumerate(rows(folder, "refunds.csv"), 1):
        db.execute("insert into refunds values (?, ?, ?, ?)", (n, r["order_number"], r["refunded_at"][:10], cents(r["amount"])))
        lines = db.execute("select line, quantity, quantity * price - discount as net from items where number = ? order by line", (r["order_number"],)).fetchall()
        weights = [line["net"] for line in lines] if any(line["net"] for line in lines) else [line["quantity"] for line in lines]
        shares = spread(cents(r["amount"]), weights)
        db.executemany("insert into shares values (?, ?, ?, ?)", ((n, r["order_number"], line["line"], s) for line, s in zip(lines, shares) if s))
    db.executescript(LINES)
    return db


SALES = """
    select {key} as k, count(distinct number) as orders, count(*) as items, sum(quantity) as units,
           sum(case when cost is null then quantity else 0 end) as without, sum(revenue) as revenue,
           sum(case when cost is null then revenue else 0 end) as costless, sum(quantity * price) as gross,
           sum(discount) as discounts, sum(quantity * coalesce(cost, 0)) as cost
      from lines where day between ? and ? group by k"""
REFUNDS = """
    select {key} as k, count(distinct id) as n, sum(amount) as refunds,
           sum(case when cost is null then amount else 0 end) as refunds_without from refunded_lines where day between ? and ? group by k"""


def sums(db, key, first, last):
    """Returns the sums of each group that has an order line or a refund."""
    groups = {}
    for r in db.execute(SALES.format(key=key), (first, last)):
        groups[r["k"]] = dict(r)
    for r in db.execute(REFUNDS.format(key=key), (first, last)):
        groups.setdefault(r["k"], dict(k=r["k"], orders=0, items=0, units=0, without=0, revenue=0, costless=0, gross=0, discounts=0, cost=0)).update(dict(r))
    for g in groups.values():
        g.setdefault("refunds", 0)
        g.setdefault("n", 0)
        g.setdefault("refunds_without", 0)
    return groups


def figures(g, counted=True):
    """Returns the figures that a report shows. A refund can belong to several groups; then counted is False."""
    costed = g["revenue"] - g["costless"]
    profit = costed - g["cost"]
    out = {
        "revenue": money(g["revenue"]),
        "orders": str(g["orders"]),
        "avg_order_value": money(ratio(g["revenue"], g["orders"])),
        "gross_profit": money(profit),
        "margin_percent": money(ratio(10000 * profit, costed)),
        "units_sold": str(g["units"]),
        "discounts": money(g["discounts"]),
        "tax": "0.00",
        "refunds": money(g["refunds"]),
        "cost": money(g["cost"]),
        "items": str(g["items"]),
        "units_without_cost": str(g["without"]),
        "revenue_without_cost": money(g["costless"]),
        "costed_percent": money(ratio(10000 * costed, g["revenue"])),
        "gross_sales": money(g["gross"]),
        "net_revenue": money(g["revenue"] - g["refunds"]),
        "shipping": "0.00",
        "total": money(g["revenue"] - g["refunds"]),
        # No set has tax, shipping or returned units, so all of a refund is revenue.
        "refunded_revenue": money(g["refunds"]),
        "refunded_revenue_without_cost": money(g["refunds_without"]),
        "net_gross_profit": money(profit - (g["refunds"] - g["refunds_without"])),
        "units_returned": "0",
        "returned_cost": "0.00",
    }
    if counted:
        out["refund_count"] = str(g["n"])
    return out


TIES = ("revenue", "discounts", "tax", "cost", "gross_profit", "refunds", "orders", "items", "units_sold", "units_without_cost", "refund_count",
        "gross_sales", "net_revenue", "shipping", "total", "revenue_without_cost", "net_gross_profit", "units_returned", "refunded_revenue",
        "refunded_revenue_without_cost", "returned_cost")
ZERO = dict(orders=0, items=0, units=0, without=0, revenue=0, costless=0, gross=0, discounts=0, cost=0, refunds=0, n=0, refunds_without=0)


def summary(db, first, last):
    total = sums(db, "''", first, last).get("", ZERO)
    days = sums(db, "day", first, last)
    every = [r[0] for r in db.execute("""
        with recursive d (day) as (select ? union all select date(day, '+1 day') from d where day < ?) select day from d""", (first, last))]
    yield dict(report="summary", rows=[figures(total)])
    yield dict(report="reconcile", rows=[dict(figure=k, facts=figures(total)[k]) for k in TIES])
    if len(every) <= 31:
        yield dict(report="daily", rows=[dict(group=d, **figures(days.get(d, ZERO))) for d in every])
    n = len(every)
    before = [r[0] for r in db.execute("select date(?, ?) union all select date(?, '-1 day')", (first, f"-{n} days", first))]
    previous = sums(db, "''", *before).get("", ZERO)
    change = {f"{k}_change_percent": percent_change(total[k], previous[k]) for k in ("revenue", "orders")}
    yield dict(report="previous", rows=[dict(**figures(previous), **change)])
    before = [f"{int(day[:4]) - 1}{day[4:].replace('-02-29', '-02-28')}" for day in (first, last)]
    year = sums(db, "''", *before).get("", ZERO)
    change = {f"{k}_change_percent": percent_change(total[k], year[k]) for k in ("revenue", "orders")}
    yield dict(report="previous_year", rows=[dict(**figures(year), **change)])


def by_month(db, first, last):
    groups = sums(db, "month", first, last)
    yield dict(report="custom", group_by="month", rows=[dict(group=k, label=k, **figures(groups[k])) for k in sorted(groups)])


def by_channel(db, folder, first, last):
    labels = {r["identifier"]: r["label"] for r in rows(folder, "channels.csv")}
    groups = sorted(sums(db, "channel", first, last).values(), key=lambda g: (-g["revenue"], g["k"]))
    percents = spread(10000, [g["revenue"] for g in groups])
    yield dict(report="channels", rows=[
        dict(group=g["k"], label=labels[g["k"]], **figures(g), percent_of_total=money(p)) for g, p in zip(groups, percents)])


def by_name(db, kind, first, last):
    """Yields the groups by category or seller, by revenue descending."""
    groups = sorted(sums(db, kind, first, last).values(), key=lambda g: (-g["revenue"], g["k"] or "None"))
    yield dict(report="custom", group_by=kind, rows=[dict(label=g["k"] or "None", **figures(g, counted=False)) for g in groups])


def products(db, by, first, last, limit=25):
    """Yields the first products by a rounded figure, then by revenue and by their order in the catalog."""
    key = {
        "revenue": lambda g: -g["revenue"],
        "net_revenue": lambda g: g["refunds"] - g["revenue"],
        "units": lambda g: -g["units"],
        "margin": lambda g: -ratio(10000 * (g["revenue"] - g["costless"] - g["cost"]), g["revenue"] - g["costless"]),
    }[by]
    known = {r["sku"]: r for r in db.execute("select rowid, sku, name from products")}
    groups = list(sums(db, "sku", first, last).values())
    top = sorted(groups, key=lambda g: (key(g), -g["revenue"], known[g["k"]]["rowid"]))[:limit]
    shown = ("revenue", "units_sold", "cost", "gross_profit", "margin_percent", "units_without_cost", "revenue_without_cost", "gross_sales", "refunds", "net_revenue", "refunded_revenue", "net_gross_profit")
    out = []
    for g in top:
        f = figures(g)
        out.append(dict(sku=g["k"], name=known[g["k"]]["name"], count=str(len(groups)), **{k: f[k] for k in shown}))
    yield dict(report="products", sort=by, per_page=limit, rows=out)


def customers(db, first, last, limit=10):
    people = [dict(r) for r in db.execute("""
        select customer, count(distinct number) as orders, sum(revenue) as revenue, max(at) as last,
               (select min(at) from orders o where o.customer = l.customer) as first,
               coalesce((select sum(amount) from refunds r join orders o using (number)
                          where o.customer = l.customer and r.day between ?1 and ?2), 0) as refunds
          from lines l where day between ?1 and ?2 and customer <> '' group by customer""", (first, last))]
    guests = db.execute("select count(*) from orders where customer = '' and day between ? and ?", (first, last)).fetchone()[0]
    new = sum(1 for p in people if p["first"][:10] >= first)
    yield dict(report="customers_summary", rows=[dict(
        total_customers=str(len(people)), new_customers=str(new), returning_customers=str(len(people) - new), guest_orders=str(guests),
        repeat_rate_percent=money(ratio(10000 * (len(people) - new), len(people))),
        average_revenue_per_customer=money(ratio(sum(p["revenue"] for p in people), len(people))))])
    top = sorted(people, key=lambda p: (-p["revenue"], p["customer"]))[:limit]
    yield dict(report="customers", per_page=limit, rows=[dict(
        customer_id=p["customer"], orders=str(p["orders"]), revenue=money(p["revenue"]), avg_order_value=money(ratio(p["revenue"], p["orders"])),
        refunds=money(p["refunds"]), first_order_at=p["first"], last_order_at=p["last"]) for p in top])


def order(db, number, lines):
    """Yields the sums of an order and some of its lines."""
    refunded = db.execute("select coalesce(sum(amount), 0) from refunds where number = ?", (number,)).fetchone()[0]
    whole = db.execute("select count(*) as items, sum(quantity) as units, sum(revenue) as revenue from lines where number = ?", (number,)).fetchone()
    out = [dict(items=str(whole["items"]), units_sold=str(whole["units"]), revenue=money(whole["revenue"]), refunds=money(refunded))]
    for r in db.execute(f"""
            select line, sku, name, quantity, revenue, coalesce((select sum(amount) from shares s where s.number = l.number and s.line = l.line), 0) as refunded
              from lines l where number = ? and line in ({lines}) order by line""", (number,)):
        out.append(dict(line=str(r["line"]), sku=r["sku"], name=r["name"], units_sold=str(r["quantity"]), revenue=money(r["revenue"]), refunds=money(r["refunded"])))
    yield dict(report="order", number=number, rows=out)


def above_paid(db):
    """Yields the number of orders with refunds above their revenue."""
    n = db.execute("""
        select count(*) from (select number, sum(amount) as refunded from refunds group by number) r
         where refunded > (select sum(revenue) from lines l where l.number = r.number)""").fetchone()[0]
    yield dict(report="refunded_above_paid", rows=[dict(orders=str(n))])


def between(first, last, *parts):
    for entry in itertools.chain(*parts):
        yield {"report": entry.pop("report"), "from": first, "to": last, **entry}


def uci(folder):
    db = load(folder)
    whole, year, week, day = ("2010-12-01", "2011-12-09"), ("2011-01-01", "2011-12-31"), ("2011-11-21", "2011-11-27"), ("2011-12-09", "2011-12-09")
    yield from between(*whole, summary(db, *whole), by_month(db, *whole), by_channel(db, folder, *whole), by_name(db, "category", *whole),
                       products(db, "revenue", *whole), products(db, "units", *whole, limit=10), products(db, "net_revenue", *whole, limit=10),
                       customers(db, *whole))
    yield from between(*year, summary(db, *year), customers(db, *year))
    yield from between(*week, summary(db, *week), by_channel(db, folder, *week), by_name(db, "category", *week), products(db, "revenue", *week, limit=10), customers(db, *week, limit=5))
    yield from between(*day, summary(db, *day), by_channel(db, folder, *day), products(db, "revenue", *day, limit=10), products(db, "net_revenue", *day, limit=10), customers(db, *day, limit=5))
    yield from order(db, "573585", "1, 557, 1114")
    yield from order(db, "581483", "1")
    yield from above_paid(db)


def contoso(folder):
    db = load(folder)
    whole, year = ("2021-05-18", "2024-04-20"), ("2023-01-01", "2023-12-31")
    for r in whole, year:
        yield from between(*r, summary(db, *r), by_channel(db, folder, *r), by_name(db, "category", *r), by_name(db, "seller", *r),
                           products(db, "revenue", *r, limit=10), products(db, "margin", *r, limit=10), customers(db, *r, limit=5))
    yield from between(*whole, by_month(db, *whole))


def grocery(folder):
    db = load(folder)
    whole = ("2017-01-01", "2018-01-01")
    yield from between(*whole, summary(db, *whole), by_month(db, *whole), by_channel(db, folder, *whole),
                       products(db, "revenue", *whole, limit=10), customers(db, *whole))


def write(path, entries):
    """Writes JSON with one row of figures per line, so that diffs are readable."""
    with open(path, "w", encoding="utf-8", newline="\n") as f:
        f.write("[\n")
        for i, e in enumerate(entries):
            lines = e.pop("rows")
            head = json.dumps(e, ensure_ascii=False)[:-1]
            f.write((",\n" if i else "") + head + ', "rows": [\n  ')
            f.write(",\n  ".join(json.dumps(r, ensure_ascii=False) for r in lines) + "\n]}")
        f.write("\n]\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    data, out = sys.argv[1:]
    write(os.path.join(out, "golden_uci.json"), uci(os.path.join(data, "uci")))
    write(os.path.join(out, "golden_contoso.json"), contoso(os.path.join(data, "contoso")))
    write(os.path.join(out, "golden_grocery.json"), grocery(os.path.join(data, "grocery")))
