// Converts a differential equation from a line of words to MathML: `dx/dt` becomes a fraction.

const name = (text: string): string => `<mi>${text}</mi>`;

function word(text: string): string {
  const fraction = /^d(.)\/dt$/u.exec(text);
  if (fraction) return `<mfrac><mrow>${name('d')}${name(fraction[1])}</mrow><mrow>${name('d')}${name('t')}</mrow></mfrac>`;
  return /^[=+−]$/.test(text) ? `<mo>${text}</mo>` : name(text);
}

export function formula(line: string): string {
  const words = line.split(' ');
  const between = (text: string, i: number): string => {
    const apart = i > 0 && [text, words[i - 1]].every((each) => /^\p{L}+$/u.test(each));
    return (apart ? '<mspace width="0.15em"></mspace>' : '') + word(text);
  };
  return `<math>${words.map(between).join('')}</math>`;
}
