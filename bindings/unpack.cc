// From the text that modules carry the binary in to the binary; tools/pack.js says what stands in the text. A small module by
// itself, because engines run that fast at once, and JavaScript of this size only after a while.

#include <cstdint>

namespace {

using Text = const uint8_t*;

// Where bindings/wasm_text.ts has placed the text, and where it finds the binary.
const Text kText = reinterpret_cast<Text>(1 << 16);
uint8_t* const kBinary = reinterpret_cast<uint8_t*>(1 << 18);

constexpr uint32_t kDigits = 91;
// Smaller values are one digit; greater ones are two, the first of those that are left.
constexpr uint32_t kSingle = 88;

// What templates have beside bytes: kStop ends the binary, and the constants from kLocal on are lists of operands; but those of
// templates and of their numbers, which stand among them where they compress best.
enum : uint32_t {
  kEnd = 256,
  kBody,
  kStop,
  kLocal,
  kNumbers,
  kBytes8,
  kBytes16,
  kI64,
  kI32,
  kOffset,
  kCall,
  kTable,
  kSteps
};
constexpr uint32_t kLists = kSteps + 1 - kLocal;

// None is on the stack, which takes instructions.
Text lists[kLists + 1];
uint16_t steps[1 << 12];
const uint16_t* templates[kSingle + (kDigits - kSingle) * kDigits];

// Digits are the characters from # on, without the backslash.
uint32_t digit(Text& text) {
  const uint32_t character = *text++;
  return character - '#' - (character > '\\');
}

[[gnu::noinline]] uint32_t value(uint32_t list) {
  Text& text = lists[list - kLocal];
  const uint32_t first = digit(text);
  return first < kSingle ? first : kSingle + (first - kSingle) * kDigits + digit(text);
}

uint32_t number(uint32_t list) {
  uint32_t result = 0;
  for (uint32_t shift = 0;; shift += 7) {
    const uint32_t byte = value(list);
    result |= (byte & 127) << shift;
    if (byte < 128) return result;
  }
}

// Puts the size of a function's body before it.
uint8_t* with_size(uint8_t* body, uint8_t* end) {
  uint32_t size = end - body;
  const uint32_t width = size < 1 << 7 ? 1 : size < 1 << 14 ? 2 : 3;
  __builtin_memmove(body + width, body, size);
  for (uint32_t i = 0; i < width; i++, size >>= 7) body[i] = (size & 127) | (i + 1 < width ? 128 : 0);
  return end + width;
}

}  // namespace

/// Returns the size of the binary.
extern "C" uint32_t unpack() {
  lists[0] = kText;
  for (uint32_t i = 0; i < kLists; i++) {
    const uint32_t size = number(kLocal + i);
    lists[i + 1] = lists[i] + size;
  }
  // The template that stops is the last one.
  const uint16_t** each = templates;
  *each = steps;
  for (uint16_t* step = steps; (*step = value(kSteps)) != kStop; step++) {
    if (*step == kEnd) *++each = step + 1;
  }
  uint8_t* to = kBinary;
  uint8_t* body = nullptr;
  for (;;) {
    for (const uint16_t* step = templates[value(kNumbers)]; *step != kEnd; step++) {
      const uint32_t what = *step;
      if (what < kEnd) {
        *to++ = what;
      } else if (what == kBody) {
        if (body != nullptr) to = with_size(body, to);
        body = to;
      } else if (what == kStop) {
        return to - kBinary;
      } else {
        uint32_t left = what == kBytes8 ? 8 : what == kBytes16 ? 16 : what == kTable ? number(what) : 0;
        uint32_t byte;
        do {
          *to++ = byte = value(what);
        } while (left != 0 ? --left != 0 : byte > 127);
      }
    }
  }
}
