// Workers are ended from outside at random moments, in Node as in a page, while asynchronous reads are pending and
// synchronous calls follow at once. Everything settles, as a WorkerError or with the right value.

/**
 * Runs in the page too, so it uses nothing outside of it. workers: returns those alive, in every round; with `paced` one
 * is ended only when the last one has been replaced, and at least 300 ms after it. Resolves to the results: counts, worst
 * times in milliseconds from the kill on, and lists of faults, which are empty if all is well.
 */
export const campaign = async ({ sn, workers, kills, seed, paced = false, limitMs = 20000 }) => {
  let state = seed;
  const random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const below = (n) => Math.floor(random() * n);
  const wait = (ms) => new Promise((wake) => setTimeout(wake, ms));

  const n = 320;
  const a = sn.tensor(Float32Array.from({ length: n * n }, (_, i) => Math.sin(i) / 20), { shape: [n, n] });
  const f = (x, k) => {
    let y = x.add(k);
    for (let i = 0; i < 8; i++) y = y.matmul(a).tanh();
    return y.sum();
  };
  const lazy = (k) => sn.tidy(() => f(a, k));
  const compiled = sn.jit(f);
  const call = (k) => sn.tidy(() => compiled(a, sn.tensor(k)));
  const reads = {
    lazy: async (k) => (await lazy(k).data())[0],
    compiled: async (k) => (await call(k).data())[0],
    twice: async (k) => {
      const t = lazy(k);
      const [[first], [second]] = await Promise.all([t.data(), t.data()]);
      return first === second ? first : NaN;
    },
    disposed: async (k) => {
      const t = call(k);
      const data = t.data();
      t.dispose();
      return (await data)[0];
    },
  };
  const kinds = Object.values(reads);
  const right = [0, 1, 2, 3].map((k) => lazy(k).item());

  const full = workers().length;
  const { threads } = sn.info();
  const found = { rounds: 0, killed: 0, resolved: 0, rejected: 0, worstMs: 0, worstSyncMs: 0, wrong: [], hung: [], raw: [] };
  const note = (round, k, value) => {
    if (value instanceof sn.WorkerError) found.rejected++;
    else if (value instanceof Error) found.raw.push([round, String(value)]);
    else if (value !== right[k]) found.wrong.push([round, k, value]);
    else found.resolved++;
  };
  const synchronous = (round, k) => {
    const begin = performance.now();
    let value;
    try {
      value = (below(2) ? lazy(k) : call(k)).item();
    } catch (error) {
      value = error;
    }
    note(round, k, value);
    found.worstSyncMs = Math.max(found.worstSyncMs, performance.now() - begin);
  };

  let lastKill = -Infinity;
  for (let round = 0; found.killed < kills; round++) {
    let killedAt = Infinity;
    found.rounds++;
    const pending = Array.from({ length: 1 + below(4) }, () => {
      const k = below(4);
      return kinds[below(kinds.length)](k).catch((error) => error).then((value) => {
        note(round, k, value);
        found.worstMs = Math.max(found.worstMs, performance.now() - killedAt);
      });
    });
    const delay = below(25);
    if (delay > 0) await wait(delay);
    const alive = workers();
    killedAt = performance.now();
    const isTime = paced
      ? alive.length === full && sn.info().threads === threads && killedAt - lastKill > 300
      : alive.length > 0;
    if (isTime) {
      lastKill = killedAt;
      alive[below(alive.length)].terminate();
      found.killed++;
    }
    for (let i = below(3); i > 0; i--) synchronous(round, below(4));
    const settled = await Promise.race([Promise.all(pending), wait(limitMs)]);
    if (!settled) {
      found.hung.push(round);
      break;
    }
    if (below(2)) synchronous(round, below(4));
  }
  return found;
};

/** The results as one line. */
export const summary = ({ rounds, killed, resolved, rejected, worstMs, worstSyncMs }) =>
  `${killed} kills in ${rounds} rounds: ${resolved} right values, ${rejected} WorkerErrors, ` +
  `settled within ${worstMs.toFixed(0)} ms of the kill, synchronous calls within ${worstSyncMs.toFixed(0)} ms`;
