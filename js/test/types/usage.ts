// What users write must have the types they expect; compiled, never run, by types.test.mjs.
import * as sn from 'sinter';

interface Params {
  w: sn.Tensor;
  b: sn.Tensor;
}

export async function usage(): Promise<void> {
  const info: sn.Info = await sn.init({ threads: 'auto', deterministic: true });
  const x: sn.Tensor = sn.tensor([[1, 2], [3, 4]], { dtype: 'f64' });
  const shape: readonly number[] = x.shape;
  const y: sn.Tensor = x.add(1).mul([1, 2]).sum({ axis: [0, -1], keepdims: true }).max(0);
  const data: Float32Array | Float64Array | Int32Array | Int8Array | Uint8Array = await y.data();
  const value: number = y.item();

  const row: sn.Tensor = x.at(0).set(1).at({ begin: 1 }).get().take([0, 1], { axis: 1 });
  const { values, indices }: { values: sn.Tensor; indices: sn.Tensor } = x.sort({ descending: true }).topk(1);
  const halves: sn.Tensor[] = sn.split(x.cumsum(0).var({ correction: 1 }).tile(2), 2);
  const normed: sn.Tensor = sn.layerNorm(x, { weight: [1, 1], eps: 1e-3 });

  const g: sn.Tensor = sn.grad((t: sn.Tensor) => t.sum())(x);
  const [loss, both] = sn.valueAndGrad((p: Params, t: sn.Tensor) => t.matmul(p.w).add(p.b).sum())({ w: x, b: y }, x);
  const gw: sn.Tensor = both.w;
  const [first, second] = sn.grad((p: Params, s: number) => p.w.mul(s).sum(), { argnums: [0, 1] })({ w: x, b: y }, 2);
  const parts: [Params, sn.Tensor] = [first, second];

  const [[total, aux], slopes] = sn.valueAndGrad((t: sn.Tensor) => [t.sum(), { n: t.mul(2) }] as const, { hasAux: true })(x);
  const alone: [sn.Tensor, { n: sn.Tensor }] = sn.grad((t: sn.Tensor) => [t.sum(), { n: t }] as [sn.Tensor, { n: sn.Tensor }], { hasAux: true })(x);
  const sums: sn.Tensor[] = [total, aux.n, slopes, ...alone.slice(0, 1)] as sn.Tensor[];
  const [out, pull] = sn.vjp((p: Params, s: number) => ({ scaled: p.w.mul(s) }), { w: x, b: y }, 2);
  const pulled: [Params, sn.Tensor] = pull({ scaled: out.scaled });
  const [primal, tangent]: [sn.Tensor, sn.Tensor] = sn.jvp((p: Params, t: sn.Tensor) => t.matmul(p.w), [{ w: x, b: y }, x], [{ w: x, b: null }, null]);
  const [, push] = sn.linearize((t: sn.Tensor) => t.tanh(), x);
  const pushed: sn.Tensor = push([[1, 0], [0, 1]]);
  const columns: { scaled: Params } = sn.jacobian((p: Params) => ({ scaled: p.w.mul(2) }), { mode: 'forward' })({ w: x, b: y });
  const [byX, byY]: [sn.Tensor, sn.Tensor] = sn.jacrev((a: sn.Tensor, b: sn.Tensor) => a.mul(b), { argnums: [0, 1] })(x, x);
  const curvature: sn.Tensor = sn.hessian((p: Params) => p.w.square().sum())({ w: x, b: y }).w.b;
  const mapped: (t: sn.Tensor, p: Params) => { a: sn.Tensor } = sn.vmap((t: sn.Tensor, p: Params) => ({ a: t.add(p.b) }), {
    inAxes: [0, null],
    outAxes: { a: 1 },
  });
  sn.checkGrads((t: sn.Tensor) => t.tanh(), [x], { order: 2, modes: ['forward'] });
  void [sums, pulled, primal, tangent, pushed, columns, byX, byY, curvature, mapped];

  const f = sn.jit((a: sn.Tensor, options: { scale: number }) => ({ scaled: a.mul(options.scale) }), { donate: 0 });
  const { scaled }: { scaled: sn.Tensor } = f(x, { scale: 2 });
  const compiled: number = f.cacheSize;

  const net = sn.nn.sequential(sn.nn.linear(2, 3), sn.nn.relu(), sn.nn.linear(3, 1));
  const params = net.init(sn.random.key(0));
  const weight: sn.Tensor = params[0].weight;
  const step = sn.trainStep(
    (p: typeof params, a: sn.Tensor) => sn.mean(sn.square(net.apply(p, a))),
    sn.optim.adam({ lr: 1e-3 }),
  );
  let state = step.init(params);
  ({ state } = step(state, x));
  const trained: typeof params = step.params(state);
  const counting = sn.trainStep(
    (p: typeof params, a: sn.Tensor, { state, key }: sn.StepContext<{ n: sn.Tensor }>) =>
      [net.apply(p, a).mean(), { state: { n: state.n.add(1) }, aux: sn.random.uniform(key) }] as const,
    sn.optim.groups([{ match: (path, t) => path === '0.weight' && t.ndim === 2, optimizer: sn.optim.muon() }]),
    { accumulate: 2, clipNorm: 1 },
  );
  const counted_ = counting(counting.init(params, { state: { n: x }, key: sn.random.key(1) }), x);
  const drawn: sn.Tensor = counted_.aux;
  const steps: sn.Tensor = counting.state(counted_.state).n;
  const scored: sn.Tensor = sn.evalStep((p: typeof params, a: sn.Tensor) => net.apply(p, a).mean())(state, x);
  // @ts-expect-error: the batch is one tensor, behind it stands what the step gives
  counting(counted_.state, x, x);
  void [drawn, steps, scored];

  const profile = await sn.profile(() => sn.tidy(() => y.add(1)));
  const names: string[] = profile.kernels.map(({ name }) => name);
  using scope = sn.scope();
  scope.track(x);
  sn.eval(x, y);
  void [row, values, indices, halves, normed, info, shape, data, value, g, loss, gw, parts, scaled, compiled, weight, trained, names];

  const set = sn.data.fromArrays([x, [1, 2]]).shuffle(sn.random.key(1)).batch(2).map(([a, b]) => ({ a, b })).prefetch();
  for await (const { a, b } of set) sn.dispose([a, b]);
  const fitted = await sn.fit(step, state, sn.data.from([[x]]), { epochs: 2, onStep: ({ loss }) => loss.toFixed(), onEpoch: (report) => step.params(report.state) });
  const resumed: { state: typeof state; place: sn.FitPlace } = sn.io.loadState(sn.io.saveState(fitted), { state, place: fitted.place }, { strict: false });
  const file: Uint8Array = sn.io.safetensors.encode(step.params(resumed.state), { metadata: { a: 'b' } });
  const read: Record<string, sn.Tensor> = { ...sn.io.safetensors.decode(file).tensors, ...(await sn.io.npz.decode(file)) };
  const most: number = sn.fitBatchSize(step, 1e6, { state, batch: [x] });
  void [read, most];

  class Model {
    w = sn.ones([2]);
    apply(t: sn.Tensor): sn.Tensor {
      return t.mul(this.w);
    }
  }
  const slope: Model = sn.grad((m: Model) => m.apply(x).sum())(new Model());
  const plain: { w: sn.NestedArray } = sn.tree.map((t) => t.toArray(), { w: x });
  const same: Params = sn.tree.map((a, b) => a.add(b!), { w: x, b: y }, { w: x, b: y });
  const masked: sn.Tensor = sn.softmaxCrossEntropy(x, [1, -1], { ignoreIndex: -1 });
  void [slope, plain, same, masked];

  const [{ h, n }, ys] = sn.scan((c, [a]) => [{ h: c.h.add(a), n: c.n.add(1) }, { y: a, none: null }], { h: x, n: 0 }, [x]);
  const stacked: { y: sn.Tensor; none: null } = ys;
  const [summed]: [sn.Tensor, unknown] = sn.scan((c, a) => [c.add(a), null], 0, [1, 2, 3]);
  const counted: [sn.Tensor, sn.Tensor] = sn.whileLoop(([i]) => i.less(3), ([i, t]) => [i.add(1), t], [0, x] as [number, sn.Tensor]);
  const chosen: sn.Tensor = sn.cond(x.any(), (a, k) => a.mul(k), (a) => a, x, 2);
  const branch: sn.Tensor = sn.switchCase(x.argmax(), [(a) => a, (a) => a.neg()], x);
  const loops: sn.Tensor[] = [sn.foriLoop(0, 3, (i, c) => c.add(i), x), sn.map((row) => row.sum(), x), h, n];
  const path: { p: sn.Tensor } = sn.odeint(({ p }, t, rate) => ({ p: p.mul(rate).add(t) }), { p: 1 }, [0, 1], { args: 2 });
  const found: sn.Minimum<{ w: sn.Tensor; k: number }> = sn.minimize(({ w, k }) => w.mul(k).sum(), { w: x, k: 1 });
  const [states, last]: [sn.Tensor, sn.Tensor[]] = sn.nn.lstm(2, 3, { reverse: true }).run(sn.nn.lstm(2, 3).init(x), x);
  void [path, found.x.k, found.converged, states, last];
  void [stacked, summed, counted, chosen, branch, loops, sn.associativeScan((a, b) => a.add(b), x, { axis: 1 })];

  // @ts-expect-error: the cotangent has the structure of the result
  pull(x);
  // @ts-expect-error: there is no such axis of an argument
  sn.vmap((t: sn.Tensor) => t, { inAxes: 'rows' });
  // @ts-expect-error: the loss stands alone without hasAux
  sn.grad((t: sn.Tensor) => [t.sum(), 1] as const);
  // @ts-expect-error: an argument too many
  x.sum(0, true);
  // @ts-expect-error: options are an object
  x.softmax(0);
  // @ts-expect-error: not a dtype
  sn.zeros([1], { dtype: 'f8' });
  // @ts-expect-error: not an option of sort
  x.sort({ reverse: true });
  // @ts-expect-error: text is no tensor
  x.add('1');
  // @ts-expect-error: the batch of the step is one tensor
  step(state);
}
