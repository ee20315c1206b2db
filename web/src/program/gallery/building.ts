// Water from a tank warms a floor: 20 steps of 0.1 s,
// and the gradient through all of them.

import * as sn from 'sinter';

const STEPS = 20;
const dt = 0.1;
const tube = { diameter: 0.019, resistivity: 2.43 };
const slab = { area: 100, density: 2242.58, depth: 0.101 };
const tank = { volume: 0.0757082, Cp: 4180, density: 1000 };
const water = { flow: 0.0006309, Cp: 4180, density: 1000 };

const warm = (temp: sn.Tensor, power: sn.Tensor) => temp.add(power.mul(
  dt / water.Cp / (water.flow * dt * water.density)));

function simulate(
  start: sn.Tensor,
  spacing: sn.Tensor,
  thickness: sn.Tensor,
  Cp: sn.Tensor,
  heat: sn.Tensor,
) {
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

export const program = sn.valueAndGrad(simulate,
  { argnums: [0, 1, 2, 3, 4] });

export const inputs = [33.3, 0.50292, 0.001588, 0.2, 70]
  .map((value) => sn.tensor(value));
