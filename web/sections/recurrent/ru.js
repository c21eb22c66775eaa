// The section's words in Russian.

/** @type {Record<string, string>} */
export default {
  recurrentPlain: "обычная LSTM",
  recurrentBa2016: "LayerNorm, как у Ба и др., 2016",
  recurrentPerGate: "LayerNorm на каждый вентиль",
  recurrentFusedGates: "одна LayerNorm на все вентили",
  recurrentChart: "Потери LSTM на тексте по шагам обучения, медиана по трём зёрнам.",
  recurrentLoss: "Потери, нат на символ",
  recurrentFinding:
    "Потери, которые у обычной LSTM через {steps} шагов, с LayerNorm в определении её авторов достигаются в {times} раза раньше (от {least} до {most} в зависимости от зерна). Значит, «в <span class='number'>2–3</span> раза» русского документа верно для этого текста, этой сети и этой скорости обучения; другие места для нормализации дают меньше.",
  recurrentHow:
    "Тот же код с сетью поменьше: LSTM из 32 нейронов читает три главы «Моби Дика» на английском кусками по 8 за раз, 100 шагов Adam со скоростью 0,01; считают TensorFlow.js и <code lang='en'>layernorm/tfjs</code>.",
  recurrentOption: "Символов в куске",
  recurrentNow:
    "В конце потери обычной LSTM — {plain}, с LayerNorm — {ours}. Значение {plain} у неё было уже на шаге {step} из {steps}: в {times} раза раньше.",
  recurrentNever:
    "В конце потери обычной LSTM — {plain}, с LayerNorm — {ours}: с этим зерном раньше не получилось.",
};
