// landing.mjs - the first page: README.md's own words, picture, commands and program, an example that trains in the page, and
// figures of bench/metrics.csv.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../scripts/lib/proc.mjs';
import { bytes, readMetrics } from './figures.mjs';
import { escape, highlighted, renderLine } from './markdown.mjs';

/** Paragraphs between the title of README.md and its first section; and its first picture. */
const beginningOf = (readme) => {
  const [, text] = /^# .*?\n\n([^]*?)\n\n## /.exec(readme);
  const [, alt, image] = /^!\[(.*?)\]\((.*?)\)/m.exec(readme);
  return { paragraphs: text.split('\n\n').map((each) => each.replaceAll('\n', ' ')), alt, image };
};

/** The first block of a section of README.md. */
const blockOf = (readme, title, language) => new RegExp(`^## ${title}$[^]*?^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'm').exec(readme)[1];

/** Width and height of a PNG file, as its first chunk says. */
const sizeOf = (path) => {
  const bytes = readFileSync(path);
  return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
};

const tile = (figure, words) => `<div class="tile"><strong>${figure}</strong><span>${words}</span></div>`;

/** Figures with what they say, each of the committed table. */
const tiles = (metrics) => {
  const { 'mlp-adam-step': step, 'attention-gradient': attention, 'gelu-gradient': gelu } = metrics;
  const page = metrics['sinter-mt.wasm'].gzipBytes + metrics['javascript of a bundled program that trains'].gzipBytes;
  return [
    tile(`${step.nodes} ops, ${step.kernels} kernels`, 'are the training step of a network with Adam'),
    tile(`${Math.round(step.naiveBytes / step.arenaBytes)} times less memory`, 'for what that step makes in between, in one planned block'),
    tile(`${(attention.naiveBytes / attention.arenaBytes).toFixed(1)} times less`, 'for attention and its gradient'),
    tile(`${gelu.kernels} kernel`, `for the gradient of GELU, ${gelu.nodes} ops, with no memory in between`),
    tile(bytes(page), 'are what a page that trains downloads, compressed'),
    tile('0', 'dependencies'),
  ].join('\n');
};

const WAYS = [
  ['tutorials/first-tensor.html', 'New here?', 'Fifteen short tutorials, from the first tensor to what the compiler makes of it.'],
  ['tutorials/coming-from.html', 'Coming from JAX, PyTorch or TensorFlow.js?', 'A table of pairs: what you write there, what you write here.'],
  ['../', 'Would you rather see it?', 'The playground trains networks and takes programs apart, line by line and kernel by kernel.'],
  ['reference/index.html', 'Looking something up?', 'Every function, with its C name and an example that runs.'],
];

/** The middle of the landing page. */
export const landing = () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const { paragraphs: [claim, ...others], alt, image } = beginningOf(readme);
  const live = readFileSync(join(root, 'site/client/spirals.js'), 'utf8').replace(/^\/\/.*\n/gm, '').trim();
  const [width, height] = sizeOf(join(root, image));
  const html = `<section class="hero">
<div class="claim">
<h1>${renderLine(claim)}</h1>
${others.map((each) => `<p>${renderLine(each)}</p>`).join('\n')}
<p class="ways"><a class="button primary" href="../">Open the playground</a> <a class="button" href="tutorials/first-tensor.html">First tensor</a></p>
</div>
<div class="live" id="live">
<canvas id="live-plane" width="96" height="96" role="img" aria-label="A plane with points on two spirals, coloured by what the network says of each place"></canvas>
<div class="live-row"><button type="button" class="button primary" id="live-start" disabled>Train it here</button>
<output id="live-figures" aria-live="off">Two spirals. Which one is a point on?</output></div>
<p class="live-note" id="live-note" role="status"></p>
</div>
</section>

<section class="tiles" aria-label="Figures">
${tiles(readMetrics())}
</section>
<p class="source">What the compiler makes of programs, equal on every machine: <a href="benchmarks.html">all figures</a>.</p>

<section class="two">
<div>
<h2>What trains above</h2>
<p>This is all of it, but for the drawing. The step - forward, backward, update - is one compiled program.</p>
<div class="code"><pre tabindex="0" role="region" aria-label="Code"><code>${highlighted(live, 'js')}</code></pre></div>
</div>
<div>
<h2>Two commands</h2>
<p>On Debian with Node and git, from a fresh clone:</p>
<div class="code"><pre tabindex="0" role="region" aria-label="Code"><code>${highlighted(blockOf(readme, 'Install', 'sh').trim(), 'sh')}</code></pre></div>
<h2>Where to go</h2>
<ul class="cards">
${WAYS.map(([to, title, words]) => `<li><a href="${to}"><strong>${title}</strong><span>${words}</span></a></li>`).join('\n')}
</ul>
</div>
</section>

<figure class="picture"><a href="../"><img src="${image.split('/').pop()}" alt="${escape(alt)}" width="${width}" height="${height}" loading="lazy"></a>
<figcaption>The playground: a program in its editor, and what it does.</figcaption></figure>
`;
  return { html, about: claim };
};
