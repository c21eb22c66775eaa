// They are installed by the tests of this folder alone, so types are checked without them.
declare module "@tensorflow/tfjs-backend-wasm";
declare module "@tensorflow/tfjs-layers";
declare module "mnist";
