// The query of the page's address. It says what the page shows now, so all entries of the page in the browser's history have
// the same one: to go back changes the tab, not what a tab shows.

let written = location.search;

/** Changes parameters of the address, and its fragment if one is given. */
export function changeQuery(by: (query: URLSearchParams) => void, hash = location.hash): void {
  const query = new URLSearchParams(location.search);
  by(query);
  const text = query.toString();
  const search = text === '' ? '' : `?${text}`;
  if (search !== location.search || hash !== location.hash) history.replaceState(null, '', `${location.pathname}${search}${hash}`);
  written = location.search;
}

/** Gives the entry of the history that was gone to the query of the others. */
export function keepQuery(): void {
  if (location.search !== written) history.replaceState(history.state, '', `${location.pathname}${written}${location.hash}`);
}
