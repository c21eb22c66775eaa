// The page in English. The same keys stand in ru.js; values may hold HTML, and `{name}` is filled in.

/** @type {Record<string, string>} */
export default {
  title: "LayerNorm, step by step",
  description:
    "Layer normalization and RMSNorm worked through step by step with your own numbers, computed in the browser.",
  skip: "Skip to the worked example",
  language: "Language",
  theme: "Theme",
  themeAuto: "Auto",
  themeLight: "Light",
  themeDark: "Dark",

  contents: "Contents",
  sectionFailed: "This part of the page could not be loaded.",
  sectionAgain: "Reload the page",

  heading: "Layer normalization, step by step",
  lede: "Inside a neural network, vectors of numbers pass from layer to layer, and their size drifts as they go: some grow large and drown the others, and learning becomes slow or fails. Layer normalization takes each vector by itself, moves its mean to 0 and its spread to 1, and then applies a scale and a shift that the network learns.",
  invitation:
    "Below is the whole calculation for three vectors. Think of each as what four neurons give for one input: each number is one feature. Change any of them and follow it through: the package <a href='#code'><code>layernorm</code></a> computes everything, here in your browser. Then come networks that use it. The page takes the sections of two documents in order, one English and one Russian, and says <a href='#errata'>where these are wrong</a>.",
  pending:
    "The numbers appear here as soon as the page’s script has run. It needs JavaScript, a browser with WebAssembly SIMD, and a web server: it does not run from a file opened directly.",
  noScript: "This page computes with WebAssembly, which needs JavaScript: it is switched off here.",
  failure: "The page cannot compute, so there are no results.",
  failureNoWasm:
    "This browser has no WebAssembly, or it is switched off. The package needs it, with SIMD, as browsers have had it since 2023.",
  failureCsp:
    "A Content-Security-Policy of this site forbids WebAssembly. It has to allow 'wasm-unsafe-eval' in script-src.",
  failureDetail: "The error:",

  settings: "Your numbers",
  vectors: "Vectors",
  vectorsHint: "Numbers separated by commas or spaces, up to 12 in each.",
  vectorLabel: "Vector",
  parameters: "Parameters",
  weight: "weight",
  bias: "bias",
  parameterHint: "One number, or one for each feature.",
  eps: "eps",
  epsSlider: "eps on a logarithmic scale",
  examples: "Try",
  exampleDocuments: "The documents’ example",
  exampleConstant: "Nearly equal numbers",
  exampleFar: "Far from zero",
  exampleOutlier: "One outlier",
  resultLabel: "Results",
  keptResult: "A field needs another look. All results are still those of the last good numbers.",
  unreadableLink:
    "The address holds settings that cannot be read: {names}. The example’s stand in.",

  errorEmpty: "Enter at least one number.",
  errorNotNumber: "“{token}” is not a number.",
  errorSeparator: "“{token}” is not a number. Separate numbers with commas or spaces.",
  errorTooLarge: "“{token}” is too large: up to 1e150 here.",
  errorTooMany: "At most 12 numbers.",
  errorOneNumber: "One number, please.",
  errorNegativeEps: "eps cannot be negative.",
  errorCount: "One number, or as many as each vector has: {counts}.",
  errorOnlyOne: "The vectors differ in length, so only one number fits all of them.",

  picture: "Before and after",
  pictureText:
    "Each line follows one number. Normalizing moves the numbers and changes their distances all by one factor, so the pattern stays: what the three vectors have in common afterwards is their centre and their spread.",
  pictureKey:
    "The thick bar is the spread: one standard deviation, the usual distance from the mean, to either side of the mean.",
  pictureHint: "Point at a number to find it in every step.",
  rowBefore: "before",
  rowNormalized: "normalized",
  rowScaled: "scaled, shifted",
  plotLabel:
    "Vector {k}: {x}, with mean {mean} and standard deviation {deviation}. Normalized: {normalized}. Scaled and shifted: {scaled}.",

  step: "Step",
  meanTitle: "Mean",
  meanText:
    "Add up the <i>H</i> numbers of one vector, which is what Σ stands for, and divide by <i>H</i>: that is μ, “mu”. An italic <i>x<sub>i</sub></i> is the <i>i</i>-th number of a vector, a bold <b>x</b><sub>1</sub> the whole first vector. Nothing comes from the other vectors, unlike in <a href='#block'>batch normalization</a>; so it does not matter how many a network computes at once, in one batch.",
  varianceTitle: "Variance",
  varianceText:
    "The average squared distance from the mean: σ², “sigma squared”. Squares count distances to either side alike; the root σ is the standard deviation. It is the biased variance: divided by <i>H</i>, not by <i>H</i> − 1 as one does to estimate from a sample.",
  normalizeTitle: "Normalize",
  normalizeText:
    "Subtract the mean and divide by the square root of the variance plus ε, “epsilon”. What comes out, “x hat”, has mean 0 and variance 1, less the little that ε takes. This small constant, 0.00001 in the documents (10<sup>−5</sup>, typed 1e-5), keeps the division safe where all numbers are nearly equal.",
  scaleTitle: "Scale and shift",
  scaleText:
    "A network may need another scale than 1 and another centre than 0. So it learns a scale γ, “gamma”, and a shift β, “beta”, one of each for every feature; in code they are <code>weight</code> and <code>bias</code>. They begin at 1 and 0 and change in training like all its other parameters. To show the steps, the documents take one number for all features. The result <b>y</b> goes on to the next layer. After ≈ numbers are rounded only to be shown, so by hand the last digit may differ.",
  zeroVariance:
    "All numbers are equal and ε is 0, so this is 0/0. The package gives 0, and the result is the bias.",
  and: "and",
  misprintTag: "Misprint",
  misprintVariance:
    "For {vector} the English document prints {wrong} under the root; right is {right}. The normalized values it prints are right.",
  misprintScaled:
    "For {vector} the English document prints {wrong} in the result; right is {right}. It rounded too early.",

  rmsTitle: "RMSNorm beside LayerNorm",
  rmsText:
    "RMSNorm, which language models such as LLaMA and Mistral use, leaves out the mean: it does not centre, and divides by the root mean square <i>r</i>. It has less to compute, and a vector that lies far from zero stays on its side of zero. “x hat” and <b>y</b> below are RMSNorm’s own. Models mostly leave out β too; it stays here so that the results compare.",
  rmsPictureText: "The same vectors, normalized both ways and before scale and shift:",
  plotRmsLabel: "Vector {k} normalized. LayerNorm: {layer}. RMSNorm: {rms}.",
  compareCaption:
    "Both normalizations of the three vectors: LayerNorm divides by √(σ² + ε), RMSNorm by <i>r</i>",
  compareVector: "Vector",
  compareNorm: "Method",
  compareCentre: "Subtracts",
  compareDivisor: "Divides by",
  compareNormalized: "Normalized",
  compareScaled: "Scaled and shifted",

  blockTitle: "Which values are averaged together",
  blockText:
    "Networks work on a whole batch at once: on several <b>items</b> (pictures, sentences), each with several <b>channels</b> (its features, such as colours), each of these with one value at every <b>position</b> (pixel, word). The normalizations do nearly the same arithmetic; they differ in which of these values share one mean and one variance.",
  blockItems: "Items in the batch",
  blockGroups: "Groups of channels",
  blockPerPosition: "Each position by itself, as in transformers",
  blockOther: "Other numbers",
  blockHint:
    "Point at a value, tap it, or go there with the arrow keys: what is averaged together with it lights up. ε is the one set for the whole page; weight and bias are left out.",
  blockLetters:
    "In the formula, n is one of N items, c one of C channels, l one of L positions, and g one of G groups; the variance is averaged over the same values.",
  blockAlone: "With this item alone",
  blockAloneText:
    "The last column is the same value with its item alone in the batch. Only BatchNorm’s changes: it is the only one whose result for one input depends on which other inputs happen to be computed with it.",
  blockItem: "Item {n}",
  blockAllItems: "all items",
  blockOneChannel: "channel {n}",
  blockSomeChannels: "channels {n}",
  blockAllChannels: "all channels",
  blockOnePosition: "position {n}",
  blockAllPositions: "all positions",
  blockStatus: "{norm} averages {count} values here: {set}. The value {x} becomes {normalized}.",
  blockCount: "Values",
  blockMeanSquare: "mean square",
  blockCaption: "The same value in all five",
  noteBatch:
    "The set reaches through the whole batch, so this value depends on the other items, and a smaller batch has a smaller set: try 1 and 2. After training there may be no batch; BatchNorm then takes averages that it kept while training.",
  noteBatchOne:
    "With one item, BatchNorm has only the positions of one channel left: the set of InstanceNorm, and the same numbers. From so few values mean and variance are rough estimates. The other four are as before: they never look at another item.",
  noteLayer:
    "All channels and positions of one item, as in the documents: the other items make no difference, so neither does the size of the batch. In transformers a position is a word and has a mean of its own, over its channels alone: tick the box.",
  noteLayerPosition:
    "As in transformers: each position (a word) by itself, over its channels alone. Neither the batch nor the length of the text makes a difference.",
  noteInstance:
    "One channel of one item by itself, over its positions. Whatever the mean and spread of that channel said about the item, a picture’s contrast for one, is gone: that is what style transfer wants.",
  noteGroup:
    "Some of the channels of one item: between LayerNorm, which is one group, and InstanceNorm, which is as many groups as channels.",
  noteGroupOne:
    "One group has all channels: the same set as LayerNorm’s over channels and positions, and the same numbers.",
  noteGroupAll: "As many groups as channels: the same set as InstanceNorm’s, and the same numbers.",
  noteRms:
    "The same set as LayerNorm’s, but no mean is subtracted: each value is divided by the root of the mean square.",

  networkTitle: "In a network",
  networkText:
    "The English document puts LayerNorm into a small network: 64 inputs, a layer of 128 neurons, LayerNorm, ReLU, and a layer of 10 outputs. Here it is with random weights, on a batch of 10 random inputs, computed in your browser.",

  recurrentTitle: "Recurrent networks",
  recurrentText:
    "A recurrent network reads a sequence one element after the other and passes its state on. BatchNorm would need statistics of its own for every position; LayerNorm takes each state by itself. The Russian document says that it makes language models converge <span class='number'>2–3</span> times sooner. Measured:",
  transformersTitle: "Transformers",
  transformersText:
    "In a transformer each block adds its result to what came in. The norm may stand before the block’s branches (pre-LN, as in GPT-2 and later models) or after the sums (post-LN, as in the first transformer and BERT). The place decides how large gradients are when training begins.",
  convolutionalTitle: "Convolutional networks, small batches",
  convolutionalText:
    "Where pictures are large, a batch may have only a few of them, and the documents say that BatchNorm then estimates its statistics badly. GroupNorm and LayerNorm do not look at other items at all. Measured:",

  conditionalTitle: "Conditional LayerNorm",
  conditionalText:
    "Here scale and shift are not the same for every input: they come from a condition, such as the time step of a diffusion model or the class of the picture it is to draw. A network learns the map from condition to scale and shift. Here the condition is one number <i>c</i>, the map is fixed, and the vector is your <b>x</b><sub>1</sub>.",
  condition: "condition",
  conditionText:
    "The map treats features differently: as <i>c</i> grows, the first is stretched, the second shrinks, the third is shifted, and the fourth is stretched and shifted. The outline is the plain normalized value.",
  conditionZero:
    "With <i>c</i> = 0, scale and shift are 0 and the 1 in the formula leaves the plain normalized values: many models start their training there.",
  conditionalBefore: "before: x",
  conditionalAfter: "after: y",
  conditionalLabel: "After, with condition {c}: {output}. Normalized alone: {normalized}.",

  epsTitle: "What ε does",
  epsText:
    "ε counts where it is not small beside the variance. The curves, solid for <b>x</b><sub>1</sub>, dashed for <b>x</b><sub>2</sub> and dotted for <b>x</b><sub>3</sub>, show the standard deviation that is left after normalizing. Take nearly equal numbers, then move ε and watch. The axis of ε goes by powers of ten, with 0 at the left end: there only a vector of equal numbers is special, as 0/0.",
  epsDefaults: "Numbers on which ε shows, and its usual values:",
  epsColumnVector: "Vector",
  epsColumnSpread: "Standard deviation after",
  epsColumnRstd: "Factor 1/√(σ² + ε)",
  epsPlotLabel:
    "Standard deviation after normalizing against eps from 1e-12 to 10. At eps {eps}: {spreads}.",
  epsPlotAxis: "standard deviation after, against ε",

  rmsCostTitle: "What RMSNorm saves",
  adaptiveTitle: "Adaptive LayerNorm",
  smallTitle: "ε and small variance",
  exactTitle: "Exactness",
  speedTitle: "Speed",

  claimsTitle: "Advantages and limits",
  claimsText:
    "What the documents say for and against LayerNorm, and where this page lets you see it.",
  claimsFor: "For",
  claimBatch:
    "<b>It does not depend on the batch.</b> The last column of <a href='#block'>the block’s table</a> has each value with its item alone: only BatchNorm’s changes.",
  claimInference:
    "<b>It is the same in training and in use.</b> Its statistics come from the input itself, so there is nothing to keep; BatchNorm keeps averages for later.",
  claimSequences:
    "<b>It suits sequences.</b> Each state of <a href='#recurrent'>a recurrent network</a> is normalized by itself, however long the text.",
  claimStable:
    "<b>It keeps activations and gradients of a steady size.</b> Multiply the inputs of <a href='#network'>the network</a> by 100. For gradients it matters where it stands: see <a href='#transformers'>transformers</a>.",
  claimsAgainst: "Against",
  claimCost:
    "<b>It takes time.</b> <a href='#speed'>How much</a>, on your machine; and <a href='#rms-cost'>what RMSNorm saves</a> of it.",
  claimScale:
    "<b>It removes the input’s own scale.</b> Inputs ten times larger give <a href='#network'>the network</a> nearly the same outputs: if the size meant something, it is lost.",
  claimSmall:
    "<b>It is touchy where the variance is small.</b> There <a href='#small-variance'>ε decides</a> what comes out.",
  claimReplacement:
    "<b>It does not replace BatchNorm everywhere.</b> In <a href='#convolutional'>a small convolutional network</a> you can run both.",

  errataTitle: "Where the documents are wrong",
  errataText:
    "This page follows two documents, “What is Layer Normalization?” in English and «Layer Normalization» in Russian. Misprints in the example are marked above, at <a href='#normalize'>the roots of <b>x</b><sub>2</sub> and <b>x</b><sub>3</sub></a> and at <a href='#scale'>the result of <b>x</b><sub>2</sub></a>. The others are in the Russian document’s text:",
  says: "Says",
  right: "In fact",
  torontoWhere: "History",
  torontoSays: "Ba, Kiros and Hinton are researchers from Stanford.",
  torontoRight: "They wrote the paper at the University of Toronto.",
  headingWhere: "Differences from other methods of normalization",
  headingSays: "Nothing: the heading has no text under it.",
  headingRight: "The comparison further down in the document covers it.",
  bertWhere: "Transformers",
  bertSays: "BERT is pre-LN “in some implementations”, beside GPT-2 and GPT-3.",
  bertRight: "The original BERT is post-LN.",
  gptWhere: "Transformers",
  gptSays: "GPT-4 uses RMSNorm.",
  gptRight: "The architecture of GPT-4 is not published.",
  t5Where: "Layer Normalization with an adaptive scale",
  t5Says: "In T5, γ and β can be functions of the input.",
  t5Right:
    "T5 uses RMSNorm with a plain learned weight and no bias. Adaptive LayerNorm is an idea of AdaIN and DiT.",
  convergenceWhere: "Recurrent neural networks",
  convergenceSays:
    "LayerNorm converges <span class='number'>2–3</span> times sooner in language models.",
  convergenceRight:
    "A claim to measure, not to repeat: <a href='#recurrent'>measured above</a>, and you can run it here.",
  rmsCostWhere: "RMS Layer Normalization",
  rmsCostSays: "RMSNorm saves <span class='number'>10–15%</span> of the cost.",
  rmsCostRight:
    "A claim to measure, not to repeat: <a href='#rms-cost'>measure it here</a>, on your machine.",

  codeTitle: "In code",
  codeText:
    "The package that computed every number here, with your numbers for <b>x</b><sub>1</sub>:",
  onPaper: "A section of the page that had not been opened is not in print.",
  footer:
    "Everything runs in your browser, on the package <code>layernorm</code> {version}: C++ compiled to WebAssembly SIMD. No number leaves the page, and it works offline.",
  paper: "The paper: Ba, Kiros and Hinton, Layer Normalization, 2016",
  rmsPaper: "Zhang and Sennrich, Root Mean Square Layer Normalization, 2019",
  licences: "Licences of what this page carries: uPlot, TensorFlow.js, digits of MNIST",
};
