// The section on exactness in English. The same keys stand in ru.js.

/** @type {Record<string, string>} */
export default {
  exactText:
    "A computer rounds after every step, and the order of the steps decides what that costs. A mean that is large beside the spread, squares that leave the range of the type, sums of many terms: each of them can spoil a normalization whose formula is right. Here are rows of that kind. The same numbers go through this package and through plain code in the same precision, in your browser, and every result is held against exact arithmetic.",
  exactWays:
    "<b>One pass</b> takes the variance as E[<i>x</i>²] − E[<i>x</i>]²; <b>two passes</b> take the mean first and then the squared distances from it, as the documents do. Both round every step to the type that the row has.",
  exactAgain: "Compute again",
  exactRunning: "Computing, and judging by exact arithmetic…",
  exactDone:
    "Judged {count} rows: the package’s largest error is {worst} units. It promises 3 for float32 and 1 for float16.",
  exactCaption: "The largest error in each row, in units of the type’s eps",
  exactInput: "Row",
  exactOnePass: "One pass",
  exactTwoPass: "Two passes",
  exactPackage: "This package",
  exactTensorflowWasm: "TensorFlow.js, wasm",
  exactTensorflowCpu: "TensorFlow.js, cpu",
  exactNaN: "not a number",
  exactInfinite: "infinite",
  exactGot: "{got} in place of {expected}",
  exactUnits:
    "A unit is 2<sup>−23</sup> for float32 and 2<sup>−10</sup> for float16, times the larger of 1 and the exact result. Eight million units are an error of 1, as large as the values themselves. The exact results are computed in integers of any length, and only the last square root is rounded, to 160 bits.",
  inputUsual: "768 numbers about 0",
  inputMean2: "the same about 100",
  inputMean4: "the same about 10,000",
  inputMean6: "the same about a million",
  inputLong: "65,536 numbers about 10",
  inputHuge: "numbers up to 3·10<sup>38</sup>: no square fits float32",
  inputTiny: "numbers of about 10<sup>−38</sup> with ε 0: every square vanishes",
  inputConstant: "768 times 1000.1 with ε 10<sup>−12</sup>: the result is 0",
  inputHalf: "float16 numbers up to 60,000: their sum does not fit",
  exactMeansTitle: "The further from zero",
  exactMeansText:
    "Residual streams, sensor values and counts often lie far from zero. The curves show what that costs: rows of 768 numbers with spread 1 about a growing mean. NaN says that the result is not a number.",
  exactMeansLabel: "The error of each way against the mean of the row.",
  exactMeansX: "mean of the row",
  exactMeansY: "largest error, in units of eps",
  exactBound: "the package’s promise",
  exactTensorflowText:
    "The same rows through the layer of TensorFlow.js, which this page’s own server has, too. It has no float16. Its backend “cpu” is JavaScript that sums in double precision and stores float32; “wasm” computes in float32.",
  exactTensorflow: "Add TensorFlow.js",
  exactTensorflowLoading: "Loading TensorFlow.js…",
  exactTensorflowDone:
    "The table above has two columns for TensorFlow.js {version}, one for each of its backends for the processor.",
};
