// sn.tree: working with pytrees.

export { leaves, map } from './pytree.js';
