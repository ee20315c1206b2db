// Colours of the style sheet as numbers, for painting.

import { css, remembered } from './chart.ts';
import { create } from './dom.ts';

/** The red, green and blue of a custom property, from 0 to 255. */
export const rgb = remembered((name): [number, number, number] => {
  const probe = create('i', '');
  probe.style.color = css(name);
  document.body.append(probe);
  const [r = 0, g = 0, b = 0] = (getComputedStyle(probe).color.match(/[\d.]+/g) ?? []).map(Number);
  probe.remove();
  return [r, g, b];
});
