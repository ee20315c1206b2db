// Programs to look at. Each is the text that the editor shows: a function `program` and its `inputs`.

export interface Example {
  id: string;
  title: string;
  source: string;
}

const { raw } = String;

export const EXAMPLES: readonly Example[] = [
  {
    id: 'softmax',
    title: 'Softmax',
    source: raw`// Softmax along each row, as its definition says.
function program(x) {
  const largest = sn.max(x, { axis: 1, keepdims: true });
  const e = sn.exp(x.sub(largest));
  return e.div(sn.sum(e, { axis: 1, keepdims: true }));
}

const { random } = sn;
const inputs = [random.normal(random.key(0), [512, 512])];
`,
  },
  {
    id: 'layer-norm',
    title: 'Layer norm',
    source: raw`// Each row with mean 0 and variance 1, scaled, shifted.
const along = { axis: 1, keepdims: true };

function program(x, scale, shift) {
  const centred = x.sub(sn.mean(x, along));
  const variance = sn.mean(sn.square(centred), along);
  return centred.mul(sn.rsqrt(variance.add(1e-5)))
    .mul(scale)
    .add(shift);
}

const x = sn.random.normal(sn.random.key(0), [512, 512]);
const inputs = [x, sn.ones([512]), sn.zeros([512])];
`,
  },
  {
    id: 'gelu',
    title: 'GELU chain',
    source: raw`// A chain of elementwise ops is one pass over the memory.
const gelu = (x) =>
  x.mul(0.5).mul(sn.erf(x.mul(Math.SQRT1_2)).add(1));

function program(x, y) {
  return gelu(gelu(x).add(y))
    .mul(sn.sigmoid(y))
    .sub(sn.square(y).div(2));
}

const inputs = [1, 2].map((seed) =>
  sn.random.normal(sn.random.key(seed), [512, 1024]));
`,
  },
  {
    id: 'dense',
    title: 'Matmul + bias + ReLU',
    source: raw`// Bias and activation, done while a tile of the
// product is still at hand.
function program(x, w, b) {
  return sn.relu(sn.matmul(x, w).add(b));
}

const inputs = [
  sn.random.normal(sn.random.key(0), [128, 784]),
  sn.random.normal(sn.random.key(1), [784, 256]),
  sn.zeros([256]),
];
`,
  },
  {
    id: 'attention',
    title: 'Attention, by hand',
    source: raw`// Two products with a softmax between them: one kernel,
// and the matrix of scores is never in memory.
function program(q, k, v) {
  const scores = sn.matmul(q, sn.swapaxes(k, 1, 2)).div(8);
  return sn.matmul(sn.softmax(scores), v);
}

const inputs = [0, 1, 2].map((seed) =>
  sn.random.normal(sn.random.key(seed), [8, 512, 64]));
`,
  },
  {
    id: 'convolution',
    title: 'Convolution + batch norm + ReLU',
    source: raw`// A convolution is a product of a view with the filter;
// what follows is done while a tile is at hand.
function program(x, filter, mean, variance) {
  const y = sn.conv2d(x, filter, { padding: 'same' });
  return sn.relu(sn.batchNorm(y, { mean, variance }));
}

const inputs = [
  sn.random.normal(sn.random.key(0), [1, 56, 56, 64]),
  sn.random.normal(sn.random.key(1), [3, 3, 64, 64]),
  sn.zeros([64]),
  sn.ones([64]),
];
`,
  },
  {
    id: 'mlp',
    title: 'MLP training step',
    source: raw`// Forward, backward and Adam's update as one program.
const { nn, optim, random } = sn;

const net = nn.sequential(
  nn.linear(784, 256), nn.relu(),
  nn.linear(256, 128), nn.relu(),
  nn.linear(128, 10),
);
const loss = (params, images, labels) => {
  const logits = net.apply(params, images);
  return sn.mean(sn.softmaxCrossEntropy(logits, labels));
};

const program = sn.trainStep(loss, optim.adam({ lr: 1e-3 }));

const inputs = [
  program.init(net.init(random.key(0))),
  random.normal(random.key(1), [128, 784]),
  sn.zeros([128], { dtype: 'int32' }),
];
`,
  },
  {
    id: 'building',
    title: 'Building simulation, gradient',
    source: raw`// Water from a tank warms a floor: 20 steps of 0.1 s,
// and the gradient through all of them.
const STEPS = 20;
const dt = 0.1;
const tube = { diameter: 0.019, resistivity: 2.43 };
const slab = { area: 100, density: 2242.58, depth: 0.101 };
const tank = { volume: 0.0757082, Cp: 4180, density: 1000 };
const water = { flow: 0.0006309, Cp: 4180, density: 1000 };

const warm = (temp, power) => temp.add(power.mul(
  dt / water.Cp / (water.flow * dt * water.density)));

function simulate(start, spacing, thickness, Cp, heat) {
  let [floor, flow, source] = [start, sn.tensor(60), heat];
  const surface = sn.div(slab.area, spacing)
    .mul(Math.PI * tube.diameter);
  const resistance = thickness
    .mul(10 * tube.resistivity).div(surface);

  for (let i = 0; i < STEPS; i++) {
    const gain = source.sub(flow)
      .mul(water.flow * water.density * water.Cp);
    source = source.add(gain.mul(
      dt / tank.Cp / (tank.volume * tank.density)));
    flow = warm(flow, gain);
    const load = floor.sub(flow).div(resistance);
    flow = warm(flow, load);
    floor = floor.sub(load.mul(dt).div(Cp)
      .div(slab.area * slab.depth * slab.density));
  }
  return sn.abs(floor.sub(27.344767));
}

const program = sn.valueAndGrad(simulate,
  { argnums: [0, 1, 2, 3, 4] });

const inputs = [33.3, 0.50292, 0.001588, 0.2, 70]
  .map((value) => sn.tensor(value));
`,
  },
  {
    id: 'loop',
    title: 'A loop and its adjoint',
    source: raw`// A loop is one node; what it does in a round is inside.
// Its gradient is another one, from the last round back
// to the first, of the values that the first one keeps.
const dt = 0.02;

function swing(angle, friction) {
  const step = ([angle, speed]) => {
    const force = sn.sin(angle).mul(-9.81)
      .sub(speed.mul(friction));
    const faster = speed.add(force.mul(dt));
    const next = angle.add(faster.mul(dt));
    return [[next, faster], next];
  };
  const start = [angle, sn.tensor(0)];
  const [, path] = sn.scan(step, start, null, { length: 200 });
  return path.square().mean();
}

const program = sn.valueAndGrad(swing, { argnums: [0, 1] });

const inputs = [sn.tensor(1.2), sn.tensor(0.3)];
`,
  },
];
