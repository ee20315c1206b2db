// simulation.mjs - the building simulation: a floor is heated through a tube for 20 unrolled steps; the loss
// and its gradient. small.mjs and the comparison with other libraries use it.
import * as sn from 'sinter';

const STEPS = 20;
const [SPACING, DIAMETER, THICKNESS, RESISTIVITY] = [0, 1, 2, 3];
const [AREA, SLAB_CP, SLAB_DENSITY, SLAB_THICKNESS] = [1, 2, 3, 4];
const [QUANTA_TEMP, FLOW, QUANTA_DENSITY, QUANTA_CP] = [1, 2, 3, 4];
const [TANK_TEMP, VOLUME, TANK_CP, TANK_DENSITY] = [0, 1, 2, 3];

export const PARAMETERS = {
  tube: [0.50292, 0.019, 0.001588, 2.43, 0],
  slab: [21.1111111, 100, 0.2, 2242.58, 0.101],
  quanta: [0, 60, 0.0006309, 1000, 4180],
  tank: [70, 0.0757082, 4180, 1000, 75.708],
  start: 33.3,
};
export const EXPECTED = {
  loss: 10.634975130093931,
  start: 0.8725142030644532,
  spacing: -8.722791744336112,
  thickness: -2762.510342608008,
  slabCp: -21.9151195589128,
  tankTemp: 0.12758713519148412,
};

/** The loss, on scalars that have the methods add, sub, mul, div, neg and abs: five each for tube, slab, quanta and tank,
 *  and the slab's first temperature. */
export const lossOf = ([t, s, q, k], start) => {
  const dt = 0.1;
  const heat = (temp, power) =>
    temp.add(power.mul(dt).div(q[QUANTA_CP]).div(q[FLOW].mul(dt).mul(q[QUANTA_DENSITY])));
  let [floor, water, source] = [start, q[QUANTA_TEMP], k[TANK_TEMP]];
  for (let step = 0; step < STEPS; step += 1) {
    const power = source.sub(water).mul(q[FLOW]).mul(q[QUANTA_DENSITY]).mul(q[QUANTA_CP]);
    source = source.add(power.mul(dt).div(k[TANK_CP]).div(k[VOLUME].mul(k[TANK_DENSITY])));
    water = heat(water, power);
    const area = s[AREA].div(t[SPACING]).mul(Math.PI).mul(t[DIAMETER]);
    const resistance = t[RESISTIVITY].mul(10).mul(t[THICKNESS]).div(area);
    const load = floor.sub(water).div(resistance);
    water = heat(water, load);
    const mass = s[AREA].mul(s[SLAB_THICKNESS]).mul(s[SLAB_DENSITY]);
    floor = floor.add(load.neg().mul(dt).div(s[SLAB_CP]).div(mass));
  }
  return floor.sub(27.344767).abs();
};

/** The same on vectors of five and a scalar. */
export const simulate = ({ tube, slab, quanta, tank, start }) => {
  const split = (v) => Array.from({ length: 5 }, (_, i) => v.slice([i], [1]).reshape([]));
  return lossOf([tube, slab, quanta, tank].map(split), start);
};

export const arguments_ = (dtype) =>
  Object.fromEntries(Object.entries(PARAMETERS).map(([name, value]) => [name, sn.tensor(value, { dtype })]));

/** The relative error of a result of valueAndGrad(simulate): the worst among the values that are known. */
export const worstError = ([loss, g]) => {
  const pairs = [
    [loss.item(), EXPECTED.loss],
    [g.start.item(), EXPECTED.start],
    [g.tube.toArray()[SPACING], EXPECTED.spacing],
    [g.tube.toArray()[THICKNESS], EXPECTED.thickness],
    [g.slab.toArray()[SLAB_CP], EXPECTED.slabCp],
    [g.tank.toArray()[TANK_TEMP], EXPECTED.tankTemp],
  ];
  return Math.max(...pairs.map(([got, expected]) => Math.abs(got / expected - 1)));
};
