// search.mjs - what the search finds: each page cut at its headings, as plain text, with the address of each part.

const plain = (markdown) => markdown
  .replace(/^<!-- setup\n[^]*?^-->$/gm, '')
  .replace(/^```.*$/gm, '')
  .replace(/^\|?[-:| ]+\|$/gm, '')
  .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
  .replace(/<a id="[^"]*"><\/a>/g, '')
  .replace(/[|`*#]/g, ' ')
  .replace(/\s+/g, ' ')
  .trim();

/** Parts of a page: { at, title, page, text }. */
export const partsOf = ({ file, title, text }, headings) => {
  const cuts = [...text.matchAll(/^(?:```[^]*?^```$|(#{1,6}) .*$)/gm)].filter((match) => match[1]);
  return cuts.map(({ index, 0: line }, i) => {
    const { id, text: heading, level } = headings[i];
    const end = cuts[i + 1]?.index ?? text.length;
    return { at: level === 1 ? file : `${file}#${id}`, title: heading, page: title, text: plain(text.slice(index + line.length, end)) };
  });
};
