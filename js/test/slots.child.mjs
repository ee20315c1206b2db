// Saves states one after the other until it is killed: slots.child.mjs FOLDER NUMBER. Tells of each that is saved.
import * as sn from '../dist/index.js';

const [place, last] = process.argv.slice(2);
await sn.init({ threads: 2 });
const slots = await sn.io.openSlots(place);
for (let n = Number(last) + 1; ; n++) {
  await slots.save({ a: sn.full([1000], n), b: [sn.full([7], n, { dtype: 'i32' })], n });
  process.send(n);
}
