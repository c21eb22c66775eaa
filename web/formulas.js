// Every formula of the page, in LaTeX. The build typesets them to MathML with Temml, so the page
// carries no typesetter.

/** The documents' formulas, placed by `data-formula` in index.html. */
export const FORMULAS = {
  mean: String.raw`\mu = \frac{1}{H} \sum_{i=1}^{H} x_i`,
  variance: String.raw`\sigma^2 = \frac{1}{H} \sum_{i=1}^{H} (x_i - \mu)^2`,
  normalize: String.raw`\hat{x}_i = \frac{x_i - \mu}{\sqrt{\sigma^2 + \varepsilon}}`,
  scale: String.raw`y_i = \gamma_i \hat{x}_i + \beta_i`,
  rms: String.raw`r = \sqrt{\frac{1}{H} \sum_{i=1}^{H} x_i^2 + \varepsilon}`,
  rmsNormalize: String.raw`\hat{x}_i = \frac{x_i}{r}, \qquad y_i = \gamma_i \hat{x}_i + \beta_i`,
  conditional: String.raw`y_i = \hat{x}_i \cdot (1 + \mathrm{scale}_i(c)) + \mathrm{shift}_i(c)`,
  adaptive: String.raw`y_{k,i} = \hat{x}_{k,i} \cdot (1 + \mathrm{scale}_i(c_k)) + \mathrm{shift}_i(c_k)`,
  adaptiveStyle: String.raw`y_{k,i} = \hat{x}_{k,i} \cdot \sigma_s + \mu_s`,
  deviationAfter: String.raw`\sigma_{\hat{x}} = \frac{\sigma}{\sqrt{\sigma^2 + \varepsilon}}`,
};

/** Pieces that the page fills with numbers: `@name@` is a slot, k the vector's number, n its length. */
export const PIECES = {
  normalizedVector: String.raw`\hat{\mathbf{x}}_{@k@} =`,
  scaledVector: String.raw`\mathbf{y}_{@k@} =`,
  meanLead: String.raw`\mu_{@k@} = \frac{1}{@n@} \, (`,
  varianceLead: String.raw`\sigma^2_{@k@} = \frac{1}{@n@} \, [`,
  meanSquareLead: String.raw`\frac{1}{@n@} \, (`,
  squaredDeviation: "(@x@ - @mean@)^2",
  square: "@x@^2",
  fraction: String.raw`\frac{@sum@}{@n@}`,
  normalized: String.raw`\frac{@x@ - @mean@}{\sqrt{@variance@ + @eps@}}`,
  weighted: String.raw`@weight@ \cdot @normalized@`,
  rms: String.raw`r_{@k@} = \sqrt{@meanSquare@ + @eps@}`,
  rmsNormalized: String.raw`\frac{@x@}{@rms@}`,
  blockMeanLead: String.raw`\mu = \frac{1}{@n@} \, (`,
  blockVarianceLead: String.raw`\sigma^2 = \frac{1}{@n@} \, [`,
  blockBatch: String.raw`\mu_c = \frac{1}{N L} \sum\limits_{n=1}^{N} \sum\limits_{l=1}^{L} x_{ncl}`,
  blockLayer: String.raw`\mu_n = \frac{1}{C L} \sum\limits_{c=1}^{C} \sum\limits_{l=1}^{L} x_{ncl}`,
  blockLayerPosition: String.raw`\mu_{nl} = \frac{1}{C} \sum\limits_{c=1}^{C} x_{ncl}`,
  blockInstance: String.raw`\mu_{nc} = \frac{1}{L} \sum\limits_{l=1}^{L} x_{ncl}`,
  blockGroup: String.raw`\mu_{ng} = \frac{G}{C L} \sum\limits_{c \in g} \sum\limits_{l=1}^{L} x_{ncl}`,
  blockRms: String.raw`r_n = \sqrt{\frac{1}{C L} \sum\limits_{c=1}^{C} \sum\limits_{l=1}^{L} x_{ncl}^2 + \varepsilon}`,
  blockRmsPosition: String.raw`r_{nl} = \sqrt{\frac{1}{C} \sum\limits_{c=1}^{C} x_{ncl}^2 + \varepsilon}`,
  blockHat: String.raw`\hat{x} = \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}}`,
  blockRmsHat: String.raw`\hat{x} = \frac{x}{r}`,
  rstd: String.raw`\frac{1}{\sqrt{@variance@ + @eps@}}`,
  blockNormalized: String.raw`\hat{x} = (@x@ - @mean@) \cdot @rstd@`,
  blockRmsNormalized: String.raw`\hat{x} = @x@ \cdot @rstd@`,
  scaleLead: String.raw`\mathrm{scale}(@c@) = @c@ \cdot`,
  shiftLead: String.raw`\mathrm{shift}(@c@) = @c@ \cdot`,
  conditional: String.raw`@normalized@ \cdot (1 + @scale@) + @shift@`,
  output: String.raw`\mathbf{y} =`,
};
