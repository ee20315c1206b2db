/* loop_text.h - prints a loop over tiny programs (kernels/serial_loop.h) as C for the machine's compiler: the WebAssembly
 * function that jit/ emits for it, instruction by instruction, in the words of loop_words.h. So only jit/ describes such
 * loops, and native code has the bits of WebAssembly, which are those of the strip VM.
 *
 *   v128 local or operand    a vector of four lanes, SN_SIMD_BYTES = 16
 *   i32 local or operand     intptr_t: a count of rounds, or an address. Emitted code has addresses of 32 bits, but it only
 *                            adds bytes to them, so they may be wider here. Counts stay within int32.
 *   i32.load                 occurs only for entries of the table of addresses, which are pointers here */
#ifndef SN_CC_LOOP_TEXT_H
#define SN_CC_LOOP_TEXT_H

#include "base/text.h"
#include "kernels/serial_loop.h"

/* The function's name in the object. */
#define SN_CC_LOOP "loop"

/* Adds the function of a loop. fused: whether functions of float32 use fused multiply-adds. *able: whether the loop can have
 * one; if not, nothing is added. */
sn_status sn_cc_add_loop(sn_text *text, bool fused, const sn_serial_control *loop, bool *able);

/* Prints the one function of a module, with parameters (table, n). Fails with SN_ERR_INTERNAL at an instruction that loops
 * do not have. */
sn_status sn_cc_print_loop(sn_text *text, const uint8_t *wasm, size_t n);

#endif
