// Starts a module worker from the URL of its script, also where that takes more than `new Worker(url)`:
//
//   another origin   browsers start workers of the page's own origin only: one line in a blob, which is of
//                    that origin, imports the script (a policy then needs worker-src blob:)
//   Trusted Types    the URL goes through the policy named 'sinter' (require-trusted-types-for 'script')

interface Policy {
  createScriptURL(url: string): unknown;
}

interface PolicyFactory {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): Policy;
}

/** URLs that the policy lets through: those of the package's own scripts, noted here. */
const known = new Set<string>();
/** The policy named 'sinter', made once, since a name can be taken only once; undefined before that. */
let policy: Policy | null | undefined;

function checkKnown(url: string): string {
  if (known.has(url)) return url;
  throw new TypeError(`sinter: not a script of the package: ${url}`);
}

/** Null where there are no Trusted Types, or the page's policy does not allow this name. */
function trustedPolicy(): Policy | null {
  const factory = (globalThis as { trustedTypes?: PolicyFactory }).trustedTypes;
  try {
    return factory?.createPolicy('sinter', { createScriptURL: checkKnown }) ?? null;
  } catch {
    return null;
  }
}

const shims = new Map<string, string>();

/** The URL of a script of this origin that imports one of another. It lives as long as the page: workers are replaced. */
function shimOf(href: string): string {
  let shim = shims.get(href);
  if (shim === undefined) {
    const source = `import ${JSON.stringify(href)};`;
    shim = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
    shims.set(href, shim);
  }
  return shim;
}

/** The URL by which this page may start the script. Some bundlers make a URL of a path alone. */
function startable(url: URL): string {
  const own = globalThis.location?.origin;
  if (own === undefined || own === 'null') return url.href;
  const { href, origin } = new URL(url.href, own);
  return origin === own ? href : shimOf(href);
}

export function startScript(url: URL): Worker {
  const href = startable(url);
  known.add(href);
  if (policy === undefined) policy = trustedPolicy();
  const script = policy ? policy.createScriptURL(href) : href;
  return new Worker(script as string, { type: 'module' });
}
