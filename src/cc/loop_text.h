/* loop_text.h - a loop over tiny programs (kernels/serial_loop.h) as C for the machine's compiler: the function that jit/
 * emits for it, printed instruction by instruction in the words of loop_words.h. So there is one description of such
 * loops, and native code has the bits of WebAssembly, which are those of the strip VM.
 *
 *   v128 local or operand    a vector of four lanes, SN_SIMD_BYTES = 16
 *   i32 local or operand     intptr_t: a count of rounds, or an address. Emitted code is made for addresses of 32 bits; all
 *                            that it does with them is to add bytes, so they may be wider. Counts stay within int32.
 *   i32.load                 only ever of the table of addresses, whose entries are pointers here */
#ifndef SN_CC_LOOP_TEXT_H
#define SN_CC_LOOP_TEXT_H

#include "base/text.h"
#include "kernels/serial_loop.h"

/* Its name in the object. */
#define SN_CC_LOOP "loop"

/* fused: which bits functions of float32 have. *able: whether there is such a function; if not, nothing is added. */
sn_status sn_cc_add_loop(sn_text *text, bool fused, const sn_serial_control *loop, bool *able);

/* Prints the function of a module, which has parameters (table, n). SN_ERR_INTERNAL: an instruction that loops do not
 * have. */
sn_status sn_cc_print_loop(sn_text *text, const uint8_t *wasm, size_t n);

#endif
