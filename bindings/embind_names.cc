// Embind names a type that it does not know by printing its address, for an error that a module of plain numbers cannot
// cause. That one call of sprintf would bring in all of printf, a sixth of the module; this stand-in does without.
extern "C" int siprintf(char* text, const char* /*format*/, ...) {
  text[0] = '?';
  text[1] = 0;
  return 1;
}
