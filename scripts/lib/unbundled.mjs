// unbundled.mjs - node --import=...: loads build/js, the package before its modules are bundled, in place of js/dist. An older
// Node without module hooks, which may be the one that runs npm, continues without them.
import module from 'node:module';

const url = (path) => new URL(`../../${path}/index.js`, import.meta.url).href;

module.registerHooks?.({
  resolve: (specifier, context, next) => {
    const found = next(specifier, context);
    return found.url === url('js/dist') ? { ...found, url: url('build/js') } : found;
  },
});
