"""line_workloads.py - times calls of other libraries on command: `info`, and `time MS KIND SIZES...`, one a line on
stdin, answered by a line of JSON. kinds: name -> make(*sizes), which gives the call, or None where there is none."""
import json
import sys
import time

WARM_UP_MS, SAMPLE_MS = 100, 1
kept = {}


def value(word):
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            pass
    return word


def run(call, ms, per_sample):
    samples, begin = [], time.perf_counter()
    start = begin
    while len(samples) < 3 or (start - begin) * 1e3 < ms:
        for _ in range(per_sample):
            call()
        end = time.perf_counter()
        samples.append((end - start) * 1e3 / per_sample)
        start = end
    return samples


def answer(line, title, kinds, threads):
    command, *words = line.split()
    if command == "info":
        return {"isa": title, "threads": threads}
    if command != "time":
        return {"error": "no such command"}
    text = " ".join(words[1:])
    if words[1] not in kinds:
        return {"ms": []}
    if text not in kept:
        call = kinds[words[1]](*map(value, words[2:]))
        if call is None:
            return {"ms": []}
        warm = sorted(run(call, WARM_UP_MS, 1))
        kept[text] = call, int(SAMPLE_MS / warm[len(warm) // 2]) + 1
    call, per_sample = kept[text]
    return {"ms": run(call, float(words[0]), per_sample)}


def serve(title, kinds, threads=1):
    for request in sys.stdin:
        print(json.dumps(answer(request, title, kinds, threads)), flush=True)
