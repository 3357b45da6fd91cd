#!/usr/bin/env python3
# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the CPU tables of docs/performance.md from the two files of bench/record.py.

  table.py CPU_JSON RE_USE_JSON

What stands between the document's marks (targets, enhancer, stages, operators) is replaced.
"""

import json
import pathlib
import sys

DOCUMENT = pathlib.Path(__file__).resolve().parent.parent / "docs" / "performance.md"
SCANS = ["falcon_mamba_7b", "re_use_8k_time", "re_use_16k_time", "re_use_16k_frequency",
         "re_use_44k_time", "re_use_48k_time", "re_use_48k_frequency"]


class Rows:
    """Rows of a file by operator, case, class and threads, those beside one contender first."""

    def __init__(self, rows):
        self.rows = rows

    def find(self, op, case, precision, threads, peer="ggml"):
        of = [r for r in self.rows if (r["operator"], r["case"], r["precision"], r["threads"])
              == (op, case, precision, threads)]
        with_peer = [r for r in of if (r["peer"] or "").startswith(peer)]
        return (with_peer or of or [None])[0]

    def ratio(self, op, case, precision, threads, peer="ggml"):
        row = self.find(op, case, precision, threads, peer)
        if row is None or not (row["peer"] or "").startswith(peer):
            raise SystemExit(f"no row of {op} {case} {precision} beside {peer}, {threads} threads")
        return row["ratio"]

    def pair(self, op, case, precision="standard"):
        one, two = (self.ratio(op, case, precision, n) for n in (1, 2))
        return f"{one:.2f}x / {two:.2f}x"

    def cases(self, op):
        return list(dict.fromkeys(r["case"] for r in self.rows if r["operator"] == op))

    def gains(self, op, precision="standard"):
        """One thread's time over two's, and over that of two that share nothing."""
        reached, possible = [], []
        for case in self.cases(op):
            one, two = self.find(op, case, precision, 1), self.find(op, case, precision, 2)
            if one and two and two["apart_ms"]:
                reached.append(one["median_ms"] / two["median_ms"])
                possible.append(one["median_ms"] / two["apart_ms"])
        return f"{spread(reached, '.2f')} (of {spread(possible, '.2f')})"


def spread(values, form):
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"


def targets(rows, network):
    scan, ssd, conv = "selective_scan", "ssd_chunk_scan", "causal_conv1d"
    update, conv_update = "selective_state_update", "causal_conv1d_update"

    def speeds(cases, threads):
        found = [rows.find(scan, c, "standard", threads) for c in cases]
        return spread([r["updates"] / r["median_ms"] / 1e6 for r in found], ".2f")

    def ratios(op, cases, threads, form=".1f", precision="standard"):
        return spread([rows.ratio(op, c, precision, threads) for c in cases], form)

    def rtf(model, rate, precision, threads=2, of="best_ms"):
        for r in network:
            if (r["rate"], r["precision"], r["threads"], bool(r["model"])) == (rate, precision, threads, model):
                return f"{r[of] / r['seconds'] / 1000:.3f}" if model else f"{r[of] / r['seconds'] / 1000:.2f}"
        raise SystemExit(f"no row of the network at {rate} Hz, {precision}")

    def conv_part(case):
        row = rows.find(conv, case, "standard", 1)
        speed = row["bytes"] / row["median_ms"] / 1e6
        return f"{rows.pair(conv, case)}, {speed:.1f} GB/s on one thread"

    decode = rows.cases(update)
    mamba_1 = [c for c in decode if c.startswith(("mamba_", "falcon_mamba"))]
    mamba_2 = [c for c in decode if c not in mamba_1]
    eager = [r["ratio"] for way in ("slow_path", "stepwise") for r in rows.rows
             if r["operator"] == "re_use" and way in (r["peer"] or "")]
    large, wide = "granite_4_h_tiny", "h128_p80_n128"
    return [
        ("Mamba-1 scan, Falcon-Mamba and RE-USE at 8 to 48 kHz, 1 thread", "ggml", "18x (3.6 G updates/s)", "27x (5.5 G/s)",
         f"{ratios(scan, SCANS, 1)}x ({speeds(SCANS, 1)} G/s); 2 threads {ratios(scan, SCANS, 2)}x"),
        ("Mamba-2 scan, 512 tokens, H48 P64 N128 and H128 P80 N128, `standard`", "ggml", "1.7x", "2.2x",
         f"{rows.pair(ssd, large)} and {rows.pair(ssd, wide)}"),
        ("the same, `fast` (bf16)", "ggml", "3x", "4.5x",
         f"{rows.pair(ssd, large, 'fast')} and {rows.pair(ssd, wide, 'fast')}"),
        ("Mamba-2, N = 96", "ggml", "6x", "",
         f"{rows.pair(ssd, 'nemotron_3_puzzle')}; `fast` {rows.pair(ssd, 'nemotron_3_puzzle', 'fast')}"),
        ("Mamba-2, N = 64, P = 128 and P = 32", "ggml", "2x", "",
         f"{rows.pair(ssd, 'plamo_2_1b')} and {rows.pair(ssd, 'falcon_h1_tiny_90m')}; `fast` "
         f"{rows.pair(ssd, 'plamo_2_1b', 'fast')} and {rows.pair(ssd, 'falcon_h1_tiny_90m', 'fast')}"),
        ("decode, 1 token, Mamba-2", "ggml", "1.3x", "memory bound",
         f"{ratios(update, mamba_2, 1, '.2f')}x / {ratios(update, mamba_2, 2, '.2f')}x"),
        ("decode, 1 token, Mamba-1", "ggml", "1.3x", "",
         f"{ratios(update, mamba_1, 1, '.2f')}x / {ratios(update, mamba_1, 2, '.2f')}x"),
        ("decode, 1 token, convolution", "ggml", "1.3x", "",
         f"{ratios(conv_update, rows.cases(conv_update), 1, '.2f')}x / {ratios(conv_update, rows.cases(conv_update), 2, '.2f')}x"),
        ("conv prefill, 3328 and 8192 channels, 512 tokens", "ggml", "8x", "80 % of copy bandwidth",
         f"{conv_part(large)} and {conv_part('falcon_mamba_7b')}"),
        ("RE-USE 16 kHz, 5 s, 2 threads, `standard`", "PyTorch eager", "100x, RTF 1.9", "RTF 1.5",
         f"{eager[0]:.0f}x its slow path, {eager[1]:.0f}x a step at a time; RTF {rtf(False, 16000, 'standard')}"),
        ("the same, `fast`", "", "RTF 1.4", "1.0", f"RTF {rtf(False, 16000, 'fast')}"),
        ("RE-USE 48 kHz, 2 threads, `standard` / `fast`", "", "RTF 6 / 4.5", "5 / 3.5",
         f"RTF {rtf(False, 48000, 'standard')} / {rtf(False, 48000, 'fast')}"),
        ("bundled model 16 kHz, 2 threads, `standard` / `fast`", "", "RTF 0.15", "0.1",
         f"RTF {rtf(True, 16000, 'standard')} / {rtf(True, 16000, 'fast')}"),
        ("1 to 2 threads (of what two threads that share no work reach)", "1 thread", "1.8x", "",
         f"scan {rows.gains(scan)}; Mamba-2 {rows.gains(ssd)}, `fast` {rows.gains(ssd, 'fast')}; "
         f"conv {rows.gains(conv)}; decode {rows.gains(update)}; RE-USE "
         f"{float(rtf(False, 16000, 'standard', 1)) / float(rtf(False, 16000, 'standard')):.2f}; bundled "
         f"{float(rtf(True, 16000, 'standard', 1)) / float(rtf(True, 16000, 'standard')):.2f}"),
    ]


def enhancer(network):
    for r in network:
        name = "bundled model" if r["model"] else "RE-USE at full size, random weights"
        second = 1000 * r["seconds"]
        yield (name, f"{r['rate'] / 1000:g} kHz", f"`{r['precision']}`", r["threads"], f"{r['best_ms'] / second:.3f}",
               f"{r['median_ms'] / second:.3f}", f"{r['processor_ms'] / second / r['threads']:.3f}")


def stages(network):
    for r in network:
        if r["rate"] == 16000 and not r["model"] and r["threads"] == 2:
            yield (f"`{r['precision']}`", *(f"{100 * ms / r['best_ms']:.0f}" for ms in r["stages_best_ms"].values()))


def operators(rows):
    for op in dict.fromkeys(r["operator"] for r in rows.rows):
        for case in [] if op == "re_use" else rows.cases(op):
            for precision in ("standard", "fast"):
                one, two = rows.find(op, case, precision, 1), rows.find(op, case, precision, 2)
                # Where fast is no kernel of its own, its row says nothing new.
                other = rows.find(op, case, "standard", 1)
                if not one or not two or precision == "fast" and op not in ("selective_scan", "ssd_chunk_scan"):
                    continue
                if precision == "fast" and other and one["median_ms"] > 0.98 * other["median_ms"]:
                    continue
                torch = rows.find(op, case, precision, 1, "PyTorch")
                beside_torch = torch is not None and (torch["peer"] or "").startswith("PyTorch")
                yield (f"`{op}`", case, precision, f"{one['median_ms']:.3f}", f"{two['median_ms']:.3f}",
                       f"{two['apart_ms']:.3f}" if two["apart_ms"] else "",
                       f"{100 * one['bound_ms'] / one['median_ms']:.0f} % {one['bound_kind']}",
                       f"{rows.ratio(op, case, precision, 1):.1f}x / {rows.ratio(op, case, precision, 2):.1f}x",
                       f"{torch['ratio']:.0f}x" if beside_torch else "")


def table(heads, lines):
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in [heads, ["---"] * len(heads), *lines])


def main():
    if len(sys.argv) != 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    cpu, re_use = (json.loads(pathlib.Path(path).read_text()) for path in sys.argv[1:3])
    rows, network = Rows(cpu["rows"]), re_use["rows"]
    made = {
        "targets": table(["work", "against", "at least", "aim", "measured (1 / 2 threads)"], targets(rows, network)),
        "enhancer": table(["network", "rate", "class", "threads", "best", "median", "processor time on each thread"],
                          enhancer(network)),
        "stages": table(["share of the time, full size, 16 kHz, %", *network[0]["stages_best_ms"]], stages(network)),
        "operators": table(["operator", "case", "class", "ms, 1 thread", "ms, 2 threads", "two apart, ms each", "share of the bound, 1 thread",
                            "ggml / ours, 1 and 2 threads", "PyTorch / ours"], operators(rows)),
    }
    text = DOCUMENT.read_text()
    for name, lines in made.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        before, rest = text.split(begin, 1)
        text = before + begin + "\n\n" + lines + "\n\n" + end + rest.split(end, 1)[1]
    DOCUMENT.write_text(text)


if __name__ == "__main__":
    main()
