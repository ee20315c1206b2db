// unbundled.mjs - node --import=...: build/js, the package before its modules are joined, in place of js/dist.
import { registerHooks } from 'node:module';

const url = (path) => new URL(`../../${path}/index.js`, import.meta.url).href;

registerHooks({
  resolve: (specifier, context, next) => {
    const found = next(specifier, context);
    return found.url === url('js/dist') ? { ...found, url: url('build/js') } : found;
  },
});
