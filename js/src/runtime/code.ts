// Code that the core makes at run time, into the function table of this thread's instance: the core
// hands over a module's bytes, its functions go where the core will call them.

import { isPage } from './environment.js';

/** What the core is told: see src/jit/install_wasm.c. */
const REFUSED = 0;
const INSTALLED = 1;
const LATER = 2;

/** A page's main thread compiles larger modules in the background: until they are there the core
 *  interprets. Everywhere else a thread may stop for them. */
const MOST_BYTES_ON_PAGE = 64 * 1024;

type Arrival = WebAssembly.Module | 'pending' | 'refused';

export class CodeTable {
  readonly #memory: WebAssembly.Memory;
  readonly #arrivals = new Map<number, Arrival>();
  #table: WebAssembly.Table | null = null;
  #first = 0;

  constructor(memory: WebAssembly.Memory) {
    this.#memory = memory;
  }

  /** The instance whose table it is; until then there is no run-time code. */
  attach(instance: WebAssembly.Instance): void {
    const table = instance.exports['__indirect_function_table'];
    if (!(table instanceof WebAssembly.Table)) return;
    this.#table = table;
    this.#first = table.length;
  }

  /** The first place behind the core's own functions; 0: no run-time code. */
  readonly first = (): number => this.#first;

  /** Compiles the module at `address` and puts its exports "0", "1" ... at first, first + 1 ... */
  readonly install = (address: number, size: number, first: number, count: number, serial: number): number => {
    const table = this.#table;
    if (!table) return REFUSED;
    try {
      const module = this.#compile(address >>> 0, size, serial);
      if (!(module instanceof WebAssembly.Module)) return module === 'pending' ? LATER : REFUSED;
      const { exports } = new WebAssembly.Instance(module, { env: { memory: this.#memory } });
      if (table.length < first + count) table.grow(first + count - table.length);
      for (let i = 0; i < count; i++) table.set(first + i, exports[i] as () => void);
      return INSTALLED;
    } catch {
      return REFUSED;
    }
  };

  #compile(begin: number, size: number, serial: number): Arrival {
    const arrived = this.#arrivals.get(serial);
    if (arrived !== undefined) {
      if (arrived !== 'pending') this.#arrivals.delete(serial);
      return arrived;
    }
    // A copy: compilers refuse views of shared memory.
    const bytes = new Uint8Array(this.#memory.buffer, begin, size).slice();
    if (!isPage || size <= MOST_BYTES_ON_PAGE) return new WebAssembly.Module(bytes);
    this.#arrivals.set(serial, 'pending');
    WebAssembly.compile(bytes).then(
      (module) => this.#arrivals.set(serial, module),
      () => this.#arrivals.set(serial, 'refused'),
    );
    return 'pending';
  }
}
