// The example of the landing page: trains spirals.js on this page, a few steps a frame, and draws what the network says of each
// place of the plane. Nothing but this script is loaded before somebody presses the button.

const SIDE = 96;
const FRAME_MS = 10;
const MOST_STEPS = 1500;

const byId = (id) => document.getElementById(id);
const canvas = byId('live-plane');
const button = byId('live-start');
const figures = byId('live-figures');

/** A colour of the style as [red, green, blue]. */
const colour = (name) => {
  const probe = document.createElement('canvas').getContext('2d');
  probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name);
  probe.fillRect(0, 0, 1, 1);
  return [...probe.getImageData(0, 0, 1, 1).data.slice(0, 3)];
};

const mixed = (a, b, share) => a.map((value, i) => value + (b[i] - value) * share);

/** Values of the plane, and points over it. */
const draw = (values, points, classes) => {
  const sides = [colour('--side-0'), colour('--side-1')];
  const ground = colour('--card');
  const context = canvas.getContext('2d');
  const scale = Math.max(1, Math.round(canvas.clientWidth * devicePixelRatio / SIDE));
  canvas.width = canvas.height = SIDE * scale;
  const image = new ImageData(SIDE, SIDE);
  for (let i = 0; i < SIDE * SIDE; i++) {
    const value = values?.[i] ?? 0.5;
    image.data.set([...mixed(ground, sides[value > 0.5 ? 1 : 0], Math.abs(value - 0.5) * 1.1), 255], 4 * i);
  }
  const small = new OffscreenCanvas(SIDE, SIDE);
  small.getContext('2d').putImageData(image, 0, 0);
  context.drawImage(small, 0, 0, canvas.width, canvas.height);
  for (let i = 0; i < classes.length; i++) {
    context.beginPath();
    context.arc((points[2 * i] * 0.45 + 0.5) * canvas.width, (0.5 - points[2 * i + 1] * 0.45) * canvas.height, scale * 1.1, 0, 2 * Math.PI);
    context.fillStyle = `rgb(${sides[classes[i]].join()})`;
    context.fill();
    context.strokeStyle = `rgb(${ground.join()})`;
    context.lineWidth = scale / 3;
    context.stroke();
  }
};

/** The same spirals without the library: the picture before anything is loaded. */
const firstPoints = () => {
  const half = Array.from({ length: 120 }, (_, i) => 0.15 + 0.85 * i / 119).map((t) => [Math.sin(9 * t) * t, Math.cos(9 * t) * t]);
  return { points: [...half.flat(), ...half.flatMap(([x, y]) => [-x, -y])], classes: Array.from({ length: 240 }, (_, i) => Number(i >= 120)) };
};

const frame = () => new Promise(requestAnimationFrame);

/** The two headers that threads need, said where they are missing. */
const noteOf = ({ threads, reasons }) => (threads > 1 ? `On ${threads} threads.` : `On one thread: ${reasons[0] ?? 'this machine has one'}. The headers Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp bring the others.`);

let isRunning = false;
let example = null;

const load = async () => {
  const sn = await import('sinter');
  byId('live-note').textContent = noteOf(await sn.init());
  const { begin, chance, spirals, step } = await import('./spirals.js');
  const [x, y] = spirals(120);
  const at = sn.linspace(-1 / 0.9, 1 / 0.9, SIDE);
  const places = sn.stack([sn.tile(at, SIDE), sn.repeat(at.neg(), SIDE)], { axis: 1 });
  return { sn, begin, chance, step, x, y, places, points: await x.data(), classes: await y.data() };
};

const train = async () => {
  example ??= await load();
  const { sn, begin, chance, step, x, y, places, points, classes } = example;
  let state = begin(Math.floor(Math.random() * 1e6));
  let steps = 0;
  while (isRunning && steps < MOST_STEPS) {
    const begun = performance.now();
    let error;
    do {
      sn.dispose(error);
      const made = step(state, x, y);
      ({ state, loss: error } = made);
      await error.data();
      steps++;
    } while (performance.now() - begun < FRAME_MS && steps < MOST_STEPS);
    const [loss] = await error.data();
    const seen = chance(step.params(state), places);
    draw(await seen.data(), points, classes);
    sn.dispose([error, seen]);
    figures.textContent = `step ${steps}, loss ${loss.toFixed(4)}`;
    canvas.dataset.loss = String(loss);
    await frame();
  }
  sn.dispose(state);
};

button.addEventListener('click', async () => {
  isRunning = !isRunning;
  button.textContent = isRunning ? 'Stop' : 'Train it again';
  if (!isRunning) return;
  try {
    await train();
  } catch (error) {
    figures.textContent = `${error.name}: ${error.message}`;
  }
  isRunning = false;
  button.textContent = 'Train it again';
});
const { points, classes } = firstPoints();
draw(null, points, classes);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => draw(null, points, classes));
button.disabled = false;
