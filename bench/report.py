"""The measured data as Markdown tables, within docs between two markers, and as a picture."""

import math
import pathlib

from contenders import CONTENDERS

BEGIN, END = "<!-- measured: written by bench/run.py -->", "<!-- /measured -->"
OURS = [name for name, c in CONTENDERS.items() if c.ours]
PEERS = [name for name, c in CONTENDERS.items() if not c.ours]


def good(result):
    """Measured, and the right numbers."""
    return result is not None and "error" not in result and result.get("equal", True)


def fastest(row, names):
    """The name among these with the shortest time, or None."""
    times = {name: row["contenders"][name]["min_ms"] for name in names if good(row["contenders"].get(name))}
    return min(times, key=times.get) if times else None


def ratios(row):
    """How the row stands: best peer, our times relative to it, and which part of the limit our best one reaches."""
    peer, best = fastest(row, PEERS), fastest(row, OURS)
    time = lambda name: row["contenders"][name]["min_ms"]
    against = {name: time(name) / time(peer) for name in OURS if peer and good(row["contenders"].get(name))}
    limit = row["limits"]["ms"] / time(best) if best and row.get("limits") else None
    return dict(peer=peer, against=against, limit=limit)


def number(value):
    """Three digits."""
    return f"{value:.0f}" if value >= 99.5 else f"{value:.3g}"


def cell(result, show):
    if result is None:
        return "–"
    if "error" in result:
        return "fails"
    return ("wrong: " if not result.get("equal", True) else "") + show(result)


def table(header, lines):
    return "\n".join("| " + " | ".join(line) + " |" for line in [header, ["---"] * len(header), *lines])


def plain(name):
    return CONTENDERS[name].title.replace("*", "")


def columns(rows):
    return [name for name in [*OURS, *PEERS] if any(name in row["contenders"] for row in rows)]


def by_contender(rows, names, show, extra=lambda row: []):
    return [[row["title"], *(cell(row["contenders"].get(name), show) for name in names), *extra(row)] for row in rows]


def times_table(rows, names):
    def standing(row):
        r = ratios(row)
        ours = [f"{r['against'][name]:.2f}" if name in r["against"] else "–" for name in OURS if name in names]
        return [plain(r["peer"]) if r["peer"] else "–", *ours, number(row["limits"]["ms"]) if row.get("limits") else "–",
                f"{r['limit'] * 100:.0f} %" if r["limit"] else "–"]

    def show(result):
        return f"{number(result['min_ms'])} ({number(result['median_ms'])})" + ("" if result["quiet_blocks"] else "*")

    header = ["ms: min (median)", *(CONTENDERS[n].title for n in names), "best peer", *(f"{plain(n).split(', ')[1]} / best peer" for n in OURS if n in names),
              "limit", "of the limit"]
    return table(header, by_contender(rows, names, show, standing))


def first_call_table(rows, names):
    show = lambda r: f"{r['first_s']:.2f}" + (f" ({r['first_s_cached']:.2f})" if "first_s_cached" in r else "")
    return table(["s: first process (next)", *(CONTENDERS[n].title for n in names)], by_contender(rows, names, show))


def memory_table(rows, names):
    show = lambda r: f"{r['peak_mb']:.0f}"
    return table(["MB", *(CONTENDERS[n].title for n in names)], by_contender(rows, names, show))


def difference_table(rows, names):
    names = [n for n in names if n != "eager"]
    lines = [[row["title"], f"{row['tolerance']:.0e}", *(cell(row["contenders"].get(n), lambda r: f"{r['difference']:.0e}") for n in names)] for row in rows]
    return table(["relative to the largest value", "tolerance", *(CONTENDERS[n].title for n in names)], lines)


def speed_of_machine(limits):
    text = f"multiply-adds at {max(l['fma_gflops'] for l in limits):.0f} GFLOP/s, copies at " \
           f"{min(l['copy_gbs'] for l in limits):.0f} (memory) to {max(l['copy_gbs'] for l in limits):.0f} GB/s (caches)"
    nearest, farthest = min(l["core_to_core_ns"][0] for l in limits), max(l["core_to_core_ns"][1] for l in limits)
    return text + (f", from core to core in {nearest:.0f} to {farthest:.0f} ns" if farthest else "")


def markdown(data):
    machine = data["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    parts = [f"{machine['date']}, commit {machine['commit']}; {machine['cpu']} (family {machine['family']}, model {machine['model']}), "
             f"{machine['cores']} cores, {', '.join(machine['features'])}, {machine['memory_gb']} GB; f32; {versions}."]
    for threads, results in data["runs"].items():
        rows = [row for row in results.values() if "title" in row]
        if not rows:
            continue
        names, limits = columns(rows), [row["limits"] for row in rows if row.get("limits")]
        peak = f": {speed_of_machine(limits)}" if limits else ""
        parts += [f"### {threads} thread{'s' * (threads != '1')}{peak}", times_table(rows, names)]
        for title, make in (("First calls beyond steady state", first_call_table), ("Peak memory of the process", memory_table),
                            ("Largest difference from eager", difference_table)):
            parts += [f"**{title}**", make(rows, names)]
    return "\n\n".join(parts) + "\n"


def failures(data):
    """One line for each of our results that is wrong or missing."""
    lines = []
    for threads, results in data["runs"].items():
        for name, row in results.items():
            for contender, result in row["contenders"].items():
                if "error" in result and (CONTENDERS[contender].ours or contender == "eager"):
                    lines.append(f"{name}, {threads} threads: {contender} fails: {result['error']}")
                elif CONTENDERS[contender].ours and not result["equal"]:
                    lines.append(f"{name}, {threads} threads: {contender} differs from eager by {result['difference']:.1e}, allowed {row['tolerance']:.0e}")
    return lines


def split_docs(path, begin=BEGIN, end=END):
    """The text before and after what stands between the markers. Raises ValueError if these are missing."""
    text = path.read_text() if path.exists() else ""
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise ValueError(f"{path} needs the line {begin} and after it the line {end}")
    return text.split(begin)[0], text.split(end)[1]


def print_table(text, docs, begin, end):
    """Of a bench of its own: also to the file `docs`, unless that is None, where it replaces what stands between the markers."""
    print(text)
    if docs:
        before, after = split_docs(docs, begin, end)
        docs.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}")


def write_docs(path, data):
    """Replaces what stands between the markers; the picture lies beside the file. Raises ValueError if the markers are missing."""
    before, after = split_docs(path)
    picture = path.with_suffix(".svg")
    picture.write_text(svg(data))
    path.write_text(f"{before}{BEGIN}\n\n![Times of all contenders relative to the machine's limit]({picture.name})\n\n{markdown(data)}\n{END}{after}")


COLOURS = dict(cresset="#c2255c", cresset_device="#f06595", cresset_exported="#faa2c1", eager="#868e96", inductor="#1c7ed6", xla="#2b8a3e", onnxruntime="#e8590c", openvino="#7048e8", iree="#0b7285")
LINE, LEFT, WIDTH, TOP, STEPS = 30, 330, 560, 64, (1, 1.5, 2, 3, 5, 10, 20, 50)


def svg(data):
    """Each row of the first run on a line: how many times the limit (else the best time) each contender takes."""
    rows = [row for row in next(iter(data["runs"].values())).values() if "title" in row and fastest(row, CONTENDERS)]
    names = columns(rows)
    height = TOP + LINE * len(rows) + 30
    x = lambda ratio: LEFT + WIDTH * min(max(math.log(ratio) / math.log(STEPS[-1]), -0.02), 1.02)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 30}" height="{height}" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>']
    for i, name in enumerate(names):
        at = 20 + i * (LEFT + WIDTH) / len(names)
        out.append(f'<circle cx="{at:.0f}" cy="16" r="5" fill="{COLOURS[name]}"/><text x="{at + 9:.0f}" y="20" font-size="10.5">{plain(name)}</text>')
    out.append(f'<text x="{LEFT}" y="42" fill="#495057">time / limit of the machine, fastest of the run</text>')
    for step in STEPS:
        out.append(f'<line x1="{x(step):.1f}" x2="{x(step):.1f}" y1="{TOP - 4}" y2="{height - 26}" stroke="#dee2e6"/>'
                   f'<text x="{x(step):.1f}" y="{height - 10}" text-anchor="middle" fill="#495057">{step:g}</text>')
    for i, row in enumerate(rows):
        y = TOP + LINE * i + LINE / 2
        base = row["limits"]["ms"] if row.get("limits") else row["contenders"][fastest(row, CONTENDERS)]["min_ms"]
        out.append(f'<text x="{LEFT - 14}" y="{y + 4:.1f}" text-anchor="end">{row["title"]}</text><line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e9ecef"/>')
        for name in reversed(names):  # ours on top
            if good(row["contenders"].get(name)):
                ratio = row["contenders"][name]["min_ms"] / base
                out.append(f'<circle cx="{x(ratio):.1f}" cy="{y:.1f}" r="{6 if name in OURS else 5}" fill="{COLOURS[name]}" fill-opacity="0.85">'
                           f'<title>{plain(name)}: {ratio:.2f}</title></circle>')
    return "\n".join(out + ["</svg>"]) + "\n"
