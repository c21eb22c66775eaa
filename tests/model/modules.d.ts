// They are installed by the tests of this folder alone, so types are checked without them.
declare module "@tensorflow/tfjs-backend-cpu";
declare module "@tensorflow/tfjs-converter";
declare module "@tensorflow/tfjs-core";
