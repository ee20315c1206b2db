#include "wgsl/frame.h"

sn_status sn_frame_outermost(sn_arena *arena, const sn_program_code *program, sn_frame *out) {
  *out = (sn_frame){.program = program, .arena = (uint32_t)sn_arena_buffer(program)};
  SN_TRY(sn_arena_alloc(arena, program->n_buffers, sizeof *out->places, (void **)&out->places));
  for (uint32_t i = 0; i < program->n_buffers; i++) out->places[i].buffer = i;
  return SN_OK;
}

sn_status sn_frame_region(sn_arena *arena, const sn_frame *outer, const sn_place_of *room,
                          const sn_program_code *region, sn_frame *out) {
  *out = *outer;
  out->program = region;
  SN_TRY(sn_arena_alloc(arena, region->n_buffers, sizeof *out->places, (void **)&out->places));
  for (size_t i = 0; i < region->n_buffers; i++) out->places[i].buffer = SN_NONE;
  out->places[sn_arena_buffer(region)] = *room;
  return SN_OK;
}

sn_place_of sn_frame_place(const sn_frame *frame, uint32_t value) {
  const sn_handle *at = &frame->program->handles[value];
  if (at->buffer == SN_NONE) return (sn_place_of){.buffer = SN_NONE};
  sn_place_of place = frame->places[at->buffer];
  place.offset += at->offset;
  place.odd_offset += at->offset;
  return place;
}

sn_place_of sn_frame_operand(const sn_frame *frame, const sn_operand *o) {
  sn_place_of place = sn_frame_place(frame, o->value);
  if (!place.bytes) place.bytes = sn_type_bytes(&frame->program->groups.values[o->value].type);
  place.first += o->offset;
  return place;
}

bool sn_same_place(const sn_place_of *a, const sn_place_of *b) {
  bool same = a->buffer == b->buffer && a->offset == b->offset && a->odd_offset == b->odd_offset &&
              a->first == b->first && (a->offset == a->odd_offset || a->level == b->level);
  for (int i = 0; i < SN_MAX_NESTING; i++) same = same && a->steps[i] == b->steps[i];
  return same;
}

bool sn_place_is_whole(const sn_place_of *at) {
  bool whole = at->first == 0;
  for (int i = 0; i < SN_MAX_NESTING; i++) whole = whole && at->steps[i] == 0;
  return whole;
}
