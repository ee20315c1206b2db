// Installs code that the core emits at run time in the function table of this thread's instance: the core hands over the
// bytes of a module, whose functions go to the places in the table where the core will call them.

import { isPage } from './environment.js';

/** What the core is told: see src/jit/install_wasm.c. */
const REFUSED = 0;
const INSTALLED = 1;
const LATER = 2;

/**
 * Limits on a page's main thread: it compiles a module at once only up to this size, and only for so many ms in one turn of
 * its event loop. Other modules are compiled in the background, and until they are there the core interprets. All other
 * threads compile any module at once.
 */
const MOST_BYTES_ON_PAGE = 64 * 1024;
const MOST_MS_PER_TURN = 4;

/** A module that is compiled in the background. If it is released, its places in the table go to another module, which
 *  takes this entry: serial tells which one it is. */
interface Arrival {
  serial: number;
  module: WebAssembly.Module | 'pending' | 'refused';
}

export class CodeTable {
  readonly #memory: WebAssembly.Memory;
  /** Modules by their first place in the table. */
  readonly #arrivals = new Map<number, Arrival>();
  #msThisTurn = 0;
  #table: WebAssembly.Table | null = null;
  #first = 0;

  constructor(memory: WebAssembly.Memory) {
    this.#memory = memory;
  }

  /** Sets the instance whose table is used; until then there is no run-time code. */
  attach(instance: WebAssembly.Instance): void {
    const table = instance.exports['__indirect_function_table'];
    if (!(table instanceof WebAssembly.Table)) return;
    this.#table = table;
    this.#first = table.length;
  }

  /** The first place in the table behind the core's own functions; 0: no run-time code. */
  readonly first = (): number => this.#first;

  /** Compiles the module at `address` and puts its exports "0", "1" ... at first, first + 1 ... */
  readonly install = (address: number, size: number, first: number, count: number, serial: number): number => {
    const table = this.#table;
    if (!table) return REFUSED;
    try {
      const module = isPage ? this.#arrive(address >>> 0, size, first, serial) : this.#compile(address >>> 0, size);
      if (!(module instanceof WebAssembly.Module)) return module === 'pending' ? LATER : REFUSED;
      const { exports } = new WebAssembly.Instance(module, { env: { memory: this.#memory } });
      if (table.length < first + count) table.grow(first + count - table.length);
      for (let i = 0; i < count; i++) table.set(first + i, exports[i] as () => void);
      return INSTALLED;
    } catch {
      return REFUSED;
    }
  };

  /** A copy: compilers refuse views of shared memory. */
  #copy(begin: number, size: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#memory.buffer, begin, size).slice();
  }

  #compile(begin: number, size: number): WebAssembly.Module {
    return new WebAssembly.Module(this.#copy(begin, size));
  }

  #arrive(begin: number, size: number, first: number, serial: number): Arrival['module'] {
    const known = this.#arrivals.get(first);
    if (known?.serial === serial) {
      if (known.module !== 'pending') this.#arrivals.delete(first);
      return known.module;
    }
    if (size <= MOST_BYTES_ON_PAGE && this.#msThisTurn < MOST_MS_PER_TURN) {
      const module = this.#compileNow(begin, size);
      if (module) return module;
    }
    const arrival: Arrival = { serial, module: 'pending' };
    this.#arrivals.set(first, arrival);
    WebAssembly.compile(this.#copy(begin, size)).then(
      (module) => (arrival.module = module),
      () => (arrival.module = 'refused'),
    );
    return 'pending';
  }

  /** Compiles at once; null if the engine does not allow that on a page for a module of this size. */
  #compileNow(begin: number, size: number): WebAssembly.Module | null {
    const start = performance.now();
    if (this.#msThisTurn === 0) setTimeout(() => (this.#msThisTurn = 0));
    try {
      return this.#compile(begin, size);
    } catch (error) {
      if (error instanceof RangeError) return null;
      throw error;
    } finally {
      this.#msThisTurn += performance.now() - start;
    }
  }
}
